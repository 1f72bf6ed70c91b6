"""Which socket of a run directory is a program's: the kernel says who listens there."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from adocd.process.attach.attachment import socket_of
from tests.support.programs import Program, environment

LISTENS = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
sys.stdin.read()
"""
PID = os.getpid()


@contextlib.contextmanager
def listening(path: Path, queue: int = 8) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(queue)
        yield


def test_one_that_a_process_left_behind_is_nobodys(run_dir: Path) -> None:
    """In a container each program may well have the pid of the one before it, which was killed."""
    left, own = run_dir / f"agent-{PID}.sock", run_dir / f"agent-{PID}-2.sock"
    with listening(left):
        assert socket_of(PID, run_dir) == left
    assert left.is_socket()
    assert socket_of(PID, run_dir) is None
    with listening(own):
        assert socket_of(PID, run_dir) == own


def test_another_process_may_have_the_same_pid_in_a_container(run_dir: Path) -> None:
    """To detach would restore the options of its databases, and leave those of the program as they are."""
    theirs, own = run_dir / f"agent-{PID}-2.sock", run_dir / f"agent-{PID}.sock"
    with Program([sys.executable, "-c", LISTENS, theirs], environment(None, None)):
        assert socket_of(PID, run_dir) is None
        with listening(own):
            assert socket_of(PID, run_dir) == own


def test_one_whose_queue_is_full_counts_as_its_own(run_dir: Path) -> None:
    """Such as that of a program that stands still: an agent may be in there."""
    path = run_dir / f"agent-{PID}.sock"
    with listening(path, queue=0), contextlib.ExitStack() as waiting:
        for _ in range(100):
            connection = waiting.enter_context(socket.socket(socket.AF_UNIX))
            connection.setblocking(False)
            if connection.connect_ex(str(path)) != 0:
                break
        else:
            raise AssertionError("the queue never was full")
        assert socket_of(PID, run_dir) == path
