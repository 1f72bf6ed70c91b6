"""From lines to stalls: when they begin and end, by LOGs written by hand."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.diagnosis import Diagnosis
from adocd.probes.log import LogParser
from tests.probes.log.lines import SAMPLES, line

from .logs import BEGIN_S, compacted, diagnosed, dumped, flushed, opened, stall, switched

L0 = "we have 4 level-0 files rate 8388608"
STOP = "we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"

#: From one line of a LOG to the next (s): forwards, out of order, and by days.
STEPS_S = (-3e5, -2e5, -7200.0, -61.0, -59.0, -0.01, 0.0, 0.01, 1.0, 59.0, 61.0, 7200.0, 2e5, 3e5)


def spans(summary: dict[str, Any]) -> list[tuple[float, float, str, str]]:
    return [
        (round(s["begin"] - BEGIN_S, 3), round(s["end"] - BEGIN_S, 3), s["cause"], s["kind"]) for s in summary["stalls"]
    ]


def test_a_job_without_a_line_ends_it() -> None:
    """The line of the install is in the file before the job's event, and a little younger."""
    found = diagnosed(
        opened(),
        stall(10.001, L0),
        flushed(10.0, 4),
        stall(15.001, L0),
        flushed(15.0, 5),
        compacted(22.0, 1),
        flushed(30.0, 2),
    )
    assert spans(found) == [(10.001, 22.0, "l0", "delayed")]
    assert found["stalls"][0]["lines"] == 2
    assert found["stalls"][0]["ended"] is True
    assert found["stalls"][0]["said"] == {"figure": 4, "limit": None, "rate_bytes_per_s": 8388608}
    assert found["stall_s"] == {"memtable": 0, "l0": pytest.approx(11.999), "pending_bytes": 0, "other": 0}


def test_another_cause_begins_another_stall() -> None:
    found = diagnosed(opened(), stall(10, STOP, stopped=True), stall(12, L0), flushed(11.99), compacted(13))
    assert spans(found) == [(10, 12, "memtable", "stopped"), (12, 13, "l0", "delayed")]
    assert found["stalled_s"] == pytest.approx(3)


def test_a_column_family_that_is_dropped_holds_no_writes_any_more() -> None:
    found = diagnosed(
        opened(),
        line("[db/db_impl/db_impl.cc:2799] Created column family [index] (ID 1)", BEGIN_S),
        stall(10, STOP, stopped=True, family="index"),
        line("[db/db_impl/db_impl.cc:3311] Dropped column family with id 1", BEGIN_S + 12),
        flushed(60, 1),
    )
    assert spans(found) == [(10, 12, "memtable", "stopped")]
    assert found["stalls"][0]["ended"] is True
    assert found["stalled_s"] == pytest.approx(2)


def test_a_summary_while_the_log_goes_on_counts_what_is_not_over() -> None:
    parser, found = LogParser(), Diagnosis()

    def read(*written: bytes) -> dict[str, Any]:
        for event in parser.feed(b"".join(written)):
            found.add(event)
        for event in parser.settle():
            found.add(event)
        found.so_far()
        return found.summary()

    going_on = read(opened(), stall(10, L0), switched(12))
    assert spans(going_on) == [(10, 12, "l0", "delayed")]
    assert (going_on["stalls"][0]["stalled_s"], going_on["stalls"][0]["ended"]) == (2, False)
    later = read(stall(15.001, L0), flushed(15.0, 5))
    assert later["stalls"][0]["stalled_s"] == pytest.approx(5.001)
    over = read(compacted(22, 1))
    assert spans(over) == [(10, 22, "l0", "delayed")]
    assert (over["stalls"][0]["stalled_s"], over["stalls"][0]["ended"]) == (pytest.approx(12), True)
    assert over["stall_s"]["l0"] == pytest.approx(12)


def test_a_job_of_another_column_family_ends_nothing() -> None:
    found = diagnosed(opened(), stall(10, L0), flushed(11, family="other"), flushed(14))
    assert spans(found) == [(10, 14, "l0", "delayed")]


def test_two_column_families_at_once_count_once() -> None:
    found = diagnosed(
        opened(), stall(10, L0), stall(11, L0, family="b"), flushed(13), flushed(15, family="b"), flushed(20)
    )
    assert spans(found) == [(10, 13, "l0", "delayed"), (11, 15, "l0", "delayed")]
    assert found["stall_s"]["l0"] == found["stalled_s"] == pytest.approx(5)


def test_close_ones_are_one() -> None:
    found = diagnosed(
        opened(), stall(10, L0), flushed(10.2), stall(10.4, L0), flushed(11.2), stall(13, L0), flushed(14)
    )
    assert spans(found) == [(10, 11.2, "l0", "delayed"), (13, 14, "l0", "delayed")]
    assert [s["stalled_s"] for s in found["stalls"]] == [pytest.approx(1), pytest.approx(1)]
    assert found["stall_s"]["l0"] == pytest.approx(2)


def test_a_new_memtable_without_a_line_says_that_it_was_over() -> None:
    found = diagnosed(opened(), stall(10, L0), switched(12), stall(12.1, L0), switched(20), switched(50), flushed(60))
    assert spans(found) == [(10, 20, "l0", "delayed")]


@pytest.mark.parametrize("job", [flushed, compacted])
def test_the_end_of_the_log_is_no_end(job: Any) -> None:
    found = diagnosed(opened(), job(5), stall(10, L0), flushed(12, family="b"))
    assert spans(found) == [(10, 12, "l0", "delayed")]
    assert found["stalls"][0]["ended"] is False


def test_the_close_is_one_and_a_crash_is_none() -> None:
    close = line("[db/db_impl/db_impl.cc:490] Shutdown: canceling all background work", BEGIN_S + 11)
    found = diagnosed(opened(), stall(10, L0), close, opened(at_s=100), stall(110, L0), opened(at_s=200))
    assert spans(found) == [(10, 11, "l0", "delayed"), (110, 110, "l0", "delayed")]
    assert [s["ended"] for s in found["stalls"]] == [True, False]


def test_a_clock_set_back_costs_nothing() -> None:
    found = diagnosed(opened(), stall(5000, L0), flushed(5001), stall(100, L0), flushed(102), flushed(103))
    assert found["stall_s"]["l0"] == pytest.approx(3)


def test_a_damaged_stamp_makes_no_stall_longer() -> None:
    found = diagnosed(opened(), stall(10, L0), flushed(4e6, family="b"), switched(12, family="b"))
    assert spans(found) == [(10, 12, "l0", "delayed")]
    assert found["end"] - found["begin"] == 12


DAYS_S = 2 * 86400.0


def test_a_stray_line_of_another_day_takes_no_time() -> None:
    """As in the LOGs of RocksDB's tools/advisor: two lines of a stall that is two days older."""
    found = diagnosed(opened(), stall(10, STOP), stall(-DAYS_S, L0), stall(-DAYS_S, L0), flushed(12), flushed(100))
    assert spans(found) == [(10, 10, "memtable", "delayed"), (10, 12, "l0", "delayed")]
    assert found["end"] - found["begin"] == 100
    assert found["stepped_back"] == [{"line": 5, "from_s": BEGIN_S + 10, "to_s": BEGIN_S - DAYS_S}]


def test_after_a_clock_is_set_back_the_durations_are_right() -> None:
    found = diagnosed(opened(), stall(5000, L0), flushed(5001), stall(100, L0), flushed(102), flushed(110))
    assert found["stall_s"]["l0"] == pytest.approx(3)
    assert found["end"] - found["begin"] == pytest.approx(5011)


@given(st.lists(st.tuples(st.sampled_from(("stall", "flush")), st.sampled_from(STEPS_S)), min_size=1, max_size=30))
def test_no_stall_is_longer_than_the_log(lines: list[tuple[str, float]]) -> None:
    at_s, written = 0.0, [opened()]
    for what, step_s in lines:
        at_s += step_s
        written.append(stall(at_s, L0) if what == "stall" else flushed(at_s))
    found = diagnosed(*written)
    assert found["events"]
    assert found["stalled_s"] <= found["end"] - found["begin"] + 1e-3


def test_rocksdb_s_own_seconds() -> None:
    """Of the last dump of each session, and over time by the interval."""
    found = diagnosed(
        opened(), dumped(10, 4.0, 4.0, 10.0), dumped(20, 5.5, 1.5, 10.0), opened(at_s=30), dumped(40, 2.0, 2.0, 10.0)
    )
    assert found["stall_s_by_rocksdb"] == 7.5
    assert found["stall_s_by_rocksdb_until"] == BEGIN_S + 40
    told = [bucket["by_rocksdb"] for bucket in found["over_time"]]
    assert sum(seconds or 0.0 for seconds in told) == pytest.approx(7.5, abs=0.05)
    without = diagnosed(opened(), flushed(1))
    assert (without["stall_s_by_rocksdb"], without["stall_s_by_rocksdb_until"]) == (None, None)


@pytest.mark.parametrize(("session", "waited_s", "end_s"), [("S1", 5.5, 18), ("S2", 9.5, 12)])
def test_the_next_file_of_a_rotated_log_is_the_same_open(session: str, waited_s: float, end_s: float) -> None:
    """RocksDB repeats the lines of the open in it; another open has another session id."""
    found = diagnosed(
        opened(session="S1"),
        dumped(10, 4.0, 4.0, 10.0),
        stall(12, L0),
        opened(at_s=15, session=session, info=False),
        flushed(18),
        dumped(20, 5.5, 1.5, 10.0),
    )
    assert found["stall_s_by_rocksdb"] == waited_s
    assert spans(found) == [(12, end_s, "l0", "delayed")]


def test_a_log_of_warnings_has_stalls_without_ends() -> None:
    """At an info_log_level above INFO: each lasts up to its last line, and lines far apart are of two."""
    found = diagnosed(opened(info=False), stall(10, L0), stall(12, L0), stall(500, L0), dumped(900, 1.0, 1.0, 600.0))
    assert spans(found) == [(10, 12, "l0", "delayed"), (500, 500, "l0", "delayed")]
    assert [(each["stalled_s"], each["ended"]) for each in found["stalls"]] == [(2, False), (0, False)]
    assert found["stall_s"]["l0"] == found["stalled_s"] == 2
    another = diagnosed(
        opened(info=False), stall(10, L0), stall(11, STOP, stopped=True), opened(at_s=300), flushed(400)
    )
    assert spans(another) == [(10, 10, "l0", "delayed"), (11, 11, "memtable", "stopped")]
    assert not any(each["ended"] for each in another["stalls"])


def test_two_column_families_in_a_log_of_warnings_count_once() -> None:
    found = diagnosed(
        opened(info=False), *(stall(at_s, L0, family="ab"[at_s % 2]) for at_s in range(10, 20)), stall(400, L0)
    )
    assert [each["stalled_s"] for each in found["stalls"]] == [8, 8, 0]
    assert found["stalled_s"] == 8, "from 11 to 19 s"


def test_after_the_last_dump_nothing_tells_how_long_writers_waited() -> None:
    found = diagnosed(opened(), dumped(10, 4.0, 4.0, 10.0), stall(12, L0), flushed(20))
    assert found["stall_s_by_rocksdb_until"] == BEGIN_S + 10
    assert [bucket["by_rocksdb"] for bucket in found["over_time"]] == [0.4] * 10 + [None] * 10


def test_over_time_has_at_most_60_buckets() -> None:
    found = diagnosed(opened(), *(stall(t, L0) + flushed(t + 10) for t in range(0, 1000, 20)))
    buckets = found["over_time"]
    assert 30 <= len(buckets) <= 60
    assert buckets[0]["begin"] == BEGIN_S
    assert buckets[-1]["end"] == found["end"]
    assert sum(bucket["l0"] for bucket in buckets) == pytest.approx(found["stall_s"]["l0"]) == pytest.approx(500)
    assert all(bucket["l0"] <= bucket["end"] - bucket["begin"] + 1e-6 for bucket in buckets)


def test_very_many_stalls_are_told_as_fewer() -> None:
    found = diagnosed(opened(), *(stall(2 * t, L0) + flushed(2 * t + 0.5) for t in range(6000)))
    assert 0 < len(found["stalls"]) <= 5000
    assert found["stalls_merged_within_s"] > 1
    assert sum(s["stalled_s"] for s in found["stalls"]) == pytest.approx(found["stall_s"]["l0"]) == pytest.approx(3000)
    assert sum(s["lines"] for s in found["stalls"]) == 6000


def test_nothing_is_a_diagnosis_too() -> None:
    found = diagnosed()
    assert found["begin"] is found["rocksdb_version"] is None
    assert found["stalls"] == found["advice"] == found["over_time"] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_log_makes_a_diagnosis(seed: int) -> None:
    """Whatever is in it: JSON, at most 60 buckets, and no cause that held for longer than all together."""
    draw = random.Random(seed)  # noqa: S311
    whole = [sample.read_bytes()[-40_000:] for sample in SAMPLES]
    for _ in range(30):
        data = bytearray(draw.choice(whole))
        for _ in range(draw.randrange(1, 200)):
            at, other = draw.randrange(len(data)), draw.randrange(len(data))
            data[at : at + draw.randrange(100)] = data[other : other + draw.randrange(100)]
        found = diagnosed(bytes(data))
        json.dumps(found, allow_nan=False)
        assert len(found["over_time"]) <= 60
        assert all(0 <= stall_s <= found["stalled_s"] + 1e-6 for stall_s in found["stall_s"].values())
