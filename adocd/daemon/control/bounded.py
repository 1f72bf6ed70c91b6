"""Calls somebody else's code so that it holds up nobody: in a thread of its own, and no longer than allowed."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from adocd.probes import workers

_T = TypeVar("_T")


class TookTooLong(Exception):
    """A call has not come back in time; its thread is left to itself."""


class Raised(Exception):
    """The function raised: `error`, which may be anything, an exit too."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


async def call(function: Callable[[], _T], limit_s: float | None) -> _T:
    """Call a function; raises TookTooLong after `limit_s` seconds, and Raised for whatever the function raises.

    Without a limit it is called right here: where time is virtual, no thread could be waited for.

    A thread a call and no pool: one that never comes back then takes no place of another's, and as a daemon thread it
    does not keep the process from ending. Pure Python gives way to other threads every few milliseconds; only native
    code that keeps the interpreter lock could stop the loop.
    """
    if limit_s is None:
        try:
            return function()
        except (Exception, SystemExit) as error:
            raise Raised(error) from error
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[_T | None, BaseException | None]] = loop.create_future()

    def tell(result: _T | None, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def body() -> None:
        result, failed = None, None
        try:
            result = function()
        except BaseException as error:  # an exit, too, is the caller's to judge
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, failed)

    workers.start(body, "bounded call")
    try:
        result, failed = await asyncio.wait_for(done, limit_s)
    except TimeoutError:
        raise TookTooLong(f"it took more than {limit_s:g} s") from None
    if failed is not None:
        raise Raised(failed) from failed
    return result  # type: ignore[return-value]  # without an exception there is a result
