"""Figures, states, decisions and settings in words."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.api.web.page.model import decisions, settings, state
from adocd.model.knob import Knob
from tests.page.points import decision, held_points, stall, target


@pytest.mark.parametrize(
    ("members", "level", "words"),
    [
        ({}, "ok", "flowing"),
        ({"stall": stall("stopped", "memtable", "l0")}, "stopped", "memtables and level-0 files"),
        ({"stall": stall("delayed", "pending_bytes")}, "delayed", "pending compaction"),
        ({"stall": stall("possibly")}, "silent", "possibly held"),
        ({"state": "silent"}, "silent", "silent"),
        ({"state": "closed", "stall": None}, "closed", "closed"),
    ],
)
def test_states(members: dict[str, Any], level: str, words: str) -> None:
    found = state.state_of(target(**members))
    assert found.level == level
    assert words in found.word


def test_the_worst_comes_first_and_the_sum_is_said() -> None:
    listed = [target(path="/a"), target(path="/b", stall=stall()), target(path="/c", stall=stall("delayed"))]
    assert [each["path"] for each in state.worst_first(listed)] == ["/b", "/c", "/a"]
    assert state.summary(listed) == "3 databases: 1 stopped, 1 delayed, 1 flowing."
    assert state.summary([]) == "No database with an agent is open."


def test_a_decision_is_told_with_signal_rule_guard_and_effect() -> None:
    points = held_points(40, 100, 0.5) + held_points(100, 160, 0.1)
    told = decisions.told(decision(guards=["memory budget: too much"]), points, 200.0)
    assert told.what == ("batch size (default) → 64 MiB",)
    assert (told.outcome, told.look) == ("applied in 31 ms", "good")
    assert told.guards == ("memory budget: too much",)
    assert told.effect == "held 50 % of the 60 s before, 10 % of the 60 s after"


@pytest.mark.parametrize("outcome", ["refused", "dry-run", "failed", "rejected", "unchanged"])
def test_what_is_not_in_force_is_credited_with_no_effect(outcome: str) -> None:
    points = held_points(40, 100, 0.5) + held_points(100, 160, 0.1)
    assert decisions.told(decision(), points, 200.0).effect
    assert decisions.told(decision(outcome=outcome), points, 200.0).effect == ""


def test_a_dry_run_never_looks_like_success() -> None:
    assert decisions.told(decision(outcome="dry-run"), [], 0.0).look == "dry"


def test_an_effect_that_cannot_be_told_yet_is_not_told() -> None:
    assert decisions.effect(100.0, held_points(40, 102, 0.5), 102.0) == ""


@pytest.mark.parametrize("knob", list(Knob))
def test_every_knob_has_its_words(knob: Knob) -> None:
    record = decision(settings=[{"knob": knob.value, "value": 1, "column_family": None}])
    assert decisions.told(record, [], 0.0).what[0].startswith(knob.value.replace("_", " "))


def test_what_failed_is_said_with_the_reason() -> None:
    told = decisions.told(decision(outcome="rejected", detail="Invalid argument", elapsed_s=0.1), [], 0.0)
    assert (told.outcome, told.look) == ("rejected: Invalid argument", "bad")


def test_a_newer_version_of_a_decision_replaces_it() -> None:
    known = [decision(1, outcome="applied"), decision(2, outcome="in-flight")]
    merged = decisions.merged(known, [decision(3), decision(2, outcome="applied")], 2)
    assert [(each["sequence"], each["outcome"]) for each in merged] == [(2, "applied"), (3, "applied")]


def test_parameters_are_read_as_adocctl_reads_them() -> None:
    """A size with its unit is left to the daemon, as there."""
    read = settings.parameters("threads_max=8\ntune_batch=false batch_max_bytes=96MiB name=x")
    assert read == {"threads_max": 8, "tune_batch": False, "batch_max_bytes": "96MiB", "name": "x"}
    assert settings.parameters(settings.parameters_in_words(read)) == read


def test_a_parameter_without_a_value_is_refused_with_the_way_out() -> None:
    with pytest.raises(settings.InputNotUnderstood, match="key=value, such as threads_max=8, not 'threads_max'"):
        settings.parameters("threads_max")


def test_options_that_differ_from_their_originals_are_found() -> None:
    now = {"database": {"a": "2", "b": "1"}, "column_families": {"default": {"c": "5"}}, "rate_limiter_bytes_per_s": 9}
    then = {"database": {"a": "1"}, "column_families": {"default": {"c": "5"}}, "rate_limiter_bytes_per_s": 7}
    found = settings.changed({"options": now, "originals": then})
    assert [(each.scope, each.option, each.now, each.original) for each in found] == [
        ("database", "a", "2", "1"), ("process", "rate_limiter_bytes_per_s", "9", "7"),
    ]  # fmt: skip
    assert settings.changed({"options": None, "originals": None}) == []


def test_what_a_policy_would_change_is_said_line_by_line() -> None:
    difference = {"changes": [{"field": "parameters.threads_max", "now": None, "wanted": 8}], "refused": None}
    assert settings.difference_in_words(difference) == ["parameters.threads_max: default → 8"]
    assert "nothing would change" in settings.difference_in_words({"changes": [], "refused": None})[0]


def test_how_long_writes_take_is_in_the_pages_model() -> None:
    known = {"p50_s": 6.5e-6, "p99_s": 15e-6, "p99_9_s": 73e-6, "max_s": 1.25, "why": None}
    assert state.write_latency_of({"sample": {"write_latency": known}}).endswith("p99.9 73 µs, worst 1.25 s")
    assert state.write_latency_of({"sample": None}) == ""
