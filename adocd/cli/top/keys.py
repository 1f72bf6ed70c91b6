"""Reads single keys from a terminal, without Enter."""

import contextlib
import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator

_QUIT = ("q", "Q", "\x04")
#: What an arrow or a function key sends (ECMA-48, 5.4, and SS3 with a letter): that of F2 has a Q in it.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")


class Keyboard:
    """Waits for a key; if stdin is not a terminal, it only waits."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def wait(self, seconds: float) -> str:
        """Wait up to `seconds` for a key; "" if none was pressed. An arrow key returns several characters."""
        if self._descriptor is None:
            time.sleep(max(0.0, seconds))
            return ""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
        if not ready:
            return ""
        read = os.read(self._descriptor, 64)
        if not read:  # the terminal is gone
            return "q"
        return read.decode("utf-8", "replace")


def quits(typed: str) -> bool:
    """Whether one of these keys ends `top`; several are read at once if they were pressed while it waited."""
    return any(key in _QUIT for key in _SEQUENCE.sub("", typed))


@contextlib.contextmanager
def keys() -> Iterator[Keyboard]:
    """Read keys while the body runs, then restore the terminal's settings."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield Keyboard(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C stays a signal
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
