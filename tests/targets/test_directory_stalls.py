"""Stalls of a database without an agent, by LOGs written by hand: how long they last, and when they are over."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from adocd.model.snapshot import Snapshot
from adocd.targets.directory.place import Place
from adocd.targets.directory.reading import DirectoryReading
from adocd.targets.directory.target import DirectoryTarget
from tests.probes.log.lines import AT_S, event, line, stamp

STOPPED = "[WARN] [db/column_family.cc:1] [{}] Stopping writes because we have 36 level-0 files"
SLOWED = "[WARN] [db/column_family.cc:1] [{}] Stalling writes because we have 20 level-0 files rate 8388608"
#: When the LOGs here begin, in whole seconds.
BEGIN_S = float(int(AT_S))
SUMMER, WINTER = timezone(timedelta(hours=2)), timezone(timedelta(hours=1))


def opened(at_s: float = 0.0) -> bytes:
    """Begin a session of level INFO."""
    header = line("RocksDB version: 9.8.4", BEGIN_S + at_s) + line("DB Session ID:  S1", BEGIN_S + at_s)
    return header + event('"job": 1, "event": "recovery_finished"', BEGIN_S + at_s)


def stopped(at_s: float, family: str = "default") -> bytes:
    return line(STOPPED.format(family), BEGIN_S + at_s)


def slowed(at_s: float, family: str = "default") -> bytes:
    return line(SLOWED.format(family), BEGIN_S + at_s)


def flushed(at_s: float, family: str = "default") -> bytes:
    return event(f'"cf_name": "{family}", "job": 3, "event": "flush_finished", "lsm_state": [1, 0]', BEGIN_S + at_s)


class Read:
    """A LOG that a test writes and reads; its clock shows seconds since the LOG's beginning."""

    def __init__(self, path: Path) -> None:
        self.now_s = 0.0
        self._log = path / "LOG"
        self._log.write_bytes(b"")
        self.reading = DirectoryReading(self._log, lambda: self.now_s, lambda unix_s: unix_s - BEGIN_S)

    def at(self, now_s: float, *written: bytes) -> tuple[str, float, float]:
        """Write, and read all of it at this time: the condition, and how long writes were stopped and delayed."""
        self.now_s = now_s
        with self._log.open("ab") as file:
            file.write(b"".join(written))
        while not self.reading.read():
            pass
        reading = self.reading
        return reading.condition, reading.held_s("stopped", now_s), reading.held_s("delayed", now_s)


@pytest.fixture
def log(tmp_path: Path) -> Read:
    return Read(tmp_path)


def test_a_stall_in_progress_counts(log: Read) -> None:
    assert log.at(10, opened()) == ("normal", 0.0, 0.0)
    assert log.at(12, slowed(11)) == ("delayed", 0.0, 1.0)
    assert log.at(15) == ("delayed", 0.0, 4.0)
    assert log.at(17, stopped(16)) == ("stopped", 1.0, 5.0)
    assert log.at(20) == ("stopped", 4.0, 5.0)
    assert log.at(22, flushed(21)) == ("normal", 5.0, 5.0)
    assert log.at(30) == ("normal", 5.0, 5.0)


def test_a_sum_never_falls_where_a_stall_was_over_before_its_line_came(log: Read) -> None:
    log.at(10, opened(), stopped(10))
    assert log.at(15) == ("stopped", 5.0, 0.0)
    assert log.at(16, flushed(12)) == ("normal", 5.0, 0.0), "it lasted for 2 s"
    assert log.at(21, stopped(20)) == ("stopped", 5.0, 0.0)
    assert log.at(24) == ("stopped", 6.0, 0.0), "the sum is right again"


def test_a_stall_that_began_long_before_it_was_first_read(log: Read) -> None:
    assert log.at(600, opened(), stopped(100)) == ("stopped", 500.0, 0.0)
    assert log.at(610, flushed(605)) == ("normal", 505.0, 0.0)


def test_the_end_of_summer_time_is_no_hour_of_stop(log: Read) -> None:
    """A line is an hour early until an EVENT_LOG_v1 line shows the new offset."""

    def stamped(data: bytes, at_s: float, zone: timezone) -> bytes:
        return data.replace(stamp(BEGIN_S + at_s).encode(), stamp(BEGIN_S + at_s, zone).encode())

    log.at(10, stamped(opened(), 0, SUMMER), stamped(flushed(5), 5, SUMMER))
    log.at(20)
    condition, stopped_s, _ = log.at(21, stamped(stopped(20), 20, WINTER))
    assert (condition, stopped_s) == ("stopped", 11.0), "as late as RocksDB's logger can be, and not more"
    condition, stopped_s, _ = log.at(25, stamped(flushed(24), 24, WINTER), stamped(flushed(25), 25, WINTER))
    assert (condition, stopped_s) == ("normal", 11.0)


def test_a_log_of_warnings_does_not_stop_writes_for_ever(log: Read) -> None:
    """At an info_log_level above INFO no line tells that a stall is over."""
    assert log.at(10, line("RocksDB version: 9.8.4", BEGIN_S), stopped(5), stopped(8)) == ("normal", 0.0, 0.0)


def options_file(path: Path, number: int, *families: str) -> None:
    written = ["[DBOptions]", "  max_background_jobs=2"]
    for family in families:
        written += [f'[CFOptions "{family}"]', "  write_buffer_size=1048576"]
    (path / f"OPTIONS-{number:06d}").write_text("\n".join(written))


def test_a_column_family_that_is_dropped_while_it_stalls_stops_nothing_any_more(tmp_path: Path) -> None:
    """No line of the LOG names it; one that came since the OPTIONS file was read is looked for first."""
    log, now_s = tmp_path / "LOG", 1000.0
    log.write_bytes(opened() + stopped(1, "second"))
    options_file(tmp_path, 5, "default", "second")
    place = Place("1", tmp_path, "identity", log, tmp_path, holder=None, is_open=True)
    target = DirectoryTarget(place, lambda: None, Path("/proc"), lambda: now_s, time.time)

    async def conditions() -> list[str]:
        nonlocal now_s
        found: list[Snapshot] = []
        await target.catch_up()
        found.append(await target.snapshot(None))
        options_file(tmp_path, 6, "default")
        now_s += 60
        found.append(await target.snapshot(None))
        options_file(tmp_path, 7, "default", "third")
        with log.open("ab") as file:
            file.write(stopped(3, "third"))
        now_s += 1
        found.append(await target.snapshot(None))
        return [each.stall.condition for each in found]

    assert asyncio.run(conditions()) == ["stopped", "normal", "stopped"]
