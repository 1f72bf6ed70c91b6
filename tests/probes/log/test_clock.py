"""Local time into unix seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.probes.log import LogParser
from adocd.probes.log.clock import LocalClock, offset_in
from adocd.probes.log.events import HeaderLine, JobEvent

from .lines import AT_S, event, line, only, parsed, stamp

VERSION = "RocksDB version: 9.8.4"


def local(hours: float, message: str, time_s: float = AT_S) -> bytes:
    """Write a line in a zone so many hours east of Greenwich."""
    return line(message, time_s + hours * 3600)


def test_microseconds_are_kept() -> None:
    assert only(line(VERSION)).time_s == AT_S
    assert LocalClock().unix_s(b"2026/11/20-20:04:10.122835") == AT_S


def test_a_zone_counts_where_nothing_else_tells() -> None:
    berlin = LogParser(zone=ZoneInfo("Europe/Berlin"))
    assert only(local(1, VERSION), berlin).time_s == AT_S
    assert LogParser(zone=ZoneInfo("Europe/Berlin")).utc_offset_s is None
    assert only(local(-5, VERSION), LogParser(utc_offset_s=-5 * 3600)).time_s == AT_S


@pytest.mark.parametrize("hours", [-11, -9.5, -5, 0, 1, 5.75, 8, 14])
def test_an_event_tells_the_offset(hours: float) -> None:
    parser = LogParser(zone=ZoneInfo("Asia/Tokyo"))
    flush = f'EVENT_LOG_v1 {{"time_micros": {round(AT_S * 1e6)}, "job": 2, "event": "flush_finished"}}'
    later = [*parsed(local(hours, flush) + local(hours, VERSION, AT_S + 61), parser)]
    assert [round(each.time_s, 6) for each in later] == [AT_S, round(AT_S + 61, 6)]
    assert parser.utc_offset_s == hours * 3600
    assert offset_in(local(hours, VERSION) + local(hours, flush)) == hours * 3600


def test_summer_time_ends_within_the_file() -> None:
    """25 October 2026, 3:00 CEST becomes 2:00 CET: the same local hour comes twice."""
    end_s = datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp()
    flush = 'EVENT_LOG_v1 {{"time_micros": {}, "job": 2, "event": "flush_finished"}}'
    data = b"".join(
        local(hours, flush.format(round(at * 1e6)), at) + local(hours, "Shutdown complete", at + 1)
        for hours, at in ((2, end_s - 600), (1, end_s + 600))
    )
    assert [each.time_s - end_s for each in parsed(data)] == [-600, -599, 600, 601]


def test_a_damaged_time_moves_nothing() -> None:
    parser = LogParser()
    parsed(event('"job": 1, "event": "flush_finished"'), parser)
    parser.feed(line('EVENT_LOG_v1 {"time_micros": 17, "job": 1, "event": "flush_finished"}', AT_S + 60))
    assert parser.utc_offset_s == 0


def test_the_time_of_a_buffered_line_is_the_event_s() -> None:
    summary = f"(Original Log Time {stamp(AT_S)}) [default] Level summary: files[1 0] max score 0.25"
    assert only(line(summary, AT_S + 3)).time_s == AT_S


def test_there_is_no_such_time() -> None:
    parser = LogParser()
    assert parsed(b"2026/13/41-29:61:10.122835 1 " + VERSION.encode() + b"\n", parser) == []
    assert parser.unread == {"stamp": 1}


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.integers(-48, 56))
def test_any_time_and_quarter_of_an_hour(when: datetime, quarters: int) -> None:
    zone = timezone(timedelta(minutes=15 * quarters))
    micros = round(when.replace(tzinfo=UTC).timestamp() * 1e6)
    text = datetime.fromtimestamp(micros // 10**6, zone).strftime("%Y/%m/%d-%H:%M:%S") + f".{micros % 10**6:06d}"
    data = f'{text} 7f EVENT_LOG_v1 {{"time_micros": {micros}, "event": "x"}}\n{text} 7f Shutdown complete\n'
    found = parsed(data.encode())
    assert isinstance(found[0], JobEvent)
    assert found[0].time_s == pytest.approx(micros / 1e6, abs=1e-6)
    assert found[1].time_s == pytest.approx(micros / 1e6, abs=1e-6)


def test_headers_before_the_first_event_take_zone_or_what_they_are_told() -> None:
    parser = LogParser()
    first = parser.feed(local(2, VERSION))[0]
    assert isinstance(first, HeaderLine)
    assert first.time_s == AT_S + 7200
    parser.told_offset(7200)
    assert parser.feed(local(2, VERSION))[0].time_s == AT_S
