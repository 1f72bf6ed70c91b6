"""ADOC's published code: hand-computed steps of its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.knob import MIB, Knob
from tests.builders import GIB
from tests.controllers.laws import MB, Plant, flushed, make, settings


def plant(jobs: int = 8, batch: int = 64 * MIB) -> Plant:
    made = Plant(write_buffer_size=str(batch))
    made.values = {o: str(jobs) if o.option == "max_background_jobs" else v for o, v in made.values.items()}
    return made


def decided(made: Plant, *bandwidths: int, **parameters: bool) -> list[dict[Knob, int]]:
    """Give one window a bandwidth in MB/s, the first of which is skipped; nothing of it is carried out."""
    law, found = make("adoc-released", **parameters), []
    for mb_per_s in bandwidths:
        made.members["events"] = (flushed(mb_per_s * MB),)
        found.append(settings(law.step(made.sample())))
    return found


def test_windows_without_a_flush_and_the_first_with_one_are_skipped() -> None:
    made = plant()
    made.immutable_memtables = 2
    law = make("adoc-released")
    made.members["events"] = ()
    assert law.step(made.sample()) is None
    made.members["events"] = (flushed(100 * MB),)
    assert law.step(made.sample()) is None
    assert settings(law.step(made.sample())) == {Knob.BACKGROUND_JOBS: 10, Knob.BATCH_SIZE: 128 * MIB}


def test_a_mean_of_less_than_one_mb_per_s_skips_the_window() -> None:
    made = plant()
    made.immutable_memtables = 2
    law = make("adoc-released")
    for _ in range(3):
        made.members["events"] = (flushed(MB - 1),)
        assert law.step(made.sample()) is None


def test_a_slow_flush_halves_the_threads_and_adds_the_initial_batch() -> None:
    """F = 100, so f = 49 is slow and f = 50 is not."""
    made = plant(batch=128 * MIB)
    assert decided(made, 100, 100, 50, 49) == [{}, {}, {}, {Knob.BACKGROUND_JOBS: 4, Knob.BATCH_SIZE: 256 * MIB}]


@pytest.mark.parametrize(
    ("window", "is_slow"),
    [
        ([51, 50], False),  # F = 101, so slow is below 50.5, which this mean is exactly
        ([51, 49], True),  # 50
        ([100, 1, 50], True),  # 50.33
        ([101, 1, 50], False),  # 50.67; cut to a whole number it would be slow
        ([0, 101], False),  # one flush of less than 1 MB/s counts as 0, and its window counts
    ],
)
def test_each_flush_is_in_whole_mb_per_s_and_their_mean_is_a_fraction(window: list[int], is_slow: bool) -> None:
    law, made = make("adoc-released"), plant()
    found = []
    for flushes in ([7], [101], window):
        made.members["events"] = tuple(flushed(mb * MB + MB // 2) for mb in flushes)
        found.append(settings(law.step(made.sample())))
    slow = {Knob.BACKGROUND_JOBS: 4, Knob.BATCH_SIZE: 128 * MIB}
    assert found == [{}, {}, slow if is_slow else {}]


def test_the_best_mean_is_a_fraction_too() -> None:
    """F = 99.5: 50 is not slow against it, and 49.67 is."""
    law, made = make("adoc-released"), plant()
    found = []
    for flushes in ([100], [100, 99], [50], [49, 50, 50]):
        made.members["events"] = tuple(flushed(mb * MB) for mb in flushes)
        found.append(bool(settings(law.step(made.sample()))))
    assert found == [False, False, False, True]


def test_a_window_whose_mean_is_0_is_not_the_first() -> None:
    """Nor does the first make F: else the 10 would be slow against its 100."""
    made = plant()
    assert decided(made, 0, 100, 10) == [{}, {}, {}]
    made.immutable_memtables = 1
    assert decided(made, 0, 100, 10) == [{}, {}, {Knob.BACKGROUND_JOBS: 10}]


def test_one_immutable_memtable_adds_threads_and_no_batch() -> None:
    made = plant()
    made.immutable_memtables = 1
    assert decided(made, 100, 100)[-1] == {Knob.BACKGROUND_JOBS: 10}


def test_later_rows_win() -> None:
    """A slow flush beats immutable memtables; debt beats both, in both columns."""
    made = plant(batch=256 * MIB)
    made.immutable_memtables = 2
    assert decided(made, 100, 100, 10)[-1] == {Knob.BACKGROUND_JOBS: 4, Knob.BATCH_SIZE: 512 * MIB}
    made.pending_bytes = 64 * GIB
    assert decided(made, 100, 100, 10)[-1] == {Knob.BACKGROUND_JOBS: 10, Knob.BATCH_SIZE: 128 * MIB}


def test_a_full_base_level_adds_threads_and_level_0_does_not() -> None:
    made, law = plant(), make("adoc-released")
    made.members["events"] = (flushed(100 * MB),)
    made.l0_files = 30
    assert law.step(made.sample()) is None
    assert law.step(made.sample()) is None
    (family,) = made.sample().column_families
    for files, expected in ((19, {}), (20, {Knob.BACKGROUND_JOBS: 10})):
        full = replace(made.sample(), column_families=(replace(family, level_files=(0, files, 99)),))
        assert settings(law.step(full)) == expected


def test_with_dynamic_level_bytes_the_base_level_is_the_first_that_has_files() -> None:
    law = make("adoc-released")
    made = Plant(level_compaction_dynamic_level_bytes="true")
    made.members["events"] = (flushed(100 * MB),)
    law.step(made.sample())
    (family,) = made.sample().column_families
    dynamic = replace(made.sample(), column_families=(replace(family, level_files=(0, 0, 0, 20, 99)),))
    assert settings(law.step(dynamic)) == {Knob.BACKGROUND_JOBS: 4}


@pytest.mark.parametrize(("switch", "knob"), [("tune_threads", Knob.BATCH_SIZE), ("tune_batch", Knob.BACKGROUND_JOBS)])
def test_threads_only_and_batch_only(switch: str, knob: Knob) -> None:
    assert decided(plant(), 100, 100, 10, **{switch: False})[-1].keys() == {knob}


def test_it_stays_within_its_bounds() -> None:
    assert decided(plant(jobs=3), 100, 100, 10)[-1][Knob.BACKGROUND_JOBS] == 2
    made = plant(jobs=19, batch=512 * MIB)
    made.immutable_memtables = 2
    assert decided(made, 100, 100)[-1] == {Knob.BACKGROUND_JOBS: 20}
