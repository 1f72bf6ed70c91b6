"""Successive halving and bisection, with scores that are known."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.bench.evaluation.search import Rung, highest_sustained, successive_halving


def test_halving_keeps_the_best_third_and_doubles_the_seconds() -> None:
    asked: list[tuple[int, float]] = []

    def score(candidate: int, seconds: float) -> float:
        asked.append((candidate, seconds))
        return -abs(candidate - 6)

    rungs = successive_halving(range(9), score, 10.0)

    assert [(rung.seconds, [candidate for candidate, _ in rung.scores]) for rung in rungs] == [
        (10.0, [6, 5, 7, 4, 8, 3, 2, 1, 0]),
        (20.0, [6, 5, 7]),
        (40.0, [6]),
    ]
    assert len(asked) == 13


def test_a_candidate_that_is_better_in_a_longer_run_can_still_win() -> None:
    rungs = successive_halving(["quick", "slow"], lambda name, seconds: seconds if name == "slow" else 5.0, 4.0)
    assert rungs[0].scores[0][0] == "quick"  # the slow one is dropped: what halving may miss
    rungs = successive_halving(["quick", "slow"], lambda name, seconds: seconds if name == "slow" else 5.0, 6.0)
    assert rungs[-1] == Rung(12.0, (("slow", 12.0),))


@given(scores=st.lists(st.integers(0, 100), min_size=1, max_size=60), share=st.floats(0.01, 0.99))
def test_halving_always_ends_with_one_of_the_best(scores: list[int], share: float) -> None:
    rungs = successive_halving(range(len(scores)), lambda index, _: scores[index], 1.0, kept_share=share)
    ((winner, best),) = rungs[-1].scores
    assert best == max(scores) == scores[winner]
    assert all(len(after.scores) < len(before.scores) for before, after in itertools.pairwise(rungs))


@pytest.mark.parametrize(
    ("candidates", "seconds", "share", "growth"), [([], 1, 0.5, 2), ([1], 0, 0.5, 2), ([1], 1, 1, 2), ([1], 1, 0.5, 0)]
)
def test_what_would_never_end_is_refused(candidates: list[int], seconds: float, share: float, growth: float) -> None:
    with pytest.raises(ValueError, match="are needed"):
        successive_halving(candidates, lambda *_: 0.0, seconds, kept_share=share, growth=growth)


def test_bisection_begins_at_the_measured_maximum_and_then_below_what_it_overstates() -> None:
    bracket = highest_sustained(lambda rate: rate <= 60, 100.0)
    assert [probe.rate_per_s for probe in bracket.probes[:4]] == pytest.approx([100.0, 70.0, 49.0, 59.5])
    assert bracket.sustained_per_s <= 60 < (bracket.above_per_s or 0)


def test_bisection_says_so_when_the_upper_end_itself_is_taken() -> None:
    bracket = highest_sustained(lambda _: True, 100.0)
    assert (bracket.sustained_per_s, bracket.above_per_s, len(bracket.probes)) == (100.0, None, 1)


@given(limit=st.floats(1, 1000), upper=st.floats(1, 1000))
def test_bisection_brackets_the_limit(limit: float, upper: float) -> None:
    bracket = highest_sustained(lambda rate: rate <= limit, upper, probes_most=40)
    if bracket.above_per_s is None:
        assert bracket.sustained_per_s == upper <= limit
    else:
        assert bracket.sustained_per_s <= limit < bracket.above_per_s
        assert bracket.above_per_s - bracket.sustained_per_s <= 0.05 * bracket.above_per_s


def test_bisection_gives_up_after_so_many_probes() -> None:
    bracket = highest_sustained(lambda _: False, 100.0, probes_most=3)
    assert (bracket.sustained_per_s, len(bracket.probes)) == (0.0, 3)
    with pytest.raises(ValueError, match="a rate above 0"):
        highest_sustained(lambda _: True, 0.0)
