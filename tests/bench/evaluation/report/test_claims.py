"""The claims' verdicts, each way; and that every point names what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from adocd_bench.evaluation.raw import LatencyHistogram, Noise, Operations, RawRun, RawStall, Second
from adocd_bench.evaluation.report.claims import ClaimRule, Compares, Exceeds, FigureBound, Keeps, Where
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.papers import CLAIMS
from adocd_bench.evaluation.report.points import ClaimPoint, judge
from adocd_bench.evaluation.report.summary import summarise
from adocd_bench.evaluation.search.sustained import Search, TriedRate

from tests.bench.evaluation.report.builders import acting, at, block, held, run, stalling

FILL = Where(("fillrandom",))
FASTER = Compares("adoc", "default", "throughput_per_s", True, FILL, {"cap-210": 1.5})
#: The default's operations/s in five repetitions.
FIVE = (1000, 1010, 990, 1000, 1005)
SAME = (1001, 1011, 991, 1001, 1006)
POINTS = {(number, point.claims): point for number, claim in enumerate(CLAIMS, 1) for point in claim.points}


def verdict(rule: ClaimRule, runs: Sequence[RawRun]) -> str:
    """Judge runs in which every law acted."""
    return judge(ClaimPoint("s", "q", "c", rule), summarise(acting(runs))).verdict


def against(
    adoc: Sequence[int], default: Sequence[int], stalled_s: float = 2.0, profile: str = "cap-210"
) -> list[RawRun]:
    still = [stalled_s] * len(default)
    return stalling("default", default, still, profile=profile) + stalling(
        "adoc", adoc, [0.0] * len(adoc), profile=profile
    )


@pytest.mark.parametrize(
    ("adoc", "default", "stalled_s", "expected"),
    [
        ((1600, 1610, 1590, 1600, 1605), FIVE, 2.0, "reproduced"),
        ((1200, 1210, 1190, 1200, 1205), FIVE, 2.0, "smaller"),
        ((700, 710, 690, 700, 705), FIVE, 2.0, "refuted"),
        (SAME, FIVE, 2.0, "not reproduced here"),  # the same
        ((1500, 900, 1000, 700, 1400), FIVE, 2.0, "not shown"),  # neither a difference nor the same
        ((1600, 1610, 1590, 1600, 1605), FIVE, 0.01, "not shown"),  # there was nothing to win
        ((1600, 1610, 1590, 1600), FIVE, 2.0, "direction"),
        ((1600, 1610, 1590), FIVE, 2.0, "direction"),
        ((700, 710, 690, 700), FIVE, 2.0, "opposite direction"),
        ((1001, 1011, 991, 1001), FIVE, 2.0, "not shown"),
        ((1600, 1610), FIVE, 2.0, "not shown"),
        ((1600,), (1000,), 2.0, "not shown"),
    ],
)
def test_comparing(adoc: Sequence[int], default: Sequence[int], stalled_s: float, expected: str) -> None:
    assert verdict(FASTER, against(adoc, default, stalled_s)) == expected


def test_our_figures_and_the_reason_are_told() -> None:
    found = judge(ClaimPoint("s", "q", "c", FASTER), summarise(acting(against((1600, 1620), (1000, 1000), 0.01))))
    (finding,) = found.findings
    assert finding.block == "cap-210-fillrandom"
    assert "adoc 1,610 (1,600 .. 1,620), default 1,000; too few pairs: 1.61 (1.6 .. 1.62) times" in finding.ours
    assert "the baseline was held 0.1 % of the time" in finding.ours


def test_disturbed_runs_show_nothing() -> None:
    runs = [replace(each, noise=Noise(0.5)) for each in against((1600,) * 5, FIVE)]
    (finding,) = judge(ClaimPoint("s", "q", "c", FASTER), summarise(acting(runs))).findings
    assert finding.verdict == "not shown"
    assert "fewer than 5 repetitions of adoc and default count" in finding.ours


def test_a_profile_without_a_size_needs_the_direction_alone() -> None:
    assert verdict(FASTER, against((1200, 1210, 1190, 1200, 1205), FIVE, profile="cap-490")) == "reproduced"


def test_the_same_refutes_no_size_that_lies_within_the_margin() -> None:
    near = replace(FASTER, sizes={"cap-210": 1.09})
    assert verdict(near, against(SAME, FIVE)) == "not shown"
    assert verdict(replace(FASTER, sizes={}), against(SAME, FIVE)) == "not reproduced here"


def test_blocks_that_disagree_are_told_so() -> None:
    shown = against((1600,) * 5, FIVE)
    assert verdict(FASTER, shown + against((500,) * 5, FIVE, profile="cap-490")) == "in part"
    # A direction changes no verdict, and two that disagree are none.
    weak = against((500,) * 4, FIVE[:4], profile="cap-490")
    assert verdict(FASTER, shown + weak) == "reproduced"
    assert verdict(FASTER, against((1600,) * 4, FIVE[:4]) + weak) == "not shown"


def test_what_is_the_same_in_one_block_is_not_refuted_by_another() -> None:
    assert verdict(FASTER, against(SAME, FIVE) + against((500,) * 5, FIVE, profile="cap-490")) == "not reproduced here"


def test_blocks_that_show_nothing_are_counted_beside_those_with_a_verdict() -> None:
    """Any one block made a point reproduced, and the others were not to be seen in its verdict."""
    shown, wide = against((1600, 1610, 1590, 1600, 1605), FIVE), (1500, 900, 1000, 700, 1400)

    def said(runs: Sequence[RawRun]) -> str:
        return judge(ClaimPoint("s", "q", "c", FASTER), summarise(acting(runs))).in_words

    silent = against(wide, FIVE, profile="cap-490")
    assert said(shown + silent) == "reproduced (1 of 2 blocks; 1 shows nothing)"
    two = silent + against(wide, FIVE, profile="cap-100")
    assert said(shown + two) == "reproduced (1 of 3 blocks; 2 show nothing)"
    same = against(SAME, FIVE, profile="cap-50")
    assert said(shown + silent + same) == "in part (2 of 3 blocks; 1 shows nothing)"
    assert said(silent) == "not shown"
    few, idle = against(wide[:4], FIVE[:4], profile="cap-490"), against(wide, FIVE, 0.01, profile="cap-490")
    assert said(shown + few) == said(shown + idle) == "reproduced", "too few pairs, or nothing to win"


def test_a_limit_that_neither_came_to_hides_no_refutation() -> None:
    """As figure 13 of ADOC: without pending bytes to be held for in one block, and the opposite in the other."""
    rule = Compares("adoc", "silk-o", "pending_held_s", True, FILL)

    def held_for(name: str, pending_s: float, profile: str) -> list[RawRun]:
        stalls = [held(2.0), *([held(pending_s, begin_s=4.0, cause="pending_bytes")] if pending_s else [])]
        return block({name: FIVE}, stalls=stalls, profile=profile)

    def runs(profile: str, adoc_s: float, silk_s: float) -> list[RawRun]:
        others = held_for("default", 0.0, profile) + held_for("silk-o", silk_s, profile)
        return [*others, *held_for("adoc", adoc_s, profile)]

    never, opposite = runs("cap-13", 0.0, 0.0), runs("cap-15", 1.0, 2.0)
    assert verdict(rule, never) == "not shown"
    assert judge(ClaimPoint("s", "q", "c", rule), summarise(acting(never + opposite))).in_words == "refuted"
    assert verdict(rule, runs("cap-13", 1.0, 1.0) + opposite) == "not reproduced here"


def test_where_nothing_speaks_to_it_nothing_is_shown() -> None:
    assert verdict(FASTER, block({"default": (1, 1), "silk": (2, 2)})) == "not shown"
    assert verdict(FASTER, block({"default": (1, 1), "adoc": (2, 2)}, workload="burst")) == "not shown"


def test_less_is_held_against_a_size_from_below() -> None:
    rule = Compares("adoc", "default", "held_share", False, FILL, {"*": 0.5})
    some = stalling("default", (1000,) * 5, (4.0, 4.1, 3.9, 4.0, 4.1))
    assert verdict(rule, [*some, *stalling("adoc", (1000,) * 5, (1.0, 1.1, 0.9, 1.0, 1.1))]) == "reproduced"
    assert verdict(rule, [*some, *stalling("adoc", (1000,) * 5, (3.0, 3.1, 2.9, 3.0, 3.1))]) == "smaller"
    assert verdict(rule, [*some, *stalling("adoc", (1000,) * 5, (6.0, 6.1, 5.9, 6.0, 6.1))]) == "refuted"


def test_where_nothing_was_held_less_of_it_is_not_shown() -> None:
    rule = Compares("adoc", "silk-o", "stopped_share", False, FILL)
    stalled = stalling("default", (1000,) * 5, (2.0,) * 5)
    calm = stalling("silk-o", (1000,) * 5, (0.0,) * 5)
    assert verdict(rule, [*stalled, *calm, *stalling("adoc", (1000,) * 5, (0.0,) * 5)]) == "not shown"
    assert verdict(rule, [*stalled, *calm, *stalling("adoc", (1000,) * 5, (3.0,) * 5)]) == "refuted"
    idle = stalling("default", (1000,) * 5, (0.0,) * 5)
    assert verdict(rule, [*idle, *calm, *stalling("adoc", (1000,) * 5, (3.0,) * 5)]) == "not shown"


def late(name: str, queueing_us: Sequence[int], processing_us: int = 100, **members: str) -> list[RawRun]:
    def all_of(latency_us: int) -> LatencyHistogram:
        return at(latency_us, 10_000)

    return [
        run(
            name,
            repetition,
            offered_per_s=1000,
            queueing=all_of(each),
            processing=all_of(processing_us),
            total=all_of(each + processing_us),
            workload=members.get("workload", "two-phase"),
        )
        for repetition, each in enumerate(queueing_us, 1)
    ]


def test_one_figure_far_above_another_in_every_run() -> None:
    rule = Exceeds("spring-and-gear", "write_queueing_p99_us", "write_processing_p99_us", 10, Where(("two-phase",)))
    far, near = [1000, 2000, 3000, 4000, 5000], [10, 20, 30, 40, 50]
    assert verdict(rule, late("spring-and-gear", far)) == "reproduced"
    assert verdict(rule, late("spring-and-gear", [*far, 900])) == "in part"
    assert verdict(rule, late("spring-and-gear", near)) == "not reproduced here"
    assert verdict(rule, late("spring-and-gear", far[:4])) == "direction"
    assert verdict(rule, late("spring-and-gear", near[:3])) == "opposite direction"
    assert verdict(rule, late("spring-and-gear", [*far[:3], 900])) == "not shown"
    assert verdict(rule, late("spring-and-gear", far[:2])) == "not shown"
    closed = block({"spring-and-gear": (100, 100)}, workload="two-phase")
    assert verdict(rule, closed) == "not shown"


def test_a_bound_that_every_run_keeps() -> None:
    rule = Keeps("silk", (FigureBound("completed_share", True, 0.95),), Where(("peaks-10",)))

    def runs(*per_s: int) -> list[RawRun]:
        return block({"silk": per_s}, workload="peaks-10", offered_per_s=1000)

    assert verdict(rule, runs(990, 950, 960, 970, 980)) == "reproduced"
    assert verdict(rule, runs(990, 900, 960, 970, 980)) == "in part"
    assert verdict(rule, runs(800, 900, 800, 800, 800)) == "not reproduced here"
    assert verdict(rule, runs(990, 950, 960)) == "direction"
    assert verdict(rule, runs(990, 950)) == "not shown"
    assert verdict(replace(rule, least_s=3600), runs(800, 900, 800, 800, 800)) == "not shown"


def test_writes_are_not_rates_over_unequal_lengths() -> None:
    """A run that fell behind ended later: it did as many writes, at two thirds of the rate."""
    rule = Compares("limits-raised", "default", "operations", True, Where(("sine-350",)))
    runs = block(
        {"limits-raised": (1500,) * 5, "default": (1000,) * 5},
        workload="sine-350",
        offered_per_s=1500,
        stalls=[held(5.0)],
    )
    behind = [
        replace(
            each,
            operations=(Operations("write", 15_000, None),),
            measured_s=10.0 if each in runs[:5] else 15.0,
            seconds=(),
        )
        for each in runs
    ]
    assert verdict(replace(rule, measure="throughput_per_s"), behind) == "reproduced"
    assert verdict(rule, behind) == "not reproduced here"
    waves = [each.rule for each in POINTS.values() if isinstance(each.rule, Compares)]
    about = [each for each in waves if any(name.startswith("sine") for name in each.where.workloads)]
    assert about
    assert "throughput_per_s" not in {each.measure for each in about}


def test_silk_and_its_halves() -> None:
    runs = [
        each
        for name, queueing in (
            ("silk", (100, 110, 105, 100, 110)),
            ("silk-bandwidth", (5000, 6000, 5500, 5000, 6000)),
            ("silk-hold", (50, 60, 55, 50, 60)),
        )
        for each in late(name, queueing, 1, workload="peaks-100")
    ]
    runs += stalling("default", FIVE, (2.0,) * 5, workload="peaks-100", offered_per_s=1000)
    found = {point.claims: judge(point, summarise(acting(runs))).verdict for point in CLAIMS[3].points}
    assert found["bandwidth alone: higher p99 than SILK"] == "reproduced"
    assert found["priorities alone (ours: holding deeper compactions): higher p99 than SILK"] == "refuted"
    assert found[CLAIMS[3].points[0].claims] == "not shown"


def test_the_trace_is_found_by_the_beginning_of_its_name() -> None:
    point = CLAIMS[3].points[0]
    runs = late("silk", (10, 11, 10, 11, 10), 1, workload="trace:day.csv")
    runs += late("auto-tuned", (90_000, 91_000, 90_000, 91_000, 90_000), 1, workload="trace:day.csv")
    runs += stalling("default", FIVE, (2.0,) * 5, workload="trace:day.csv", offered_per_s=1000)
    assert judge(point, summarise(acting(runs))).verdict == "reproduced"


def test_a_bound_beside_another_must_be_kept_in_the_same_run() -> None:
    rule = Keeps(
        "silk",
        (FigureBound("completed_share", True, 0.95), FigureBound("all_total_p99_us", False, 1e6)),
        Where(("peaks-100",)),
    )
    calm = late("silk", (100_000,) * 5, 1, workload="peaks-100")
    assert verdict(rule, calm) == "reproduced"
    assert verdict(rule, [*late("silk", (2_000_000,), 1, workload="peaks-100"), *calm[1:]]) == "in part"
    assert verdict(rule, late("silk", (2_000_000,) * 5, 1, workload="peaks-100")) == "not reproduced here"
    assert rule.words().startswith(
        "every run of silk: done in time of what was offered at least 95 %, and p99 of total latency (all) at most 1 s"
    )


def test_silk_sustains_no_peaks_that_it_does_late() -> None:
    """All 10,000 operations were done, 6 % of them after the load had ended; the old rule saw a share of 1."""
    point = next(point for point in CLAIMS[3].points if "keeping tail latency low" in point.sentence)

    def done(in_a_second: int) -> str:
        seconds = [Second(at_s, in_a_second, 0, 1000) for at_s in range(10)]
        seconds.append(Second(10, 10_000 - 10 * in_a_second, 0, 0))
        runs = late("silk", (100_000,) * 5, 1, workload="peaks-100")
        behind = [replace(each, measured_s=11.0, seconds=tuple(seconds)) for each in runs]
        return judge(point, summarise(acting(behind))).verdict

    assert [done(950), done(940)] == ["reproduced", "not reproduced here"]


def test_silk_with_a_floor_for_the_peaks_stands_for_silk_where_it_was_run() -> None:
    def runs(name: str, late_us: int) -> list[RawRun]:
        return late(name, (late_us,) * 5, 1, workload="peaks-100")

    point = POINTS[4, "priorities alone (ours: holding deeper compactions): higher p99 than SILK"]
    beside = runs("silk-hold", 5000) + stalling("default", FIVE, (2.0,) * 5, workload="peaks-100", offered_per_s=1000)
    assert judge(point, summarise(acting(beside + runs("silk", 9000)))).verdict == "refuted"
    with_both = judge(point, summarise(acting(beside + runs("silk", 9000) + runs("silk-floor", 100))))
    assert with_both.verdict == "reproduced"
    assert "silk-floor 101 µs" in with_both.findings[0].ours
    halves = POINTS[4, "bandwidth alone: higher p99 than SILK"]
    both = runs("silk-bandwidth", 100) + runs("silk-floor-bandwidth", 9000) + runs("silk-floor", 500)
    assert judge(halves, summarise(acting(beside + both))).verdict == "reproduced"


def test_the_default_at_95_percent_is_not_sustainable_where_it_stalls_late_and_writes_are_late() -> None:
    point = next(point for point in CLAIMS[4].points if "figure 15b" in point.source)

    def runs(late_us: int, *stalls: RawStall, seconds: float = 600.0) -> str:
        made = late("default", (late_us,) * 5)
        return judge(
            point,
            summarise(replace(each, stalls=stalls, workload=replace(each.workload, seconds=seconds)) for each in made),
        ).verdict

    at_the_end, at_any_time = held(60.0, begin_s=500.0), held(60.0, begin_s=100.0)
    assert runs(2_000_000, at_the_end) == "reproduced"
    assert runs(2_000_000, at_any_time, at_the_end) == "not reproduced here"
    assert runs(2_000_000, held(4.0, begin_s=500.0)) == "not reproduced here", "the old rule asked for 3 s at any time"
    assert runs(100, at_the_end) == "not reproduced here"
    assert runs(2_000_000, at_the_end, seconds=599.0) == "not shown"


@pytest.mark.parametrize(
    ("lasting", "failing", "expected"),
    [
        ((700.0,), (750.0, 950.0), "direction"),
        ((475.0, 712.5, 742.0), (772.0, 831.0, 950.0), "direction"),
        ((760.0,), (800.0,), "not shown"),
        ((900.0,), (950.0,), "not shown"),  # the old rule called any share below 0.95 a direction
        ((650.0,), (990.0,), "not shown"),  # nothing in between was tried yet
        ((949.999,), (), "opposite direction"),
        ((1200.0,), (1250.0,), "opposite direction"),
        ((), (950.0, 475.0, 40.0), "direction"),
        ((), (950.0,), "not shown"),
        ((), (), "not shown"),
    ],
)
def test_what_lasts_of_the_maximum(lasting: tuple[float, ...], failing: tuple[float, ...], expected: str) -> None:
    point = POINTS[5, "what is sustainable is about 30 % below the measured maximum"]
    tested = [TriedRate(rate, rate, 900, True) for rate in lasting]
    tested += [TriedRate(rate, rate / 2, 9_000_000, False) for rate in failing]
    searches = {
        "cap-210-two-phase-default": Search(600, 1, 1000.0, tuple(tested)),
        "cap-210-two-phase-adoc": Search(600, 1, 1000.0, ()),
    }
    found = judge(point, (), searches)
    assert found.verdict == expected
    assert [finding.block for finding in found.findings] == ["cap-210-two-phase-default"]
    assert judge(point, ()).verdict == "not shown"


def test_what_lasts_for_a_minute_says_nothing() -> None:
    point = POINTS[5, "what is sustainable is about 30 % below the measured maximum"]
    tested = (TriedRate(700.0, 700.0, 900, True), TriedRate(740.0, 400.0, 9_000_000, False))
    (finding,) = judge(point, (), {"cap-210-two-phase-default": Search(60, 1, 1000.0, tested)}).findings
    assert finding.verdict == "not shown"
    assert finding.ours == "700 operations/s last, 70 % of the maximum; 60 s at each rate"
    none = Search(600, 1, 1000.0, tested[1:])
    assert judge(point, (), {"cap-210-two-phase-default": none}).findings[0].ours == (
        "none of the rates tried lasts; the lowest was 74 % of the maximum"
    )


def test_every_point_has_its_source_and_names_what_is_measured() -> None:
    assert len(CLAIMS) == 5
    for point in POINTS.values():
        assert point.source.split()[0] in {"ADOC", "Thesis", "SILK", "Stability"}
        assert point.sentence
        rule = point.rule
        assert rule.words()
        if isinstance(rule, Compares | Exceeds):
            assert rule.measure in MEASURES
        if isinstance(rule, Keeps):
            assert {bound.measure for bound in rule.bounds} <= MEASURES.keys()
        if isinstance(rule, Compares):
            # A size lies on the side that is claimed.
            assert {size > 1 for size in rule.sizes.values()} <= {rule.more}
    sides = {point.rule.more for point in POINTS.values() if isinstance(point.rule, Compares) and point.rule.sizes}
    assert sides == {True, False}, "there are sizes on either side"
