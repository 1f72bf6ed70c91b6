"""Whether the tuner helps or hurts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.diagnosis.held import HeldWriters, MeasuredSpan
from adocd.diagnosis.verdict import PinnedOption, joined, verdict
from adocd.model.policy import Policy
from tests.diagnosis.writers import held_points, measured

ADOC = Policy("adoc")
PIN = PinnedOption("write_buffer_size", None, "2097152", everywhere=False, who="alice", unix_s=600.0)


@pytest.mark.parametrize(
    ("before", "since", "kind"),
    [
        (0.30, 0.02, "helps"),
        (0.02, 0.30, "hurts"),
        (0.0, 0.05, "hurts"),
        (0.30, 0.28, "same"),
        (0.004, 0.0, "same"),
        (0.0, 0.0, "same"),
    ],
)
def test_the_share_before_is_held_against_the_share_since(before: float, since: float, kind: str) -> None:
    points = held_points(0, 600, before) + held_points(600, 1200, since)
    found = verdict(ADOC, None, 600.0, points, 1200.0)
    assert found.kind == kind
    assert found.before is not None
    assert found.before.share == pytest.approx(before)
    assert found.since is not None
    assert found.since.share == pytest.approx(since)
    assert "before adoc began (10 min ago)" in found.sentence


def test_it_says_how_the_load_compares() -> None:
    points = held_points(0, 600, 0.3, writes_per_s=500.0) + held_points(600, 1200, 0.0, writes_per_s=2500.0)
    assert "500 before, 2,500 since" in verdict(ADOC, None, 600.0, points, 1200.0).sentence


@pytest.mark.parametrize(
    ("before", "since", "writes_before", "writes_since", "kind", "words"),
    [
        (0.3, 0.0, 1000.0, 0.0, "unknown", "0 since: fewer writes are held less"),
        (0.3, 0.0, 1000.0, 790.0, "unknown", "790 since: fewer writes are held less"),
        (0.3, 0.0, 1000.0, 900.0, "helps", "900 since."),
        (0.3, 0.0, 1000.0, 2000.0, "helps", "2,000 since."),
        (0.1, 0.3, 1000.0, 2000.0, "unknown", "2,000 since: more writes are held more"),
        (0.1, 0.3, 1000.0, 1100.0, "hurts", "1,100 since."),
        (0.1, 0.3, 1000.0, 500.0, "hurts", "500 since."),
        (0.0, 0.0, 1000.0, 0.0, "same", "0 since."),
    ],
)
def test_what_the_load_alone_can_have_done_is_no_credit_and_no_blame(
    before: float, since: float, writes_before: float, writes_since: float, kind: str, words: str
) -> None:
    points = held_points(0, 600, before, writes_per_s=writes_before)
    points += held_points(600, 1200, since, writes_per_s=writes_since)
    found = verdict(ADOC, None, 600.0, points, 1200.0)
    assert found.kind == kind
    assert words in found.sentence
    assert (found.title == "Cannot tell if the tuner helps") is (kind == "unknown")


def test_it_says_how_latencies_compare_where_both_were_timed() -> None:
    points = [
        *held_points(0, 599, 0.3, write_p99_s=0.02, write_max_s=0.5),
        *held_points(599, 600, 0.3, write_p99_s=0.02, write_max_s=3.0),
        *held_points(600, 1199, 0.0, write_p99_s=0.004, write_max_s=0.25),
        *held_points(1199, 1200, 0.0, write_p99_s=0.004, write_max_s=None),
    ]
    found = verdict(ADOC, None, 600.0, points, 1200.0)
    assert found.sentence.endswith("Write latency: p99 20 ms before, 4 ms since; the worst 3 s and 250 ms.")
    untimed = held_points(0, 600, 0.3) + points[600:]
    assert "latency" not in verdict(ADOC, None, 600.0, untimed, 1200.0).sentence


def test_only_the_last_quarter_of_an_hour_counts_after_it_and_the_one_before_it() -> None:
    points = held_points(0, 1000, 1.0) + held_points(1000, 2000, 0.1) + held_points(2000, 4000, 0.5)
    points += held_points(4000, 5000, 0.0)
    found = verdict(ADOC, None, 2000.0, points, 5000.0)
    assert (found.kind, found.sentence.count("15 min")) == ("helps", 2)


@pytest.mark.parametrize(
    ("points", "began", "words"),
    [
        (held_points(0, 100, 0.5, controller="adoc"), None, "nothing to compare with"),
        (held_points(90, 200, 0.5), 100.0, "too little was measured before adoc"),
        (held_points(0, 110, 0.5), 100.0, "acted for 10 s only"),
    ],
)
def test_too_little_to_go_by_is_said(points: list[MeasuredSpan], began: float | None, words: str) -> None:
    found = verdict(ADOC, None, began, points, points[-1].unix_s)
    assert found.kind == "unknown"
    assert words in found.sentence


@pytest.mark.parametrize(
    ("policy", "paused", "words"),
    [
        (ADOC, "alice paused it", "Paused: alice paused it."),
        (Policy("adoc", dry_run=True), None, "adoc runs dry"),
        (Policy("fixed"), None, "The policy fixed watches and changes nothing."),
        (Policy("fixed", dry_run=True), None, "The policy fixed watches and changes nothing."),
    ],
)
def test_a_policy_that_does_not_act_neither_helps_nor_hurts(policy: Policy, paused: str | None, words: str) -> None:
    found = verdict(policy, paused, 100.0, held_points(0, 600, 0.25), 600.0)
    assert found.kind == "idle"
    assert words in found.sentence
    assert "Writes were held for 25 %" in found.sentence


def test_minutes_reach_back_to_where_seconds_begin() -> None:
    minutes = [measured(60, 60), measured(120, 60), measured(180, 60)]
    assert [point.unix_s for point in joined(minutes, held_points(120, 123, 0.0))] == [60, 120, 121, 122, 123]


def test_the_baseline_is_the_last_time_without_control() -> None:
    """Not the time under another law: silk ran between the dry run and adoc."""
    points = held_points(0, 600, 0.8) + held_points(600, 1500, 0.4, controller=None)
    points += held_points(1500, 2500, 0.1, controller="silk") + held_points(2500, 3000, 0.2, controller="adoc")
    found = verdict(ADOC, None, 2500.0, points, 3000.0)
    assert found.kind == "helps"
    assert found.before is not None
    assert [found.before.measured_s, found.before.share] == pytest.approx([900, 0.4])


@pytest.mark.parametrize("began", [None, 1000.0])
def test_where_nothing_was_measured_before_the_log_tells(began: float | None) -> None:
    logged = HeldWriters(600.0, 0.5, {"l0": 0.5}, None)
    points = held_points(1000, 1100, 0.1, controller="adoc")
    found = verdict(ADOC, None, began, points, 1100.0, logged)
    assert found.kind == "helps"
    assert "held for 50 % of the 10 min before adoc began (2 min ago, by its LOG)" in found.sentence


def test_a_few_seconds_of_a_log_are_no_baseline() -> None:
    logged = HeldWriters(20.0, 0.5, {"l0": 0.5}, None)
    assert verdict(ADOC, None, None, held_points(0, 100, 0.1, controller="adoc"), 100.0, logged).kind == "unknown"


@pytest.mark.parametrize(
    ("policy", "paused", "began"), [(ADOC, None, None), (ADOC, None, 300.0), (ADOC, "bob paused it", 700.0)]
)
def test_a_pin_that_is_newer_than_the_policy_is_judged_in_its_place(
    policy: Policy, paused: str | None, began: float | None
) -> None:
    points = held_points(0, 600, 0.1, controller="adoc") + held_points(600, 900, 0.6, controller="adoc")
    found = verdict(policy, paused, began, points, 900.0, pin=PIN)
    assert (found.kind, found.title, found.pinned) == ("hurts", "The pin hurts", PIN)
    assert "held for 10 % of the 10 min before alice pinned write_buffer_size to 2 MiB (5 min ago)" in found.sentence
    assert "60 % of the last 5 min" in found.sentence


def test_a_pin_that_is_older_than_the_policy_is_not_judged_nor_is_one_before_all_that_is_known() -> None:
    points = held_points(0, 600, 0.5) + held_points(600, 1200, 0.1)
    assert verdict(ADOC, None, 700.0, points, 1200.0, pin=PIN).pinned is None
    assert verdict(ADOC, None, None, points, 1200.0, pin=replace(PIN, unix_s=10.0)).pinned is None


def test_a_pin_of_a_few_seconds_is_not_judged_yet() -> None:
    found = verdict(ADOC, None, None, held_points(0, 610, 0.1), 610.0, pin=PIN)
    assert (found.kind, found.pinned) == ("unknown", PIN)
    assert "10 s ago only" in found.sentence


def test_a_pin_of_one_column_family_names_it() -> None:
    points = held_points(0, 600, 0.1) + held_points(600, 900, 0.6)
    found = verdict(ADOC, None, None, points, 900.0, pin=replace(PIN, column_family="hot"))
    assert "before alice pinned write_buffer_size of column family hot to 2 MiB" in found.sentence
