"""Children are ended with what they started."""

import os
import sys
import time
from pathlib import Path

import pytest
from adocd_bench.run.child import child

#: Starts a child of its own, says its process id, and waits for good.
PARENT = """
import subprocess, sys
inner = subprocess.Popen(["sleep", "60"])
print(inner.pid, flush=True)
inner.wait()
"""


def _await(path: Path) -> str:
    deadline_s = time.monotonic() + 10
    while not path.read_text() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return path.read_text()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_and_its_child_are_ended_with_the_context(tmp_path: Path) -> None:
    with child("p", [sys.executable, "-c", PARENT], os.environ, tmp_path) as it:
        inner = int(_await(it.output))
        assert _runs(inner)
    deadline_s = time.monotonic() + 5
    while _runs(inner) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not _runs(inner)
    assert it.process.returncode is not None


def test_a_child_that_ended_by_itself_keeps_its_status(tmp_path: Path) -> None:
    with child("p", ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], os.environ, tmp_path) as it:
        it.process.wait()
    assert (it.process.returncode, it.said(), it.last_words()) == (3, "out\n", "err")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ("", "it said nothing"),
        ("\n \n", "it said nothing"),
        ("... finished 100 ops     \r... finished 200 ops     \rput error: full\n", "put error: full"),
        ("put error: full\n... finished 100 ops     \r... finished 200 ops     \r", "put error: full"),
    ],
)
def test_last_words_are_not_db_benchs_progress(tmp_path: Path, errors: str, words: str) -> None:
    with child("p", ["/bin/true"], {}, tmp_path) as it:
        it.process.wait()
    it.errors.write_text(errors, newline="")
    assert it.last_words() == words
