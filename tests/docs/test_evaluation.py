"""The report that is kept is what its raw results come to, to the byte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import pytest
from adocd_bench.evaluation.error_rates import seen
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.accounting import figures
from adocd_bench.evaluation.report.read import FoundResults, found_in
from adocd_bench.evaluation.report.summary import compared, summarise
from adocd_bench.evaluation.report.write import report_on
from adocd_bench.evaluation.schemes import SCHEMES

from tests.bench.kept import RESULTS, needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import off_s

KEPT = REPOSITORY / "docs" / "evaluation"


@pytest.fixture(scope="module")
def results() -> Mapping[str, FoundResults]:
    """All that is kept, by the directory's name."""
    return {directory.name: found_in(directory) for directory in sorted((RESULTS / "evaluation").iterdir())}


@needs_results
def test_the_kept_report_is_of_the_kept_raw_results_and_the_page_has_their_spreads(
    results: Mapping[str, FoundResults], tmp_path: Path
) -> None:
    report = report_on([(RESULTS / "evaluation" / name, each) for name, each in results.items()])
    report.write(tmp_path, "md")
    spreads = {row[0]: (row[2], row[4]) for row in seen(report.blocks)}
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    for measure, said in (
        ("operations/s over run, restore and drain", "{} for operations/s over run, restore and drain (at most {})"),
        ("operations/s in the phase", "{} for operations/s in the phase (at most {})"),
        ("p99 of processing latency (write)", "{} for the p99 of a write's processing (at most {})"),
        ("p99 of total latency (write)", "{} for the p99 of its total latency (at most {})"),
    ):
        assert said.format(*spreads[measure]) in page
    made = {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    kept = [KEPT / "report.md", *(KEPT / "pictures").iterdir()]
    assert {str(file.relative_to(KEPT)): file.read_text() for file in kept} == made


def test_what_scaling_changes(results: Mapping[str, FoundResults]) -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    full, small = (results[name].runs for name in ("tide-cap-210", "tide-cap-13"))

    def of(runs: Sequence[RawRun], scheme: str, value: Callable[[RawRun], float | None]) -> list[float]:
        return [found for run in runs if run.scheme.name == scheme and (found := value(run)) is not None]

    def ratio(runs: Sequence[RawRun]) -> str:
        (block,) = summarise(runs)
        schemes = {scheme.name: scheme for scheme in block.schemes}
        assert max(schemes.values(), key=lambda each: each.cells["throughput_per_s"].median).name == "tide"
        found = compared("throughput_per_s", schemes["tide"], schemes["default"]).ratio
        assert found is not None
        return f"{found.median:.2f}"

    def order(runs: Sequence[RawRun]) -> list[str]:
        (block,) = summarise(runs)
        return [each.name for each in sorted(block.schemes, key=lambda each: each.cells["throughput_per_s"].median)]

    common = set(order(small))
    assert [name for name in order(full) if name in common] == order(small)
    assert f"`tide` wrote {ratio(small)} times as much as `default`, and {ratio(full)} times at scale 1" in page
    cores = [
        median(of(runs, "tide", lambda run: (run.database.measured_cpu_s or 0.0) / run.measured_s))
        for runs in (full, small)
    ]
    assert f"program uses {cores[0]:.1f} processors under `tide`" in page
    assert f"At a sixteenth it uses {cores[1]:.2f}," in page
    waited = [
        of(runs, "tide", lambda run: 100 * (run.at_end.stalled_s or 0.0) / run.measured_s) for runs in (full, small)
    ]
    shares = [f"{min(each):.0f} to {max(each):.0f} %" for each in waited]
    assert f"writers waited {shares[0]} of the time. At a sixteenth" in page
    assert f"device takes, they waited {shares[1]}." in page
    took = [median(d.elapsed_s for run in runs for d in run.decisions if d.elapsed_s) for runs in (full, small)]
    assert f"{took[0]:.2f} s at the median at scale 1, {took[1]:.2f} s at a sixteenth" in page


def of_scheme(results: Mapping[str, FoundResults], block: str, scheme: str) -> list[RawRun]:
    found = [run for run in results[block].runs if run.scheme.name == scheme]
    assert len(found) >= (3 if block == FULL else 5)
    return found


def of_tide(results: Mapping[str, FoundResults], block: str) -> list[RawRun]:
    return of_scheme(results, block, "tide")


#: Blocks of an older law in which writes came to the slope.
SLOPE = ("adoc-cap-13", "adoc-cap-15", "trace-cap-5")
#: Blocks of today's law: made after its last change, and those in which writes never came to the slope and the ebb
#: never began.
OLDER_BOUND = ("peaks-100-cap-5", "wave-350-cap-13", "ycsb-a-cap-13", "ycsb-f-cap-13")
#: Made after 300 files became the most, so that the debt bounds level 0.
NEWER_BOUND = ("flood-cap-13", "flood-cap-15")
NEWEST = (*NEWER_BOUND, *OLDER_BOUND)
#: Of today's law, too, but they end before level 0 is full.
MINUTE = "tide-cap-210"
#: Today's law, where the debt bounds level 0, too, at fewer files where these are larger.
FULL = "flood-cap-210"
#: Today's law, into a database that has data; the free space bounds level 0.
OVERWRITE = "overwrite-cap-210"
BURSTS = "burst-cap-15"
#: Near its maximum for ten minutes, where level 0 never came to the slope.
STEADY = "long-two-phase-cap-13"
SHORT = (MINUTE, "ycsb-d-cap-13", "uncapped", BURSTS, STEADY)
UNCHANGED = ("ycsb-b-cap-13", "ycsb-c-cap-13", "ycsb-e-cap-13", "two-phase-cap-13", "peaks-cap-5")
#: In whose peaks of 10 s it did begin.
EBBED = ("peaks-cap-5",)


def test_why_the_verdict_on_the_toggle_in_the_older_sine_changed() -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    kept = sorted(found_in(RESULTS / "older" / "sine-cap-210").runs, key=lambda run: run.repetition)
    toggle, default = ([run for run in kept if run.scheme.name == name] for name in ("toggle", "default"))
    off = " and ".join(f"{off_s(run):.0f}" for run in toggle)
    writes = [figures(mine).operations / figures(its).operations for mine, its in zip(toggle, default, strict=True)]
    told = " and ".join(f"{each:.2f}" for each in writes)
    assert len({round(run.measured_s) for run in (*toggle, *default)}) > 1
    assert (
        f"compaction was off for {off} s; then our own bound ended that before the peak. The phases had unequal "
        f"lengths: it was {told} times the writes"
    ) in page
    for run in toggle:
        (ended,) = [each for each in run.decisions if each.rule == "toggle.bound"]
        assert ended.settings["auto_compaction"] == 1
        assert ended.at_s < 350 / 2, "the wave's peak is in its middle"


def test_which_runs_of_tide_are_of_todays_law(results: Mapping[str, FoundResults]) -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    told = page.partition("**Which runs of `tide` are of today's law.**")[2].partition("**The rate limiter.**")[0]
    todays, _, older = told.partition("All others are of an older law")
    names = {name for name in re.findall(r"`([a-z0-9-]+)`", todays) if name in results}
    assert names == {*NEWEST, FULL, OVERWRITE, *SHORT, *UNCHANGED}
    assert {name for name in re.findall(r"`([a-z0-9-]+)`", older) if name in results} == {
        *SLOPE,
        *EBBED,
        "tide-cap-13",
        "reads-cap-210",
    }
    assert {name for name in results if any(run.scheme.name == "tide" for run in results[name].runs)} == {
        name for name in re.findall(r"`([a-z0-9-]+)`", told) if name in results
    }
    kept = [run for block in (*UNCHANGED, *EBBED) for run in of_tide(results, block)]
    began = [run for run in kept if any(each.rule == "tide.flood" for each in run.decisions)]
    assert len(began) >= 10
    ebbed = {
        (run.workload.name, run.repetition)
        for run in began
        if any(each.rule == "tide.ebb" and each.at_s < run.measured_s for each in run.decisions)
    }
    assert Counter(workload for workload, _ in ebbed) == {"peaks-10-4kb": 4}
    assert "the peaks of 10 s in `peaks-cap-5` | how a flood ends: the ebb had begun in four of the five runs |" in told


def test_where_writes_came_to_the_slope(results: Mapping[str, FoundResults]) -> None:
    def came(block: str) -> list[bool]:
        return [
            any(each.rule == "tide.brim" and each.at_s < run.measured_s for each in run.decisions)
            for run in of_tide(results, block)
        ]

    for block in (*SLOPE, "reads-cap-210", *NEWEST, FULL, OVERWRITE):
        assert all(came(block)), block
    for block in (*UNCHANGED, "tide-cap-13", *SHORT):
        assert not any(came(block)), block


def test_that_files_and_not_time_bound_level_0_in_the_newer_blocks(results: Mapping[str, FoundResults]) -> None:
    for block in (*SLOPE, *NEWEST, *UNCHANGED):  # all that the page's paragraph names without an exception
        stops = {
            decision.settings["level0_stop_trigger"]
            for run in of_tide(results, block)
            for decision in run.decisions
            if "level0_stop_trigger" in decision.settings and decision.at_s < run.measured_s
        }
        has_readers = block.startswith(("ycsb", "peaks", "trace"))
        files = 256 if block in NEWER_BOUND else 200
        assert stops == (set() if has_readers else {files}), block


def test_that_no_block_lacks_room_for_larger_files(results: Mapping[str, FoundResults]) -> None:
    """The gate is at most half of the bound, so with 12 files there is room for more than 20 of the larger files."""
    floods = 0
    for run in (run for found in results.values() for run in found.runs if run.scheme.name == "tide"):
        larger = next((made.settings for made in run.decisions if "memtable_size" in made.settings), None)
        if larger is not None:
            floods += 1
            assert larger["level0_compaction_trigger"] >= 12, (run.block, run.repetition)
    assert floods > 100


def test_how_far_apart_the_runs_of_a_repetition_began(results: Mapping[str, FoundResults]) -> None:
    """By the page's table, which has each block in which that was more than the runs beside each other take."""
    page = (REPOSITORY / "docs" / "evaluation.md").read_text()
    section = page.partition("**Pairs that are not side by side.**")[2].partition("\n**")[0]
    told = {row[0]: row[1:] for row in re.findall(r"^\| `(\S+)` \| (\d+) \| (\d+ \w+) \|", section, re.MULTILINE)}
    for name, found in results.items():
        began: dict[tuple[str, int], list[float]] = {}
        for run in found.runs:
            began.setdefault((run.workload.name, run.repetition), []).append(run.started_unix_s)
        apart_min = max(max(each) - min(each) for each in began.values()) / 60
        at_once = max(run.at_once for run in found.runs)
        if name in told:
            apart = f"{apart_min:.0f} min" if apart_min < 300 else f"{apart_min / 60:.0f} h"
            assert told[name] == (str(at_once), apart), name
        else:
            in_turn = len({run.scheme.name for run in found.runs}) if at_once == 1 else 0
            assert apart_min < max(5.0, 10.0 * in_turn), name
    assert len(told) > 10


def test_how_much_later_schemes_with_a_limiter_begin(results: Mapping[str, FoundResults]) -> None:
    """Loading is what of a run's time is neither measured nor drained, but for some seconds that all have."""

    def later_min(*blocks: str) -> str:
        found = []
        for block in blocks:
            loaded: dict[tuple[str, bool], dict[str, list[float]]] = {}
            for run in results[block].runs:
                key = run.workload.name, SCHEMES[run.scheme.name].limiter
                took_s = run.wall_s - run.measured_s - (run.drain_s or 0.0)
                loaded.setdefault(key, {}).setdefault(run.scheme.name, []).append(took_s)
            for workload in {name for name, _ in loaded}:
                without = median(loaded[workload, False]["default"])
                found += [(median(each) - without) / 60 for each in loaded.get((workload, True), {}).values()]
        assert len(found) >= len(blocks)
        least, most = f"{min(found):.0f}", f"{max(found):.0f}"
        return least if least == most else f"{least} to {most}"

    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    short = later_min(*(f"adoc-ycsb-{letter}-cap-13" for letter in "adf"), "adoc-reads-cap-13")
    long = later_min("peaks-100-cap-5", "trace-cap-5")
    assert f"repetition: {short} minutes later in YCSB and beside readers, {long} in the peaks and the trace" in page


def test_what_adocs_drain_writes_after_the_minute(results: Mapping[str, FoundResults]) -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    adoc = [figures(run).write_amplification_drained or 0.0 for run in of_scheme(results, "tide-cap-210", "adoc")]
    assert f"after the minute, {min(adoc):.1f} to {max(adoc):.1f} times what the user wrote in all" in page


def test_what_bounds_level_0_in_the_minute(results: Mapping[str, FoundResults]) -> None:
    """The last bound of each run: before it has measured the free space for some seconds it may be the most files."""
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())

    def last(block: str) -> list[int]:
        stops = [
            [each.settings["level0_stop_trigger"] for each in run.decisions if "level0_stop_trigger" in each.settings]
            for run in of_tide(results, block)
        ]
        return sorted(each[-1] for each in stops)

    capped, bare = last(MINUTE), last("uncapped")
    assert f"where the free space bounds level 0 at {capped[0]} to {capped[-1]} files" in page
    assert f"and the uncapped minute, where it does so at {bare[0]} or {bare[-1]};" in page
    assert len(set(bare)) == 2
    all_stops = [
        each.settings["level0_stop_trigger"]
        for run in of_tide(results, FULL)
        for each in run.decisions
        if "level0_stop_trigger" in each.settings and each.at_s < run.measured_s
    ]
    assert f"at 256 files, and at 210 MB/s, where it does so at {min(all_stops)} to {max(all_stops)};" in page
    steady = sorted(
        each.settings["level0_stop_trigger"]
        for run in of_tide(results, STEADY)
        for each in run.decisions
        if each.settings.get("level0_stop_trigger", 200) != 200
    )
    assert f"after an ebb what was due bounds it at {steady[0]} to {steady[-1]};" in page
    overwriting = last(OVERWRITE)
    assert len(set(overwriting)) == 2
    assert f"the overwriting, where it does so at {overwriting[0]} or {overwriting[-1]};" in page
    bursts = last(BURSTS)
    assert f"the bursts, where it does so at {bursts[0]} to {bursts[-1]};" in page


def test_which_schemes_lack_their_twins_in_memory() -> None:
    """The page names ten blocks, one profile of `wal-cap-210` each."""
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    missing = re.findall(r"^\| (\S+) \| missing \|", (KEPT / "report.md").read_text(), re.MULTILINE)
    assert Counter(missing) == {"adoc": 5, "silk-o": 3, "tide": 2}
    assert (
        "`adoc` has none in `tide-cap-13`, `flood-cap-13`, `flood-cap-15` and `wal-cap-210`'s two profiles, `silk-o` "
        "none in `flood-cap-13`, `flood-cap-15` and `peaks-100-cap-5`, and `tide` none in `long-two-phase-cap-13` and "
        "`overwrite-cap-210`"
    ) in page


def test_where_the_share_of_others_is_recorded_as_0(results: Mapping[str, FoundResults]) -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    kept = [run for found in results.values() for run in found.runs]
    zeros = sum(not run.noise.others_cpu_fraction for run in kept)
    assert f"So it is in {zeros} of the {len(kept)} runs, and" in page


def test_what_the_page_says_of_the_newer_blocks() -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    report = (KEPT / "report.md").read_text()
    slower, faster, twins = report.split("### default-again against default, which are the same")[1:]
    told = [re.findall(r"told them apart in (\d+ of \d+) cases", each)[0] for each in (slower, faster)]
    assert (
        f"In their five pairs in `adoc-cap-13` it told them apart in {told[0]} cases, the time to drain, and in those "
        f"of `adoc-cap-15` in {told[1]} cases, the longest write"
    ) in page
    assert re.findall(r"^\| (.*) \| 5 \| (?:less|more):", faster.partition("\n## ")[0], re.MULTILINE) == [
        "max of processing latency (write)"
    ]
    pairs = re.search(r"^\| operations/s over run, restore and drain \| (\d+) \|", twins, re.MULTILINE)
    assert pairs is not None
    assert f"In {pairs[1]} undisturbed pairs of `default` against `default-again` (22 were made)" in page
    found = re.search(r"told them apart in (\d+ of \d+) cases .*: (\d+) measures .* told them apart in (\S+ %)", twins)
    assert found is not None
    fives, measures, any_five = found.groups()
    assert f"the rule told them apart in {fives} cases ({measures} measures," in page
    assert f"and in {any_five} of cases for any five pairs" in page
    log = report.partition("## The write-ahead log under the cap and outside it")[2]
    ratio = re.search(r"\| default \| operations/s over run, restore and drain \|.*: ([\d.]+) \(", log)
    assert ratio is not None
    assert f"`default` wrote more with the log under the cap: {ratio[1]} times the operations over run, restore" in page
