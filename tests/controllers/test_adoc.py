"""ADOC: hand-computed steps from the paper's section 5, and what must hold for any sample."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.options import UNIVERSAL_COMPACTION
from adocd.model.policy import Policy
from tests.builders import GIB, column_family, sample


def adoc(**parameters: int | bool) -> Controller:
    return registry.create(Policy("adoc", parameters))


def settings(decision: Decision | None) -> dict[tuple[Knob, str | None], int]:
    return {} if decision is None else {(s.knob, s.column_family): s.value for s in decision.settings}


def test_without_overflow_nothing_changes() -> None:
    assert adoc().step(sample()) is None


def test_level0_overflow_adds_two_threads_and_leaves_the_batch() -> None:
    decision = adoc().step(sample(column_family(l0_files=20)))
    assert decision is not None
    assert decision.settings == (Setting(Knob.BACKGROUND_JOBS, 4),)
    assert decision.rule == "adoc.level0"
    assert decision.signal == "level0 overflow in column family default: 20 L0 files, slowdown trigger 20"


def test_under_universal_compaction_level0_overflows_by_its_sorted_runs() -> None:
    runs = column_family(l0_files=17, further_levels=(0, 3, 0, 9, 40), compaction_style=UNIVERSAL_COMPACTION)
    decision = adoc().step(sample(runs))
    assert decision is not None
    assert decision.signal == (
        "level0 overflow in column family default: 17 L0 files and 3 further sorted runs, slowdown trigger 20"
    )


def test_level0_overflow_begins_at_the_trigger() -> None:
    assert adoc().step(sample(column_family(l0_files=19))) is None


def test_redundancy_overflow_adds_two_threads_and_halves_the_batch() -> None:
    cf = column_family(pending_compaction_bytes=64 * GIB, write_buffer_size_bytes=512 * MIB)
    decision = adoc().step(sample(cf, background_jobs=6))
    assert settings(decision) == {(Knob.BACKGROUND_JOBS, None): 8, (Knob.BATCH_SIZE, "default"): 256 * MIB}


def test_memory_overflow_halves_the_threads_and_adds_64_mib() -> None:
    decision = adoc().step(sample(column_family(immutable_memtables=2), background_jobs=12))
    assert settings(decision) == {(Knob.BACKGROUND_JOBS, None): 6, (Knob.BATCH_SIZE, "default"): 128 * MIB}


def test_a_memtable_stall_in_the_window_is_memory_overflow_too() -> None:
    decision = adoc().step(sample(column_family(memtable_stops=1)))
    assert settings(decision) == {(Knob.BATCH_SIZE, "default"): 128 * MIB}


def test_memtables_that_wait_to_be_merged_with_others_are_no_overflow() -> None:
    """A flush of three begins at the third: threads were halved and the batch grown for ever."""

    def step(immutable: int) -> Decision | None:
        cf = column_family(immutable_memtables=immutable, min_write_buffer_number_to_merge=3, max_write_buffer_number=6)
        return adoc().step(sample(cf, background_jobs=12))

    assert step(3) is None
    assert settings(step(4)) == {(Knob.BACKGROUND_JOBS, None): 6, (Knob.BATCH_SIZE, "default"): 128 * MIB}


def test_a_level_0_whose_owner_has_disabled_compaction_is_no_overflow() -> None:
    """RocksDB delays for neither it nor the pending bytes, and no thread would compact them."""
    loading = column_family(l0_files=500, pending_compaction_bytes=300 * GIB, disable_auto_compactions=True)
    assert adoc().step(sample(loading)) is None


def test_several_overflows_are_handled_in_the_papers_order() -> None:
    everything = column_family(l0_files=25, pending_compaction_bytes=70 * GIB, immutable_memtables=3)
    decision = adoc().step(sample(everything))
    assert decision is not None
    assert decision.rule == "adoc.level0"
    assert settings(decision) == {(Knob.BACKGROUND_JOBS, None): 4}


@pytest.mark.parametrize(
    ("family", "jobs"),
    [
        (column_family(l0_files=20), 20),
        (column_family(immutable_memtables=2, write_buffer_size_bytes=512 * MIB), 2),
        (column_family(pending_compaction_bytes=64 * GIB, write_buffer_size_bytes=64 * MIB), 20),
    ],
)
def test_at_its_bounds_it_decides_nothing(family: object, jobs: int) -> None:
    assert adoc().step(sample(family, background_jobs=jobs)) is None  # type: ignore[arg-type]


def test_a_bound_never_turns_a_step_round() -> None:
    """A batch below the minimum is not raised by halving, nor one above the maximum cut by adding."""
    small = column_family(pending_compaction_bytes=64 * GIB, write_buffer_size_bytes=8 * MIB)
    assert (Knob.BATCH_SIZE, "default") not in settings(adoc().step(sample(small)))
    large = column_family(immutable_memtables=2, write_buffer_size_bytes=1024 * MIB)
    assert adoc().step(sample(large)) is None


def test_threads_only_and_batch_only() -> None:
    overflowing = sample(column_family(immutable_memtables=2), background_jobs=8)
    assert settings(adoc(tune_batch=False).step(overflowing)) == {(Knob.BACKGROUND_JOBS, None): 4}
    assert settings(adoc(tune_threads=False).step(overflowing)) == {(Knob.BATCH_SIZE, "default"): 128 * MIB}


def test_each_column_family_has_its_own_batch_and_the_worst_turns_the_threads() -> None:
    decision = adoc().step(
        sample(
            column_family("default", immutable_memtables=2),
            column_family("index", l0_files=30),
            column_family("idle"),
        )
    )
    assert settings(decision) == {(Knob.BACKGROUND_JOBS, None): 4, (Knob.BATCH_SIZE, "default"): 128 * MIB}
    assert decision is not None
    assert "index" in decision.signal


def test_a_switch_takes_its_knob_away() -> None:
    assert adoc().knobs == {Knob.BACKGROUND_JOBS, Knob.BATCH_SIZE}
    assert adoc(tune_threads=False).knobs == {Knob.BATCH_SIZE}
    assert adoc(tune_batch=False).knobs == {Knob.BACKGROUND_JOBS}


def test_threads_stop_at_what_the_target_can_use() -> None:
    cf = column_family(l0_files=20)
    for most, expected in ((8, 8), (7, 7), (None, 8)):
        decided = settings(adoc(tune_batch=False).step(sample(cf, background_jobs=6, background_jobs_max=most)))
        assert decided == {(Knob.BACKGROUND_JOBS, None): expected}
    assert adoc(tune_batch=False).step(sample(cf, background_jobs=6, background_jobs_max=6)) is None


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"threads_max": 1}, "threads_min (2) is above threads_max (1)"),
        ({"thread_max": 8}, "adoc has no parameter 'thread_max'; did you mean threads_max?"),
        ({"threads_max": "many"}, "adoc: threads_max must be a whole number, not 'many'"),
        ({"tune_threads": False, "tune_batch": False}, "leaves nothing to tune"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, int | bool | str], sentence: str) -> None:
    with pytest.raises(registry.PolicyError) as error:
        registry.create(Policy("adoc", parameters))
    assert sentence in str(error.value)


def test_an_unknown_law_is_answered_by_the_ones_there_are() -> None:
    with pytest.raises(registry.PolicyError, match=r"there is no controller 'adco'; did you mean adoc\?"):
        registry.create(Policy("adco"))


@given(
    l0_files=st.integers(0, 60),
    immutable=st.integers(0, 5),
    pending=st.integers(0, 300 * GIB),
    jobs=st.integers(1, 128),
    batch=st.integers(1 * MIB, 1024 * MIB),
)
def test_every_step_stays_in_bounds_or_moves_towards_them(
    l0_files: int, immutable: int, pending: int, jobs: int, batch: int
) -> None:
    cf = column_family(
        l0_files=l0_files,
        immutable_memtables=immutable,
        pending_compaction_bytes=pending,
        write_buffer_size_bytes=batch,
    )
    decided = settings(adoc().step(sample(cf, background_jobs=jobs)))
    threads = decided.get((Knob.BACKGROUND_JOBS, None), jobs)
    assert min(2, jobs) <= threads <= max(20, jobs)
    size = decided.get((Knob.BATCH_SIZE, "default"), batch)
    assert min(64 * MIB, batch) <= size <= max(512 * MIB, batch)


def test_the_same_samples_give_the_same_decisions() -> None:
    series = [sample(column_family(l0_files=n % 30, immutable_memtables=n % 4)) for n in range(50)]
    first, second = adoc(), adoc()
    assert [first.step(s) for s in series] == [second.step(s) for s in series]
