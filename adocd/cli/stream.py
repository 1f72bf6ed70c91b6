"""The daemon's events (GET /v1/events), as they come: server-sent events over its Unix socket."""

import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from adocd.api.client import NoDaemon, RestError

#: The daemon sends a comment every 15 s where nothing happens: silence for longer means that it is gone.
_SILENCE_S = 45.0


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` is None where it has none to resume from."""

    id: int | None
    kind: str
    data: dict[str, Any]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("adocd", timeout=_SILENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def follow(daemon_socket: Path, query: dict[str, str], after: int | None) -> Iterator[Event]:
    """Give events as they come, those after the event `after` first where they are still known.

    Ends by NoDaemon, at the latest 45 s after the last sign of life; raises RestError where the daemon refuses.
    """
    connection = _UnixConnection(daemon_socket)
    headers = {"Accept": "text/event-stream"} | ({} if after is None else {"Last-Event-ID": str(after)})
    try:
        connection.request("GET", f"/v1/events?{urlencode(query)}" if query else "/v1/events", headers=headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            raise RestError(answer.status, _detail(answer))
        yield from _parse(answer)
    except (OSError, http.client.HTTPException) as error:
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


def _parse(lines: Iterator[bytes]) -> Iterator[Event]:
    """Parse events as the HTML standard's section 9.2.6 says, with one line of data as the daemon sends it."""
    id_: str | None = None
    kind, data = "message", list[str]()
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield Event(int(id_) if id_ and id_.isdecimal() else None, kind, json.loads("\n".join(data)))
            id_, kind, data = None, "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            id_ = value
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)
