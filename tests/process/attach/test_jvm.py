"""What a JVM may answer to whoever attaches: a socket that speaks its protocol, for what no JVM here would say."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adocd.process.attach import jvm
from adocd.process.attach.jvm import RunningJvm
from adocd.process.attach.problem import AttachRefused
from tests.support.waiting import PATIENCE_S

#: The version, a command and three arguments, each with a NUL at its end.
WORDS = 5


@contextmanager
def answering(run_dir: Path, answer: bytes) -> Iterator[RunningJvm]:
    """Be a JVM that takes one request and answers it."""
    proc = run_dir / "proc"
    temporary = proc / "root" / "tmp"
    temporary.mkdir(parents=True)
    (proc / "fd").mkdir()

    def answer_one() -> None:
        connection, _ = listener.accept()
        with connection:
            asked = b""
            while asked.count(b"\0") < WORDS:
                asked += connection.recv(4096)
            connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(temporary / f".java_pid{os.getpid()}"))
        listener.listen()
        listener.settimeout(PATIENCE_S)
        thread = threading.Thread(target=answer_one)
        thread.start()
        yield RunningJvm(os.getpid(), "java", proc)
        thread.join()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"0\nreturn code: 100\n", "finds no agent in .*agent.jar, or cannot read it: build it anew"),
        (b"0\n100\n", "finds no agent in .*agent.jar, or cannot read it: build it anew"),
        (b"0\nreturn code: 102\n", "did not load the agent: 0 return code: 102$"),
        (b"0\nreturn code: 110\n", "did not load the agent: 0 return code: 110$"),
        (b"101\n", "did not load the agent: 101$"),
        (b"0", "did not load the agent: 0$"),
        (b"", "did not load the agent: $"),
        (b"0\nreturn code: 0\n", "has an agent of another adocd loaded, which does not answer this one: restart it$"),
        (b"0\n0\n", "has an agent of another adocd loaded, which does not answer this one: restart it$"),
    ],
)
def test_a_jar_that_was_not_loaded_is_no_agent_of_another_adocd(run_dir: Path, answer: bytes, sentence: str) -> None:
    """Who is told that restarts the program, and it would be the same again."""
    jar = run_dir / "agent.jar"
    jar.touch()
    with answering(run_dir, answer) as found, pytest.raises(AttachRefused, match=sentence):
        jvm.attach(found, jar, run_dir)


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_where_the_jvm_is_asked_is_not_followed(run_dir: Path, exists: bool) -> None:
    """Its directory is its user's, who may be another than the one who attaches."""
    proc, outside = run_dir / "proc", run_dir / "outside"
    for directory in (proc / "cwd", proc / "root" / "tmp"):
        directory.mkdir(parents=True)
        (directory / f".attach_pid{os.getpid()}").symlink_to(outside)
    if exists:
        outside.touch()
        os.utime(outside, (1, 1))
    with pytest.raises(AttachRefused, match="cannot be asked: Too many levels of symbolic links"):
        jvm._wake(RunningJvm(os.getpid(), "java", proc), proc / "root" / "tmp" / "socket")
    assert outside.exists() == exists
    assert not exists or outside.stat().st_mtime == 1
