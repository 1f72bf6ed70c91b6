"""Polling with a deadline, so that no test sleeps for luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: Nothing is measured by it: other programs may have the processors meanwhile.
PATIENCE_S = 60.0


def eventually(probe: Callable[[], T], *, within_s: float = PATIENCE_S, every_s: float = 0.01, what: str = "") -> T:
    """Return the first truthy value of `probe` within `within_s` seconds.

    Fails with `what` and the last value seen, because "timed out" alone explains nothing. A probe that takes long, such
    as a command, is asked more rarely: what it waits for needs the processors too.
    """
    deadline = time.monotonic() + within_s
    while True:
        asked_s = time.monotonic()
        value = probe()
        if value:
            return value
        if (now_s := time.monotonic()) >= deadline:
            raise AssertionError(f"not within {within_s} s: {what or probe}; last seen: {value!r}")
        time.sleep(max(every_s, min(3 * (now_s - asked_s), 1.0)))


def always(probe: Callable[[], bool], *, for_s: float, every_s: float = 0.02, what: str = "") -> None:
    """Fail as soon as `probe` is false within the next `for_s` seconds: for what must NOT happen."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        if not probe():
            raise AssertionError(f"did not hold for {for_s} s: {what or probe}")
        time.sleep(every_s)
