"""Server-sent events, put together from what arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adocd.api.event_stream import Parser, ServerSent, events_of
from adocd.targets.errors import Unreachable

CONTENT = (
    b': hello\n\nevent: stall\nid: 7\ndata: {"kind": "stall",\ndata: "id": 7}\n\ndata: no json\n\ndata: []\n\n'
    b'event: lost\r\nid: x\r\ndata:{"count": 3}\r\n\r\n'
)
EVENTS = [ServerSent(7, "stall", {"kind": "stall", "id": 7}), ServerSent(None, "lost", {"count": 3})]


@pytest.mark.parametrize("size", [1, 3, 7, len(CONTENT)])
def test_events_come_in_pieces_of_any_size(size: int) -> None:
    pieces = [CONTENT[begin : begin + size] for begin in range(0, len(CONTENT), size)]
    parser = Parser()
    assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS

    async def one_by_one() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> list[ServerSent]:
        return [event async for event in events_of(one_by_one())]

    assert asyncio.run(read()) == EVENTS


def test_an_event_without_an_end_is_no_daemons() -> None:
    with pytest.raises(Unreachable, match="has no end"):
        list(Parser().feed(b"data: " + b"x" * (4 << 20)))
