"""Stalls, and what was decided on them: the first decision made of a window in which a stall held writes."""

from __future__ import annotations

import pytest
from adocd_bench.cost.reaction import LawDecision, Reaction, reactions

from adocd.probes.log.background import Led
from adocd.probes.log.stalls import StallFound

LED = Led(10, 0, 0, 0, 0, 0, None, None)


def stall(begin_s: float, end_s: float) -> StallFound:
    return StallFound(
        begin_s=begin_s, end_s=end_s, condition="stopped", cause="memtable", column_family="default", led=LED
    )


def decided(looked_s: float, outcome: str = "applied", elapsed_s: float | None = 0.5, words: str = "") -> LawDecision:
    return LawDecision(looked_s, looked_s + 0.1, elapsed_s, outcome, words)


def test_a_stall_is_answered_by_the_first_decision_that_saw_it() -> None:
    (found,) = reactions([stall(100.0, 104.0)], [decided(99.0), decided(100.75), decided(101.75)], 50.0)
    assert found.sent_s == pytest.approx(0.85)
    assert found.applied_s == pytest.approx(1.35)
    (short,) = reactions([stall(100.0, 100.2)], [decided(100.9)], 50.0)
    assert short.sent_s == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("told", "from_s", "why"),
    [
        ([], 101.0, "before the daemon had measured"),
        ([], 50.0, "decided nothing"),
        ([decided(104.0)], 50.0, "decided nothing"),
        ([decided(100.5, "refused", None, "memory budget")], 50.0, "refused: memory budget"),
        ([decided(99.0, elapsed_s=1.5)], 50.0, "still in flight"),
    ],
)
def test_a_stall_without_a_change_says_why(told: list[LawDecision], from_s: float, why: str) -> None:
    (found,) = reactions([stall(100.0, 101.0)], told, from_s)
    assert found == Reaction(None, None, found.why_not)
    assert found.why_not is not None
    assert why in found.why_not
