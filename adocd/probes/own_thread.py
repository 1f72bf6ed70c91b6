"""Runs work that may hang for ever, e.g. reading a file on a device that does not answer, on a separate thread.

Not asyncio.to_thread: its few threads are shared, so hanging ones would block all others, and the process waits for
them at exit. Nothing waits for these.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from adocd.probes import workers

_T = TypeVar("_T")


class OwnThread:
    """Runs one piece of work at a time for the event loop that asks for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._working: asyncio.Future[object] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the previous work is still running."""
        return self._working is not None and not self._working.done()

    async def run(self, work: Callable[[], _T], patience_s: float) -> _T:
        """Do the work after the previous one; raises what it raises, and TimeoutError after `patience_s` seconds.

        Work that has started goes on after a timeout, and when the caller is cancelled.
        """
        async with asyncio.timeout(patience_s):
            if self._working is not None:
                await asyncio.wait({self._working})
            working = _begun(work, self._name)
            self._working = working  # type: ignore[assignment]  # a Future is invariant
            await asyncio.wait({working})
        return working.result()


def _begun(work: Callable[[], _T], name: str) -> asyncio.Future[_T]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    # If nobody waits for it any more, a failure needs no line in the log.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            tell(future.set_exception, error)
        else:
            tell(future.set_result, result)

    def tell(how: Callable[..., None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(lambda: None if future.done() else how(what))

    workers.start(run, name)
    return future
