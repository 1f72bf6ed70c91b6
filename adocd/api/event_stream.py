"""Reads the daemon's events (GET /v1/events): one parser of server-sent events for blocking and async callers."""

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
#: Longest silence, after which the daemon counts as gone: an idle stream has a comment every 15 s.
_SILENCE_S = 45.0
_LINE_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class ServerSent:
    """One event; `id` is None if a stream cannot resume after it."""

    id: int | None
    kind: str
    data: dict[str, Any]


class Parser:
    """Assembles events from pieces of any size, by section 9.2.6 of the HTML standard."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}
        self._data: list[str] = []

    def feed(self, content: bytes) -> Iterator[ServerSent]:
        """Yield each complete event; skip those whose data is not a JSON object.

        Raises Unreachable when a line exceeds 4 MiB.
        """
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
    """Yield the events of an answer that arrives in pieces. Raises Unreachable, and what `pieces` raises."""
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
    """Yield events as they come, beginning after the event `after` if the daemon still has it.

    Always ends with NoDaemon, at most 45 s after the daemon last sent something, or with RestError if it refuses.
    """
    yield from kept(daemon_socket, query, after)
    raise NoDaemon(f"the daemon at {daemon_socket} ended the stream of events")


def kept(daemon_socket: Path, query: dict[str, str], after: int | None = None) -> Iterator[ServerSent]:
    """Yield events until the daemon ends the stream, as it does at once with `follow` false.

    Raises NoDaemon if it does not answer, or stops answering, and RestError if it refuses.
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


def _detail(answer: http.client.HTTPResponse) -> str:
    try:
        detail = json.loads(answer.read()).get("detail")
    except (ValueError, AttributeError):
        detail = None
    if answer.status == 404 and not isinstance(detail, str):
        return "the daemon has no events: it is older than this adocctl; restart it"
    return str(detail or f"GET /v1/events was refused with status {answer.status}")
