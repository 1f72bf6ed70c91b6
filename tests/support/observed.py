"""Programs that have a database open, for who only sees its directory."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.programs import Program, environment

LIFECYCLE = Path(__file__).parent.parent / "python_programs" / "lifecycle.py"
#: A memtable of 1 MiB; and a dump each second, which also has RocksDB write out what it holds back of its LOG.
TALKATIVE = ("write_buffer_size=1048576", "stats_dump_period_sec=1")


def rocksdict_program(run_dir: Path | None = None) -> Program:
    """Start a program that opens databases with rocksdict when it is told to; with an agent where it has a run dir."""
    extra = {} if run_dir is not None else {"ADOCD_AGENT": "off"}
    return Program([sys.executable, LIFECYCLE], environment(None, run_dir, **extra))


@contextmanager
def db_bench(database: Path, library: Path | None = None, run_dir: Path | None = None) -> Iterator[Program]:
    """Run Debian's db_bench, which writes as fast as it can and is held up by level 0; with an agent if it is given.

    Its fillrandom makes the database a second time, and a quick daemon sees both; overwrite writes the same into one.
    """
    program = shutil.which("db_bench")
    assert program, "there is no db_bench; Debian's package is rocksdb-tools, `make fixtures` installs it"
    arguments = [
        "--benchmarks=overwrite", f"--db={database}", "--num=1500000", "--duration=60", "--value_size=100",
        "--compression_type=none", "--write_buffer_size=1048576", "--target_file_size_base=1048576",
        "--max_bytes_for_level_base=4194304", "--level0_slowdown_writes_trigger=4", "--level0_stop_writes_trigger=8",
        "--stats_dump_period_sec=2",
    ]  # fmt: skip
    with Program([program, *arguments], environment(library, run_dir), expect="") as running:
        try:
            yield running
        finally:
            running.process.kill()
            running.process.wait()
