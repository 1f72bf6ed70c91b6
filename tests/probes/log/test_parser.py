"""What a LOG can be but should not: broken, interleaved, binary, overlong lines; and that a line costs what it did."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from adocd.probes.log import LogParser
from adocd.probes.log.events import LogEvent, LoggedStall, Shutdown
from adocd.probes.log.lines import LINE_BYTES_MOST

from .lines import AT_S, SAMPLES, line, parsed

STALL = "[WARN] [x.cc:1] [a] Stopping writes because we have 36 level-0 files"
EXPECTED = LoggedStall(AT_S, "a", "stopped", "l0", 36, None, None)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (b"words without a stamp\n", "no_stamp"),
        (b"\0" * 4096 + b"\n", "binary"),
        (b"\xff\xfe\x01\n", "binary"),
        (b"x" * (LINE_BYTES_MOST + 1) + b"\n", "overlong"),
        (line("x" * LINE_BYTES_MOST), "overlong"),
        (b"2026/11/20-20:04:10.31503 25884 too short\n", "no_stamp"),
        (line("[WARN] [x.cc:1] [a] Stopping writes because we have 36 lev"), "stall"),
        (line("[x.cc:1] [a] Level summary: files[1 0"), "summary"),
        (line("EVENT_LOG_v1 {"), "event_log"),
    ],
)
def test_broken_lines_are_counted_and_passed(broken: bytes, kind: str) -> None:
    parser = LogParser()
    assert parsed(line(STALL) + broken + line(STALL), parser) == [EXPECTED, EXPECTED]
    assert (parser.unread, parser.unread_lines, parser.lines) == ({kind: 1}, 1, 3)


def test_a_line_that_begins_in_another_is_read() -> None:
    parser = LogParser()
    lost_end = line("[db/flush_job.cc:861] [a] [JOB 2] Flush lasted 3770")[:-1]
    assert parsed(lost_end + line(STALL), parser) == [EXPECTED]
    assert parsed(line(STALL)[:-10] + line(STALL) + b"torn" + line(STALL), LogParser()) == [EXPECTED, EXPECTED]
    assert parser.unread == {"cut": 1}


def test_the_last_line_may_lack_its_end() -> None:
    parser = LogParser()
    assert parser.feed(line(STALL)[:-1]) == []
    assert parser.in_line
    assert parser.finish() == [EXPECTED]
    assert parser.finish() == []


def test_windows_line_ends() -> None:
    parser = LogParser()
    data = b"".join(sample.read_bytes() for sample in SAMPLES)
    assert len(parsed(data.replace(b"\n", b"\r\n"), parser)) == len(parsed(data))
    assert parser.unread == {}


def test_pieces_of_any_size() -> None:
    data = b"".join(sample.read_bytes() for sample in SAMPLES)
    expected = parsed(data)
    for size in (1, 7, 4096, 1 << 20):
        parser = LogParser()
        found: list[LogEvent] = []
        for at in range(0, len(data), size):
            found += parser.feed(data[at : at + size])
        assert found + parser.finish() == expected
        assert parser.unread == {}


def test_overlong_lines_in_pieces() -> None:
    parser = LogParser()
    for piece in (line(STALL), *[b"x" * 5000] * 100, b"\n" + line(STALL), b"y" * 300_000):
        parser.feed(piece)
    assert not parser.finish()
    assert (parser.unread, parser.lines) == ({"overlong": 2}, 4)


def test_settling_gives_what_is_gathered_and_goes_on() -> None:
    parser = LogParser()
    head, tail = (
        b"** DB Stats **\nUptime(secs): 1.0 total, 1.0 interval\n",
        b"Interval stall: 00:00:1.000 H:M:S, 50.0 percent\n",
    )
    assert parser.feed(line("[x.cc:1] ") + head) == []
    assert [event.kind for event in parser.settle()] == ["db_stats"]
    assert parser.feed(tail + line("[x.cc:1] Shutdown complete"))[1:] == [Shutdown(AT_S, "Shutdown complete")]
    assert parser.unread == {}


def test_a_line_costs_the_same_however_many_came_before() -> None:
    """Counted in calls of functions, which no other program changes; how fast it is, speed.py measures."""
    sample = SAMPLES[1].read_bytes()
    calls = 0

    def count(_: FrameType, what: str, __: object) -> None:
        nonlocal calls
        calls += what in ("call", "c_call")

    def read(times: int) -> int:
        nonlocal calls
        parser, data, calls = LogParser(), sample * times, 0
        sys.setprofile(count)
        try:
            parser.feed(data)
        finally:
            sys.setprofile(None)
        assert parser.lines == times * sample.count(b"\n")
        return calls

    once, eight = read(1), read(8)
    assert once < 40 * sample.count(b"\n"), "it was 24 calls a line"
    assert eight <= 8 * once * 1.1
