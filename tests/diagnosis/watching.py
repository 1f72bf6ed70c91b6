"""A stall watch that is told what a test writes by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.stalls.seen import StallSeen
from adocd.model.sample import ColumnFamilySample
from adocd.model.snapshot import Condition, Event
from adocd.probes.log import LogParser
from tests.builders import sample

from .logs import BEGIN_S

STOP = "we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"
L0 = "we have 20 level-0 files rate 8388608"
#: Between the clocks: unix seconds less monotonic ones.
APART_S = BEGIN_S
RATE = 8 << 20


def event(at_s: float, previous: Condition, condition: Condition, family: str = "default") -> Event:
    return Event(1, at_s, "stall", column_family=family, previous=previous, condition=condition)


def sampled(
    watch: StallWatch,
    at_s: float,
    condition: Condition = "normal",
    *families: ColumnFamilySample,
    events: Iterable[Event] = (),
    **members: Any,
) -> None:
    """Tell it a sample of the second until `at_s`; the delayed rate is what the property says in that condition."""
    members.setdefault("delayed_write_rate_bytes_per_s", RATE if condition == "delayed" else 0)
    watch.sampled(
        sample(*families, monotonic_s=at_s, condition=condition, events=tuple(events), **members), APART_S + at_s
    )


def logged(watch: StallWatch, at_s: float, *written: bytes) -> None:
    """Tell it lines of a LOG, in times of the same clock as the samples'."""
    parser = LogParser()
    watch.logged([*parser.feed(b"".join(written)), *parser.finish()], BEGIN_S + at_s)


def spans(found: Iterable[StallSeen]) -> list[tuple[float, float, str, str, str]]:
    """Say what was found, in seconds of the samples' clock."""
    return [
        (round(s.begin_unix_s - APART_S, 3), round(s.end_unix_s - APART_S, 3), s.cause, s.condition, s.evidence)
        for s in found
    ]


def now(watch: StallWatch) -> Any:
    assert watch.now is not None
    return watch.now
