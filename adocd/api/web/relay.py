"""Relays a stream of the daemon to a client until either side ends it or the client loses its permission."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from fastapi import Response
from starlette.types import Receive, Scope, Send

from adocd.api import problems
from adocd.api.web.upstream import StreamedAnswer
from adocd.targets.errors import TargetError

#: How often to check that the client's token is still valid.
_LOOK_S = 1.0


class Relay(Response):
    """An answer that opens the daemon's stream when it begins, and closes it in any case when it ends.

    It reads from the daemon only as fast as the client reads, so nothing piles up here.
    """

    def __init__(
        self,
        stream: AbstractAsyncContextManager[StreamedAnswer],
        holds: Callable[[], Awaitable[bool]],
        handed_on: Callable[[Mapping[str, str]], dict[str, str]],
    ) -> None:
        super().__init__()
        self._stream = stream
        self._holds = holds
        self._handed_on = handed_on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Relay the stream; 503 if the daemon does not answer."""
        began = False

        async def relay() -> None:
            nonlocal began
            async with self._stream as stream:
                answer = Response(None, stream.status, self._handed_on(stream.headers))
                del answer.headers["content-length"]
                began = True
                await send({"type": "http.response.start", "status": stream.status, "headers": answer.raw_headers})
                if scope["method"] != "HEAD":
                    async for piece in stream.pieces:
                        await send({"type": "http.response.body", "body": piece, "more_body": True})

        try:
            is_wanted = await _first(relay(), _gone(receive), self._no_more())
        except TargetError as error:
            if not began:
                await problems.problem(503, str(error))(scope, receive, send)
                return
            is_wanted = True  # the daemon ended the stream: end this answer properly, and the client reconnects
        if is_wanted and began:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _no_more(self) -> bool:
        """Wait until the client may no longer read the stream."""
        while await self._holds():  # noqa: ASYNC110 - there is no event to wait for: a file changes
            await asyncio.sleep(_LOOK_S)
        return True


async def _gone(receive: Receive) -> bool:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    return False


async def _first(relay: Awaitable[None], gone: Awaitable[bool], no_more: Awaitable[bool]) -> bool:
    """Wait for the first of the three, cancel the others; return whether the client is still there."""
    relaying = asyncio.ensure_future(relay)
    others = (asyncio.ensure_future(gone), asyncio.ensure_future(no_more))
    tasks = (relaying, *others)
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if relaying in done:
        relaying.result()
    return others[0] not in done
