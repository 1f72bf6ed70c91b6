"""The program of the embedded workload: it writes random keys as fast as it can, and nothing else.

    python -m adocd_bench.programs.embedded_program DIRECTORY SECONDS SEED REPORT

It is what a user's program with rocksdict looks like: it opens its database and attaches the agent, and knows nothing
of adocd otherwise. Memtables of 8 MiB make stalls begin within a second. rocksdict cannot change max_background_jobs
once a database is open, so it is opened with the 20 that the ADOC paper's code allows, and the thread pools beneath
them are put at RocksDB's default of two jobs; they are what is tuned.
"""

import json
import random
import sys
import time
from pathlib import Path

import adocd_agent
from rocksdict import DBCompressionType, Env, Options, Rdict

from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES

MEMTABLE_BYTES = 8 << 20
_MOST_JOBS = 20
#: RocksDB's own ratio: the base level holds four memtables' worth, where an L0 compaction is due.
_LEVEL_BASE_BYTES = 4 * MEMTABLE_BYTES


def options() -> Options:
    """Make the options of a database that is small enough to stall at once, and otherwise RocksDB's defaults."""
    chosen = Options(raw_mode=True)
    chosen.create_if_missing(True)
    chosen.enable_statistics()
    chosen.set_compression_type(DBCompressionType.none())
    chosen.set_use_direct_io_for_flush_and_compaction(True)
    chosen.set_write_buffer_size(MEMTABLE_BYTES)
    chosen.set_target_file_size_base(MEMTABLE_BYTES)
    chosen.set_max_bytes_for_level_base(_LEVEL_BASE_BYTES)
    chosen.set_max_background_jobs(_MOST_JOBS)
    return chosen


def fill(database: Rdict, seconds: int, seed: int, report: Path) -> dict[str, float]:
    """Write for so long; returns what was written, in how many seconds."""
    random_bytes, put, now = random.Random(seed).randbytes, database.put, time.monotonic  # noqa: S311
    value = random_bytes(VALUE_BYTES)
    began = now()
    end, second, writes, reported = began + seconds, 1, 0, 0
    with report.open("w", encoding="utf-8", buffering=1) as lines:
        lines.write("secs_elapsed,interval_qps\n")
        while (moment := now()) < end:
            while moment >= began + second:  # after a stall several seconds may be due
                lines.write(f"{second},{writes - reported}\n")
                second, reported = second + 1, writes
            put(random_bytes(KEY_BYTES), value)
            writes += 1
    return {"writes": writes, "seconds": now() - began}


def main() -> None:
    """Fill the database named on the command line and print the result as JSON."""
    directory, seconds, seed, report = sys.argv[1:]
    chosen = options()
    database = Rdict(directory, chosen)
    pools = Env()
    pools.set_low_priority_background_threads(1)
    pools.set_high_priority_background_threads(1)
    with adocd_agent.attach(database, chosen) as agent:
        if agent.error is not None:
            sys.exit(f"the agent could not start: {agent.error}")
        result = fill(database, int(seconds), int(seed), Path(report))
    print(json.dumps(result), flush=True)
    database.close()


if __name__ == "__main__":
    main()
