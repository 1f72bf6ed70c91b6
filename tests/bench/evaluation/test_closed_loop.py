"""What db_bench's output, its report file and RocksDB's ticker come to, of a run that is made up."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.evaluation.code_hash import file_hash
from adocd_bench.evaluation.loads.closed_loop import Benchmark, DbBenchLoad
from adocd_bench.evaluation.loads.program import LoadJob
from adocd_bench.evaluation.raw import Second
from adocd_bench.host.usage import Usage
from adocd_bench.programs.db_bench import DbBench, find_db_bench
from adocd_bench.run.observe import ObservedRun, Tick

from adocd.model.snapshot import Counters, OptionValues
from tests.bench.evaluation.builders import wanted_run
from tests.controllers.laws import Plant

#: The phase begins at 1000 s of the wall clock, which is 100 s of the monotonic one.
BEGIN_UNIX_S, BEGIN_S = 1000.0, 100.0
RESULT = "{} : 9 micros/op 9 ops/sec {} seconds {} operations; 9 MB/s\n"


@pytest.fixture(scope="module")
def bench() -> DbBench:
    return find_db_bench()


def job(room: Path, lines: list[int]) -> LoadJob:
    """Leave a report file as db_bench does: the last line is written when its second ends."""
    report = room / "seconds.csv"
    rows = [f"{second},{count}" for second, count in enumerate(lines, 1)]
    report.write_text("\n".join(["secs_elapsed,interval_qps", *rows]) + "\n")
    os.utime(report, (BEGIN_UNIX_S + len(lines),) * 2)
    return LoadJob(room / "db", room, 3, 1, wanted_run().scheme)


def observed(said: str, *writes: tuple[float, int]) -> ObservedRun:
    sample = Plant().sample()
    ticks = tuple(
        Tick(replace(sample, monotonic_s=BEGIN_S + at_s, counters=Counters(writes=count)), "") for at_s, count in writes
    )
    used = Usage(0.0, 0, 0)
    return ObservedRun(said, ticks, (), OptionValues(), (), {}, used, BEGIN_UNIX_S - BEGIN_S)


def load(bench: DbBench, benchmark: Benchmark, records: int | None = None) -> DbBenchLoad:
    return DbBenchLoad(bench, benchmark, 3, records, drained=False)


def test_a_phase_begins_when_its_first_second_did_and_the_rest_is_a_second_of_its_own(
    bench: DbBench, tmp_path: Path
) -> None:
    seen = observed(RESULT.format("fillrandom", 3.5, 65), (4.0, 65))
    found = load(bench, "fillrandom").outcome(job(tmp_path, [10, 20, 30]), seen)
    assert (found.begin_monotonic_s, found.measured_s, found.clients_ended_monotonic_s) == (BEGIN_S, 3.5, None)
    assert [(each.kind, each.count) for each in found.operations] == [("write", 65)]
    assert found.program_hash == file_hash(Path(bench.path))
    assert found.seconds == (Second(0, 10, 0), Second(1, 20, 0), Second(2, 30, 0), Second(3, 5, 0))


def test_of_a_reader_beside_a_writer_the_ticker_says_which_are_writes(bench: DbBench, tmp_path: Path) -> None:
    """The writer is in no result of db_bench's, and the lines of the report count both."""
    said = RESULT.format("readwhilewriting", 3.0, 40)
    seen = observed(said, (0.0, 0), (1.0, 6), (2.0, 10), (3.0, 30), (4.0, 31))
    found = load(bench, "readwhilewriting").outcome(job(tmp_path, [26, 14, 19]), seen)
    assert [(each.kind, each.count) for each in found.operations] == [("write", 31), ("read", 40)]
    assert found.seconds[:2] == (Second(0, 6, 20), Second(1, 4, 10))
    assert found.seconds[2] == Second(2, 19, 0), "no second has more writes than operations"
    assert found.seconds[3] == Second(3, 2, 10)


def test_what_is_loaded_is_settled_first_and_a_record_is_key_and_value(bench: DbBench, tmp_path: Path) -> None:
    loaded = load(bench, "overwrite", 1000)
    assert loaded.loaded_bytes == 1000 * 1016
    command = loaded.command(job(tmp_path, []))
    assert [each for each in command if each.startswith("--benchmarks=")][-1:] == [
        "--benchmarks=filluniquerandom,waitforcompaction,overwrite"
    ]
    assert "--histogram=1" in command
    assert load(bench, "fillrandom").loaded_bytes == 0
