"""The Kafka Streams application and its Kafka, under the Java agent."""

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

MAIN = "net.adocd.examples.orders.Orders"
TOTAL = re.compile(
    r"total: (\d+) records in (\d+\.\d) s, \d+\.\d s of processor time in RocksDB's process, longest put \d+\.\d ms\n"
)
SECOND = re.compile(r" *\d+ s  (\d+) records/s  longest put \d+\.\d ms\n")


@pytest.fixture(scope="module")
def classpath() -> str:
    """The classpath of the example."""
    return built("kafka-streams")


def orders(classpath: str, run_dir: Path, *options: str) -> list[str]:
    """Return the command of the README, for a directory of the test's own."""
    return ["java", "-Xmx512m", *QUICK_JVM, "-cp", classpath, MAIN, "--directory", str(run_dir / "orders"), *options]


def test_adoc_acts_on_its_stalls_and_it_ends_at_ctrl_c(classpath: str, run_dir: Path, java_agent: Path) -> None:
    # More bytes for each record, and a slower disk, than by default: other tests have the processors too.
    program = orders(classpath, run_dir, "--value-bytes", "4000", "--rate-limiter", "8000000")
    with quickly_serving(run_dir), started(["adocd", "exec", "--", *program], run_dir) as application:
        target = attached(application, run_dir)
        assert target["process"]["pid"] == application.pid
        assert target["path"] == str(run_dir / "orders/state/orders/0_0/rocksdb/balances")
        assert target["labels"] == {"application": "orders", "task": "0_0", "store": "balances"}
        eventually(lambda: any(int(n) > 0 for n in SECOND.findall(said(run_dir))), what="records are put")

        command("adocctl", "set-policy", "adoc", run_dir=run_dir).ok()

        def applied() -> list[dict[str, object]]:
            assert application.poll() is None, said(run_dir)
            return [d for d in adocctl_json(run_dir, "decisions") if d["outcome"] == "applied"]

        eventually(applied, what="a decision of adoc is applied")
        assert ctrl_c(application) == 0, said(run_dir)
    *seconds, total = said(run_dir).splitlines(keepends=True)
    assert TOTAL.fullmatch(total), said(run_dir)
    # Nothing else, on stderr either.
    assert [line for line in seconds if not SECOND.fullmatch(line)] == []
    assert not list(run_dir.glob("agent-*.sock"))
    # Kafka has outlived the Ctrl-C, and has ended in an orderly way after the application.
    assert (run_dir / "orders/kafka/.kafka_cleanshutdown").is_file()


def test_each_store_is_a_database_and_the_pace_is_kept(classpath: str, run_dir: Path, java_agent: Path) -> None:
    program = orders(classpath, run_dir, "--stores", "3", "--records-per-s", "500", "--seconds", "10")
    began_s = time.monotonic()
    with quickly_serving(run_dir), started(["adocd", "exec", "--", *program], run_dir) as application:

        def tasks() -> list[tuple[str, str]]:
            assert application.poll() is None, said(run_dir)
            labels = [target["labels"] for target in adocctl_json(run_dir, "targets")["targets"]]
            return sorted((each["task"], each["store"]) for each in labels)

        three = [("0_0", "balances"), ("0_1", "balances"), ("0_2", "balances")]
        eventually(lambda: tasks() == three, what="three databases are found")
        assert application.wait(60) == 0, said(run_dir)
    total = TOTAL.search(said(run_dir))
    assert total is not None, said(run_dir)
    assert 0 < int(total[1]) <= 500 * (time.monotonic() - began_s)
    other = subprocess.run(
        orders(classpath, run_dir, "--stores", "2"), capture_output=True, text=True, check=False, timeout=60
    )
    assert (other.returncode, other.stdout) == (2, ""), other.stderr
    assert "has --stores 3, not 2; give another --directory, or remove this one" in other.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store", "3"], "--store is no option; these are: --directory, --seconds, "),
        (["--stores"], "--stores needs a value"),
        (["--stores", "0"], "--stores is a whole number from 1 to 1000, not 0"),
        (["--seconds", "soon"], "--seconds is a whole number from 1 to 1000000, not soon"),
        (["--directory", "/dev/null/orders"], "/dev/null/orders cannot be used as --directory: "),
        (["--directory", "/dev"], "/dev is not empty, and no directory of this program; give another --directory"),
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
