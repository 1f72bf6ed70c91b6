"""The decisions of a target: what repeats is one record."""

from __future__ import annotations

from itertools import count

import pytest

from adocd.daemon.watch.decision_log import DecisionLog
from adocd.model.decision import Decision, Setting
from adocd.model.decision_record import DecisionRecord, OptionChange
from adocd.model.knob import Knob
from adocd.model.values import OptionName

SENT = (OptionChange(OptionName("database", "max_background_jobs"), "2", "4"),)


def jobs(value: int, signal: str = "21 files") -> Decision:
    return Decision((Setting(Knob.BACKGROUND_JOBS, value),), signal, "adoc.level0", "level 0 overflows")


@pytest.fixture
def told() -> list[DecisionRecord]:
    return []


@pytest.fixture
def log(told: list[DecisionRecord]) -> DecisionLog:
    """One whose clock goes on by a second at each record."""
    seconds = count(100)
    return DecisionLog("/db", lambda: float(next(seconds)), told.append)


def dry(log: DecisionLog, decision: Decision) -> DecisionRecord:
    return log.add("adoc", decision, 1.0, (), "dry-run")


def test_a_dry_run_decides_once_until_something_changes(
    log: DecisionLog, told: list[DecisionRecord], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for files in range(38):
        dry(log, jobs(4, f"{files} files"))
    (record,) = log
    assert (record.times, record.unix_s, record.until_unix_s, record.signal) == (38, 100.0, 137.0, "37 files")
    assert log.count == 1
    assert len(caplog.records) == 1
    assert 2 <= len(told) <= 6, "the journal is not written every second"
    dry(log, jobs(6))
    assert [record.times for record in log] == [38, 1]


def test_repeats_are_told_after_the_wall_clock_was_set_back(told: list[DecisionRecord]) -> None:
    seconds = iter([8000.0, 8000.0, *range(800, 830)])
    log = DecisionLog("/db", lambda: float(next(seconds)), told.append)
    for _ in range(32):
        dry(log, jobs(4))
    assert [record.until_unix_s for record in told[-3:]] == [800.0, 810.0, 820.0]


def test_decisions_that_alternate_without_effect_are_one_each(log: DecisionLog) -> None:
    """A dry run has no effect, so a law may take two decisions in turn for ever."""
    for _ in range(20):
        dry(log, jobs(4))
        dry(log, jobs(2))
    assert [(record.settings[0].value, record.times) for record in log] == [(4, 20), (2, 20)]


def test_what_is_sent_is_never_merged_nor_merged_across(log: DecisionLog) -> None:
    dry(log, jobs(4))
    for _ in range(2):
        log.add("adoc", jobs(4), 1.0, (), "in-flight", SENT)
    dry(log, jobs(4))
    assert [record.times for record in log] == [1, 1, 1, 1]
    assert [record.sequence for record in log] == [1, 2, 3, 4]
