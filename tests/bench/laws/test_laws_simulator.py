"""The simulator against reality: the rule that judges it, what a machine is measured at, and the runs that are kept."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument, CapUnavailable, RunFailed
from adocd_bench.laws import agreement, calibration, simulator
from adocd_bench.laws.agreement import LawFigures
from adocd_bench.laws.calibration import ReadBandwidth, Speeds, WrittenUnderCap
from adocd_bench.laws.measure import LawPlan, MeasuredLaw
from adocd_bench.programs.fill import FillReport
from adocd_bench.run.observe import Tick

from adocd.model.snapshot import Event, OptionValues
from adocd.probes.log.background import Led
from adocd.probes.log.stalls import StallFound
from tests.bench.kept import RESULTS, needs_results
from tests.controllers.laws import MB, Plant


def wrote(*writes: float) -> list[LawFigures]:
    """Runs in which nothing was held."""
    return [LawFigures(each, 0.0, dict.fromkeys(("memtable", "l0", "pending_bytes"), 0.0)) for each in writes]


def held(memtable: float, l0: float, pending: float = 0.0) -> LawFigures:
    return LawFigures(1.0, 0.0, {"memtable": memtable, "l0": l0, "pending_bytes": pending})


@pytest.mark.parametrize(
    ("one", "other", "simulated", "about", "agrees"),
    [
        ((20, 30), (10, 19), (11, 10), "a > b", True),
        ((20, 30), (10, 19), (10, 11), "a > b", False),
        ((20, 30), (10, 19), (10, 10), "a > b", False),
        ((10, 19), (20, 30), (10, 11), "a < b", True),
        ((10, 19), (20, 30), (11, 10), "a < b", False),
        ((10, 20), (20, 30), (10, 10), "a = b", True),  # one figure of both is the same
        ((95, 105), (100, 101), (119, 100), "a = b", True),  # no two runs were so far apart, but a fifth is nothing
        ((95, 105), (100, 101), (100, 119), "a = b", True),
        ((95, 105), (100, 101), (121, 100), "a = b", False),
        ((95, 105), (100, 101), (100, 121), "a = b", False),
        ((10, 40), (20, 30), (19, 10), "a = b", True),  # two runs were as far apart
        ((10, 40), (20, 30), (21, 10), "a = b", False),
    ],
)
def test_laws_are_ordered_where_their_runs_do_not_overlap(
    one: tuple[float, ...], other: tuple[float, ...], simulated: tuple[float, float], about: str, agrees: bool
) -> None:
    model = dict(zip("ab", wrote(*simulated), strict=True))
    (verdict,) = agreement.laws({"a": wrote(*one), "b": wrote(*other)}, model)
    assert (verdict.about, verdict.agrees) == (about, agrees)
    assert verdict.words().endswith("agrees" if agrees else "DIFFERS")


@pytest.mark.parametrize(
    ("runs", "simulated", "agrees"),
    [
        ([(0.2, 0.1), (0.3, 0.2)], (0.02, 0.011), True),
        ([(0.2, 0.1), (0.3, 0.2)], (0.1, 0.2), False),
        ([(0.2, 0.1), (0.3, 0.2)], (0.2, 0.2), False),
        ([(0.2, 0.1), (0.2, 0.25)], (0.1, 0.2), True),  # not in every run
        ([(0.2, 0.18), (0.2, 0.19)], (0.1, 0.2), True),  # by less than a fifth
        ([(0.2, 0.0), (0.2, 0.005)], (0.2, 0.0), True),
        ([(0.2, 0.0), (0.2, 0.005)], (0.2, 0.02), False),  # a cause that there is not
        ([(0.2, 0.1), (0.2, 0.1)], (0.2, 0.005), False),  # none that there is
        ([(0.2, 0.005), (0.2, 0.02)], (0.2, 0.0), True),  # in one run of two: reality does not say
        ([(0.2, 0.005), (0.2, 0.02)], (0.2, 0.1), True),
        ([(0.2, 0.005), (0.2, 0.02)], (0.2, 0.3), False),
    ],
)
def test_causes(runs: list[tuple[float, float]], simulated: tuple[float, float], agrees: bool) -> None:
    verdict = agreement.causes("adoc", [held(*each) for each in runs], held(*simulated))
    assert verdict.agrees is agrees


def test_what_is_ranked_is_what_there_is() -> None:
    verdict = agreement.causes("adoc", [held(0.1, 0.3), held(0.1, 0.2), held(0.1, 0.2, 0.05)], held(0.0, 0.0))
    assert verdict.words() == "adoc's causes: l0 20% > memtable 10%; in the simulator none: DIFFERS"


def quiet(*events: Event) -> MeasuredLaw:
    """A run in which nothing was held."""
    plant = Plant()
    plant.members = {"events": events}
    plan, report = LawPlan("fixed", 10, "uncapped"), FillReport(50_000.0, 10.0, 500_000)
    return MeasuredLaw(plan, report, [], (Tick(plant.sample(1.0), ""),), (), OptionValues(), (), 0.25)


FLUSHES = (
    Event(1, 1.0, "flush_end", bytes=60 * MB, elapsed_s=0.5),
    Event(2, 2.0, "flush_end", bytes=60 * MB, elapsed_s=1.5),
)
COMPACTION = Event(3, 3.0, "compaction_end", read_bytes=300 * MB, written_bytes=200 * MB, elapsed_s=3.0)


def test_speeds_are_all_bytes_by_all_seconds() -> None:
    found = calibration.speeds_of(quiet(*FLUSHES, COMPACTION))
    assert found == Speeds(50_000 * 1016.0, 60.0 * MB, 100.0 * MB, 0.25)
    assert found.options() == "--rate 51 --flush-rate 60 --compaction-rate 100"
    assert (
        found.words() == "client 51 MB/s, flush 60 MB/s, compaction 100 MB/s; other programs had 25% of the processors"
    )


def test_a_run_that_was_held_measures_no_machine() -> None:
    led = Led(0, 0, 0, 0, 0, 0, None, None)
    stall = StallFound(1.0, 2.0, "memtable", "stopped", "default", led)
    with pytest.raises(RunFailed, match="delayed or stopped"):
        calibration.speeds_of(replace(quiet(*FLUSHES, COMPACTION), stalls=(stall,)))
    with pytest.raises(RunFailed, match="more --seconds"):
        calibration.speeds_of(quiet(*FLUSHES))


def test_the_middle_of_each_figure() -> None:
    several = [Speeds(1.0, 9.0, 4.0, 0.3), Speeds(2.0, 7.0, 6.0, 0.1), Speeds(3.0, 8.0, 5.0, 0.2)]
    assert calibration.middle(several) == Speeds(2.0, 8.0, 5.0, 0.2)


@pytest.mark.parametrize(
    ("written", "share"), [(1000, 1.0), (1500, 0.5), (2000, 0.0), (2100, 0.0), (990, 1.0)], ids=str
)
def test_what_of_the_wal_is_not_in_what_was_written(written: int, share: float) -> None:
    assert calibration.escaped(WrittenUnderCap(written, 1000, 1000)) == share


def test_a_group_that_wrote_nothing_counts_another_device() -> None:
    with pytest.raises(RunFailed, match="not the one that is counted"):
        calibration.escaped(WrittenUnderCap(0, 1000, 1000))


def test_without_a_cap_nothing_is_outside() -> None:
    assert calibration.wal_outside_share("uncapped") == 0.0


@pytest.mark.parametrize(("profile", "least"), [("cap-100-wal-outside", 0.5), ("cap-100", -0.2)])
def test_the_wal_of_a_real_db_bench(profile: str, least: float, native_agent_library: Path) -> None:
    """The figures make a share before it is held to 0 to 1; the file system's own journal is written, too."""
    try:
        found = calibration.written_under_cap(profile, 2)
    except CapUnavailable as refused:  # test_cap.py has what is said then
        pytest.skip(str(refused))
    assert found.tables_bytes > MB
    # Each record is in the WAL at once and in a table later, which has an index beside them.
    assert found.wal_bytes == pytest.approx(found.tables_bytes, rel=0.2)
    outside = 1 - (found.device_bytes - found.tables_bytes) / found.wal_bytes
    assert least < outside < 1.1
    assert calibration.escaped(found) == pytest.approx(outside, abs=0.1)


def test_a_log_that_is_synced_is_under_the_cap_of_a_device_of_its_own(native_agent_library: Path) -> None:
    """The kernel need not write back what is deleted before; but what is synced reaches the device, or escapes it."""
    try:
        found = calibration.written_under_cap("cap-100", 2, syncs=True)
    except CapUnavailable as refused:  # test_cap.py has what is said then
        pytest.skip(str(refused))
    assert found.wal_bytes > 0
    assert found.device_bytes - found.tables_bytes > 0.8 * found.wal_bytes


def test_what_the_disk_reads_under_a_cap() -> None:
    """A cap is by way: with 20 MB/s each no more than twice that together, and some more that a period grants at once.

    Where nothing can be capped (test_cap.py has what is said then) the disk is measured as it is.
    """
    try:
        found, most = calibration.bandwidth("cap-20", 1), 1.5 * 20e6
    except CapUnavailable:
        found, most = calibration.bandwidth("uncapped", 1), math.inf
    assert 0 < found.read_bytes_per_s < most
    assert 0 < found.mixed_bytes_per_s < 2 * most
    assert re.fullmatch(r"--read-rate \d+ --mixed-rate \d+", found.options())


def kept() -> simulator.RealRuns:
    run = simulator.RealRun("fixed", "cap-100", 1, 60.0, {"max_background_jobs": "2"}, wrote(40_000.0)[0])
    speeds, bandwidth = Speeds(60e6, 150e6, 100e6, 0.1), ReadBandwidth(90e6, 170e6)
    return simulator.RealRuns((speeds,), {"cap-100": 1.0}, {"cap-100": bandwidth}, (run,))


def test_what_is_kept_is_read(tmp_path: Path) -> None:
    simulator.write(tmp_path / "runs.json", kept())
    assert simulator.read(tmp_path / "runs.json") == kept()


def test_a_file_that_has_no_runs(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="cannot be read"):
        simulator.read(tmp_path / "runs.json")
    (tmp_path / "runs.json").write_text("[]")
    with pytest.raises(BadArgument, match="has no runs"):
        simulator.read(tmp_path / "runs.json")
    with pytest.raises(BadArgument, match=r"cannot be written .*: choose another --keep"):
        simulator.write(tmp_path / "runs.json" / "runs.json", kept())


def test_the_simulator_is_told_what_was_measured() -> None:
    asked = simulator.asked(kept().runs[0], kept())
    assert (asked.rate_bytes_per_s, asked.flush_bytes_per_s, asked.compaction_bytes_per_s) == (60e6, 150e6, 100e6)
    assert (asked.wal_outside_share, asked.profile, asked.options) == (1.0, "cap-100", {"max_background_jobs": "2"})
    assert (asked.read_bytes_per_s, asked.mixed_bytes_per_s) == (90e6, 170e6)
    asked = simulator.asked(kept().runs[0], kept().unmeasured())
    assert (asked.read_bytes_per_s, asked.mixed_bytes_per_s) == (None, math.inf), "a cgroup caps each way by itself"
    assert (asked.rate_bytes_per_s, asked.flush_bytes_per_s, asked.compaction_bytes_per_s) == (None, None, None)
    assert asked.wal_outside_share == 0.0
    assert 0.5 * 60e6 / 1016 < simulator.models(kept())["cap-100", "fixed"].writes_per_s <= 60e6 / 1016


#: What docs/laws-proof.md says of the runs it keeps: on what the simulator parts from reality.
PARTED: dict[str, set[str]] = {
    "cap-50-cap-25.json": set(),
    "cap-50-cap-25-busy.json": {"cap-50: fixed's causes"},
    "cap-50-cap-25-quiet.json": set(),
}


@needs_results
@pytest.mark.parametrize("name", PARTED)
def test_the_simulator_agrees_with_the_runs_that_are_kept(name: str) -> None:
    """The model is deterministic, so a change that turns an order round shows here."""
    runs = simulator.read(RESULTS / "laws-proof" / name)
    judged = simulator.verdicts(runs, simulator.models(runs))
    assert {len(of_it) for of_it in judged.values()} == {6}, "three pairs and three laws' causes"
    parted = {f"{profile}: {each.about}" for profile, of_it in judged.items() for each in of_it if not each.agrees}
    assert parted == PARTED[name]
