"""The list of pins: a renewed one is shown anew, whatever a column family is called, and a warning is passed on."""

from __future__ import annotations

from typing import Any

import pytest
from nicegui.client import Client

from adocd.api.web.page.actions.ask import NotDone
from adocd.api.web.page.model.done import ActionDone
from adocd.api.web.page.room import Room
from adocd.api.web.page.views.pins import Pins, _key
from adocd.api.web.page.views.shell import Text
from tests.page.laid_out import Asked, button, laid_out, visit


def pin(**members: Any) -> dict[str, Any]:
    values = {
        "target": "t1", "option": "write_buffer_size", "column_family": None, "value": "1048576", "remaining_s": 60.0,
        "ends_unix_s": 1060.0, "reason": "a load", "who": "ann", "unix_s": 1000.0, "ineffective": None,
    }  # fmt: skip
    return values | members


def words(client: Client) -> str:
    """What the rows say of the pins."""
    return "".join(str(each._props["content"]) for each in client.elements.values() if isinstance(each, Text))


def shown(client: Client, *pins: dict[str, Any], asked: Asked | None = None) -> tuple[Pins, Room]:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    room = Room("t1", nothing)
    room.overrides = list(pins)
    made = Pins(room, visit(asked or Asked({})))
    made.refresh()
    return made, room


def test_a_renewed_pin_has_its_new_end_owner_and_reason() -> None:
    async def body(client: Client) -> None:
        pins, room = shown(client, pin())
        assert "a load" in words(client)
        room.overrides = [pin(ends_unix_s=9060.0, reason="a longer load", who="bob", unix_s=2000.0)]
        pins.refresh()
        assert "by bob, a longer load" in words(client)
        assert '<local-time unix="9060">' in words(client)
        assert "by ann" not in words(client)

    laid_out(body)


def test_a_column_family_may_be_called_anything() -> None:
    name = 'a\\x "b"\n\' c=d'

    async def body(client: Client) -> None:
        shown(client, pin(column_family=name))
        button(client, f"Remove the pin of write_buffer_size ({name})")

    laid_out(body)


def test_that_a_removal_would_not_survive_a_restart_is_said() -> None:
    async def body(client: Client) -> None:
        asked = Asked({"removed": True, "warning": "it would be lost"})
        pins, _ = shown(client, pin(), asked=asked)
        pins._ask(_key(pin()))
        assert await pins._remove() == ActionDone(
            "The pin of write_buffer_size is removed. it would be lost", stays=True
        )
        assert asked.paths == ["DELETE /v1/targets/t1/overrides/write_buffer_size"]

    laid_out(body)


def test_that_a_pin_of_all_databases_is_removed_from_all_is_said_before_and_after() -> None:
    async def body(client: Client) -> None:
        asked = Asked({"removed": True, "warning": None})
        everywhere = pin(target=None)
        pins, _ = shown(client, pin(), everywhere, asked=asked)
        button(client, "Remove the pin of write_buffer_size")
        button(client, "Remove the pin of write_buffer_size on ALL databases")
        pins._ask(_key(pin()))
        assert "ALL" not in pins._words.text
        pins._ask(_key(everywhere))
        assert pins._words.text.startswith("write_buffer_size = 1 MiB, on ALL databases:")
        assert await pins._remove() == ActionDone("The pin of write_buffer_size is removed on ALL databases.")
        assert asked.paths == ["DELETE /v1/overrides/write_buffer_size"]

    laid_out(body)


def test_why_a_pin_has_no_effect_may_change_under_the_button_that_removes_it() -> None:
    async def body(client: Client) -> None:
        pins, room = shown(client, pin(ineffective="only 312 MiB are free"))
        before = button(client, "Remove the pin of write_buffer_size")
        room.overrides = [pin(ineffective="only 311 MiB are free")]
        pins.refresh()
        assert "only 311 MiB are free" in words(client)
        assert button(client, "Remove the pin of write_buffer_size") is before

    laid_out(body)


def test_a_pin_that_was_renewed_or_removed_meanwhile_is_not_removed_unseen() -> None:
    async def body(client: Client) -> None:
        asked = Asked({"removed": True, "warning": None})
        pins, room = shown(client, pin(), asked=asked)
        pins._ask(_key(pin()))
        room.overrides = [pin(value="2097152", unix_s=2000.0)]
        with pytest.raises(NotDone, match="somebody has just pinned it anew"):
            await pins._remove()
        assert pins._words.text.startswith("write_buffer_size = 2 MiB: ")
        room.overrides = []
        with pytest.raises(NotDone, match="somebody has removed it already"):
            await pins._remove()
        assert asked.paths == []
        room.overrides = [pin(value="2097152", unix_s=2000.0)]
        await pins._remove()
        assert asked.paths == ["DELETE /v1/targets/t1/overrides/write_buffer_size"], "it is seen now"

    laid_out(body)
