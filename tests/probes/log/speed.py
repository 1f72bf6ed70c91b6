"""How fast a LOG is read, and in how much memory: `python -m tests.probes.log.speed [GB] [DUMP_PERIOD_S]`.

A LOG that db_bench writes here is repeated until it has the size (1 GB), and read by a process of its own.
RocksDB's default is a dump of the statistics every 600 s; every second makes a third of the LOG of them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from adocd.probes.log import LogParser, read_log


def measure(log: Path) -> None:
    """Read it once, and print what it took."""
    parser = LogParser()
    kinds: Counter[str] = Counter()
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    for event in read_log(log, parser=parser):
        kinds[event.kind] += 1
    took_s, took_cpu_s = time.monotonic() - begin_s, time.process_time() - begin_cpu_s
    size_mb = log.stat().st_size / 1e6
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{size_mb:,.0f} MB, {parser.lines:,} lines, {kinds.total():,} events, {parser.unread_lines} unread: "
        f"{took_s:.1f} s, {size_mb / took_s:.0f} MB/s ({size_mb / took_cpu_s:.0f} MB a CPU second), "
        f"peak {peak_mb:.0f} MB of memory"
    )


def main() -> None:
    """Make the LOG, and have it measured."""
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
        return
    from tests.probes.log.sources import by_db_bench  # noqa: PLC0415 (its memory is not the parser's)

    size_bytes = round(float(sys.argv[1]) * 1e9) if len(sys.argv) > 1 else 10**9
    dump_period_s = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    with tempfile.TemporaryDirectory(prefix="adocd-log-") as directory:
        once = by_db_bench(Path(directory), writes=1_000_000, dump_period_s=dump_period_s).log.read_bytes()
        log = Path(directory) / "LOG"
        with log.open("wb") as file:
            while file.tell() < size_bytes:
                file.write(once)
        subprocess.run([sys.executable, "-m", "tests.probes.log.speed", "--measure", str(log)], check=True)


if __name__ == "__main__":
    main()
