"""Reading the daemon's events (server-sent events, as the HTML standard has them) from its Unix socket."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from adocd.api.web.upstream import Upstream
from adocd.targets.errors import Unreachable

_MAX_LINE_BYTES = 4 << 20
_PATH = "/v1/events"

Event = dict[str, Any]


class Lines:
    """Puts events together from what arrives, in pieces of any size."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, content: bytes) -> Iterator[Event]:
        """Give each event whose end has come; what is no JSON object is left out."""
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > _MAX_LINE_BYTES:
            raise Unreachable("an event of the daemon has no end")
        for line in lines:
            words = line.rstrip(b"\r").decode("utf-8", "replace")
            if words.startswith("data:"):
                self._data.append(words[5:].removeprefix(" "))
            elif not words and self._data:
                event = _event("\n".join(self._data))
                self._data.clear()
                if event is not None:
                    yield event


def _event(data: str) -> Event | None:
    try:
        content = json.loads(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) and "kind" in content else None


async def events(upstream: Upstream, kinds: tuple[str, ...]) -> AsyncIterator[Event]:
    """Follow the daemon's events until the stream ends. Raises TargetError when it breaks off, or says nothing."""
    async with upstream.stream(f"{_PATH}?kinds={','.join(kinds)}") as stream:
        if stream.status != 200:
            raise Unreachable(f"{_PATH} answered {stream.status}")
        lines = Lines()
        async for piece in stream.pieces:
            for event in lines.feed(piece):
                yield event
