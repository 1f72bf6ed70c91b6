"""The searches for rates with runs that are made up: what is run, what is kept, and what others are kept from."""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from adocd_bench.cli import bench
from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation import raw, runs
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.lanes import Lanes
from adocd_bench.evaluation.loads.generated import GeneratedLoad
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.evaluation.one import MayBegin, OnLook, WantedRun
from adocd_bench.evaluation.plan import Planned, RunsAsked
from adocd_bench.evaluation.progress import RunsProgress
from adocd_bench.evaluation.search import rates
from adocd_bench.evaluation.search.maximum import Maximum
from adocd_bench.evaluation.search.sustained import Search, TriedRate, searches_in
from adocd_bench.evaluation.setting import RunSite
from adocd_bench.host.device import DeviceProfile
from adocd_bench.programs.native import NativeProgram
from adocd_bench.results import results_in
from rich.console import Console

from adocd.cli.exits import Exit, Failure
from tests.bench.evaluation.builders import run_of

ASKED = RunsAsked(("default", "stability", "tide"), ("cap-50",), ("two-phase",), 60, 1, at_once=3)
BLOCK = "cap-50-two-phase"
#: Operations/s of the testing phases, by seed.
CLOSED = {1: 900.0, 2: 1100.0, 3: 1000.0, 4: 2000.0, 5: 500.0}
SILENT = Console(file=io.StringIO())


@dataclass
class Site:
    """A place where 1200 operations/s last, except that some runs are disturbed or fail."""

    lanes: Lanes = field(default_factory=lambda: Lanes(3))
    room_bytes: int = 20_000_000_000
    #: So many runs of a seed, or under a scheme, that others disturb, and that fail.
    disturbed: dict[int | str, int] = field(default_factory=dict)
    failing: dict[int | str, int] = field(default_factory=dict)
    interrupted_after: int | None = None
    made: list[tuple[str, int, float | None]] = field(default_factory=list)
    together: threading.Barrier | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def circumstances(self, profile: DeviceProfile, scale: int) -> Circumstances:
        """Say what RunSite.circumstances says."""
        return Circumstances(scale, profile.write_bytes_per_s, profile.write_bytes_per_s)

    def run(
        self,
        wanted: WantedRun,
        load: LoadProgram,
        on_look: OnLook,  # noqa: ARG002
        may_begin: MayBegin = lambda: True,  # noqa: ARG002
    ) -> raw.RawRun:
        """Make up a run, as RunSite.run makes one."""
        assert isinstance(load, GeneratedLoad)
        assert not load.drained or wanted.workload.offered_per_s == pytest.approx(950)
        per_s, name = wanted.workload.offered_per_s, wanted.scheme.name
        if self.together is not None and per_s is None and wanted.seed <= self.lanes.count:
            self.together.wait(30)
        with self.lock:
            if len(self.made) == self.interrupted_after:
                raise KeyboardInterrupt
            self.made.append((name, wanted.seed, per_s))
            key = wanted.seed if per_s is None else name
            if _takes_one(self.failing, key):
                raise RunFailed("the disk was too small")
            noise = raw.Noise(0.5 if _takes_one(self.disturbed, key) else 0.0)
        done = CLOSED.get(wanted.seed, 1000.0) if per_s is None else per_s
        late = noise.others_cpu_fraction > 0 or done > 1200
        count = round(10 * done)
        histogram = raw.LatencyHistogram(((5_000_000, 5_000_000, count) if late else (100, 100, count),), 5_000_000)
        total = None if per_s is None else histogram
        return replace(run_of(wanted, (raw.Operations("write", count, histogram, total, total),)), noise=noise)


def _takes_one(left: dict[int | str, int], key: int | str) -> bool:
    left[key] = left.get(key, 0) - 1
    return left[key] >= 0


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is real."""
    monkeypatch.setattr(NativeProgram, "find_or_build", lambda *_: Path("/usr/bin/adocd-load"))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site()

    @contextlib.contextmanager
    def setting(*_: object) -> Iterator[Site]:
        yield made

    monkeypatch.setattr(runs, "setting", setting)
    return made


def maximum(site: Site, out: Path, asked: RunsAsked = ASKED) -> Maximum:
    run = Planned("default", "cap-50", "two-phase", 1, asked.seed)
    return rates.find_maximum(cast(RunSite, site), asked, run, out, SILENT)


def lasting(out: Path, asked: RunsAsked = ASKED) -> runs.Lasting:
    return runs.search_sustainable(asked, out, None, SILENT)


def test_the_maximum_is_the_median_of_five_phases_made_in_all_lanes(tmp_path: Path) -> None:
    site = Site(together=threading.Barrier(3))
    assert maximum(site, tmp_path).per_s == 1000
    assert sorted(site.made) == [("default", seed, None) for seed in CLOSED]
    kept = [raw.read(file) for file in results_in(tmp_path / "searches" / f"{BLOCK}-maximum")]
    assert sorted(run.seed for run in kept) == [1, 2, 3, 4, 5]
    again = Site()
    assert maximum(again, tmp_path).per_s == 1000
    assert not again.made


def test_a_phase_that_others_disturbed_is_made_once_more_and_then_kept_with_its_noise(tmp_path: Path) -> None:
    site = Site(disturbed={2: 1, 4: 2})
    found = {phase.seed: phase.disturbed for phase in maximum(site, tmp_path).phases}
    assert sorted(seed for _, seed, _ in site.made) == [1, 2, 2, 3, 4, 4, 5]
    assert found == {1: (), 2: (), 3: (), 4: ("others had 50 % of the processors",), 5: ()}
    assert len(results_in(tmp_path / "searches" / f"{BLOCK}-maximum")) == 7


def test_a_phase_that_fails_leaves_the_others_and_is_made_again(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"1 testing phases of cap-50-two-phase failed, .*: the disk was too small"):
        maximum(Site(failing={1: 1}), tmp_path)
    again = Site()
    assert maximum(again, tmp_path).per_s == 1000
    assert [seed for _, seed, _ in again.made] == [1]


@pytest.mark.parametrize(
    ("change", "room_bytes", "sentence"),
    [
        ({"seed": 2}, 20_000_000_000, "was made with --seed 1, not 2: give the same options to go on"),
        ({"at_once": 1}, 20_000_000_000, "was made with --at-once 3, not 1: "),
        ({"seconds": 90, "scale": 2}, 20_000_000_000, "was made with --seconds 60, not 90, and --scale 1, not 2: "),
        ({}, 9_000_000_000, "was made with a device of 20.00 GB, not 9.00 GB: "),
    ],
    ids=["seed", "at once", "seconds and scale", "device"],
)
def test_what_was_kept_under_other_conditions_is_refused(
    site: Site, tmp_path: Path, change: dict[str, int], room_bytes: int, sentence: str
) -> None:
    lasting(tmp_path)
    site.room_bytes = room_bytes
    other = replace(ASKED, **change)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=f"maximum/{BLOCK}.json {sentence}"):
        maximum(site, tmp_path, other)
    (tmp_path / "maximum" / f"{BLOCK}.json").unlink()
    with pytest.raises(BadArgument, match=rf"sustainable/{BLOCK}-\w+.json {sentence}"):
        lasting(tmp_path, other)


def test_runs_of_two_phases_are_offered_95_percent_of_the_median(site: Site, tmp_path: Path) -> None:
    done = runs.carry_out(replace(ASKED, repeat=2), tmp_path, None, SILENT)
    assert (done.made, done.failed) == (6, {})
    offered = [per_s for _, _, per_s in site.made if per_s is not None]
    assert offered == pytest.approx([0.95 * statistics.median(CLOSED.values())] * 6)


def test_each_tried_run_is_kept_apart_from_those_that_are_compared(site: Site, tmp_path: Path) -> None:
    found = lasting(tmp_path).searches[f"{BLOCK}-tide"]
    assert found.lasts_per_s <= 1200 <= (found.fails_per_s or 0)
    kept = [raw.read(file) for file in results_in(tmp_path / "searches" / f"{BLOCK}-tide")]
    assert [run.workload.offered_per_s for run in kept] == pytest.approx([each.offered_per_s for each in found.tested])
    assert [run.seed for run in kept] == [each.seed for each in found.tested]
    assert not (tmp_path / "runs").exists()
    assert site.made.count(("default", 1, None)) == 1


def test_a_disturbed_run_does_not_decide_a_search(site: Site, tmp_path: Path) -> None:
    site.disturbed = {"tide": 1}
    found = lasting(tmp_path).searches
    disturbed, calm = found[f"{BLOCK}-tide"], found[f"{BLOCK}-stability"]
    assert disturbed.tested[0].disturbed == ("others had 50 % of the processors",)
    assert (disturbed.tested[1].offered_per_s, disturbed.tested[1].seed) == (disturbed.tested[0].offered_per_s, 2)
    assert disturbed.lasts_per_s == calm.lasts_per_s > 0
    assert len(disturbed.tested) == len(calm.tested) + 1


def test_a_search_that_was_interrupted_goes_on_at_the_next_rate(site: Site, tmp_path: Path) -> None:
    asked = replace(ASKED, schemes=("default",), at_once=1)
    site.lanes, site.interrupted_after = Lanes(), 8
    with pytest.raises(KeyboardInterrupt):
        lasting(tmp_path, asked)
    site.interrupted_after = None
    found = lasting(tmp_path, asked).searches[f"{BLOCK}-default"]
    tried = [made for made in site.made if made[2] is not None]
    assert len(tried) == len(set(tried)) == len(found.tested)


def test_a_search_that_fails_leaves_the_others_and_goes_on_later(site: Site, tmp_path: Path) -> None:
    site.failing = {"stability": 1}
    first = lasting(tmp_path)
    assert first.failed == {f"{BLOCK}-stability": "the disk was too small"}
    finished = [name for name, search in first.searches.items() if search.next_trial is None]
    assert sorted(finished) == [f"{BLOCK}-default", f"{BLOCK}-tide"]
    assert searches_in(tmp_path)[f"{BLOCK}-stability"].failed == "the disk was too small"
    made = len(site.made)
    second = lasting(tmp_path)
    assert not second.failed
    assert {name for name, _, _ in site.made[made:]} == {"stability"}
    assert second.searches[f"{BLOCK}-stability"].failed is None


def test_without_a_maximum_of_one_block_the_others_are_searched(site: Site, tmp_path: Path) -> None:
    site.failing, site.lanes = {1: 1}, Lanes()
    found = lasting(tmp_path, replace(ASKED, profiles=("cap-50", "cap-25"), at_once=1))
    assert list(found.failed) == ["cap-50-two-phase-maximum"]
    assert {name.partition("-two-phase")[0] for name in found.searches} == {"cap-25"}


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_tells_what_lasts_and_fails_with_the_first_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    made = Search(60, 1, 1000.0)
    while (trial := made.next_trial) is not None:
        tested = TriedRate(trial[0], trial[0], 900, True, trial[1])
        made = replace(made, tested=(*made.tested, tested))
    both = {"a-tide": made, "a-default": Search(60, 1, 1000.0, failed="no memory")}
    monkeypatch.setattr(bench, "find_or_build_agent", lambda: None)
    monkeypatch.setattr(runs, "search_sustainable", lambda *_: runs.Lasting(both, {"a-default": "no memory"}))
    with pytest.raises(Failure, match="1 of the searches failed, the first of them a-default: no memory") as caught:
        bench.sustainable_command(tmp_path, as_json=as_json)
    assert caught.value.code == Exit.FAILED
    said = capsys.readouterr().out
    if as_json:
        assert set(json.loads(said)) == set(both)
    else:
        assert said == "a-tide: at least 4,000 operations/s last, 400 % of the maximum of 1,000\n"


def test_a_search_that_takes_more_runs_than_were_expected_still_takes_some_time() -> None:
    progress = RunsProgress(SILENT, 1, 60)
    for name in ("expected", "more", "still more"):
        with progress.run(name):
            assert progress.left_s > 0
