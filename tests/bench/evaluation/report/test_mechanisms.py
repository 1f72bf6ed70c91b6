"""A claim rests on runs in which its law acted; what the kept raw results say to that."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from adocd_bench.evaluation.raw import Noise, RawRun, Sampled, Second
from adocd_bench.evaluation.report import floors
from adocd_bench.evaluation.report.acting import Acted, acted
from adocd_bench.evaluation.report.claims import Compares, FigureBound, Keeps, Where
from adocd_bench.evaluation.report.coverage import coverage
from adocd_bench.evaluation.report.mechanisms import MECHANISMS
from adocd_bench.evaluation.report.papers import CLAIMS
from adocd_bench.evaluation.report.points import ClaimPoint, Judgement, judge
from adocd_bench.evaluation.report.read import found_in
from adocd_bench.evaluation.report.summary import Block, summarise
from adocd_bench.evaluation.schemes import SCHEMES

from adocd.model.knob import Knob
from tests.bench.evaluation.report.builders import (
    MACHINE,
    acting,
    block,
    held,
    moved,
    run,
    sampled,
    stalling,
    turned,
    used,
)
from tests.bench.kept import RESULTS, needs_results

FASTER = ClaimPoint("s", "q", "c", Compares("adoc", "default", "throughput_per_s", True, Where(("fillrandom",))))


def runs(adoc: Sequence[int] = (1600, 1610, 1590, 1600, 1605)) -> list[RawRun]:
    return stalling("default", (1000, 1010, 990, 1000, 1005), (2.0,) * 5) + stalling("adoc", adoc, (0.0,) * 5)


def test_the_table_names_schemes_and_knobs_that_there_are() -> None:
    for name, mechanism in MECHANISMS.items():
        assert name.partition(",")[0] in SCHEMES
        assert mechanism.workload
        for part in mechanism.needed:
            assert set(part.knobs) <= set(Knob)
            assert min(part.least, *part.least_in.values(), 1.0) > 0
    laws = {name for name, scheme in SCHEMES.items() if scheme.policy != "fixed" or scheme.auto_tuned}
    assert laws <= MECHANISMS.keys(), "every law has a mechanism"


def test_a_law_that_did_nothing_gets_no_verdict_however_much_faster_it_was() -> None:
    (finding,) = judge(FASTER, summarise(runs())).findings
    assert finding.verdict == "did not act"
    assert finding.ours.endswith("adoc did not act: threads or batch were moved for 0 % of the phase, 50 % needed")
    assert judge(FASTER, summarise(runs((500, 510, 490, 500, 505)))).verdict == "did not act"


def test_a_law_that_acted_too_late_or_too_briefly_did_not_act() -> None:
    def with_one(at_s: float) -> str:
        decided = [replace(each, decisions=(turned(at_s, batch_size=1),)) for each in runs()]
        return judge(FASTER, summarise(decided)).verdict

    assert [with_one(at_s) for at_s in (4.9, 5.1, 10.5)] == ["reproduced", "did not act", "did not act"]


def test_runs_in_which_it_did_not_act_are_left_out() -> None:
    kept = [
        replace(each, decisions=()) if each.scheme.name == "adoc" and each.repetition == 1 else each
        for each in acting(runs((10, 1610, 1590, 1600, 1605)))
    ]
    (finding,) = judge(FASTER, summarise(kept)).findings
    assert finding.verdict == "direction", "four pairs are left"
    assert finding.ours.startswith("adoc 1,602 (1,590 .. 1,610), default 1,000 (990 .. 1,010)")
    assert "; adoc applied adoc.rule; 4 of 5 pairs count, without repetition 1: adoc did not act" in finding.ours
    one = [replace(each, decisions=()) if each.repetition < 5 else each for each in kept]
    assert judge(FASTER, summarise(one)).verdict == "not shown", "one run is left"


def test_a_verdict_says_how_many_pairs_it_rests_on_and_why_the_others_do_not_count() -> None:
    """Seven pairs of which five acted looked like five."""
    of = (1600, 1610, 1590, 1600, 1605, 1600, 1600)
    made = acting(
        stalling("default", (1000, 1010, 990, 1000, 1005, 1000, 1000), (2.0,) * 7) + stalling("adoc", of, (0.0,) * 7)
    )
    assert "count" not in judge(FASTER, summarise(made)).findings[0].ours, "all do"
    some = [
        replace(each, decisions=()) if each.scheme.name == "adoc" and each.repetition in (2, 6) else each
        for each in made
    ]
    (finding,) = judge(FASTER, summarise(some)).findings
    assert finding.verdict == "reproduced"
    idle = "adoc did not act (threads or batch were moved for 0 % of the phase, 50 % needed)"
    assert finding.ours.endswith(f"; 5 of 7 pairs count, without repetition 2, 6: {idle}")
    others: dict[tuple[str, int], dict[str, Any]] = {
        ("default", 1): {"noise": Noise(0.3)},
        ("default", 3): {"machine": replace(MACHINE, kernel="6.2.0")},
    }
    mixed = [
        replace(each, **others.get((each.scheme.name, each.repetition), {}))
        for each in some
        if (each.scheme.name, each.repetition) != ("adoc", 5)
    ]
    (finding,) = judge(FASTER, summarise(mixed)).findings
    assert finding.ours.endswith(
        "; 2 of 7 pairs count, without repetition 1: default was disturbed (others had 30 % of the processors); "
        f"repetition 2, 6: {idle}; repetition 3: different kernels; repetition 5: adoc has no run"
    )


def test_a_verdict_on_single_runs_says_how_many_there_are() -> None:
    kept = ClaimPoint("s", "q", "c", Keeps("adoc", (FigureBound("throughput_per_s", True, 1500),), FASTER_WHERE))
    made = [
        replace(each, noise=Noise(0.3)) if each.scheme.name == "adoc" and each.repetition == 4 else each
        for each in acting(runs())
    ]
    (finding,) = judge(kept, summarise(made)).findings
    assert finding.ours.endswith(
        "; 4 of 5 runs count, without repetition 4: adoc was disturbed (others had 30 % of the processors)"
    )


def test_a_point_can_ask_for_more_than_its_scheme_does() -> None:
    both = replace(FASTER, needs={"adoc": "adoc, both knobs"})
    batch = [replace(each, decisions=(turned(0.1, batch_size=1),)) for each in runs()]
    assert judge(FASTER, summarise(batch)).verdict == "reproduced"
    assert judge(both, summarise(batch)).verdict == "did not act"
    assert judge(both, summarise(acting(runs()))).verdict == "reproduced"


def test_options_at_open_need_no_law() -> None:
    raised = ClaimPoint("s", "q", "c", Compares("limits-raised", "default", "throughput_per_s", True, FASTER_WHERE))
    found = judge(
        raised,
        summarise(
            block(
                {"default": (100, 101, 102, 101, 100), "limits-raised": (200, 201, 202, 203, 202)}, stalls=[held(2.0)]
            )
        ),
    )
    assert found.verdict == "reproduced"


FASTER_WHERE = Where(("fillrandom",))
#: Of the kept runs, and of those that are made up here.
BEYOND = "its floor of 1.25 MB/s does not flush the 2 MB/s written in the peaks"


def at_the_floor(repetition: int, *, floor: int = 1_250_000, below: int = 5, **parameters: object) -> RawRun:
    """SILK at 5 MB/s: 200 operations/s arrive in the first and last two seconds, 1,000 in the six between them.

    Half are writes of 4,000 bytes: 2 MB/s in the peak. The limiter is at its floor in the first `below` of its seconds.
    """
    offered = [200 if at_s in (0, 1, 8, 9) else 1000 for at_s in range(10)]
    limits = [4_000_000 if at_s < 2 or at_s >= 2 + below else floor for at_s in range(10)]
    given = {"bandwidth_bytes_per_s": 5_000_000, **parameters}
    silk = used("silk", rate_limiter_bytes_per_s=5_000_000, parameters=given)
    done = run("silk", repetition, workload="peaks-100-4kb", profile="cap-5", per_s=680, offered_per_s=680)
    return replace(
        done,
        scheme=silk,
        seconds=tuple(Second(at_s, each // 2, each // 2, each) for at_s, each in enumerate(offered)),
        samples=tuple(_sample(at_s, limit) for at_s, limit in enumerate(limits)),
        at_end=moved(6800 * 2000),
        decisions=(turned(0.1, "silk.peak", rate_limit=floor, level_base_size=1),),
    )


def _sample(at_s: int, rate_limit: int) -> Sampled:
    return sampled(at_s + 0.5, rate_limit_bytes_per_s=rate_limit)


def test_a_floor_that_does_not_flush_what_the_peaks_write_is_told() -> None:
    assert floors.unmet(at_the_floor(1)) == BEYOND
    assert floors.unmet(at_the_floor(1, below=1)) == BEYOND
    assert floors.unmet(at_the_floor(1, below=0)) is None, "the limiter never was at its floor in a peak"
    assert floors.unmet(at_the_floor(1, floor=3_000_000, floor_bytes_per_s=3_000_000)) is None


def test_what_is_not_known_of_a_floor_breaks_no_rule() -> None:
    known = at_the_floor(1)
    assert floors.unmet(replace(known, scheme=replace(known.scheme, parameters={}))) is None
    assert floors.unmet(replace(known, samples=())) is None
    assert floors.unmet(replace(known, seconds=())) is None
    assert floors.unmet(replace(known, operations=())) is None
    assert floors.unmet(replace(known, at_end=replace(known.at_end, user_written_bytes=None))) is None
    assert floors.unmet(replace(known, workload=replace(known.workload, offered_per_s=None))) is None


def test_a_load_beyond_silks_floor_says_nothing_of_silk() -> None:
    """Not that it is refuted: the paper presumes that the floor flushes what clients write (5.2.2)."""
    fives = range(1, 6)
    blocks = summarise(at_the_floor(repetition) for repetition in fives)
    points = [point for claim in CLAIMS for point in claim.points]
    (sustains,) = [each for each in points if "keeping tail latency low" in each.sentence]
    found = judge(sustains, blocks)
    why = f"silk did not act: its precondition is not met: {BEYOND}"
    assert (found.verdict, found.findings[0].why) == ("did not act", why)
    (covered,) = [
        each
        for each in coverage([judge(point, blocks) for point in points], blocks)
        if (each.shown.paper, each.shown.label) == ("SILK", "figure 8B")
    ]
    assert f"{sustains.claims}: did not act ({why})" in covered.why
    flushed = [at_the_floor(repetition, floor=3_000_000, floor_bytes_per_s=3_000_000) for repetition in fives]
    assert judge(sustains, summarise(flushed)).verdict != "did not act"


@functools.cache
def kept(directory: str) -> tuple[RawRun, ...]:
    """Read the runs of a directory of the evaluation, or of an older one in which a law did not act."""
    return found_in(RESULTS / directory).runs


def done(directory: str, scheme: str) -> list[Acted]:
    found = [acted(run) for run in kept(directory) if run.scheme.name == scheme]
    assert len(found) == 2
    return found


def judged(directory: str, *schemes: str) -> list[Judgement]:
    """Judge all points that are about one of these schemes first, and that the kept block speaks to."""
    points = [
        point for claim in CLAIMS for point in claim.points if point.rule.schemes()[:1] in [(s,) for s in schemes]
    ]
    return held_against(directory, points)


def judged_of_bounded_toggle(directory: str) -> list[Judgement]:
    """Judge what the thesis says of its toggle, which has no bounds, for the one with ours, which these blocks have."""
    rules = [
        (point, replace(point.rule, scheme="toggle"))
        for claim in CLAIMS
        for point in claim.points
        if isinstance(point.rule, Compares) and point.rule.scheme == "toggle-without-bounds"
    ]
    return held_against(directory, [replace(point, rule=rule) for point, rule in rules])


def held_against(directory: str, points: list[ClaimPoint]) -> list[Judgement]:
    blocks: tuple[Block, ...] = summarise(kept(directory))
    found = [each for point in points if (each := judge(point, blocks)).findings]
    assert found
    return found


@needs_results
def test_the_toggle_of_30_s_only_prepared() -> None:
    for found in done("older/quick", "toggle"):
        assert {each.rule for each in found.of("phase")} == {"toggle.prepared", "actuator.repeat"}
        assert {"toggle.off", "toggle.on"} <= {each.rule for each in found.of("after")}
        (off,) = [each for each in found.of("after") if each.rule == "toggle.off"]
        assert 30.0 < off.first_s < 31.0
        assert found.away_share("auto_compaction") == 0
        assert found.away_share("memtable_number") == pytest.approx(found.controlled_share)
    assert {each.verdict for each in judged_of_bounded_toggle("older/quick")} == {"did not act"}


@needs_results
def test_the_toggle_in_the_sine_ended_before_the_peak() -> None:
    off_s = [found.away_share("auto_compaction") * found.phase_s for found in done("older/sine-cap-210", "toggle")]
    assert [round(each) for each in sorted(off_s)] == [40, 52]
    found = judged_of_bounded_toggle("older/sine-cap-210")
    assert {each.verdict for each in found} == {"did not act"}
    assert all("25 % needed" in each.findings[0].ours for each in found)


@needs_results
def test_silk_moved_its_limiter_in_the_peaks_and_held_nothing() -> None:
    for found in done("older/peaks-cap-100", "silk"):
        assert [knob.knob for knob in found.knobs] == ["rate_limit"]
    for found in done("older/peaks-cap-100", "silk-hold"):
        assert (found.of("phase"), found.controlled_share) == ((), 0)
    verdicts = {each.verdict for each in judged("older/peaks-cap-100", "silk", "silk-hold", "silk-bandwidth")}
    assert verdicts == {"did not act"}


@needs_results
def test_the_peaks_write_more_than_silks_floor_flushes() -> None:
    by_scheme: dict[str, set[str | None]] = {}
    for each in kept("evaluation/peaks-100-cap-5"):
        by_scheme.setdefault(each.scheme.name, set()).add(floors.unmet(each))
    assert by_scheme.pop("silk") == by_scheme.pop("silk-bandwidth") == {BEYOND}
    assert by_scheme.pop("silk-hold") == {None}, "without a limiter there is no floor"
    assert by_scheme.pop("silk-floor") == {None}
    assert {floors.unmet(each) for each in kept("older/peaks-cap-100")} == {None}, "there clients write less"
    # So what the paper says of SILK is judged by silk-floor, and of the limiter alone by that with the same floor.
    verdicts = [each.verdict for each in judged("evaluation/peaks-100-cap-5", "silk", "silk-bandwidth", "silk-hold")]
    assert verdicts == ["not reproduced here", "reproduced", "reproduced", "reproduced"]


@needs_results
def test_a_call_that_waited_for_the_end_of_a_stop_kept_silk_from_its_limiter() -> None:
    runs = [
        run
        for block in ("peaks-100-cap-5", "peaks-cap-5", "trace-cap-5")
        for run in kept(f"evaluation/{block}")
        if run.scheme.name == "silk"
    ]
    waited = [max(each.elapsed_s or 0.0 for each in run.decisions if each.at_s >= 0) for run in runs]
    longest = [longest_without_a_write_s(run) for run in runs]
    assert len(runs) == 20
    assert sorted(seconds for seconds, call_s in zip(longest, waited, strict=True) if call_s > 10) == [
        33,
        47,
        49,
        50,
        53,
        54,
    ]
    assert max(seconds for seconds, call_s in zip(longest, waited, strict=True) if call_s <= 10) == 9


def longest_without_a_write_s(run: RawRun) -> int:
    return max(len(list(seconds)) for wrote, seconds in groupby(run.seconds, lambda each: each.writes > 0) if not wrote)


@needs_results
def test_adoc_moved_no_thread_so_nothing_is_said_of_both_knobs() -> None:
    for found in done("older/fillrandom-cap-210", "adoc"):
        assert [knob.knob for knob in found.knobs] == ["batch_size"]
        assert found.controlled_share > 0.9
    blocks = summarise(kept("older/fillrandom-cap-210"))
    halves = [each for point in CLAIMS[1].points if (each := judge(point, blocks)).findings]
    assert len(halves) == 6
    assert {each.verdict for each in halves} == {"did not act"}
    (first, *_) = [judge(point, blocks) for point in CLAIMS[0].points]
    assert "adoc applied adoc.memory" in first.findings[0].ours
