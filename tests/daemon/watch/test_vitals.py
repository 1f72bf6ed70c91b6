"""What the daemon counts of its own work."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from adocd.daemon.change.actuator import Result
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.ledger import Deviation
from adocd.daemon.watch.decision_log import DecisionLog
from adocd.daemon.watch.vitals import TargetVitals, TimeHistogram
from adocd.model.decision import Decision
from adocd.model.decision_record import OptionChange
from adocd.model.values import OptionName, of_database, of_family
from tests.daemon.harness import ADOC, Scene, landed, overflowing, rules, ticks, with_agent

JOBS = of_database("max_background_jobs")


def test_a_value_is_counted_by_the_smallest_bound_that_holds_it() -> None:
    histogram = TimeHistogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 1.0, 7.0):
        histogram.observe(value)
    assert histogram.counts == [2, 2, 1]
    assert histogram.sum == pytest.approx(8.65)


def decide(
    log: DecisionLog,
    before: str,
    value: str,
    rule: str = "adoc.memtable",
    outcome: str = "applied",
    option: OptionName = JOBS,
) -> None:
    decision = Decision((), "a signal", rule, "a reason")
    record = log.add("adoc", decision, 0.0, (), "in-flight", (OptionChange(option, before, value),))
    log.finish(record, Result(outcome, 0.02, None))  # type: ignore[arg-type]


def test_a_decision_counts_once_its_outcome_is_known() -> None:
    log = DecisionLog("/db", lambda: 0.0)
    log.add("adoc", Decision((), "a signal", "adoc.memtable", "a reason"), 0.0, (), "in-flight")
    assert not log.vitals.decisions
    decide(log, "2", "4")
    decide(log, "4", "6", outcome="rejected")
    decide(log, "4", "6", outcome="failed")
    assert log.vitals.decisions == {
        ("adoc.memtable", "applied"): 1,
        ("adoc.memtable", "rejected"): 1,
        ("adoc.memtable", "failed"): 1,
    }
    assert sum(log.vitals.actuation.counts) == 2, "what did not reach RocksDB took none of its time"


def test_turning_round_is_counted_and_going_back_is_not_the_laws_doing() -> None:
    log = DecisionLog("/db", lambda: 0.0)
    decide(log, "2", "4")
    decide(log, "4", "6")
    assert log.vitals.reversals == {}
    decide(log, "6", "2", rule="actuator.put_back")
    decide(log, "2", "6", rule="operator.override")
    assert log.vitals.reversals == {}
    decide(log, "6", "4", rule="judge.take_back")
    assert log.vitals.reversals == {}
    decide(log, "6", "4")
    decide(log, "4", "6")
    assert log.vitals.reversals == {"max_background_jobs": 2}


def test_what_goes_back_is_not_the_laws_doing_when_rules_are_too_many_to_name() -> None:
    log = DecisionLog("/db", lambda: 0.0)
    for number in range(300):
        decide(log, "2", "4", rule=f"a_law.rule_{number}")
    assert log.vitals.decisions["other", "applied"] > 0
    decide(log, "4", "2", rule="actuator.put_back")
    decide(log, "2", "4", rule="operator.override")
    assert log.vitals.reversals == {}


def test_a_rate_that_is_said_anew_does_not_oscillate() -> None:
    log = DecisionLog("/db", lambda: 0.0)
    for before, value in itertools.pairwise(("8000000", "8000001", "8000000", "8000001")):
        decide(log, before, value, rule="tide.slope", option=of_database("delayed_write_rate"))
    assert log.vitals.decisions["tide.slope", "applied"] == 3
    assert log.vitals.reversals == {}


def test_names_without_end_make_no_series_without_end() -> None:
    log = DecisionLog("/db", lambda: 0.0)
    for number in range(1000):
        decide(log, "2", "4", rule=f"mine.rule_{number}")
    assert len(log.vitals.decisions) <= 201
    assert sum(log.vitals.decisions.values()) == 1000
    assert log.vitals.decisions["other", "applied"] == 800


def test_a_note_counts_for_the_guard_it_is_from() -> None:
    vitals = TargetVitals()
    vitals.refused((Note("memory budget", "no"), Note("override", "pinned")))
    vitals.refused((Note("memory budget", "no"),))
    assert vitals.refusals == {"memory budget": 2, "override": 1}


def test_what_became_of_options_is_counted() -> None:
    vitals = TargetVitals()
    vitals.deviated(Deviation(of_family("default", "write_buffer_size"), "changed-by-someone-else", "1", "2"))
    assert vitals.deviations == {"changed-by-someone-else": 1}


def test_a_loop_measures_its_agent_its_changes_and_its_samples(tmp_path: Path) -> None:
    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        before_s = loop.remembered.vitals.ticked_s
        await ticks(loop, 5)
        await landed(loop)
        assert sum(loop.remembered.vitals.answer.counts) == loop.status.looks >= 5
        assert loop.remembered.vitals.sampled_s is not None
        assert before_s is not None
        assert loop.remembered.vitals.sampled_s >= before_s
        assert sum(loop.remembered.vitals.actuation.counts) >= 1
        assert {rule for rule, _ in loop.remembered.vitals.decisions} <= set(rules(loop))

    with_agent(overflowing(tmp_path / "db"), tmp_path, body)
