"""Attaching to running programs: `python -m adocd_bench.attach [--times N] [--keep FILE | --again FILE]`.

Attaches to programs that write as fast as they can, and detaches again, again and again:

- stock db_bench with 1, 4 and 16 databases;
- a program with 1 to 16 databases and 100 MB to 4 GB of memory, which tells its longest write: while it is attached,
  while it is detached, and in a time of the same length in which it is left alone.

Each time every database must be found and answer through the agent, and nothing else may be found. A crash, a wrong
database or a refusal ends the whole run with a sentence. Prints tables in Markdown; progress goes to standard error.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from adocd.cli.agent_built import find_or_build_agent
from adocd.process.attach.problem import AttachRefused
from adocd.process.compiled import NativeError
from adocd_bench.attach import programs
from adocd_bench.attach.measured import FILE, Host, MeasuredAttaches, tables
from adocd_bench.attach.programs import Running
from adocd_bench.attach.runs import again_and_again
from adocd_bench.errors import BenchError
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.run.workspace import run_directory

#: Databases and bytes of memory of the program that tells its writes; db_bench has these many databases.
_WRITERS = ((1, 100 << 20), (2, 400 << 20), (4, 1 << 30), (8, 2 << 30), (16, 4 << 30))
_DB_BENCH = (1, 4, 16)


def main() -> None:
    """Measure, or read what was measured, and print the tables."""
    parser = argparse.ArgumentParser(description="What running programs notice of being attached to.")
    parser.add_argument("--times", type=int, default=200, help="of each of the two programs, in all (default: 200)")
    parser.add_argument("--directory", type=Path, help="for the databases; default: /tmp")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the figures of each time here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    asked = parser.parse_args()
    try:
        found = FILE.read(asked.again) if asked.again else measure(asked.times, asked.directory)
        if asked.keep:
            FILE.write(asked.keep, found)
    except (BenchError, AttachRefused, NativeError) as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(tables(found))


def measure(times: int, parent: Path | None) -> MeasuredAttaches:
    """Attach so many times to each of the two programs. Raises BenchError, AttachRefused, NativeError."""
    find_or_build_agent()
    began_unix_s, busy = time.time(), os.getloadavg()[0]
    hosts = [
        *(_measured(_writers(parent, *each), times // len(_WRITERS)) for each in _WRITERS),
        *(_measured(_db_bench(parent, each), times // len(_DB_BENCH) + 1) for each in _DB_BENCH),
    ]
    return MeasuredAttaches(began_unix_s, os.cpu_count() or 1, busy, find_db_bench().rocksdb_version, tuple(hosts))


def _measured(started: AbstractContextManager[Running], times: int) -> Host:
    with started as program:
        return again_and_again(program, times, lambda line: print(line, file=sys.stderr))


@contextmanager
def _writers(parent: Path | None, databases: int, memory_bytes: int) -> Iterator[Running]:
    with (
        tempfile.TemporaryDirectory(dir=parent) as directory,
        programs.writers(Path(directory), databases, memory_bytes) as program,
    ):
        yield program


@contextmanager
def _db_bench(parent: Path | None, databases: int) -> Iterator[Running]:
    with (
        tempfile.TemporaryDirectory(dir=parent) as directory,
        run_directory() as room,
        programs.db_bench(Path(directory, "db"), databases, room) as program,
    ):
        yield program


if __name__ == "__main__":
    main()
