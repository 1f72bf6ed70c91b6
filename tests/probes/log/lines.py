"""Lines of a LOG, for tests: stamped, in the local time of a zone, and samples of real ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from adocd.probes.log import LogParser
from adocd.probes.log.events import LogEvent

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.log"))
#: 2026-11-20 20:04:10.122835 UTC.
AT_S = 1795205050.122835


def stamp(time_s: float = AT_S, zone: tzinfo = UTC) -> str:
    """Write a time as RocksDB does."""
    return datetime.fromtimestamp(round(time_s), zone).strftime("%Y/%m/%d-%H:%M:%S") + f".{round(time_s % 1 * 1e6):06d}"


def line(message: str, time_s: float = AT_S, thread: str = "25884") -> bytes:
    """Write a line."""
    return f"{stamp(int(time_s) + time_s % 1)} {thread} {message}\n".encode()


def event(fields: str, time_s: float = AT_S) -> bytes:
    """Write an EVENT_LOG_v1 line; `fields` is JSON without braces, after the time."""
    return line(f'EVENT_LOG_v1 {{"time_micros": {round(time_s * 1e6)}, {fields}}}', time_s)


def parsed(data: bytes | Iterable[bytes], parser: LogParser | None = None) -> list[LogEvent]:
    """Parse all of it."""
    parser = parser or LogParser()
    found = parser.feed(data if isinstance(data, bytes) else b"".join(data))
    return found + parser.finish()


def only(data: bytes | Iterable[bytes], parser: LogParser | None = None) -> LogEvent:
    """Parse what makes one event."""
    (found,) = parsed(data, parser)
    return found
