"""The programs whose costs are measured (adocd_bench.cost): stock db_bench, and one with rocksdict, idle and loaded."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from adocd_bench.programs.db_bench import agent_library, find_db_bench
from adocd_bench.programs.embedded import find_embedded
from adocd_bench.programs.fill import Fill

#: Takes the directory for a database; returns a command line and the environment variables to add.
Start = Callable[[str], tuple[list[str], dict[str, str]]]

#: An in-memory load: no write-ahead log, memtables that hold all of it, on a file system in memory.
_IN_MEMORY = ("--benchmarks=fillrandom", "--disable_wal=1", "--value_size=100", "--write_buffer_size=4294967296")
#: Flushes at 100 kB/s behind memtables of 1 MiB: writes are stopped nearly all the time.
_STALLED = (
    "--benchmarks=fillrandom",
    "--value_size=1000",
    "--write_buffer_size=1048576",
    "--rate_limiter_bytes_per_sec=100000",
)
_IDLE = ("--benchmarks=fillrandom", "--value_size=1000", "--benchmark_write_rate_limit=1000000")
_LONG_S = 100_000
_IN_MEMORY_PROGRAM = "adocd_bench.programs.in_memory_program"
_ENOUGH = ("--num=1000000000", f"--duration={_LONG_S}")


def _db_bench_in_memory(directory: str, writes: int, *, attached: bool) -> tuple[list[str], dict[str, str]]:
    """Return db_bench's command line and the environment variables to add."""
    command = [find_db_bench().path, *_IN_MEMORY, f"--num={writes}", f"--db={directory}/db", "--seed=1"]
    return command, {"LD_PRELOAD": agent_library()} if attached else {}


def _embedded_in_memory(directory: str, writes: int, *, attached: bool) -> tuple[list[str], dict[str, str]]:
    """Return the command line of the rocksdict program and the environment variables to add."""
    command = [sys.executable, "-m", _IN_MEMORY_PROGRAM, f"{directory}/db", str(writes)]
    return command + ["attach"] * attached, dict(find_embedded().environment())


def _db_bench(*flags: str) -> Start:
    """Start stock db_bench under the native agent."""

    def start(directory: str) -> tuple[list[str], dict[str, str]]:
        command = [find_db_bench().path, *flags, *_ENOUGH, f"--db={directory}/db"]
        return command, {"LD_PRELOAD": agent_library()}

    return start


def _embedded_idle(directory: str) -> tuple[list[str], dict[str, str]]:
    """Start a program with rocksdict that has written and waits, under the Python agent."""
    command = [
        sys.executable,
        "-m",
        "adocd_bench.programs.in_memory_program",
        f"{directory}/db",
        "1000",
        "attach-and-stay",
    ]
    return command, dict(find_embedded().environment())


def _embedded_writing(directory: str) -> tuple[list[str], dict[str, str]]:
    """Start the demo's program, which writes as fast as it can and stalls."""
    fill = Fill(Path(directory, "db"), _LONG_S, 1, Path(directory, "seconds.csv"))
    embedded = find_embedded()
    return embedded.command(fill), dict(embedded.environment())


IN_MEMORY = {"db_bench": _db_bench_in_memory, "embedded": _embedded_in_memory}
IDLE = _db_bench(*_IDLE)
#: The programs whose snapshots are timed, by program and case.
SNAPSHOT_CASES: Mapping[str, Mapping[str, Start]] = {
    "db_bench": {
        "idle": IDLE,
        "stalled": _db_bench(*_STALLED),
        "100_column_families": _db_bench(*_IDLE, "--num_column_families=100"),
    },
    "embedded": {"idle": _embedded_idle, "writing": _embedded_writing},
}
