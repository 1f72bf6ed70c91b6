"""db_bench's command line and reports; the texts are what 7.8.3 and 6.11.4 print."""

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.programs.db_bench import DbBench, find_db_bench, find_measuring_db_bench
from adocd_bench.programs.fill import Fill, operations_by_second
from hypothesis import given
from hypothesis import strategies as st

OUTPUT_7_8_3 = """\
Initializing RocksDB Options from the specified file
Initializing RocksDB Options from command-line flags
Integrated BlobDB: blob cache disabled
Keys:       16 bytes each (+ 0 bytes user-defined timestamp)
Values:     1000 bytes each (500 bytes after compression)
WARNING: Assertions are enabled; benchmarks unnecessarily slow
------------------------------------------------
DB path: [/tmp/demo/meas/db-6606]
fillrandom   :      14.180 micros/op 70520 ops/sec 60.124 seconds 4239999 operations;   68.3 MB/s
"""
OUTPUT_6_11_4 = "DB path: [/tmp/db]\nfillrandom   :       6.712 micros/op 148976 ops/sec;  144.4 MB/s\n"
STOCK = DbBench("/usr/bin/db_bench", "7.8.3")


def test_the_result_of_7_8_3() -> None:
    report = STOCK.report(OUTPUT_7_8_3, 60)
    assert (report.writes_per_s, report.seconds, report.writes) == (70520.0, 60.124, 4239999)


def test_an_older_result_names_the_rate_alone() -> None:
    report = STOCK.report(OUTPUT_6_11_4, 10)
    assert (report.writes_per_s, report.seconds, report.writes) == (148976.0, 10.0, 1489760)


@pytest.mark.parametrize(
    ("output", "last"),
    [
        ("", "nothing at all"),
        ("open error: IO error: No space left on device\n\n", "open error: IO error: No space left on device"),
        ("DB path: [/a]\nput error: Corruption\n", "put error: Corruption"),
    ],
)
def test_no_result_says_what_db_bench_said_last(output: str, last: str) -> None:
    with pytest.raises(RunFailed, match="no result") as failure:
        STOCK.report(output, 60)
    assert str(failure.value).endswith(last)


def seconds_of(text: str) -> dict[int, int]:
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as report:
        report.write(text)
        report.flush()
        return operations_by_second(Path(report.name))


def test_the_seconds_of_a_real_report_file() -> None:
    assert seconds_of("secs_elapsed,interval_qps\n1,155872\n2,162414\n3,167247\n") == {1: 155872, 2: 162414, 3: 167247}
    assert seconds_of("") == operations_by_second(Path("/no/such/report")) == {}


@given(st.lists(st.integers(min_value=0, max_value=10**7)), st.sampled_from(["", "7", "7,", "\n"]))
def test_a_torn_last_line_is_left_out(writes: list[int], torn: str) -> None:
    lines = [f"{second},{count}" for second, count in enumerate(writes, 1)]
    read = seconds_of("\n".join(["secs_elapsed,interval_qps", *lines, torn]))
    assert read == dict(enumerate(writes, 1))


def test_the_command_line_is_the_papers_workload_and_otherwise_defaults() -> None:
    fill = Fill(Path("/data/db"), seconds=60, seed=77, report=Path("/run/r.csv"))
    assert STOCK.command(fill) == [
        *(sys.executable, "-m", "adocd", "exec", "--"),
        "/usr/bin/db_bench",
        "--benchmarks=fillrandom",
        "--db=/data/db",
        "--use_existing_db=0",
        "--duration=60",
        "--num=1000000000",
        "--seed=77",
        "--key_size=16",
        "--value_size=1000",
        "--compression_type=none",
        "--use_direct_io_for_flush_and_compaction=true",
        "--report_interval_seconds=1",
        "--report_file=/run/r.csv",
    ]


def test_a_missing_db_bench_names_the_package() -> None:
    with pytest.raises(ProgramMissing, match="apt-get install rocksdb-tools"):
        find_db_bench("db_bench-that-is-not-there")


def test_an_installed_db_bench_tells_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "echo 'db_bench version 7.8.3'", monkeypatch)
    assert find_db_bench() == DbBench(str(tmp_path / "db_bench"), "7.8.3")


@pytest.mark.parametrize("version", ["6.11.4", "7.2.2"])
def test_one_whose_results_lack_what_a_run_needs_is_refused(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run of it failed after its whole phase."""
    _install(tmp_path, f"echo 'db_bench version {version}'", monkeypatch)
    with pytest.raises(ProgramMissing, match=rf"RocksDB {version}, .* 7\.3 or later first on the PATH"):
        find_measuring_db_bench()
    assert find_db_bench().rocksdb_version == version, "the demo works the seconds out of what it asked for"


@pytest.mark.parametrize("version", ["7.3.1", "7.10.2", "10.4.2"])
def test_a_later_one_is_taken(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, f"echo 'db_bench version {version}'", monkeypatch)
    assert find_measuring_db_bench().rocksdb_version == version


def test_another_program_of_that_name_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(tmp_path, "echo hello", monkeypatch)
    with pytest.raises(ProgramMissing, match="is it RocksDB's db_bench"):
        find_db_bench()


def _install(room: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = room / "db_bench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{room}{os.pathsep}/usr/bin:/bin")
