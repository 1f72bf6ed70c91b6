"""Threads for work that may never come back, begun anew only when none is idle.

No pool with a limit: what hangs keeps its thread for ever, and takes no place of another's. Beginning a thread costs
more than a law or a look at a LOG does, and a thousand targets would begin two thousand a second.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

#: So many idle threads are kept.
_IDLE_MOST = 16

_idle: "deque[SimpleQueue[tuple[Callable[[], None], str]]]" = deque()


def start(work: Callable[[], None], name: str) -> None:
    """Do this work in a thread of that name, which does nothing else meanwhile; the work must not raise.

    It is a daemon thread: one that hangs does not keep the process from ending.
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
        del work  # what it holds is not kept until the next comes
        if len(_idle) >= _IDLE_MOST:
            return
        _idle.append(todo)
