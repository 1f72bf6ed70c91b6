"""A LOG that is being written, rotated, truncated, replaced or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adocd.probes.log import LogFollower, read_log, rotated_logs
from adocd.probes.log.events import HeaderLine, LogEvent

from .lines import SAMPLES, line


def version(name: str) -> bytes:
    return line(f"RocksDB version: {name}")


def names(events: list[LogEvent]) -> list[str]:
    return [event.value for event in events if isinstance(event, HeaderLine)]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "LOG"


@pytest.fixture
def follower(log: Path) -> LogFollower:
    return LogFollower(log)


def rotate(log: Path, micros: int) -> Path:
    return log.rename(log.with_name(f"LOG.old.{micros}"))


def test_it_appears_and_grows(log: Path, follower: LogFollower) -> None:
    assert follower.poll() == []
    assert follower.caught_up
    append(log, version("1") + version("2")[:20])
    assert names(follower.poll()) == ["1"]
    append(log, version("2")[20:])
    assert names(follower.poll()) == ["2"]
    assert names(follower.poll()) == []
    assert follower.parser.unread == {}


def test_rotation_loses_nothing(log: Path, follower: LogFollower) -> None:
    append(log, version("1"))
    assert names(follower.poll()) == ["1"]
    append(log, version("2"))
    rotate(log, 100)
    assert names(follower.poll()) == ["2"]
    append(log, version("3"))
    assert names(follower.poll()) == ["3"]


def test_several_rotations_between_two_polls(log: Path, follower: LogFollower) -> None:
    append(log.with_name("LOG.old.5"), version("of before"))
    append(log, version("1"))
    follower.poll()
    for micros, value in ((90, "2"), (100, "3"), (1000, "4")):
        append(log, version(value)[:-1])  # without an end
        rotate(log, micros)
    append(log, version("5"))
    assert names(follower.poll()) == ["2", "3", "4", "5"]
    assert names(follower.poll()) == []


def test_rotation_before_anything_was_there(log: Path, follower: LogFollower) -> None:
    follower.poll()
    append(log, version("1"))
    rotate(log, 100)
    append(log, version("2"))
    assert names(follower.poll()) == ["1", "2"]


def test_truncation_begins_anew(log: Path, follower: LogFollower) -> None:
    append(log, version("1") + version("2"))
    follower.poll()
    log.write_bytes(version("3"))
    assert names(follower.poll()) == ["3"]


def test_another_file_of_the_same_inode_and_more(log: Path, follower: LogFollower) -> None:
    append(log, version("1"))
    follower.poll()
    inode = log.stat().st_ino
    log.write_bytes(version("another") + version("2"))
    assert log.stat().st_ino == inode
    assert names(follower.poll()) == ["another", "2"]


def test_a_file_that_is_deleted_and_made_anew(log: Path, follower: LogFollower) -> None:
    append(log, version("1"))
    follower.poll()
    log.unlink()
    assert follower.poll() == []
    append(log, version("2"))
    assert names(follower.poll()) == ["2"]


def test_a_rotated_file_that_rocksdb_deletes_at_once(log: Path, follower: LogFollower) -> None:
    append(log, version("1"))
    follower.poll()
    rotate(log, 100).unlink()
    append(log, version("2"))
    assert names(follower.poll()) == ["2"]


def test_a_poll_reads_a_bounded_amount(log: Path) -> None:
    follower = LogFollower(log, poll_bytes_most=100)
    for value in range(20):
        append(log, version(str(value)))
    found, polls = [], 0
    while not follower.caught_up:
        found += names(follower.poll())
        polls += 1
    assert found == [str(value) for value in range(20)]
    assert polls >= 10


def test_what_is_gathered_comes_when_the_writer_pauses(log: Path, follower: LogFollower) -> None:
    append(log, SAMPLES[1].read_bytes())
    found = follower.poll()
    assert [event.kind for event in found] == [event.kind for event in read_log(SAMPLES[1])]
    append(log, line("    Options.error_if_exists: 0"))
    assert [event.kind for event in follower.poll()] == ["options"]


def test_it_holds_nothing_open(log: Path, follower: LogFollower) -> None:
    append(log, version("1"))
    follower.poll()
    held = {os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.exists()}
    assert str(log) not in held


def test_what_cannot_be_read_is_said_and_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "LOG"
    log.mkdir()
    follower = LogFollower(log)
    assert follower.poll() == []
    assert isinstance(follower.error, IsADirectoryError)
    log.rmdir()
    append(log, version("1"))
    assert names(follower.poll()) == ["1"]
    assert follower.error is None


def test_what_never_ends_is_not_begun(log: Path, follower: LogFollower) -> None:
    """An agent names its LOG, so it can be anything: who opens a FIFO for reading waits for a writer."""
    os.mkfifo(log)
    assert follower.poll() == []
    assert follower.error is not None
    assert follower.error.strerror == "it is no regular file"
    log.unlink()
    append(log, version("1"))
    assert names(follower.poll()) == ["1"]
    os.mkfifo(log.with_name("LOG.old.1"))
    append(log, version("2"))
    rotate(log, 2)
    append(log, version("3"))
    assert names(follower.poll()) == ["2", "3"]


@pytest.mark.parametrize("name", ["/dev/zero", "/proc/self/maps", "a\0b"])
def test_what_is_no_file_with_a_size_is_not_read(name: str) -> None:
    """A file of /proc is as long as one likes to read: it has no size, and can be read anew again and again."""
    follower = LogFollower(Path(name))
    assert follower.poll() == []
    assert follower.parser.lines == 0


def test_a_whole_log_with_its_rotated_ones(log: Path) -> None:
    for name, value in (
        ("LOG.old.1000", "3"),
        ("LOG.old.99", "1"),
        ("LOG.old.100", "2"),
        ("LOG", "4"),
        ("LOG.old.x", "no"),
    ):
        append(log.with_name(name), version(value))
    append(log.with_name("OTHER.old.1"), version("no"))
    assert [path.name for path in rotated_logs(log)] == ["LOG.old.99", "LOG.old.100", "LOG.old.1000"]
    assert names(list(read_log(log))) == ["1", "2", "3", "4"]
    assert names(list(read_log(log, rotated=False))) == ["4"]
    log.with_name("LOG.old.50").mkdir()
    assert names(list(read_log(log))) == ["1", "2", "3", "4"], "one that cannot be read hides no other"
    with pytest.raises(FileNotFoundError):
        list(read_log(log.with_name("NONE")))


def test_a_whole_log_in_another_zone(log: Path) -> None:
    """What tells the offset comes after the header."""
    json = b'{"time_micros": 1795205051000000, "job": 1, "event": "flush_started"}'
    flush = b"2026/11/20-22:04:11.000000 7 EVENT_LOG_v1 " + json + b"\n"
    append(log, b"2026/11/20-22:04:10.000000 7 RocksDB version: 9.8.4\n" + flush)
    assert [event.time_s for event in read_log(log)] == [1795205050, 1795205051]
    assert [event.time_s for event in LogFollower(log).poll()] == [1795205050, 1795205051]
