"""The Flink job whose state is in RocksDB, under the Java agent."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.harness import adocctl_json, command, quickly_serving
from tests.examples.maven import QUICK_JVM, built
from tests.examples.running import attached, ctrl_c, said, started
from tests.support.waiting import eventually

MAIN = "net.adocd.examples.flink.Payments"
TOTAL = re.compile(
    r"total: (\d+) records in (\d+\.\d) s, \d+\.\d s of processor time in RocksDB's process, longest put \d+\.\d ms\n"
)
SECOND = re.compile(r" *\d+ s  [1-9]\d* records/s  longest put \d+\.\d ms")


@pytest.fixture(scope="module")
def classpath() -> str:
    """The classpath of the example."""
    return built("flink")


def payments(classpath: str, run_dir: Path, *options: str) -> list[str]:
    """Return the command of the README, for a directory of the test's own."""
    java = ["java", *QUICK_JVM, "-cp", classpath, MAIN, "--directory", str(run_dir / "payments")]
    return ["adocd", "exec", "--", *java, *options]


def test_adoc_acts_on_its_stalls_and_it_ends_at_ctrl_c(classpath: str, run_dir: Path, java_agent: Path) -> None:
    # More bytes for each record, and a slower disk, than by default: other tests have the processors too.
    job_of_the_test = payments(classpath, run_dir, "--value-bytes", "4000", "--rate-limiter", "16000000")
    with quickly_serving(run_dir), started(job_of_the_test, run_dir) as job:
        target = attached(job, run_dir)
        assert target["process"]["pid"] == job.pid
        assert target["labels"]["operator"] == "KeyedProcessOperator"
        assert target["labels"]["subtask"] == "1/1"
        eventually(lambda: any(map(SECOND.fullmatch, said(run_dir).splitlines())), what="records are written")

        command("adocctl", "set-policy", "adoc", run_dir=run_dir).ok()

        def applied() -> list[dict[str, object]]:
            assert job.poll() is None, said(run_dir)
            return [d for d in adocctl_json(run_dir, "decisions") if d["outcome"] == "applied"]

        eventually(applied, what="a decision of adoc is applied")
        assert ctrl_c(job) == 0, said(run_dir)
        *seconds, total = said(run_dir).splitlines(keepends=True)
        assert TOTAL.fullmatch(total), said(run_dir)
        # Nothing else, on stderr either.
        assert [line for line in seconds if not re.match(r" *\d+ s  \d+ records/s  longest put ", line)] == []
    assert not list(run_dir.glob("agent-*.sock"))
    # Flink removes the databases, and the checkpoints of a job that is cancelled.
    assert [path for path in (run_dir / "payments").rglob("*") if path.is_file()] == []


def test_each_store_is_a_database_and_the_pace_is_kept(classpath: str, run_dir: Path, java_agent: Path) -> None:
    command_line = payments(classpath, run_dir, "--stores", "3", "--records-per-s", "500", "--seconds", "10")
    began_s = time.monotonic()
    with quickly_serving(run_dir), started(command_line, run_dir) as job:

        def subtasks() -> list[str]:
            assert job.poll() is None, said(run_dir)
            return sorted(target["labels"]["subtask"] for target in adocctl_json(run_dir, "targets")["targets"])

        eventually(lambda: subtasks() == ["1/3", "2/3", "3/3"], what="three databases are found")
        assert job.wait(60) == 0, said(run_dir)
    total = TOTAL.search(said(run_dir))
    assert total is not None, said(run_dir)
    # The source begins before the databases are open.
    assert 0 < int(total[1]) <= 500 * (time.monotonic() - began_s)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store", "3"], "--store is no option; there are --directory, --rate-limiter, "),
        (["--stores"], "--stores needs a value after it."),
        (["--stores", "0"], "--stores takes a whole number from 1 to 1000, not 0."),
        (["--seconds", "soon"], "--seconds takes a whole number from 0 to 1000000000, not soon."),
        (["--directory", "/dev/null/payments"], "--directory cannot be used; name another: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_options_get_one_sentence(classpath: str, options: list[str], words: str) -> None:
    done = subprocess.run(
        ["java", *QUICK_JVM, "-cp", classpath, MAIN, *options], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (sentence,) = done.stderr.splitlines()
    assert words in sentence
