"""The result of a restore: what failed, is not back, or could not be verified is no success."""

from __future__ import annotations

from typing import Any

from adocd.api.restored import not_back

DONE = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
OPTION = {"option": "write_buffer_size (default)", "value": "7", "original": "5"}


def test_only_what_was_compared_and_is_not_ours_is_back() -> None:
    compared = {
        "back": [],
        "theirs": [OPTION | {"is_ours": False}],
        "ours": [OPTION | {"is_ours": True}, OPTION | {"is_ours": False}],
        "unknown": [OPTION | {"is_ours": None}],
    }
    running = DONE | {"state": "running", "steps_left": 2}
    failed = DONE | {"errors": ["the OPTIONS file: no space"]}
    restored = dict.fromkeys([*compared, "unread"], DONE) | {"running": running, "failed": failed}
    answer: dict[str, Any] = {
        "restored": restored, "unlike": compared | {"failed": []}, "failed": {"hung": "no answer"},
    }  # fmt: skip
    differs = "write_buffer_size (default) is 7, not its original 5"
    not_all = "the agent has nothing left to restore, but not all originals are back"
    assert not_back(answer) == {
        "hung": "FAILED: no answer",
        "ours": f"{not_all}; {differs}: NOT BACK",
        "unknown": f"{not_all}; {differs}: NOT BACK, or set by its own program: no daemon answers that would know",
        "unread": "the agent has nothing left to restore, but the values could not be read: see adocctl status",
        "failed": "FAILED: the OPTIONS file: no space",
    }


def test_an_older_daemon_that_does_not_compare_has_not_verified_anything() -> None:
    assert list(not_back({"restored": {"one": DONE}, "failed": {}})) == ["one"]
