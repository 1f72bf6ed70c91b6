"""The list of pins: a renewed one is shown anew, whatever a column family is called, and a warning is passed on."""

from __future__ import annotations

from typing import Any

from nicegui.client import Client

from adocd.api.web.page.model.done import ActionDone
from adocd.api.web.page.room import Room
from adocd.api.web.page.views.pins import Pins
from tests.page.laid_out import Asked, button, html, laid_out, visit


def pin(**members: Any) -> dict[str, Any]:
    values = {
        "target": "t1", "option": "write_buffer_size", "column_family": None, "value": "1048576", "remaining_s": 60.0,
        "ends_unix_s": 1060.0, "reason": "a load", "who": "ann", "unix_s": 1000.0, "ineffective": None,
    }  # fmt: skip
    return values | members


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
        assert "a load" in html(client)
        room.overrides = [pin(ends_unix_s=9060.0, reason="a longer load", who="bob", unix_s=2000.0)]
        pins.refresh()
        assert "by bob, a longer load" in html(client)
        assert '<local-time unix="9060">' in html(client)
        assert "by ann" not in html(client)

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
        pins._ask(pin())
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
        pins._ask(pin())
        assert "ALL" not in pins._words.text
        pins._ask(everywhere)
        assert pins._words.text.startswith("write_buffer_size = 1 MiB, on ALL databases:")
        assert await pins._remove() == ActionDone("The pin of write_buffer_size is removed on ALL databases.")
        assert asked.paths == ["DELETE /v1/overrides/write_buffer_size"]

    laid_out(body)
