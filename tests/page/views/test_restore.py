"""What the buttons that restore say: no failure, and nothing that could not be verified, is told as a success."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adocd.api.web.page.room import Room
from adocd.api.web.page.views.overview import Overview
from adocd.api.web.page.views.target import TargetPage
from tests.page.laid_out import Asked, visit

DONE = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
OPTION = {"option": "write_buffer_size (default)", "value": "7", "original": "5"}
GOOD = "The originals are being restored; it is paused."
LEFT = "It is paused, but not all is restored: "


def answer(**members: Any) -> dict[str, Any]:
    return {"restored": {"t1": DONE}, "unlike": {"t1": []}, "failed": {}, "warning": None} | members


def said(restored: dict[str, Any]) -> str:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    page = TargetPage(visit(Asked(restored)), "t1")
    page._room = Room("t1", nothing)
    return asyncio.run(page._do_restore("")).strip()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, GOOD),
        ({"restored": {"t1": DONE | {"state": "running"}}, "unlike": {}}, GOOD),
        ({"unlike": {"t1": [OPTION | {"is_ours": False}]}}, GOOD),
        ({"warning": "it would be lost"}, f"{GOOD} it would be lost"),
        ({"unlike": {}}, f"{LEFT}the agent has nothing left to restore, but the values could not be read: "),
        ({"unlike": {"t1": [OPTION | {"is_ours": True}]}}, "write_buffer_size (default) is 7, not its original 5"),
        ({"unlike": {"t1": [OPTION | {"is_ours": None}]}}, "or set by its own program"),
        ({"restored": {"t1": DONE | {"errors": ["no space"]}}}, f"{LEFT}FAILED: no space."),
        ({"restored": {}, "unlike": {}, "failed": {"t1": "it is hung"}}, f"{LEFT}FAILED: it is hung."),
    ],
)
def test_a_restore_says_what_it_did_not_do(members: dict[str, Any], words: str) -> None:
    told = said(answer(**members))
    assert words in told
    assert (GOOD in told) == (GOOD in words)


def test_a_restore_of_all_says_where_it_did_not_do_it() -> None:
    restored = {"good": DONE, "bad": DONE | {"errors": ["no space"]}, "unread": DONE}
    everywhere = answer(restored=restored, unlike={"good": [], "bad": []}, failed={"hung": "no answer"}, warning="lost")
    told = asyncio.run(Overview(visit(Asked(everywhere)))._restore(""))
    assert told.startswith("The originals of 3 databases are being restored. Not all is restored: ")
    for words in ("hung: FAILED: no answer.", "bad: FAILED: no space.", "unread: the agent has nothing left"):
        assert words in told
    assert "good" not in told
    assert told.endswith(" lost")
    assert "Not all" not in asyncio.run(Overview(visit(Asked(answer())))._restore(""))
