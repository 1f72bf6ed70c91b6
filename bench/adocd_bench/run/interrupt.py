"""The first signal ends a run in order; later ones do not interrupt the cleanup."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from adocd_bench.host.unbroken import ENDING_SIGNALS


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into KeyboardInterrupt; ignore later ones, so that cleanup completes.

    A signal that was ignored before, as SIGHUP under nohup, stays ignored. Does nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt

    numbers = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
