"""What happens, as server-sent events (html.spec.whatwg.org, 9.2): for pages, terminals and scripts that follow."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from pydantic_core import to_json

from adocd.api import limits
from adocd.api.problems import ProblemError
from adocd.api.rest import views
from adocd.api.rest.document import ID_BEGINS, errors
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.watch.events import KINDS, EventReader, TargetEvent

#: So long a stream is silent at most: proxies close what says nothing.
KEEP_ALIVE_S = 15.0
#: Events that are written before control has its turn: some milliseconds.
_AT_ONCE = 32
_LARGEST_ID = 1 << 53


_STREAM: dict[str, Any] = {
    "description": "Events until the client closes; a comment at least every 15 s",
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


class EventStream(StreamingResponse):
    """Not the framework's: that one wants a route which cannot refuse before it streams."""

    media_type = "text/event-stream"


def install(
    app: FastAPI,
    fleet: Fleet,
    find: Callable[[str], TargetLoop],
) -> None:
    """Add the route."""

    @app.get(
        "/v1/events",
        summary="What happens, as server-sent events",
        response_class=EventStream,
        responses={200: _STREAM, **errors(404, 422)},
    )
    async def events(
        request: Request,
        target: Annotated[
            str | None, Query(pattern=ID_BEGINS, description="of one target alone, and of the daemon")
        ] = None,
        kinds: Annotated[
            str | None,
            Query(
                pattern=rf"^({'|'.join(KINDS)})(,({'|'.join(KINDS)}))*$",
                description=f"some of {', '.join(KINDS)}, with commas between; without it all of them",
            ),
        ] = None,
        last_event_id: Annotated[
            int | None,
            Header(
                alias="Last-Event-ID",
                ge=0,
                lt=_LARGEST_ID,
                description="go on after this event, as browsers do by themselves",
            ),
        ] = None,
    ) -> EventStream:
        """Follow what happens: each event's data is an object with `id`, `unix_s`, `target`, `path` and `kind`.

        Beside these a `sample` (once a tick, the newest alone) has `sample`, the target as the list has it; a
        `decision` has `record`, once when it is taken and again with its outcome; a `stall` has `state` (began,
        changed, ended), `stall`, and `ended_unix_s` when it is over, at its beginning, too; a `target` has `state` and
        `sentence`; an `operation` has `operation`, as in the audit trail; `daemon` has `about` (journal, configuration,
        web) and `sentence`. `lost` says that at most `count` events before it are gone, or with null that the daemon
        was started anew: read the state anew then. The last 5,000 events are kept, samples aside.
        """
        found = None if target is None else find(target).id
        wanted = frozenset(KINDS if kinds is None else kinds.split(","))
        if not limits.begin_stream(request.scope, limits.MAX_STREAMS):
            raise ProblemError(503, f"{limits.MAX_STREAMS} streams are open already; close one, and try again")
        feed = fleet.events.read(target=found, kinds=wanted, after=last_event_id)
        return EventStream(_sent(feed, fleet), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def _sent(feed: EventReader, fleet: Fleet) -> AsyncIterator[bytes]:
    try:
        yield KEEPALIVE_COMMENT  # so that its reader knows at once that it is there
        while True:
            if events := feed.take(_AT_ONCE, fleet.wall_clock()):
                yield b"".join(encoded(event, fleet.loops) for event in events)
                await asyncio.sleep(0)  # a quick reader of much that is kept would be served in one go
            elif not await feed.wait(KEEP_ALIVE_S):
                yield KEEPALIVE_COMMENT
    finally:
        feed.close()


def encoded(event: TargetEvent, loops: Mapping[str, TargetLoop]) -> bytes:
    """Write an event as it is sent, once for all who read it."""
    if event.encoded is None:
        members = dict(event.members)
        if event.kind == "sample":
            loop = loops.get(event.target or "")
            members["sample"] = None if loop is None else views.target(loop.status)
        head = {"id": event.id, "unix_s": event.unix_s, "target": event.target, "path": event.path, "kind": event.kind}
        data = to_json(head | members, inf_nan_mode="null", fallback=str).decode()
        event.encoded = format_sse_event(data_str=data, event=event.kind, id=str(event.id))
    return event.encoded
