"""Work that may hang for ever, a look at a file on a device that does not answer say, on a thread of its own.

Not asyncio.to_thread: its few threads are everybody's, so some that hang would stop all others, and who ends waits for
them. Nobody waits for these.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from adocd.probes import workers

_T = TypeVar("_T")


class OwnThread:
    """Runs one piece of work at a time, for the event loop that asks for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._working: asyncio.Future[object] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the work before is still under way."""
        return self._working is not None and not self._working.done()

    async def run(self, work: Callable[[], _T], patience_s: float) -> _T:
        """Do the work, after that before; raises what it raises, and TimeoutError after `patience_s` seconds.

        Work that was begun goes on then, and when the caller is cancelled.
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
    # What nobody waits for any more may fail, and needs no line in the log.
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
