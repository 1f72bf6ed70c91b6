"""The grid's rungs and the search for a rate, on runs that are made up: what is tried, kept, and found."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.lanes import Lanes
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.evaluation.one import OnLook, WantedRun
from adocd_bench.evaluation.plan import RunsAsked
from adocd_bench.evaluation.search import grid
from adocd_bench.evaluation.search.halving import Grid
from adocd_bench.evaluation.search.sustained import Search, TriedRate
from adocd_bench.evaluation.search.two_phase import percentile_us, tried
from adocd_bench.evaluation.setting import RunSite
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from adocd.model.knob import MIB
from tests.bench.evaluation.builders import offered, run_of
from tests.bench.evaluation.report.builders import sampled

ASKED = RunsAsked(("default",), ("cap-50",), ("fillrandom",), 80, 1)
SMALL = Grid("cap-50", "fillrandom", (2, 4, 8), (64, 128, 512))


@dataclass
class Made:
    """A place where 4 threads and 128 MiB are best, and 8 threads with 512 MiB cannot be run."""

    tried: list[tuple[int, int, float]] = field(default_factory=list)
    ends_after: int | None = None
    lanes: Lanes = field(default_factory=Lanes)

    def run(self, wanted: WantedRun, load: LoadProgram, on_look: OnLook) -> raw.RawRun:  # noqa: ARG002
        """Make up a run, as Setting.run makes one."""
        if self.ends_after == len(self.tried):
            raise KeyboardInterrupt
        threads = int(wanted.scheme.options["max_background_jobs"])
        mib = int(wanted.scheme.options["write_buffer_size"]) // MIB
        self.tried.append((threads, mib, wanted.workload.seconds))
        if (threads, mib) == (8, 512):
            raise RunFailed("out of memory")
        writes = 100_000 - 1000 * abs(threads - 4) - 10 * abs(mib - 128)
        return run_of(wanted, (raw.Operations("write", writes, None),))


def best(made: Made, out: Path, wanted: Grid = SMALL, *, any_grid: bool = False) -> dict[str, int]:
    found = grid.best(cast(RunSite, made), wanted, ASKED, out, Console(file=io.StringIO()), any_grid=any_grid)
    return dict(found)


def test_the_best_third_goes_on_and_the_last_rung_is_as_long_as_a_run(tmp_path: Path) -> None:
    made = Made()
    assert best(made, tmp_path)["max_background_jobs"] == 4
    assert best(Made(), tmp_path)["write_buffer_size"] == 128 * MIB
    by_rung = [[each[:2] for each in made.tried if each[2] == seconds] for seconds in (20, 40, 80)]
    assert [len(rung) for rung in by_rung] == [9, 3, 1]
    assert by_rung[1] == [(4, 128), (4, 64), (2, 128)]


def test_a_grid_that_was_interrupted_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first, second = Made(ends_after=6), Made()
    with pytest.raises(KeyboardInterrupt):
        best(first, tmp_path)
    assert best(second, tmp_path)["max_background_jobs"] == 4
    assert len(first.tried) == 6
    assert not set(first.tried) & set(second.tried)


def test_a_kept_grid_is_taken_for_a_run_and_refused_for_another_search(tmp_path: Path) -> None:
    best(Made(), tmp_path)
    whole = Grid("cap-50", "fillrandom")
    assert best(Made(ends_after=0), tmp_path, whole, any_grid=True)["max_background_jobs"] == 4
    with pytest.raises(BadArgument, match="is of another grid: give the same options"):
        best(Made(), tmp_path, whole)


def test_the_whole_grid_stays_within_the_memory_that_adoc_may_come_to() -> None:
    configurations = grid.configurations(Grid("cap-50", "fillrandom"), 4)
    assert len(configurations) == len(set(configurations)) == 40
    assert max(size for _, size in configurations) == 128 * MIB
    assert not grid.configurations(Grid("cap-50", "fillrandom", batches_mib=(1024,)), 1)


@given(st.integers(1, 100), st.integers(5, 7200))
def test_rungs_get_smaller_and_longer_and_end_with_whole_runs(count: int, seconds: int) -> None:
    rungs = grid.rungs(count, seconds)
    assert rungs[0][0] == count
    assert rungs[-1][1] == seconds
    assert [size for size, _ in rungs] == sorted((size for size, _ in rungs), reverse=True)
    assert [each for _, each in rungs] == sorted(each for _, each in rungs)


def searched(sustainable: Callable[[float], bool], maximum_per_s: float = 10_000.0, every: int = 0) -> Search:
    """Search to the end; one run in `every` is disturbed, and then fails."""
    search = Search(60, 1, maximum_per_s)
    while (trial := search.next_trial) is not None:
        per_s, seed = trial
        disturbed = ("others",) if every and len(search.tested) % every == 0 else ()
        lasts = sustainable(per_s) and not disturbed
        tested = TriedRate(per_s, per_s, 0, lasts, seed, disturbed)
        search = replace(search, tested=(*search.tested, tested))
        assert len(search.tested) < 40
    return search


@given(st.floats(0.01, 3.9), st.floats(1.0, 1e6))
def test_a_search_ends_close_around_what_lasts(share: float, maximum_per_s: float) -> None:
    search = searched(lambda per_s: per_s <= share * maximum_per_s, maximum_per_s)
    assert search.fails_per_s is not None
    assert search.lasts_per_s <= share * maximum_per_s <= search.fails_per_s
    assert search.fails_per_s - search.lasts_per_s <= 0.05 * maximum_per_s


def test_a_search_goes_up_while_nothing_fails_to_four_times_the_maximum_at_most() -> None:
    search = searched(lambda _: True)
    tried = [each.offered_per_s for each in search.tested]
    assert tried[:3] == pytest.approx([9500, 11875, 14843.75])
    assert tried[-2:] == [40_000, 40_000], "the end is confirmed"
    assert (search.lasts_per_s, search.fails_per_s, search.share) == (40_000, None, 4.0)


@pytest.mark.parametrize("share", [0.3, 0.96, 1.2, 5.0])
def test_rounding_does_not_decide_how_many_runs_a_search_takes(share: float) -> None:
    """2000 - 0.95 x 2000 is a twentieth of 2000, and 2048 - 0.95 x 2048 is more than one of 2048."""

    def runs(maximum_per_s: float) -> int:
        return len(searched(lambda per_s: per_s <= share * maximum_per_s, maximum_per_s).tested)

    assert len({runs(maximum_per_s) for maximum_per_s in (2000.0, 2048.0, 4100.7, 1e4 / 3)}) == 1


def test_both_ends_are_confirmed_with_another_seed() -> None:
    search = searched(lambda per_s: per_s <= 10_000)
    seeds = {end: [each.seed for each in search.tested if each.offered_per_s == end] for end in ends(search)}
    assert list(seeds.values()) == [[1, 2], [1, 2]]


def test_a_rate_whose_two_runs_disagree_does_not_last_and_the_search_goes_on_below_it() -> None:
    runs: Counter[float] = Counter()

    def once(per_s: float) -> bool:
        runs[per_s] += 1
        return per_s <= 8000 or (per_s <= 10_000 and runs[per_s] == 1)

    search = searched(once)
    assert search.lasts_per_s <= 8000 <= (search.fails_per_s or 0)
    assert all(runs[end] == 2 for end in ends(search))


def test_a_rate_that_fails_once_and_lasts_once_fails() -> None:
    runs: Counter[float] = Counter()

    def later(per_s: float) -> bool:
        runs[per_s] += 1
        return per_s <= 9600 or runs[per_s] == 2

    search = searched(later)
    assert search.lasts_per_s == pytest.approx(9500)
    assert all(runs[end] == 2 for end in ends(search))


def test_a_disturbed_run_is_made_again_and_does_not_decide() -> None:
    calm, disturbed = (searched(lambda per_s: per_s <= 8000, every=every) for every in (0, 3))
    assert ends(calm) == ends(disturbed)
    assert len(disturbed.tested) > len(calm.tested)
    seeds = [(each.offered_per_s, each.seed) for each in disturbed.tested]
    assert len(set(seeds)) == len(seeds), "no run is made twice with the same keys"


def test_where_every_run_is_disturbed_the_search_ends_nevertheless() -> None:
    assert searched(lambda _: True, every=1).lasts_per_s == 0


def ends(search: Search) -> tuple[float, float]:
    assert search.fails_per_s is not None
    return search.lasts_per_s, search.fails_per_s


@pytest.mark.parametrize(
    ("total_us", "done", "lasts"),
    [
        ({500: 990, 2_000_000: 10}, None, True),
        ({500: 989, 2_000_000: 11}, None, False),
        ({500: 1000}, 999, False),
    ],
    ids=["1 % late", "more than 1 % late", "one never started"],
)
def test_what_lasts(total_us: dict[int, int], done: int | None, lasts: bool) -> None:
    tested = tried(offered(100.0, total_us, done), 100.0)
    assert tested.lasts is lasts
    assert tested.offered_per_s == 100.0


def test_what_a_rate_left_is_that_of_the_last_sample_of_the_phase() -> None:
    """Nothing is drained: a law that raises its trigger leaves in level 0 what RocksDB's estimate does not have."""
    samples = [
        sampled(at_s, l0_files=files, pending_compaction_bytes=pending)
        for at_s, files, pending in ((9.4, 30, 7), (1.0, 2, 5), (10.6, 1, 0))
    ]
    tested = tried(replace(offered(100.0, {500: 1000}), samples=tuple(samples)), 100.0)
    assert (tested.l0_files, tested.pending_compaction_bytes) == (30, 7)
    unknown = tried(offered(100.0, {500: 1000}), 100.0)
    assert (unknown.l0_files, unknown.pending_compaction_bytes) == (None, None)


def test_a_percentile_is_the_upper_end_of_its_bucket_and_never_above_the_longest() -> None:
    histogram = raw.LatencyHistogram(((1, 10, 99), (11, 100, 1)), 40)
    assert [percentile_us(histogram, share) for share in (0.5, 0.99, 0.995, 1.0)] == [10, 10, 40, 40]
