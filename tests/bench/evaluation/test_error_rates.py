"""How often the report's rule errs, and that docs/evaluation.md says so. Experiments have a seed: nothing is chance."""

from __future__ import annotations

import functools
import re

import pytest
from adocd_bench.evaluation.error_rates import (
    NOISES,
    RATE,
    SPREADS,
    bootstrapped,
    false_positives,
    held_shares,
    others,
    power_rows,
    rates,
    said,
)
from adocd_bench.evaluation.report.comparison import LEAST_PAIRS

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "evaluation.md").read_text()
EXPERIMENTS = 2000
#: Three standard errors of a share of so many.
SURE = 0.034


@functools.cache
def told_apart(pairs: int) -> list[tuple[str, str, float]]:
    return list(false_positives(pairs, EXPERIMENTS))


@pytest.mark.parametrize("pairs", [5, 8])
def test_identical_schemes_are_told_apart_in_fewer_than_5_percent(pairs: int) -> None:
    found = told_apart(pairs)
    assert len(found) == len(NOISES) * len(SPREADS) + 9
    assert max(rate for _, _, rate in found) < 0.05
    # They have seen something: without the least difference the rule errs where nothing else would stop it.
    assert max(rate for noise, _, rate in found if noise == "normal") > 0.02


def test_the_stated_most_is_not_below_what_is_found() -> None:
    (stated,) = re.findall(
        r"\*\*In the simulation, identical schemes are told apart in at most ([0-9.]+) % of comparisons\.\*\*", PAGE
    )
    worst = [max(rate for _, _, rate in told_apart(pairs)) for pairs in (5, 8)]
    assert max(worst) <= float(stated) / 100 + 0.012  # three standard errors of 3.5 %
    assert float(stated) < 5


def test_the_table_of_what_is_found() -> None:
    table = PAGE.partition("| spread | true 10 %, 5 pairs |")[2].partition("\n\n")[0].splitlines()[2:]
    stated = {row.strip("| ").split(" | ")[0]: [float(each[:-2]) for each in row.split(" | ")[1:]] for row in
              (line.removesuffix(" |") for line in table)}  # fmt: skip
    assert list(stated) == ["2 %", "5 %", "10 %", "20 %", "30 %"]
    for spread, *cells in power_rows(EXPERIMENTS):
        if spread in stated:
            found = [float(cell[:-2]) for cell in cells]
            # Without the two columns of a difference that is called the same.
            assert found[:3] + found[4:7] == pytest.approx(stated[spread], abs=100 * SURE + 0.5), spread


def test_a_difference_as_large_as_the_margin_is_hardly_ever_the_same() -> None:
    for pairs in (5, 10):
        for spread in SPREADS:
            made = rates(NOISES["normal"], spread, 1.1, 0.1, pairs, EXPERIMENTS)
            assert said(RATE, made, "same") < 0.05 + SURE / 2


def test_fewer_than_five_pairs_give_no_verdict_and_a_direction_as_often_as_stated() -> None:
    for pairs, expected in ((3, 0.10), (4, 1 / 35)):
        assert f"1 of {round(1 / expected)} " in PAGE
        found = said(
            RATE, rates(NOISES["normal"], 0.3, 1.0, 0.0, pairs, EXPERIMENTS), "direction more", "direction less"
        )
        assert found == pytest.approx(expected, abs=SURE)
        verdicts = said(RATE, rates(NOISES["normal"], 0.001, 2.0, 0.0, pairs, EXPERIMENTS), "more", "less", "same")
        assert verdicts == 0
    assert LEAST_PAIRS == 5


def test_a_drift_common_to_a_pair_changes_nothing_for_the_rule_and_much_for_a_test_of_ten_runs() -> None:
    still, drifting = (
        said(RATE, rates(NOISES["normal"], 0.02, 1.1, drift, 5, EXPERIMENTS), "more") for drift in (0.0, 0.3)
    )
    assert still == pytest.approx(drifting, abs=0.01)
    ten_runs, of_pairs = others(0.02, 1.1, 0.1, 500)
    assert "finds 18 %" in " ".join(PAGE.split())
    assert ten_runs == pytest.approx(0.18, abs=0.06)
    assert of_pairs > 0.9
    assert others(0.02, 1.0, 0.1, 500)[1] == pytest.approx(0.0625, abs=0.033)


def test_a_bootstrap_of_five_pairs_errs_too_often() -> None:
    assert "tells identical schemes apart in 16 % of comparisons" in " ".join(PAGE.split())
    assert bootstrapped(0.05, 500) == pytest.approx(0.16, abs=0.05)


def test_shares_stay_shares() -> None:
    values = [value for pairs in held_shares(0.5, 0.5, experiments=50) for pair in pairs for value in pair]
    assert 0 <= min(values) < max(values) <= 1
