"""Weighted max-min fairness with floors: by hand, and what must hold for any claims."""

from __future__ import annotations

import sys
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.daemon.control.arbiter import ShareClaim, shared

WHOLES = st.floats(0.001, 1e12)
NEEDS = st.one_of(st.just(inf), st.floats(0, 1e12))
WEIGHTS = st.floats(0.001, 1000)
CLAIMS = st.dictionaries(st.integers(0, 20), st.builds(ShareClaim, NEEDS, WEIGHTS, st.floats(0, 1)), max_size=8)
#: Rounding errors are this small, relative to the whole.
ROUNDING = 1e-6
#: Below this a float has fewer digits, so that no relative bound holds.
DENORMAL = sys.float_info.min


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        ([], []),
        ([ShareClaim(inf)], [100]),
        ([ShareClaim(30)], [30]),
        ([ShareClaim(inf), ShareClaim(inf)], [50, 50]),
        # What one does not need goes to the others.
        ([ShareClaim(10), ShareClaim(inf), ShareClaim(inf)], [10, 45, 45]),
        ([ShareClaim(10), ShareClaim(40), ShareClaim(inf)], [10, 40, 50]),
        # A need that is nothing, divided by the weight.
        ([ShareClaim(inf), ShareClaim(5e-324, weight=2)], [100, 0]),
        # By weight.
        ([ShareClaim(inf, weight=3), ShareClaim(inf)], [75, 25]),
        ([ShareClaim(30, weight=3), ShareClaim(inf)], [30, 70]),
        # A floor goes first, as far as it is needed, and beats the weight.
        ([ShareClaim(inf, weight=9), ShareClaim(inf, floor=0.5)], [50, 50]),
        ([ShareClaim(inf, weight=9), ShareClaim(20, floor=0.5)], [80, 20]),
        ([ShareClaim(inf, floor=0.25), ShareClaim(inf)], [50, 50]),
        # Floors that are more than the whole shrink in proportion.
        ([ShareClaim(inf, floor=1.0), ShareClaim(inf, floor=0.25)], [80, 20]),
    ],
)
def test_by_hand(claims: list[ShareClaim], found: list[float]) -> None:
    assert list(shared(dict(enumerate(claims)), 100).values()) == pytest.approx(found)


@given(CLAIMS, WHOLES)
def test_the_sum_is_what_is_needed_or_the_whole(claims: dict[int, ShareClaim], whole: float) -> None:
    found = shared(claims, whole)
    needed = sum(claim.need for claim in claims.values())
    assert sum(found.values()) == pytest.approx(min(whole, needed), rel=ROUNDING, abs=whole * ROUNDING)
    assert all(0 <= found[key] <= claim.need for key, claim in claims.items())


@given(CLAIMS, WHOLES)
def test_each_gets_its_floor_where_it_needs_it(claims: dict[int, ShareClaim], whole: float) -> None:
    found = shared(claims, whole)
    scale = max(1.0, sum(claim.floor for claim in claims.values()))
    for key, claim in claims.items():
        assert found[key] >= min(claim.need, claim.floor / scale * whole) * (1 - ROUNDING) - DENORMAL


@given(CLAIMS, WHOLES)
def test_whoever_gets_less_than_it_needs_gets_no_less_than_others_for_their_weight(
    claims: dict[int, ShareClaim], whole: float
) -> None:
    """Unless the other has no more than its floor: the definition of max-min fairness."""
    found = shared(claims, whole)
    scale = max(1.0, sum(claim.floor for claim in claims.values()))
    for key, claim in claims.items():
        if found[key] >= claim.need - whole * ROUNDING:
            continue
        for other, its in claims.items():
            by_floor = found[other] <= min(its.need, its.floor / scale * whole) + whole * ROUNDING
            level, others = found[key] / claim.weight, found[other] / its.weight
            assert by_floor or level >= others - whole * ROUNDING / min(claim.weight, its.weight)


@given(CLAIMS, WHOLES)
def test_nobody_gets_less_than_by_weight_alone(claims: dict[int, ShareClaim], whole: float) -> None:
    """Without floors: each gets its weight's part of the whole, or all it needs."""
    without = {key: ShareClaim(claim.need, claim.weight) for key, claim in claims.items()}
    found, weights = shared(without, whole), sum(claim.weight for claim in without.values())
    for key, claim in without.items():
        assert found[key] >= min(claim.need, whole * claim.weight / weights) * (1 - ROUNDING)


@given(CLAIMS, WHOLES)
def test_the_order_of_the_claims_does_not_matter(claims: dict[int, ShareClaim], whole: float) -> None:
    backwards = shared(dict(reversed(claims.items())), whole)
    assert shared(claims, whole) == pytest.approx(backwards, rel=ROUNDING, abs=whole * ROUNDING)
