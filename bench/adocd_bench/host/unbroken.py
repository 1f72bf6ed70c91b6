"""Work that no signal may break off: what it leaves half done, nobody could find later."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Those that end the bench.
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def unbroken() -> Iterator[None]:
    """Hold the signals that end the bench back until this is done; other threads than the main one get none.

    A mask of this thread would not do: the kernel may give a signal to any, and Python handles it in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = [number for number in ENDING_SIGNALS if signal.getsignal(number) not in (None, signal.SIG_IGN)]
    before = {number: signal.signal(number, lambda which, _frame: came.append(which)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
