"""The dialog that sets a policy: what would change is shown only of what is in its fields, and a pause ends seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nicegui import ui
from nicegui.client import Client

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.actions.policy import PolicyDialog
from adocd.api.web.page.room import Room
from tests.page.laid_out import laid_out
from tests.page.points import target

LAW = {
    "summary": "a law", "needs": "nothing", "parameters": {"threads_max": 20, "tune": True}, "limits": {},
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "/v1/controllers": {"controllers": [LAW | {"name": "adoc"}, LAW | {"name": "two"}]},
    "/v1/targets/t1/policy": {
        "controller": "adoc", "parameters": {}, "dry_run": False,
        "shaping": dict.fromkeys(("step_factor", "pacing_s", "refractory_s", "judge_s"), 0.0),
    },
}  # fmt: skip


class Actions:
    """Asks a daemon that would change one parameter; `meanwhile` happens before it answers."""

    def __init__(self) -> None:
        self.meanwhile: Any = None

    async def read(self, path: str) -> tuple[dict[str, str], Any]:
        """Answer."""
        return {}, ANSWERS[path]

    async def do(self, method: str, *_: object) -> Any:
        """Say what would change, or is in force now."""
        await asyncio.sleep(0)
        if self.meanwhile is not None:
            self.meanwhile()
        if method == "PUT":
            return ANSWERS["/v1/targets/t1/policy"]
        return {"refused": None, "changes": [{"field": "parameters.threads_max", "now": 4, "wanted": 8}]}


async def opened(paused: str | None = None) -> tuple[PolicyDialog, Any]:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    actions: Any = Actions()
    room = Room("t1", nothing)
    room.detail = target(paused=paused)
    dialog = PolicyDialog(room, actions)
    await dialog.open()
    await dialog._preview()
    return dialog, actions


@pytest.mark.parametrize("field", ["threads_max", "tune", "law", "dry run", "pacing_s"])
def test_any_edit_hides_what_would_change(field: str) -> None:
    async def body(client: Client) -> None:
        dialog, _ = await opened()
        assert dialog._difference.visible
        assert dialog._difference.text == "parameters.threads_max: 4 → 8"
        fields: dict[str, tuple[Any, Any]] = {
            "threads_max": (dialog._typed["threads_max"], "9"),
            "tune": (dialog._typed["tune"], "false"),
            "law": (dialog._law, "two"),
            "dry run": (dialog._dry_run, True),
            "pacing_s": (dialog._shaping["pacing_s"], 5.0),
        }
        edited, value = fields[field]
        edited.set_value(value)
        assert not dialog._difference.visible
        await dialog._preview()
        assert dialog._difference.visible

    laid_out(body)


def test_what_was_asked_before_an_edit_is_not_shown_after_it() -> None:
    async def body(client: Client) -> None:
        dialog, actions = await opened()
        typed = dialog._typed["threads_max"]
        assert isinstance(typed, ui.input)
        actions.meanwhile = lambda: typed.set_value("9")
        await dialog._preview()
        assert not dialog._difference.visible

    laid_out(body)


def test_that_setting_ends_a_pause_is_said_before_and_after() -> None:
    async def body(client: Client) -> None:
        dialog, _ = await opened("ann paused it: maintenance")
        assert dialog._ends.visible
        assert dialog._ends.text == "Setting a policy also ends the pause: ann paused it: maintenance."
        told = await dialog._set()
        assert told.words == "The policy is now adoc. This has ended the pause: ann paused it: maintenance."
        free, _ = await opened()
        assert not free._ends.visible
        assert (await free._set()).words == "The policy is now adoc."

    laid_out(body)


def test_a_pause_that_came_while_the_dialog_was_open_is_not_ended_unseen() -> None:
    async def body(client: Client) -> None:
        dialog, _ = await opened()
        dialog._room.detail = target(paused="bob paused it")
        with pytest.raises(NotDone, match="just been paused"):
            await dialog._set()
        assert dialog._ends.visible
        assert "bob paused it" in (await dialog._set()).words, "it is seen now"

    laid_out(body)
