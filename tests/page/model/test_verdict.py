"""Whether the tuner helps or hurts."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.api.web.page.model.verdict import began_unix_s, verdict
from tests.page.points import held_points, target

ADOC = target()


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
    found = verdict(ADOC, 600.0, points, 1200.0)
    assert found.kind == kind
    assert found.before is not None
    assert found.before.share == pytest.approx(before)
    assert found.since is not None
    assert found.since.share == pytest.approx(since)
    assert "before adoc began (10 min ago)" in found.sentence


def test_it_says_how_the_load_compares() -> None:
    points = held_points(0, 600, 0.3, writes_per_s=500.0) + held_points(600, 1200, 0.0, writes_per_s=2500.0)
    assert "500 before, 2,500 since" in verdict(ADOC, 600.0, points, 1200.0).sentence


def test_only_the_last_quarter_of_an_hour_counts_after_it_and_the_one_before_it() -> None:
    points = held_points(0, 1000, 1.0) + held_points(1000, 2000, 0.1) + held_points(2000, 4000, 0.5)
    points += held_points(4000, 5000, 0.0)
    found = verdict(ADOC, 2000.0, points, 5000.0)
    assert (found.kind, found.sentence.count("15 min")) == ("helps", 2)


@pytest.mark.parametrize(
    ("points", "began", "words"),
    [
        (held_points(0, 100, 0.5), None, "nothing to compare with"),
        (held_points(90, 200, 0.5), 100.0, "too little was measured before adoc"),
        (held_points(0, 110, 0.5), 100.0, "acted for 10 s only"),
    ],
)
def test_too_little_to_go_by_is_said(points: list[dict[str, Any]], began: float | None, words: str) -> None:
    found = verdict(ADOC, began, points, points[-1]["unix_s"])
    assert found.kind == "unknown"
    assert words in found.sentence


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"paused": "alice paused it"}, "Paused: alice paused it."),
        ({"policy": {"controller": "adoc", "dry_run": True}}, "adoc runs dry"),
        ({"policy": {"controller": "fixed", "dry_run": False}}, "changes nothing"),
    ],
)
def test_a_policy_that_does_not_act_neither_helps_nor_hurts(members: dict[str, Any], words: str) -> None:
    found = verdict(target(**members), 100.0, held_points(0, 600, 0.25), 600.0)
    assert found.kind == "idle"
    assert words in found.sentence
    assert "Writes were held for 25 %" in found.sentence


def said(what: str, target: str | None, unix_s: float) -> dict[str, Any]:
    """An entry of the audit trail."""
    return {"what": what, "target": target, "unix_s": unix_s}


def test_a_policy_begins_when_it_is_set_on_this_target_or_on_all() -> None:
    newest_first = [said("pin", "t1", 50), said("set-policy", "t2", 40), said("set-policy", "t1", 20)]
    assert began_unix_s(newest_first, "t1") == 20
    assert began_unix_s(newest_first[:2], "t1") is None


def test_it_begins_anew_after_a_restore_and_not_after_a_pause_in_which_all_stays_as_the_law_has_set_it() -> None:
    begun = [said("set-policy", "t1", 20)]
    paused = [said("resume", None, 40), said("pause", "t1", 30)]
    restored = [said("resume", "t1", 60), said("pause", None, 55), said("restore", None, 50)]
    assert began_unix_s([*paused, *begun], "t1") == 20
    assert began_unix_s(paused, "t1") is None
    assert began_unix_s([*restored, *paused, *begun], "t1") == 60
    assert began_unix_s(restored, "t2") is None
