"""Reads the daemon's events (GET /v1/events): one parser of server-sent events, for blocking and for async callers."""

import http.client
import json
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from adocd.api.client import NoDaemon, RestError
from adocd.targets.errors import TargetError, Unreachable

PATH = "/v1/events"
#: The daemon sends a comment every 15 s where nothing happens: silence for longer means that it is gone.
_SILENCE_S = 45.0
_LINE_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ServerSent:
    """One event; `id` is None where it has none to resume from."""

    id: int | None
    kind: str
    data: dict[str, Any]


class Parser:
    """Puts events together from what arrives, in pieces of any size, as the HTML standard's section 9.2.6 says."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}
        self._data: list[str] = []

    def feed(self, content: bytes) -> Iterator[ServerSent]:
        """Give each event whose end has come; what has no JSON object is left out. Raises Unreachable."""
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > _LINE_MOST_BYTES:
            raise Unreachable("an event of the daemon has no end")
        for line in lines:
            words = line.rstrip(b"\r").decode("utf-8", "replace")
            if words:
                name, _, value = words.partition(":")
                self._take(name, value.removeprefix(" "))
            elif (event := self._ended()) is not None:
                yield event

    def _take(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        else:
            self._fields[name] = value

    def _ended(self) -> ServerSent | None:
        fields, data = self._fields, "\n".join(self._data)
        self._fields, self._data = {}, []
        try:
            content = json.loads(data)
        except ValueError:
            return None
        if not isinstance(content, dict):
            return None
        id_ = fields.get("id", "")
        return ServerSent(int(id_) if id_.isdecimal() else None, fields.get("event", "message"), content)


async def events_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[ServerSent]:
    """Give the events of an answer that comes in pieces. Raises what the pieces raise, and Unreachable."""
    parser = Parser()
    async for piece in pieces:
        for event in parser.feed(piece):
            yield event


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("adocd", timeout=_SILENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def follow(daemon_socket: Path, query: dict[str, str], after: int | None) -> Iterator[ServerSent]:
    """Give events as they come, those after the event `after` first where they are still known.

    Ends by NoDaemon, at the latest 45 s after the last sign of life; raises RestError where the daemon refuses.
    """
    connection = _UnixConnection(daemon_socket)
    headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": str(after)})
    try:
        connection.request("GET", f"{PATH}?{urlencode(query)}" if query else PATH, headers=headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            raise RestError(answer.status, _detail(answer))
        parser = Parser()
        while piece := answer.read1():
            yield from parser.feed(piece)
    except (OSError, http.client.HTTPException, TargetError) as error:
        raise NoDaemon(
            f"no daemon answers at {daemon_socket} ({error or type(error).__name__}); start one by `adocd serve`, "
            "or say by ADOCD_RUN_DIR where it runs"
        ) from None
    finally:
        connection.close()
    raise NoDaemon(f"the daemon at {daemon_socket} ended the stream of events")


def _detail(answer: http.client.HTTPResponse) -> str:
    try:
        detail = json.loads(answer.read()).get("detail")
    except (ValueError, AttributeError):
        detail = None
    if answer.status == 404 and not isinstance(detail, str):
        return "the daemon has no events: it is older than this adocctl; restart it"
    return str(detail or f"GET /v1/events was refused with status {answer.status}")
