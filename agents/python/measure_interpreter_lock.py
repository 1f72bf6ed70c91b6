"""Measures which calls of rocksdict keep the interpreter lock.

How long each takes, and how long another Python thread stood still meanwhile:

    python measure_interpreter_lock.py [DIRECTORY]

Needs rocksdict, a directory it may fill with some 200 MB (a temporary one by default), and half a minute. The agent
has no part in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rocksdict

VALUE = os.urandom(1000)
PAUSE_S = 0.02
TELLING_S = 0.002
"""Below this a call is too short to tell: Python hands the lock over every 5 ms."""


class Ticker:
    """Another thread, which notes how long it could not run."""

    def __init__(self) -> None:
        self.gaps: list[tuple[float, float]] = []
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last = time.perf_counter()
        while self._running:
            time.sleep(0.0005)
            now = time.perf_counter()
            self.gaps.append((last, now))
            last = now

    def standstill_s(self, begin: float, end: float) -> float:
        """Return the longest time within the interval that the thread stood still."""
        return max((min(y, end) - max(x, begin) for x, y in list(self.gaps) if y > begin and x < end), default=0.0)

    def stop(self) -> None:
        """End the thread."""
        self._running = False
        self._thread.join()


class Table:
    """Measures calls and prints a line for each."""

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        print("| call | takes | another thread stood still | keeps the lock |")
        print("|---|---|---|---|")

    def measure(self, name: str, call: Callable[[], Any], times: int = 1) -> None:
        """Call it, and print the slowest of `times`."""
        worst = (-1.0, 0.0)
        for _ in range(times):
            time.sleep(PAUSE_S)
            begin = time.perf_counter()
            call()
            end = time.perf_counter()
            time.sleep(PAUSE_S)
            worst = max(worst, (end - begin, self._ticker.standstill_s(begin, end)))
        self._print(name, *worst)

    def note(self, name: str, begin: float, end: float) -> None:
        """Print a call that was measured elsewhere."""
        time.sleep(PAUSE_S)
        self._print(name, end - begin, self._ticker.standstill_s(begin, end))

    def _print(self, name: str, took_s: float, stood_s: float) -> None:
        verdict = "too short to tell" if took_s < TELLING_S else "yes" if stood_s > 0.8 * took_s else "no"
        print(f"| {name} | {took_s * 1e3:.2f} ms | {stood_s * 1e3:.2f} ms | {verdict} |", flush=True)


def options(**settings: Any) -> Any:
    """Make Options; names without their set_."""
    made = rocksdict.Options(raw_mode=True)
    made.create_if_missing(True)
    made.set_compression_type(rocksdict.DBCompressionType.none())
    for name, value in settings.items():
        getattr(made, f"set_{name}")(value)
    return made


def batch(keys: int) -> Any:
    """Make a write batch of that many KB."""
    made = rocksdict.WriteBatch(raw_mode=True)
    for _ in range(keys):
        made.put(os.urandom(16), VALUE)
    return made


def idle(table: Table, base: Path) -> None:
    """Measure on a database that nobody else uses."""
    chosen = options(write_buffer_size=64 << 20, level_zero_file_num_compaction_trigger=100)
    chosen.enable_statistics()
    db = rocksdict.Rdict(str(base / "idle"), chosen)
    size = iter(range(1 << 20, 2 << 20, 4096))
    first, second = batch(30_000), batch(10_000)
    table.measure("write, a batch of 30 MB", lambda: db.write(first))
    table.measure("flush(wait=True), 30 MB", db.flush)
    db.write(second)
    call = "set_options, idle (slowest of 10)"
    table.measure(call, lambda: db.set_options({"max_compaction_bytes": str(next(size))}), 10)
    table.measure("property_int_value", lambda: db.property_int_value("rocksdb.num-files-at-level0"), 10)
    table.measure('property_value("rocksdb.cfstats")', lambda: db.property_value("rocksdb.cfstats"), 10)
    table.measure("get_statistics", chosen.get_statistics, 10)
    created: list[Any] = []
    table.measure("create_column_family", lambda: created.append(db.create_column_family("x", options())))
    created.clear()
    db.write(batch(10_000))
    handle = db.get_column_family("default")
    handles = [handle]
    del handle
    table.measure("drop of a handle of get_column_family, 10 MB unflushed", handles.clear)
    table.measure("Env setters", lambda: rocksdict.Env().set_low_priority_background_threads(3))
    table.measure("iterate over 50,000 keys", lambda: len(list(db.keys())))
    table.measure("compact_range, 50 MB", lambda: db.compact_range(None, None))
    db.write(batch(20_000))
    table.measure("close, 20 MB unflushed", db.close)
    opened: list[Any] = []
    again = {"x": options()}
    table.measure("open", lambda: opened.append(rocksdict.Rdict(str(base / "idle"), chosen, column_families=again)))
    opened[0].close()


@contextlib.contextmanager
def load(db: Any) -> Iterator[None]:
    """Write in the background."""
    running = True

    def write() -> None:
        while running:
            db[os.urandom(16)] = VALUE

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        running = False
        writer.join()


def under_load(table: Table, base: Path) -> None:
    """Measure while another Python thread writes all the time."""
    db = rocksdict.Rdict(str(base / "load"), options(write_buffer_size=8 << 20, max_background_jobs=2))
    size = iter(range(1 << 20, 2 << 20, 4096))
    with load(db):
        call = "set_options, under load (slowest of 20)"
        table.measure(call, lambda: db.set_options({"max_compaction_bytes": str(next(size))}), 20)
    db.close()


def stalled(table: Table, base: Path) -> None:
    """Measure a put that is stopped: a rate limiter lets flushes through at 4 MB/s."""
    chosen = options(write_buffer_size=2 << 20)
    chosen.set_ratelimiter(4 << 20, 100_000, 10)
    db = rocksdict.Rdict(str(base / "stall"), chosen)

    begin = end = time.perf_counter()
    deadline = begin + 5
    while end - begin < 0.1 and end < deadline:
        begin = time.perf_counter()
        db[os.urandom(16)] = VALUE
        end = time.perf_counter()
    table.note("put, stalled", begin, end)
    db.close()


def main() -> None:
    """Measure everything."""
    given = sys.argv[1] if len(sys.argv) > 1 else None
    base = Path(given or tempfile.mkdtemp(prefix="interpreter-lock-"))
    ticker = Ticker()
    try:
        table = Table(ticker)
        idle(table, base)
        under_load(table, base)
        stalled(table, base)
    finally:
        ticker.stop()
        for name in ("idle", "load", "stall"):
            shutil.rmtree(base / name, ignore_errors=True)
        if given is None:
            base.rmdir()


if __name__ == "__main__":
    main()
