"""Makes several runs of a plan at once, each on a device of its own.

Scaled runs leave most of the machine idle: one of a sixteenth takes about a tenth of a processor and 13 MB/s. What runs
that go on at once take from each other is recorded in each (`raw.Noise`).
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Gathering:
    """Has runs that go on at once begin their measured phases together.

    A rate limiter also slows down the loading, so a run with one would otherwise be measured when those beside it have
    ended, with the processors to itself.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._missing = set(names)
        self._lock = threading.Lock()

    def arrive(self, name: str) -> bool:
        """Note that a run has prepared, or has ended, however that was; return whether no other is missing."""
        with self._lock:
            self._missing.discard(name)
            return not self._missing


class Lanes:
    """Does work in up to `count` threads; one lane is the caller's own thread.

    The first error, an interrupt included, ends all lanes: work calls `check` at least every second, which raises
    KeyboardInterrupt then, so that it takes down what it started.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._ending = threading.Event()

    def check(self) -> None:
        """Raise KeyboardInterrupt if all lanes are to end."""
        if self._ending.is_set():
            raise KeyboardInterrupt

    def each(self, items: Iterable[_Item], work: Callable[[_Item], _Result]) -> Iterator[_Result]:
        """Do the work on every item, in their order, and yield results as they come; raises the work's first error."""
        if self.count == 1:
            yield from map(work, items)
            return
        left = iter(items)
        with ThreadPoolExecutor(self.count) as threads:
            try:
                running = {threads.submit(work, item) for item in islice(left, self.count)}
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    results = [future.result() for future in done]
                    running |= {threads.submit(work, item) for item in islice(left, len(done))}
                    yield from results
            except BaseException:
                self._ending.set()
                raise
