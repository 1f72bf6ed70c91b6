"""Calls third-party code in a thread of its own with a time limit, so that it cannot block the loop."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from adocd.probes import workers

_T = TypeVar("_T")
#: The limit is waited for in so many parts. A part in which the daemon itself stood still counts no longer than others.
_PARTS = 20


class TookTooLong(Exception):
    """The call did not return in time; its thread is abandoned."""


class NotStarted(Exception):
    """No thread could be started for the call, for example at a limit on the number of threads; nothing was called."""


class Raised(Exception):
    """The function raised `error`, which may be any exception, SystemExit included."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


async def call(function: Callable[[], _T], limit_s: float | None) -> _T:
    """Call a function; raises TookTooLong after `limit_s` seconds, and Raised for any exception of the function.

    Time in which the event loop did not run, because the daemon was stopped, throttled or blocked, is not the
    function's and does not count. Raises NotStarted if there is no thread for it.

    Without a limit the function runs in the caller's thread: under a simulated clock, waiting for a thread cannot work.

    A call takes an idle thread, or a new one if none is idle, so a call that never returns holds up no other; as a
    daemon thread it does not keep the process from exiting. Pure Python yields to other threads every few milliseconds;
    only native code that keeps the GIL could block the loop.
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
        except BaseException as error:  # the caller decides, even about SystemExit
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, result, failed)

    try:
        workers.start(body, "bounded call")
    except RuntimeError as error:
        raise NotStarted(str(error)) from None
    for _ in range(_PARTS):
        await asyncio.wait({done}, timeout=limit_s / _PARTS)
        if done.done():
            break
    else:
        raise TookTooLong(f"it took more than {limit_s:g} s")
    result, failed = done.result()
    if failed is not None:
        raise Raised(failed) from failed
    return result  # type: ignore[return-value]  # without an exception there is a result
