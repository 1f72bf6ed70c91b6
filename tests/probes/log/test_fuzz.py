"""No input raises, and none makes the parser keep more than a bounded amount.

`ADOCD_FUZZ=long` tries a million mutated inputs.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adocd.probes.log import LogParser
from adocd.probes.log.events import LogEvent
from tests.support.growth import grows_with_the_work

from .lines import SAMPLES, parsed
from .mutation import Mutator

LONG = os.environ.get("ADOCD_FUZZ") == "long"
INPUTS = 1_000_000 if LONG else 20_000
KEPT_BYTES_MOST = 4 << 20

LINES = [line for sample in SAMPLES for line in sample.read_bytes().splitlines(keepends=True)]
broken = st.lists(
    st.one_of(
        st.sampled_from(LINES),
        st.tuples(st.sampled_from(LINES), st.integers(0, 2000), st.binary(max_size=40)).map(
            lambda cut: cut[0][: cut[1]] + cut[2]
        ),
        st.binary(max_size=200),
    ),
    max_size=12,
).map(b"".join)


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return (data[a:b] for a, b in pairwise(places))


@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    parsed(data)


@given(broken, st.lists(st.integers(0, 4000), max_size=12))
@settings(max_examples=20_000 if LONG else 100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_how_the_bytes_come_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    whole, split = LogParser(), LogParser()
    expected = parsed(data, whole)
    found: list[LogEvent] = []
    for piece in pieces(data, cuts):
        found += split.feed(piece)
    found += split.finish()
    assert repr(found) == repr(expected)  # nan is not equal to itself
    assert (split.unread, split.lines) == (whole.unread, whole.lines)


def test_mutated_lines() -> None:
    """One parser for all of them, so that what one leaves behind meets the next."""
    mutator = Mutator(seed=7)
    parser = LogParser()
    tracemalloc.start()
    try:
        for _ in range(min(INPUTS, 2_000)):
            parser.feed(mutator.input())
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(min(INPUTS, 8_000)):
            parser.feed(mutator.input())
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    for _ in range(INPUTS - 10_000):
        parser.feed(mutator.input())
    parser.finish()
    print(f"{INPUTS:,} inputs, {parser.lines:,} lines, {parser.unread_lines:,} unread")
    assert kept < KEPT_BYTES_MOST
    assert parser.unread_lines > 0


HEAD = b"2026/11/20-20:04:10.315038 25884 "
EVENT = HEAD + b'EVENT_LOG_v1 {"time_micros": 1795205050265026, '


@pytest.mark.parametrize(
    "line",
    [
        lambda n: EVENT + b'"a": [' + b"9" * 400 + b', "event": "x"}' + b" " * n,
        lambda n: EVENT + b'"a": [' + b"9, " * (n // 3),
        lambda n: EVENT + b'"a": "' * (n // 6),
        lambda n: EVENT + b'"a": ' * (n // 5),
        lambda n: EVENT + b"{" * n,
        lambda n: HEAD + b"[" * n,
        lambda n: HEAD + b"[:1" * (n // 3),
        lambda n: HEAD + b"[WARN] [" + b":1] [" * (n // 5) + b" writes because",
        lambda n: HEAD + b" " * n + b"Options",
        lambda n: HEAD + b"-" * n + b" Options for",
        lambda n: HEAD + b"[a] Level summary: " + b"files[" * (n // 6),
        lambda n: HEAD + b"[a] Level summary: files[" + b"1 " * (n // 2),
        lambda n: HEAD + b"SetOptions() on column family [" + b"], inputs" * (n // 9),
        lambda n: HEAD[:-1] * (n // len(HEAD)),
        lambda n: b"** Compaction Stats [" + b"] **" * (n // 4),
        lambda n: b"** DB Stats **\nStalls(count): " + b"11111111111111111111 a" + b" " * n + b"x",
        lambda n: b"** DB Stats **\nStalls(count): " + b"1 a" * (n // 3),
        lambda n: b"** DB Stats **\nWrite Stall (count): " + b"a" * n,
        lambda n: b"** DB Stats **\nCumulative writes: " + b"1 writes, " * (n // 10),
        lambda n: HEAD + b"STATISTICS:\n" + b"a" * n,
        lambda n: HEAD + b"STATISTICS:\n" + b"a COUNT : 1" * (n // 11),
        lambda n: HEAD + b"STATISTICS:\n" + b" P50 : 1" * (n // 8),
    ],
    ids=range(22),
)
def test_a_line_takes_as_long_as_it_is(line: Callable[[int], bytes]) -> None:
    """And not the square of it, which a regular expression that tries all its ways takes."""
    grows_with_the_work(lambda n: parsed(line(n) + b"\n"), 30_000)


def test_what_never_ends_is_not_kept() -> None:
    """A line, a dump, a listing, a block of statistics, jobs and changes without an end."""
    parser = LogParser()
    floods = [
        [b"x" * 65536] * 64,
        [HEAD + b"STATISTICS:\n", *(b"rocksdb.x%d COUNT : 7\n" % n for n in range(30_000))],
        [HEAD + b"    Options.o%d: 7\n" % n for n in range(20_000)],
        [HEAD + b"[a] table_factory options:   x: 1\n", *(b"  o%d: 7\n" % n for n in range(20_000))],
        [
            b"** Compaction Stats [default] **\nLevel    Files   Size     Score\n",
            *(b"  L%d      1/0    1.73 MB   0.2\n" % n for n in range(20_000)),
        ],
        [
            HEAD + b'EVENT_LOG_v1 {"time_micros": 1795205050265026, "job": %d, "event": "flush_started"}\n' % n
            for n in range(20_000)
        ],
        [HEAD + b'EVENT_LOG_v1 {"time_micros": 1795205050265026, "job": 1, "event": "flush_started"}\n'] * 20_000,
        [b"2026/11/20-20:04:10.315038 %d SetOptions() on column family [a], inputs:\n" % n for n in range(20_000)],
        [HEAD + b"SetOptions() on column family [a], inputs:\n", *(HEAD + b"o%d: 1\n" % n for n in range(20_000))],
    ]
    for flood in floods:
        tracemalloc.start()
        for at in range(0, len(flood), 100):
            parser.feed(b"".join(flood[at : at + 100]))
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < KEPT_BYTES_MOST, flood[0]
