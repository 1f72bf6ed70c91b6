"""What the buttons that restore say: no failure, and nothing that could not be verified, is told as a success."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.model.done import ActionDone
from adocd.api.web.page.room import Room
from adocd.api.web.page.views.overview import Overview
from adocd.api.web.page.views.target import TargetPage
from tests.page.laid_out import Asked, visit
from tests.page.points import target

DONE = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
OPTION = {"option": "write_buffer_size (default)", "value": "7", "original": "5"}
GOOD = "The originals are being restored; it is paused."
LEFT = "It is paused, but not all is restored: "


def answer(**members: Any) -> dict[str, Any]:
    return {"restored": {"t1": DONE}, "unlike": {"t1": []}, "failed": {}, "warning": None} | members


def said(restored: dict[str, Any]) -> ActionDone:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    page = TargetPage(visit(Asked(restored)), "t1")
    page._room = Room("t1", nothing)
    return asyncio.run(page._do_restore(""))


def said_of_all(restored: dict[str, Any], *listed: dict[str, Any]) -> ActionDone:
    visited, listing = visit(Asked(restored), {each["id"]: each for each in listed}), None
    return asyncio.run(Overview(visited, listing)._restore(""))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, GOOD),
        ({"restored": {"t1": DONE | {"state": "running"}}, "unlike": {}}, GOOD),
        ({"unlike": {"t1": [OPTION | {"is_ours": False}]}}, GOOD),
        ({"restored": {"t1": DONE | {"state": "none"}}}, "It has nothing to restore; it is paused."),
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
    assert words in told.words
    assert (GOOD in told.words) == (GOOD in words)
    assert told.stays == (LEFT in told.words or "would be lost" in told.words), "what must be seen to stays"


def test_a_restore_of_all_says_where_it_did_not_do_it() -> None:
    restored = {"good": DONE, "bad": DONE | {"errors": ["no space"]}, "unread": DONE}
    everywhere = answer(restored=restored, unlike={"good": [], "bad": []}, failed={"hung": "no answer"}, warning="lost")
    told = said_of_all(everywhere, target(id="bad", path="/data/bad"), target(id="good", path="/data/good"))
    assert told.words.startswith("The originals of 3 databases are being restored. Not all is restored: ")
    for words in ("hung: FAILED: no answer.", " /data/bad: FAILED: no space.", "unread: the agent has nothing left"):
        assert words in told.words
    assert "good" not in told.words
    assert told.words.endswith(" lost")
    assert told.stays
    assert said_of_all(answer()) == ActionDone("The originals of 1 database are being restored.")


def test_a_database_that_has_nothing_to_restore_is_not_counted() -> None:
    none = DONE | {"state": "none"}
    some = said_of_all(answer(restored={"t1": none, "t2": DONE}, unlike={"t1": [], "t2": []}))
    assert some.words == "The originals of 1 database are being restored."
    assert said_of_all(answer(restored={"t1": none})).words == "No database that answered has anything to restore."


def target_page(asked: Asked, **members: Any) -> TargetPage:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    page = TargetPage(visit(asked), "t1")
    page._room = Room("t1", nothing)
    page._room.detail = target(**members)
    return page


def test_a_pause_that_the_dialog_did_not_show_is_not_ended() -> None:
    async def body() -> None:
        asked = Asked({"was_paused": True, "warning": None})
        page = target_page(asked, paused="ann paused it: maintenance")
        assert page._seen_pause() == "Now ann paused it: maintenance."
        page._room.detail = target(paused="bob restored it")
        with pytest.raises(NotDone, match="another reason than you were shown: Now bob restored it"):
            await page._do_resume("")
        assert asked.paths == []
        await page._do_resume("")
        assert asked.paths == ["POST /v1/targets/t1/resume"], "it is seen now"

    asyncio.run(body())


def test_a_policy_that_the_dialog_did_not_show_is_not_replaced() -> None:
    async def body() -> None:
        asked = Asked({"controller": "adoc"})
        policy = {"controller": "tide", "parameters": {}, "dry_run": False, "shaping": {}}
        page = target_page(asked, policy=policy)
        assert page._seen_policy() == "The policy is now tide."
        page._room.detail = target(policy=policy | {"dry_run": True})
        with pytest.raises(NotDone, match=r"another policy than you were shown: The policy is now tide \(dry run\)"):
            await page._do_reset("")
        assert asked.paths == []
        await page._do_reset("")
        assert asked.paths == ["DELETE /v1/targets/t1/policy"]

    asyncio.run(body())
