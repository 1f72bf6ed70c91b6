"""Every figure and table of the papers has a verdict, from the points that name it."""

from __future__ import annotations

import pytest
from adocd_bench.evaluation.report.coverage import coverage, is_about, named
from adocd_bench.evaluation.report.papers import CLAIMS
from adocd_bench.evaluation.report.papers_shown import SHOWN
from adocd_bench.evaluation.report.points import judge
from adocd_bench.evaluation.report.summary import summarise

from tests.bench.evaluation.report.builders import acting, stalling

POINTS = [point for claim in CLAIMS for point in claim.points]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ADOC 6.2, figure 12; table 3", {"figure 12", "table 3"}),
        ("Thesis 4.3.1, figures 4.3 and 4.4", {"figure 4.3", "figure 4.4"}),
        ("Thesis 4.3.1 and 4.4, figure 4.4", {"figure 4.4"}),
        ("Stability 5.2, figure 12a", {"figure 12"}),
        ("SILK 6.5, figure 8C (top)", {"figure 8C"}),
        ("SILK 6, summary; 6.4, figure 8B", {"figure 8B"}),
        ("ADOC 1", set()),
    ],
)
def test_what_a_source_names(source: str, expected: set[str]) -> None:
    assert named(source) == expected


def test_each_figure_is_there_once_and_each_source_is() -> None:
    keys = [(shown.paper, shown.label) for shown in SHOWN]
    assert len(keys) == len(set(keys))
    counted = {paper: sum(key[0] == paper for key in keys) for paper in dict(keys)}
    # As many as the papers have captions.
    assert counted == {"ADOC": 21 + 4, "Thesis": 3 + 18 + 12 + 1, "SILK": 13 + 2 + 1, "Stability": 18 + 1, "Blog": 3}


def test_every_point_is_about_a_figure_that_can_be_measured() -> None:
    for found in [judge(point, ()) for point in POINTS]:
        about = [shown for shown in SHOWN if is_about(found, shown)]
        assert {shown.kind for shown in about} == {"ours"}, found.point.source


def test_what_has_no_point_says_why() -> None:
    for each in coverage([judge(point, ()) for point in POINTS], ()):
        assert each.why
        assert each.verdict == {"ours": "not run", "inside": "not reachable from outside"}.get(
            each.shown.kind, "nothing measured"
        )


def test_verdicts_are_those_of_the_points() -> None:
    def covered(*, laws_act: bool) -> dict[tuple[str, str], str]:
        runs = stalling("default", (1000, 1010, 990, 1000, 1005), (2.0,) * 5)
        runs += stalling("adoc", (1600, 1610, 1590, 1600, 1605), (0.0,) * 5)
        blocks = summarise(acting(runs) if laws_act else runs)
        return {
            (each.shown.paper, each.shown.label): each.verdict
            for each in coverage([judge(point, blocks) for point in POINTS], blocks)
        }

    assert covered(laws_act=True)["ADOC", "figure 12"] == "4 not run, 1 reproduced"
    assert covered(laws_act=False)["ADOC", "figure 12"] == "4 not run, 1 did not act"
    assert covered(laws_act=True)["ADOC", "figure 17"] == "not run"
    assert covered(laws_act=True)["ADOC", "figure 1"] == "not judged", "default ran fillrandom; no point is about it"
    assert covered(laws_act=True)["SILK", "figure 2"] == "not run"


def test_a_figure_says_how_many_blocks_show_nothing() -> None:
    runs = [
        each
        for profile, adoc in (("cap-210", (1600, 1610, 1590, 1600, 1605)), ("cap-490", (1500, 900, 1000, 700, 1400)))
        for name, per_s in (("default", (1000, 1010, 990, 1000, 1005)), ("adoc", adoc))
        for each in stalling(name, per_s, (2.0 * (name == "default"),) * 5, profile=profile)
    ]
    blocks = summarise(acting(runs))
    found = coverage([judge(point, blocks) for point in POINTS], blocks)
    (figure,) = [each for each in found if (each.shown.paper, each.shown.label) == ("ADOC", "figure 12")]
    assert figure.verdict == "4 not run, 1 reproduced"
    assert ": reproduced (1 of 2 blocks; 1 shows nothing)" in figure.why


@pytest.mark.parametrize(
    ("adoc", "expected"),
    [
        ((700, 710, 690, 700, 705), "4 not run, 1 refuted"),
        ((1001, 1011, 991, 1001, 1006), "4 not run, 1 not reproduced here"),
    ],
)
def test_only_the_opposite_refutes(adoc: tuple[int, ...], expected: str) -> None:
    """A claim that did not come out the same is not refuted by that."""
    runs = stalling("default", (1000, 1010, 990, 1000, 1005), (2.0,) * 5) + stalling("adoc", adoc, (0.0,) * 5)
    blocks = summarise(acting(runs))
    found = coverage([judge(point, blocks) for point in POINTS], blocks)
    (figure,) = [each for each in found if (each.shown.paper, each.shown.label) == ("ADOC", "figure 12")]
    assert figure.verdict == expected


def test_what_was_run_with_unequal_bounds_is_not_run() -> None:
    """Figure 12 compares laws at one component constraint: stability alone stops at 12 files, the others at 36."""
    runs = [
        each
        for name in ("default", "stability", "spring-and-gear")
        for each in stalling(name, (1000,) * 5, (2.0,) * 5, workload="burst-lapse", offered_per_s=1000)
    ]
    blocks = summarise(acting(runs))
    found = coverage([judge(point, blocks) for point in POINTS], blocks)
    (figure,) = [each for each in found if (each.shown.paper, each.shown.label) == ("Stability", "figure 12")]
    assert figure.verdict == "not run"
