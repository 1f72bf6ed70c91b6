"""Threads for work that may never return; a new one is started only when none is idle.

The pool has no limit: work that hangs keeps its thread for ever and must not take another's place. Starting a thread
costs more than running a law or reading a LOG, and a thousand targets would start two thousand threads a second.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

#: Most idle threads kept.
_IDLE_MOST = 16

_idle: "deque[SimpleQueue[tuple[Callable[[], None], str]]]" = deque()


def start(work: Callable[[], None], name: str) -> None:
    """Run the work in a thread of that name, which does nothing else meanwhile; the work must not raise.

    It is a daemon thread, so one that hangs does not keep the process from exiting.
    """
    try:
        todo = _idle.pop()
    except IndexError:
        todo = SimpleQueue()
        threading.Thread(target=_work, args=(todo,), name=name, daemon=True).start()
    todo.put((work, name))


def _work(todo: "SimpleQueue[tuple[Callable[[], None], str]]") -> None:
    while True:
        work, threading.current_thread().name = todo.get()
        work()
        del work  # free its references before waiting for the next work
        if len(_idle) >= _IDLE_MOST:
            return
        _idle.append(todo)
