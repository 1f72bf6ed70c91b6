"""The event stream: server-sent events (html.spec.whatwg.org, 9.2) for pages, terminals and scripts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic import AfterValidator
from pydantic_core import to_json

from adocd.api import limits
from adocd.api.problems import ProblemError
from adocd.api.rest import views
from adocd.api.rest.document import ID_BEGINS, ID_IN_WORDS, errors
from adocd.api.rest.matching import documented, matching
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.watch.events import KEPT, KINDS, EventReader, TargetEvent
from adocd.model.nearest import unknown

#: Longest silence of a stream: proxies close idle connections.
KEEP_ALIVE_S = 15.0
#: Events written before the control loop gets its turn: some milliseconds of work.
_AT_ONCE = 32
_LARGEST_ID = 1 << 53


_STREAM: dict[str, Any] = {
    "description": "Events until the client closes the stream; a comment after 15 s without one",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "required": ["id", "event", "data"],
                "properties": {
                    "id": {"type": "string", "pattern": "^[0-9]+$", "description": "for Last-Event-ID"},
                    "event": {"enum": [*KINDS, "lost"]},
                    "data": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": {
                            "type": "object",
                            "required": ["id", "unix_s", "target", "path", "kind"],
                            "properties": {
                                "id": {"type": "integer"},
                                "unix_s": {"type": "number"},
                                "target": {"type": ["string", "null"]},
                                "path": {"type": ["string", "null"]},
                                "kind": {"enum": [*KINDS, "lost"]},
                            },
                        },
                    },
                },
            },
            "example": (
                "event: target\ndata: "
                '{"id":1795307618000001,"unix_s":1795307618.7,"target":"81560d9d192522fb","path":"/data/db",'
                '"kind":"target","state":"closed","sentence":"the database was closed"}\nid: 1795307618000001\n\n'
            ),
        }
    },
}


def _are_kinds(given: str | None) -> str | None:
    for kind in () if given is None else given.split(","):
        if kind not in KINDS:
            raise ValueError(unknown("kind of event", kind, KINDS))
    return given


class EventStream(StreamingResponse):
    """A stream of events. The framework's own class needs a route that cannot refuse before it streams."""

    media_type = "text/event-stream"


def install(
    app: FastAPI,
    fleet: Fleet,
    find: Callable[[str], TargetLoop | KeptTarget],
) -> None:
    """Add the route; `find` also finds closed databases of which something is kept."""

    @app.get(
        "/v1/events",
        summary="Events as they happen, as server-sent events",
        response_class=EventStream,
        responses={200: _STREAM, **errors(404, 422)},
    )
    async def events(
        request: Request,
        target: Annotated[
            str | None,
            matching(ID_BEGINS, ID_IN_WORDS),
            Query(
                description="only events of this target and of the daemon itself",
                json_schema_extra=documented(ID_BEGINS),
            ),
        ] = None,
        kinds: Annotated[
            str | None,
            AfterValidator(_are_kinds),
            Query(
                description=f"only these kinds, separated by commas: {', '.join(KINDS)}; default: all",
                json_schema_extra=documented(rf"^({'|'.join(KINDS)})(,({'|'.join(KINDS)}))*$"),
            ),
        ] = None,
        last: Annotated[
            int | None, Query(ge=0, le=KEPT, description="begin with this number of the newest events that are kept")
        ] = None,
        follow: Annotated[bool, Query(description="false: end after the events that are kept")] = True,
        last_event_id: Annotated[
            int | None,
            Header(
                alias="Last-Event-ID",
                ge=0,
                lt=_LARGEST_ID,
                description="continue after this event; browsers send it by themselves",
            ),
        ] = None,
    ) -> EventStream:
        """Follow events, or with `follow` false read those that are kept.

        The data of each is an object with `id`, `unix_s`, `target`, `path` and `kind`. In addition, a `sample`
        (once a tick; a slow reader gets only the newest) has `sample`, the target as in the list; a `decision`
        has `record` and comes twice, when it is taken and with its outcome; a `stall` has `state` (began,
        changed, ended), `stall` and, once it has ended, `ended_unix_s` (even as it began, if it was over before
        anyone saw it); a `target` has `state` and `sentence`; an `operation` has `operation`, as in the audit
        trail; `daemon` has `about` (journal, configuration, web) and `sentence`. `lost` says that up to `count`
        events before it are lost; null: the daemon was restarted. Read the state again then. The daemon keeps
        the last 5,000 events, except samples.
        """
        found = None if target is None else find(target).id
        wanted = frozenset(KINDS if kinds is None else kinds.split(","))
        if not limits.begin_stream(request.scope, limits.MAX_STREAMS):
            raise ProblemError(503, f"{limits.MAX_STREAMS} streams are open already; close one and try again")
        feed = fleet.events.read(target=found, kinds=wanted, after=last_event_id, last=last)
        return EventStream(
            _sent(feed, fleet, follow=follow), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )


async def _sent(feed: EventReader, fleet: Fleet, *, follow: bool) -> AsyncIterator[bytes]:
    try:
        yield KEEPALIVE_COMMENT  # tells the reader at once that the stream is open
        while True:
            if events := feed.take(_AT_ONCE, fleet.wall_clock()):
                yield b"".join(encoded(event, fleet.loops) for event in events)
                await asyncio.sleep(0)  # else a fast reader of a long backlog would block the loop
            elif not follow:
                return
            elif not await feed.wait(KEEP_ALIVE_S):
                yield KEEPALIVE_COMMENT
    finally:
        feed.close()


def encoded(event: TargetEvent, loops: Mapping[str, TargetLoop]) -> bytes:
    """Encode an event for the stream; it is encoded once for all readers."""
    if event.encoded is None:
        members = dict(event.members)
        if event.kind == "sample":
            loop = loops.get(event.target or "")
            members["sample"] = None if loop is None else views.target(loop.status)
        head = {"id": event.id, "unix_s": event.unix_s, "target": event.target, "path": event.path, "kind": event.kind}
        data = to_json(head | members, inf_nan_mode="null", fallback=str).decode()
        event.encoded = format_sse_event(data_str=data, event=event.kind, id=str(event.id))
    return event.encoded
