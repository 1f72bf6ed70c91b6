"""What the daemon keeps of a target's decisions."""

from __future__ import annotations

import logging

import pytest

from adocd.daemon.change.actuator import Result
from adocd.daemon.watch.decision_log import DecisionLog
from adocd.model.decision import Decision, Setting
from adocd.model.decision_record import DecisionRecord
from adocd.model.knob import Knob

JOBS = Decision((Setting(Knob.BACKGROUND_JOBS, 4),), "9 L0 files", "adoc.level0", "a reason")
BATCH = Decision((Setting(Knob.BATCH_SIZE, 64 << 20, "default"),), "1 memtable", "adoc.memory", "a reason")


class Kept:
    """A log whose clock is moved by hand, and what it told."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.told: list[DecisionRecord] = []
        self.log = DecisionLog("/db", lambda: self.now_s, self.told.append)

    def decide(self, decision: Decision, outcome: str = "dry-run", *notes: str) -> None:
        """Decide as the cycle does where nothing is sent."""
        self.now_s += 1.0
        if not self.log.repeats(decision, notes, outcome):  # type: ignore[arg-type]
            self.log.add("adoc", decision, 0.0, notes, outcome)  # type: ignore[arg-type]

    def kept(self) -> list[tuple[str, int, float, float | None]]:
        """What is kept of each."""
        return [(record.rule, record.times, record.unix_s, record.last_unix_s) for record in self.log]


def test_a_dry_run_decides_once_until_something_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    kept = Kept()
    for _ in range(3):
        kept.decide(JOBS)
        kept.decide(BATCH)
    assert kept.kept() == [("adoc.level0", 3, 1.0, 5.0), ("adoc.memory", 3, 2.0, 6.0)]
    assert (len(kept.told), len(caplog.records), kept.log.count) == (2, 2, 2)
    kept.decide(Decision((Setting(Knob.BACKGROUND_JOBS, 6),), "9 L0 files", "adoc.level0", "a reason"))
    kept.decide(JOBS)
    assert [times for _, times, _, _ in kept.kept()] == [3, 3, 1, 1], "another value between them"


def test_a_refusal_for_another_reason_and_what_follows_a_change_are_told() -> None:
    kept = Kept()
    for reason in ("memory budget: 1", "memory budget: 1", "memory budget: 2"):
        kept.decide(BATCH, "refused", reason)
    assert [times for _, times, _, _ in kept.kept()] == [2, 1]
    record = kept.log.add("adoc", JOBS, 0.0, (), "in-flight")
    kept.log.finish(record, Result("applied"))
    kept.decide(BATCH, "refused", "memory budget: 2")
    assert [times for _, times, _, _ in kept.kept()] == [2, 1, 1, 1]
