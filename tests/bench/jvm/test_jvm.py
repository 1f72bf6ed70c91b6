"""The bench of RocksDB in a JVM: what it reads of the examples, what its tables show, and a short real run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.attach.late import HeldWrites
from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.jvm import attaching
from adocd_bench.jvm.examples import EXAMPLES, SecondOfPuts, Total, options, running, seconds_in, total_in
from adocd_bench.jvm.laws import bands
from adocd_bench.jvm.measured import (
    FILE,
    AttachedExample,
    AttachedOnce,
    CostRun,
    LawRun,
    MeasuredJvm,
    ratios,
    tables,
)
from adocd_bench.run.workspace import run_directory

from tests.builders import sample
from tests.conftest import REPOSITORY
from tests.examples.maven import QUICK_JVM, built

SAID = """    1 s  54321 records/s  longest put 12.3 ms
    2 s  0 records/s  longest put 0.0 ms
total: 54321 records in 2.0 s, 1.5 s of processor time in RocksDB's process, longest put 12.3 ms
"""
TIMES = (AttachedOnce(0.5, 1.0, 0.2, 40.0, 30.0, 5.0), AttachedOnce(0.7, 3.0, 0.4, 60.0, 20.0, 9.0))
FIXED = LawRun("flink", "fixed", 10.0, 1000, (50, 150), 4.0, 1.0, 900.0, {}, 3, 0)
ADOC = replace(FIXED, law="adoc", records=2000, stopped_s=0.0, rules={"batch-up": 3})
COST = (CostRun(1, 1000, 10.0, 0.5, 0.1), CostRun(1, 1000, 10.0, 0.5, 0.2))
FOUND = MeasuredJvm(1.0, 2, 0.5, "openjdk", (AttachedExample("flink", 4, 1234.5, TIMES),), (FIXED, ADOC), COST)


def test_what_an_example_prints_is_read() -> None:
    assert seconds_in(SAID) == (SecondOfPuts(54321, 12.3), SecondOfPuts(0, 0.0))
    assert total_in(SAID) == Total(54321, 2.0, 1.5, 12.3)
    with pytest.raises(RunFailed, match="without a total"):
        total_in("    1 s  54321 records/s  longest put 12.3 ms\n")


def test_tables_show_medians_with_the_worst_and_what_each_law_did(tmp_path: Path) -> None:
    FILE.write(tmp_path / "kept.json", FOUND)
    assert FILE.read(tmp_path / "kept.json") == FOUND
    shown = tables(FOUND).splitlines()
    assert (
        "| flink | 4 | 1,234 | 2 times | 600 ms (700 ms) | 2 s (3 s) | 300 ms (400 ms) | 7 ms (9 ms) | 50 ms (60 ms) "
        "| 25 ms (30 ms) |"
    ) in shown
    assert "| flink | `fixed` | 100 | 50 | 40 % | 10 % | 900 ms | nothing | 3 |" in shown
    assert "| flink | `adoc` | 200 | 50 | 0 % | 10 % | 900 ms | batch-up 3 times | 3 |" in shown
    assert "| 1 | 100 | 150.0 (100.0 to 200.0) | 1.5 % | 30 % |" in shown
    assert ratios(FOUND.laws, "flink", "adoc", lambda run: run.records_per_s) == [2.0]


def test_the_held_part_of_a_sample_is_at_its_end() -> None:
    held = list(bands([sample(monotonic_s=12.0, interval_s=2.0, stopped_fraction=0.25, delayed_fraction=0.0)], 10.0))
    assert held == [HeldWrites(1.5, 2.0, "stopped", "")]
    assert list(bands([sample(monotonic_s=12.0, stopped_fraction=0.0, delayed_fraction=0.0)], 10.0)) == []


def test_an_example_is_built_where_its_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/examples has Maven build it; here a stand-in takes down what it is asked for."""
    maven = tmp_path / "mvn"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    maven.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    maven.chmod(0o755)
    project = REPOSITORY / "examples" / "flink"
    assert EXAMPLES["flink"].classpath() == f"{project}/target/classes:{project}/target/lib/*"
    assert (tmp_path / "asked").read_text() == f"-q -B -f {project / 'pom.xml'} package\n"
    maven.write_text("#!/bin/sh\necho no compiler; exit 1\n")
    with pytest.raises(ProgramMissing, match=r"Flink cannot be built: no compiler$"):
        EXAMPLES["flink"].classpath()


def test_a_running_job_is_attached_to_and_detached_from(
    disk: Path, java_agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A JVM that is there sooner: what it costs is for the bench to say.
    monkeypatch.setenv("JDK_JAVA_OPTIONS", " ".join(QUICK_JVM))
    flink, classpath = EXAMPLES["flink"], built("flink")
    said: list[str] = []
    with (
        run_directory() as room,
        running(
            flink, classpath, disk / "state", room, None, *options(stores=2, records_per_s=1000, limited=False)
        ) as program,
    ):
        found = attaching.again_and_again(program, java_agent, room, 2, said.append, settle_s=1)
        assert not program.child.ended()
    assert (found.databases, len(found.times), len(said)) == (2, 2, 2)
    assert found.records_per_s > 0
    for each in found.times:
        assert min(each.attach_ms, each.left_alone_ms) > 0, "nothing was put"
