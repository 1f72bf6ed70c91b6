"""When the policy in force began to act."""

from __future__ import annotations

from adocd.daemon.book.began import began_unix_s
from adocd.daemon.book.journal.records import Operation


def said(what: str, target: str | None, unix_s: float) -> Operation:
    """Make an entry of the audit trail."""
    return Operation(1, unix_s, "alice", what, target, None, "a sentence")


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
