"""Dialogs that act: once for a double click, again after a failure; what must be seen to stays on the screen."""

from __future__ import annotations

import asyncio

from nicegui.client import Client

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.actions.dialogs import Dialog, say
from adocd.api.web.page.actions.pin import PinDialog
from adocd.api.web.page.model.done import ActionDone, done
from adocd.api.web.page.room import Room
from tests.page.laid_out import Asked, button, click, laid_out, said, visit
from tests.page.points import target


class Doing:
    """What a dialog does, counted; it fails while `fails` is set."""

    def __init__(self) -> None:
        self.times = 0
        self.fails = False

    async def __call__(self) -> ActionDone:
        """Take a moment."""
        self.times += 1
        await asyncio.sleep(0)
        if self.fails:
            raise NotDone("it is held elsewhere")
        return done("It is done.")


def test_a_double_click_acts_once_and_an_opened_dialog_again() -> None:
    async def body(client: Client) -> None:
        doing, dialog = Doing(), Dialog("one", "Do it?")
        dialog.buttons("Do it", doing)
        dialog.open()
        await click(button(client, "Do it"), times=2)
        assert doing.times == 1
        await click(button(client, "Do it"))
        assert doing.times == 1, "the second click may come when the first is done"
        dialog.open()
        await click(button(client, "Do it"))
        assert doing.times == 2

    laid_out(body)


def test_after_a_failure_it_can_be_tried_again() -> None:
    async def body(client: Client) -> None:
        doing, dialog = Doing(), Dialog("one", "Do it?")
        dialog.buttons("Do it", doing)
        dialog.open()
        doing.fails = True
        await click(button(client, "Do it"))
        assert said(client) == []
        doing.fails = False
        await click(button(client, "Do it"))
        assert doing.times == 2
        assert [each["message"] for each in said(client)] == ["It is done."]

    laid_out(body)


def test_what_ends_after_its_dialog_was_closed_is_said_beside_the_next_one() -> None:
    async def body(client: Client) -> None:
        waits, answer = asyncio.Event(), list[ActionDone]()

        async def slow() -> ActionDone:
            await waits.wait()
            if not answer:
                raise NotDone("the daemon does not answer")
            return answer.pop()

        dialog = Dialog("one", "Do it?")
        dialog.buttons("Do it", slow)
        dialog.open()
        await click(button(client, "Do it"))
        dialog.root.close()
        dialog.open()
        assert not button(client, "Do it").enabled, "the first request is under way"
        waits.set()
        await settled()
        assert [(each["message"], each["timeout"]) for each in said(client)] == [
            ("Do it: the daemon does not answer", 0)
        ]
        assert dialog.root.value
        assert button(client, "Do it").enabled
        waits.clear()
        answer.append(done("It is done."))
        await click(button(client, "Do it"))
        dialog.open()
        waits.set()
        await settled()
        assert dialog.root.value, "it was opened anew"
        assert said(client)[-1]["message"] == "It is done."

    laid_out(body)


async def settled() -> None:
    """Let what was woken go on."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_failed_or_would_be_lost_stays_until_it_is_closed() -> None:
    async def body(client: Client) -> None:
        for each in (done("Well."), done("Not all.", stays=True), done("Paused.", "it would be lost")):
            say(each)
        shown = said(client)
        assert [each["message"] for each in shown] == ["Well.", "Not all.", "Paused. it would be lost"]
        assert [each["timeout"] == 0 for each in shown] == [False, True, True]
        assert all(each["closeBtn"] for each in shown)

    laid_out(body)


def test_the_pin_dialog_tells_the_value_of_the_column_family_that_is_chosen() -> None:
    async def body(client: Client) -> None:
        asked = Asked({"value": "1048576"})
        room = Room("t1", visit(asked).actions.do)
        families = {"default": {"write_buffer_size": str(64 << 20)}, "meta": {"write_buffer_size": str(32 << 20)}}
        room.detail = target(column_families=list(families)) | {
            "capabilities": {
                "column_family_options": ["write_buffer_size"], "database_options": [], "rate_limiter": False,
            },
            "options": {"database": {}, "column_families": families},
        }  # fmt: skip
        dialog = PinDialog(room, visit(asked).actions)
        dialog.open()
        dialog._option.set_value("write_buffer_size")
        assert "now 64 MiB in default, 32 MiB in meta;" in dialog._about.content
        dialog._family.set_value("meta")
        assert "now 32 MiB;" in dialog._about.content

    laid_out(body)
