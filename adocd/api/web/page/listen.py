"""Reading the daemon's events (server-sent events, as the HTML standard has them) from its Unix socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import h11

from adocd.targets.errors import Silent, Unreachable

#: The daemon sends a comment every 15 s where it has nothing to say.
_SILENCE_S = 40.0
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


async def events(daemon_socket: Path, kinds: tuple[str, ...]) -> AsyncIterator[Event]:
    """Follow the daemon's events until the connection ends. Raises Unreachable, and Silent when nothing comes."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(daemon_socket))
    except OSError as error:
        raise Unreachable(f"nothing answers at {daemon_socket}: {error.strerror or error}") from None
    try:
        http = h11.Connection(h11.CLIENT)
        request = h11.Request(method="GET", target=f"{_PATH}?kinds={','.join(kinds)}", headers=[("Host", "adocd")])
        writer.write((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
        lines = Lines()
        async for content in _body(http, reader):
            for event in lines.feed(content):
                yield event
    except (OSError, h11.RemoteProtocolError) as error:
        raise Unreachable(f"the events of {daemon_socket} broke off: {error}") from None
    finally:
        writer.close()


async def _body(http: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            try:
                async with asyncio.timeout(_SILENCE_S):
                    http.receive_data(await reader.read(65536))
            except TimeoutError:
                raise Silent(f"the daemon sent no event within {_SILENCE_S:.0f} s") from None
        elif isinstance(event, h11.Response) and event.status_code != 200:
            raise Unreachable(f"{_PATH} answered {event.status_code}")
        elif isinstance(event, h11.Data):
            yield bytes(event.data)
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return
