"""CockroachDB's admission: hand-computed intervals of its table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.controllers.admitted import UNLIMITED_BYTES_PER_S
from adocd.model.decision import Decision
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample
from adocd.model.snapshot import Event
from tests.controllers.laws import MB, Plant, make, settings

RATE = Knob.DELAYED_WRITE_RATE
#: Flushed and written, in MB/s: a byte written is then 1.75 in level 0, where its mean begins, and stays that.
FLUSHED, WRITTEN = 35, 20
#: RocksDB compacts from 4 files on by itself.
HELD = {Knob.LEVEL0_SLOWDOWN: 5, Knob.LEVEL0_STOP: 128}


class Scene:
    """A database with the law at work. Level 0 has files of 64 MiB, so that each counts as a sublevel."""

    def __init__(self, **options: str) -> None:
        self.law = make("cockroach")
        self.plant = Plant(**options)
        self.decision: Decision | None = None

    def interval(
        self,
        n: int,
        out: float = FLUSHED,
        *,
        flushed: float = FLUSHED,
        written: float = WRITTEN,
        compacted: float = 0,
        flushes: tuple[tuple[int, float], ...] = (),
        stops: int = 0,
        below: tuple[int, ...] = (0,) * 6,
        seconds: float = 15.0,
        size: int | None = None,
    ) -> dict[Knob, int]:
        """Live through an interval, rates in MB/s, flushes by MB and seconds; level 0 ends with n files."""
        plant = self.plant
        plant.l0_files = n
        before = plant.level_bytes[0] if plant.level_bytes else 0
        grown = int((flushed - out) * MB * seconds)
        plant.level_bytes = (before + grown if size is None else size, *below)
        plant.members = {
            "flushed_bytes_per_s": flushed * MB,
            "written_bytes_per_s": written * MB,
            "compaction_written_bytes_per_s": compacted * MB,
            "events": tuple(
                Event(1, 1.0, "flush_end", column_family="default", bytes=mb * MB, elapsed_s=elapsed)
                for mb, elapsed in flushes
            ),
        }
        sample = plant.sample(seconds)
        (cf,) = sample.column_families
        return self.step(replace(sample, column_families=(replace(cf, stall_counts={"memtable_stops": stops}),)))

    def step(self, sample: Sample) -> dict[Knob, int]:
        """Ask the law about this window, and do what it decides."""
        self.decision = self.law.step(sample)
        self.plant.do(self.decision, sample)
        return settings(self.decision)


def begun(n: int = 0, **options: str) -> Scene:
    """A database after the free interval, with 100 GB in level 0."""
    scene = Scene(**options)
    scene.plant.level_bytes = (100_000 * MB, *[0] * 6)
    assert scene.interval(n) == {}
    return scene


def test_the_first_interval_is_free() -> None:
    scene = begun(n=30)
    assert scene.interval(30) == {**HELD, RATE: 10 * MB}


@pytest.mark.parametrize(
    ("n", "rate"),
    [
        (4, UNLIMITED_BYTES_PER_S),  # s = 0.4
        (5, 40 * MB),  # 0.5: 2 C = 70
        (8, 28 * MB),  # 0.8: 1.4 C = 49
        (10, 20 * MB),  # 1: C = 35
        (15, 15 * MB),  # 1.5: 0.75 C
        (20, 10 * MB),  # 2: 0.5 C
        (100, 10 * MB),
    ],
)
def test_the_score_gives_the_tokens(n: int, rate: int) -> None:
    """Level 0 loses 35 MB/s, and a byte written is 1.75 bytes there."""
    scene = begun()
    assert scene.interval(n)[RATE] == pytest.approx(rate, abs=1)


def test_what_leaves_level_0_is_what_was_flushed_less_its_growth() -> None:
    scene = begun()
    assert scene.interval(10, out=14)[RATE] == 8 * MB
    scene = begun()
    assert scene.interval(10, out=-14)[RATE] == MIB, "it has grown by more: an ingestion"


def test_what_level_0_did_in_a_pause_is_nobodys_measure() -> None:
    """Half of it has gone meanwhile, which is not what leaves it in 15 s; the interval after it only measures."""
    scene = begun()
    assert scene.interval(10)[RATE] == 20 * MB
    scene.plant.now_s += 3600.0
    scene.plant.level_bytes = (50_000 * MB, *[0] * 6)
    assert scene.interval(10) == {}
    assert scene.interval(10) == {}


def test_both_means_have_a_weight_of_a_half() -> None:
    """C is 35 and then 17.5; the tokens are 35 and then (17.5 + 35) / 2 = 26.25, a byte written 1.75."""
    scene = begun()
    scene.interval(10)
    assert scene.interval(10, out=0)[RATE] == 15 * MB


def test_while_nothing_is_limited_the_tokens_follow_what_leaves() -> None:
    """70 and 70; then C = 35 and the tokens (35 + 70) / 2 = 52.5."""
    scene = begun()
    scene.interval(4, out=70)
    assert scene.interval(10, out=0)[RATE] == 30 * MB


@pytest.mark.parametrize(
    ("n", "compacted", "rate"),
    [(8, 288, 28), (8, 420, 40), (10, 420, 20)],
    ids=["less than what leaves", "a sixth of 420 MB/s", "only below a score of 1"],
)
def test_a_score_below_1_gets_at_least_a_share_of_what_compactions_write(n: int, compacted: float, rate: int) -> None:
    scene = begun()
    assert scene.interval(n, compacted=compacted)[RATE] == pytest.approx(rate * MB, abs=1)


def test_with_dynamic_levels_the_base_level_is_the_first_that_is_filled() -> None:
    """Level 5 of 0 to 6: half of 140 MB/s."""
    scene = begun(level_compaction_dynamic_level_bytes="true")
    assert scene.interval(8, compacted=140, below=(0, 0, 0, 0, 1, 1))[RATE] == 40 * MB


@pytest.mark.parametrize(
    ("n", "mib", "rate"),
    [
        (12, 30, 36 * MB),  # 6 sublevels: 1.8 C
        (12, 32, 36 * MB),  # 6.4 are 6
        (12, 33, 32 * MB),  # 6.6 are 7: 1.6 C
        (12, 10, UNLIMITED_BYTES_PER_S),  # 2, but at least a third of 12
        (15, 10, 40 * MB),  # 5
    ],
)
def test_small_files_are_fewer_sublevels(n: int, mib: int, rate: int) -> None:
    scene = Scene()
    scene.plant.level_bytes = (mib * MIB, *[0] * 6)
    scene.interval(n, size=mib * MIB)
    assert scene.interval(n, size=mib * MIB)[RATE] == pytest.approx(rate, abs=1)


def test_4000_files_are_a_score_of_2_whatever_they_hold() -> None:
    scene = Scene()
    scene.plant.level_bytes = (1, *[0] * 6)
    scene.interval(0, size=1)
    assert scene.interval(2000, size=1)[RATE] == 10 * MB, "by a third of them it is 66, already"


@pytest.mark.parametrize(
    ("written", "cost"),
    [(20, 1.75), (350, 1.125), (7, 2.375), (0, 1.75)],
    ids=["1.75", "0.1 counts as 0.5", "5 counts as 3", "nothing written"],
)
def test_the_cost_of_a_written_byte(written: float, cost: float) -> None:
    scene = begun()
    assert scene.interval(10, written=written)[RATE] == pytest.approx(35 * MB / cost, abs=1)


# -- flush tokens: 70 MB in 2 of 15 s are 35 MB/s, and 1.75 x 20 MB/s are used


@pytest.mark.parametrize(("stops", "factor"), [(0, 1.025), (1, 0.975), (2, 0.95), (4, 0.95), (5, 0.925), (100, 0.925)])
def test_busy_flushes_give_tokens_by_their_own_rate(stops: int, factor: float) -> None:
    scene = begun()
    assert scene.interval(4, flushes=((35, 1.0), (35, 1.0)), stops=stops)[RATE] == pytest.approx(
        factor * 20 * MB, abs=1
    )


def test_flushes_that_are_busy_for_a_tenth_of_the_time_limit_nothing() -> None:
    scene = begun()
    assert scene.interval(4, flushes=((35, 1.5),))[RATE] == UNLIMITED_BYTES_PER_S
    assert scene.interval(4, flushes=((35, 1.51),))[RATE] < UNLIMITED_BYTES_PER_S


def test_tokens_that_are_not_used_do_not_grow() -> None:
    """0.9 x 35 = 31.5 MB/s, which are 18 MB/s of writes."""
    for written, factor in ((18.1, 1.025), (17.9, 1.0)):
        scene = begun()
        flushed = written * 1.75
        got = scene.interval(4, flushed=flushed, out=flushed, written=written, flushes=((70, 2.0),))[RATE]
        assert got == pytest.approx(factor * 20 * MB, abs=1)


@pytest.mark.parametrize(("stops", "bound"), [(0, 1.5), (9, 0.5)])
def test_the_factor_is_bounded(stops: int, bound: float) -> None:
    scene = begun()
    for _ in range(30):
        scene.interval(4, written=40, flushed=70, out=70, flushes=((70, 2.0),), stops=stops)
    assert int(scene.plant.now("delayed_write_rate")) == pytest.approx(bound * 20 * MB, rel=0.1)


def test_the_rate_of_flushes_is_a_mean() -> None:
    """35 and 70 MB/s, one stall in each: 0.95 x 52.5 / 1.75."""
    scene = begun()
    scene.interval(4, flushes=((70, 2.0),), stops=1)
    assert scene.interval(4, flushes=((140, 2.0),), stops=1)[RATE] == pytest.approx(0.95 * 30 * MB, abs=1)


def test_the_smaller_of_both_counts() -> None:
    scene = begun()
    assert scene.interval(20, flushes=((70, 2.0),))[RATE] == 10 * MB
    scene = begun()
    assert scene.interval(5, flushes=((70, 2.0),), stops=1)[RATE] == pytest.approx(19.5 * MB, abs=1)


# -- on RocksDB


def test_an_interval_is_15_s_however_often_the_law_is_asked() -> None:
    scene = begun()
    for second in range(14):
        assert scene.interval(10, seconds=1.0) == {}, second
    assert scene.interval(10, seconds=1.0)[RATE] == 20 * MB


def test_the_first_rate_comes_with_the_second_interval() -> None:
    """Nobody has seen what level 0 held before the first one."""
    scene = Scene()
    scene.plant.level_bytes = (100_000 * MB, *[0] * 6)
    for second in range(29):
        assert scene.interval(10, seconds=1.0) == {}, second
    assert scene.interval(10, seconds=1.0) == {**HELD, RATE: 20 * MB}


def test_in_between_the_rate_is_held() -> None:
    scene = begun()
    scene.interval(10)
    delayed = replace(scene.plant.sample(1.0), condition="delayed", delayed_write_rate_bytes_per_s=12_800_000)
    assert scene.step(delayed) == {RATE: 20 * MB + 1}
    back = replace(scene.plant.sample(1.0), condition="delayed", delayed_write_rate_bytes_per_s=20 * MB + 1)
    assert scene.step(back) == {}


def test_it_compacts_level_0_from_4_files_on_and_stops_far_above() -> None:
    late = {
        "level0_file_num_compaction_trigger": "8",
        "level0_slowdown_writes_trigger": "10",
        "level0_stop_writes_trigger": "12",
    }
    scene = begun(0, **late)
    assert scene.interval(10) == {Knob.LEVEL0_TRIGGER: 4, **HELD, RATE: 20 * MB}
    assert scene.interval(10) == {}


def test_an_owners_higher_stop_stays() -> None:
    scene = begun(level0_stop_writes_trigger="500")
    assert Knob.LEVEL0_STOP not in scene.interval(10)


def test_after_a_pause_all_of_it_is_set_again() -> None:
    scene = begun()
    scene.interval(10)
    scene.plant.values = dict(scene.plant.originals)
    scene.plant.now_s += 600.0
    assert scene.interval(10, seconds=1.0) == {**HELD, RATE: 20 * MB}


def test_the_worst_family_scores_and_all_drain() -> None:
    """10 and 20 files: 2, half of what leaves both. Each loses 35 MB/s of the 70 that are flushed."""
    scene = begun()
    plant = scene.plant

    def both(members: dict[str, object]) -> Sample:
        plant.members |= members
        sample = plant.sample(15.0)
        (cf,) = sample.column_families
        its = sample.options.column_families["default"]
        options = replace(sample.options, column_families={"default": its, "other": its})
        families = (replace(cf, l0_files=10), replace(cf, name="other", l0_files=20))
        return replace(sample, column_families=families, options=options)

    assert scene.step(both({"flushed_bytes_per_s": 70.0 * MB, "written_bytes_per_s": 40.0 * MB})) == {}, "one is new"
    decided = scene.law.step(both({}))
    assert decided is not None
    found = {(setting.knob, setting.column_family): setting.value for setting in decided.settings}
    assert found.pop((RATE, None)) == 20 * MB
    assert found == {(knob, name): value for knob, value in HELD.items() for name in ("default", "other")}


def test_a_family_without_compaction_neither_scores_nor_is_turned() -> None:
    """RocksDB does not delay for its level 0, and nothing would make it smaller: 100 files would hold all others."""
    scene = begun()
    plant = scene.plant

    def both() -> Sample:
        plant.members |= {"flushed_bytes_per_s": 70.0 * MB, "written_bytes_per_s": 40.0 * MB}
        sample = plant.sample(15.0)
        (cf,) = sample.column_families
        its = sample.options.column_families["default"]
        options = replace(sample.options, column_families={"default": its, "loaded": its})
        loaded = replace(cf, name="loaded", l0_files=100, options=replace(cf.options, disable_auto_compactions=True))
        return replace(sample, column_families=(replace(cf, l0_files=2), loaded), options=options)

    scene.step(both())
    decided = scene.law.step(both())
    assert decided is not None
    found = {(setting.knob, setting.column_family): setting.value for setting in decided.settings}
    assert found[RATE, None] == UNLIMITED_BYTES_PER_S
    assert {family for _, family in found} == {None, "default"}


def test_an_interval_in_which_flushes_are_not_reported_changes_nothing() -> None:
    scene = begun()
    scene.interval(10)
    scene.plant.members["flushed_bytes_per_s"] = None
    assert scene.step(scene.plant.sample(15.0)) == {}
    assert scene.interval(10) == {}


def test_a_decision_says_what_it_saw() -> None:
    scene = begun()
    scene.interval(10)
    assert scene.decision is not None
    assert scene.decision.rule == "cockroach.tokens"
    assert scene.decision.signal == "level 0 scores 1.00, 33.4 MiB/s leave it, a byte written is 1.75 in level 0"
    scene.interval(1)
    assert scene.decision.rule == "cockroach.unlimited"
