"""Children are ended with what they started."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from adocd_bench.errors import RunFailed
from adocd_bench.run.child import child, wait_until

from tests.support.waiting import eventually

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
    with child("p", [sys.executable, "-c", PARENT], tmp_path) as it:
        inner = int(_await(it.output))
        assert _runs(inner)
    deadline_s = time.monotonic() + 5
    while _runs(inner) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not _runs(inner)
    assert it.process.returncode is not None


def test_a_child_that_ended_by_itself_keeps_its_status(tmp_path: Path) -> None:
    with child("p", ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path) as it:
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
    with child("p", ["/bin/true"], tmp_path) as it:
        it.process.wait()
    it.errors.write_text(errors, newline="")
    assert it.last_words() == words


def test_it_is_given_the_run_directory_and_what_is_added(tmp_path: Path) -> None:
    with child("p", ["/bin/sh", "-c", "echo $ADOCD_RUN_DIR $MORE"], tmp_path, {"MORE": "more"}) as it:
        it.wait(10)
    assert it.said() == f"{tmp_path} more\n"


def test_a_child_that_failed_or_takes_too_long_is_said(tmp_path: Path) -> None:
    failed = child("p", ["/bin/sh", "-c", "echo full >&2; exit 3"], tmp_path)
    with failed as it, pytest.raises(RunFailed, match=r"^p failed with status 3: full$"):
        it.wait(10)
    with child("p", ["sleep", "60"], tmp_path) as it:
        assert it.is_running(60)
        with pytest.raises(RunFailed, match=r"^p did not end within 0 s$"):
            it.wait(0)


def test_waiting_ends_with_the_condition_or_with_the_program(tmp_path: Path) -> None:
    with child("p", ["/bin/sh", "-c", "echo ready; exec sleep 60"], tmp_path) as it:
        wait_until(lambda: "ready" in it.said(), "it was not ready", it, within_s=10)
        with pytest.raises(RunFailed, match=r"^it was not done within 0 s: it said nothing$"):
            wait_until(lambda: False, "it was not done", it, within_s=0)
    ends = child("q", ["/bin/sh", "-c", "echo gone >&2"], tmp_path)
    with ends as it, pytest.raises(RunFailed, match=r"^it was not done: q ended: gone$"):
        wait_until(lambda: False, "it was not done", it, within_s=10)


#: Runs a child, says its process id, and waits for good.
BENCH = """
import sys, time
from pathlib import Path
from adocd_bench.run.child import child
with child("p", ["sleep", "60"], Path(sys.argv[1])) as it:
    print(it.pid, flush=True)
    time.sleep(60)
"""


def test_a_child_of_a_bench_that_is_killed_ends(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", BENCH, tmp_path], stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        inner = int(bench.stdout.readline())
        assert _runs(inner)
        bench.kill()
    eventually(lambda: not _runs(inner), what="it has ended, too")
