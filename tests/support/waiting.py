"""Polling with a deadline, so that no test sleeps for luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(probe: Callable[[], T], *, within_s: float = 5.0, every_s: float = 0.01, what: str = "") -> T:
    """Return the first truthy value of `probe` within `within_s` seconds.

    Fails with `what` and the last value seen, because "timed out" alone explains nothing.
    """
    deadline = time.monotonic() + within_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within_s} s: {what or probe}; last seen: {value!r}")
        time.sleep(every_s)


def always(probe: Callable[[], bool], *, for_s: float, every_s: float = 0.02, what: str = "") -> None:
    """Fail as soon as `probe` is false within the next `for_s` seconds: for what must NOT happen."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        if not probe():
            raise AssertionError(f"did not hold for {for_s} s: {what or probe}")
        time.sleep(every_s)
