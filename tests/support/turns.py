"""What there is once on a machine: who needs it takes turns, with whatever other worker or checkout runs the tests."""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def turn(what: str) -> Iterator[None]:
    """Wait until nobody else has it, and have it while the block runs."""
    with (Path(tempfile.gettempdir()) / f"adocd-tests-{what}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
