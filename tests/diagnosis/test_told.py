"""A diagnosis without a LOG: from samples, events and the stalls seen in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.diagnosis.stalls.seen import StallSeen
from adocd.diagnosis.told import Told
from adocd.model.snapshot import Event
from adocd.model.stall import Cause, Held
from tests.builders import column_family, sample

NOW_S = 1_700_000_000.0
MIB = 1 << 20


def seen(
    begin_s: float, end_s: float, cause: Cause = "l0", held: Held = "delayed", family: str = "default"
) -> StallSeen:
    return StallSeen(NOW_S + begin_s, NOW_S + end_s, NOW_S + end_s, cause, held, family, "stall events")


def told(seconds: int, *stalls: StallSeen, **members: object) -> Told:
    """Sample once a second; a stall is found in the sample after its end."""
    found = Told()
    for at_s in range(1, seconds + 1):
        now_s = NOW_S + at_s
        known = [stall for stall in stalls if stall.end_unix_s <= now_s]
        found.sampled(sample(column_family(l0_files=7), monotonic_s=100.0 + at_s, **members), now_s, known, "9.8.4")
    return found


def test_stalls_by_cause_and_over_time() -> None:
    found = told(20, seen(2, 5), seen(10, 12, "memtable", "stopped")).summary(None)
    assert found["rocksdb_version"] == "9.8.4"
    assert (found["begin"], found["end"]) == (NOW_S, NOW_S + 20)
    assert found["stall_s"] == {"memtable": 2.0, "l0": 3.0, "pending_bytes": 0.0, "other": 0.0}
    assert found["stalled_s"] == 5.0
    assert [(stall["cause"], stall["kind"]) for stall in found["stalls"]] == [
        ("l0", "delayed"),
        ("memtable", "stopped"),
    ]
    assert [bucket["l0"] for bucket in found["over_time"]] == [0.0] * 2 + [1.0] * 3 + [0.0] * 15
    assert found["stall_s_by_rocksdb"] is None
    assert found["unread_lines"] == 0


def test_the_agents_own_counter_says_how_long_writers_waited() -> None:
    found = Told()
    for at_s in range(1, 7):
        found.sampled(sample(column_family(), monotonic_s=100.0 + at_s), NOW_S + at_s, (), "9.8.4")
        found.counted("s1", NOW_S + at_s, 10.0 + at_s / 4)
    summary = found.summary(None)
    assert (summary["stall_s_by_rocksdb"], summary["stall_s_by_rocksdb_until"]) == (11.5, NOW_S + 6)
    assert [bucket["by_rocksdb"] for bucket in summary["over_time"]] == [None] + [0.25] * 5


def test_column_families_that_stall_at_once_count_once() -> None:
    """In whatever order they end."""
    found = told(20, seen(5, 8), seen(2, 10, family="other"), seen(6, 12, "memtable", "stopped")).summary(None)
    assert found["stall_s"]["l0"] == 8.0
    assert found["stalled_s"] == 10.0


def test_a_stall_is_taken_once_and_told_as_long_as_the_watch_remembers_it() -> None:
    found = Told()
    stalls = [seen(at_s, at_s + 0.5) for at_s in range(10)]
    for at_s in range(1, 13):
        known = [stall for stall in stalls if stall.end_unix_s <= NOW_S + at_s][-3:]
        found.sampled(sample(monotonic_s=100.0 + at_s), NOW_S + at_s, known, None)
    told = found.summary(None)
    assert [stall["begin"] for stall in told["stalls"]] == [NOW_S + 7, NOW_S + 8, NOW_S + 9]
    assert (told["stalled_s"], told["stall_s"]["l0"]) == (5.0, 5.0), "all ten held writes"
    assert sum(each["any"] for each in told["over_time"]) == 5.0
    assert found.summary(None) == told


def test_stalls_that_are_not_kept_any_more_count_as_those_that_are() -> None:
    """Those of two column families at once count once, whichever ends first; what was before is not of this time."""
    stalls = [seen(-3, 2), seen(5, 8), seen(4, 10, family="other"), seen(12, 13), seen(14, 15)]
    found = Told()
    for at_s in range(1, 18):
        known = [stall for stall in stalls if stall.end_unix_s <= NOW_S + at_s][-2:]
        found.sampled(sample(monotonic_s=100.0 + at_s), NOW_S + at_s, known, None)
    told = found.summary(None)
    assert [stall["begin"] for stall in told["stalls"]] == [NOW_S + 12, NOW_S + 14]
    assert told["stalled_s"] == 2 + 6 + 1 + 1
    assert told["over_time"][0]["begin"] == told["begin"] == NOW_S


def test_a_guess_that_gives_way_to_the_log_makes_no_other_stall_new() -> None:
    found = Told()
    stalls = [seen(at_s, at_s + 0.5) for at_s in range(10)]
    found.sampled(sample(monotonic_s=101.0), NOW_S + 1, [], None)
    found.sampled(sample(monotonic_s=120.0), NOW_S + 20, stalls, None)
    by_log = replace(stalls[-1], begin_unix_s=NOW_S + 8.9, evidence="LOG")
    found.sampled(sample(monotonic_s=121.0), NOW_S + 21, [*stalls[:-1], by_log], None)
    told = [stall["begin"] for stall in found.summary(None)["stalls"]]
    assert told == [*(NOW_S + at_s for at_s in range(9)), NOW_S + 8.9]


def test_what_led_to_a_stall_comes_from_events_and_samples() -> None:
    flush = Event(1, 100.0, "flush_end", column_family="default", job=3, bytes=8 * MIB)
    begun = Event(2, 100.2, "compaction_begin", column_family="default", job=4)
    found = Told()
    first = sample(
        column_family(l0_files=7, pending_compaction_bytes=5 * MIB), monotonic_s=101.0, events=(flush, begun)
    )
    found.sampled(first, NOW_S + 1, [], None)
    found.sampled(sample(column_family(l0_files=8), monotonic_s=102.0), NOW_S + 2, [seen(1.2, 1.9)], None)
    summary = found.summary(None)
    led = summary["longest"][0]["led"]
    assert (led["flushes"], led["flushed_bytes"], led["compactions_running"]) == (1, 8 * MIB, 1)
    assert led["l0_files"] == 8
    assert led["options"]["level0_slowdown_writes_trigger"] == "20"
    assert summary["events"] == {"compaction_started": 1, "flush_finished": 1}


def test_options_are_those_in_force_when_it_came() -> None:
    limited = replace(sample().options, rate_limiter_bytes_per_s=10 * MIB)
    found = told(20, seen(2, 8), options=limited).summary(None)
    assert found["longest"][0]["led"]["options"]["rate_limiter_bytes_per_s"] == str(10 * MIB)


def test_a_limiter_that_is_gone_since_the_program_was_restarted_is_not_blamed() -> None:
    """A limiter can be taken away in no other way, and the daemon has gone on meanwhile."""
    found = Told()
    options = sample().options
    for at_s, limit in enumerate((10 * MIB, 10 * MIB, None, None), 1):
        now = sample(monotonic_s=100.0 + at_s, options=replace(options, rate_limiter_bytes_per_s=limit))
        found.sampled(now, NOW_S + at_s, [], None)
    found.sampled(sample(monotonic_s=105.0, options=options), NOW_S + 5, [seen(4, 5)], None)
    assert "rate_limiter_bytes_per_s" not in found.summary(None)["longest"][0]["led"]["options"]


def test_what_held_writes_before_anybody_measured_is_not_of_this_time() -> None:
    """A LOG of warnings shows it, and the agent came later."""
    found = told(10, seen(-7200, -3600), seen(-2, 2), seen(5, 6)).summary(None)
    assert [(stall["begin"] - NOW_S, stall["end"] - NOW_S) for stall in found["stalls"]] == [(0, 2), (5, 6)]
    assert found["stalled_s"] == 3.0
    assert found["stalls"][0]["stalled_s"] == 2.0


def test_nothing_was_sampled_yet() -> None:
    found = Told().summary(None)
    assert found["begin"] is None
    assert found["stalls"] == []
    assert found["over_time"] == []


@pytest.mark.parametrize("unknown", [(), ("pending_compaction_bytes",)])
def test_what_nobody_reports_is_unknown(unknown: tuple[str, ...]) -> None:
    found = Told()
    cf = replace(column_family(), unknown=unknown)
    found.sampled(sample(cf, monotonic_s=101.0), NOW_S + 1, [], None)
    found.sampled(sample(cf, monotonic_s=102.0), NOW_S + 2, [seen(1.1, 1.9)], None)
    pending_bytes = found.summary(None)["longest"][0]["led"]["pending_compaction_bytes"]
    assert pending_bytes == (None if unknown else 0)


def test_what_is_found_is_the_same_whether_stalls_are_taken_one_by_one_or_at_once() -> None:
    stalls = [seen(2 * at, 2 * at + 1, "l0" if at % 2 else "memtable") for at in range(12)]
    at_once, one_by_one = Told(), Told()
    for at_s in range(1, 30):
        now = sample(column_family(l0_files=7), monotonic_s=100.0 + at_s)
        # Only the five newest are kept, as a full book has it, and one gives way to what a LOG says.
        known = [stall for stall in stalls if stall.end_unix_s <= NOW_S + at_s][-5:]
        if at_s > 15:
            known = [stall for stall in known if stall is not stalls[6]]
        one_by_one.sampled(now, NOW_S + at_s, known, "9.8.4")
        at_once.sampled(now, NOW_S + at_s, known if at_s == 29 else [], "9.8.4")
    shown, expected = one_by_one.summary(None), at_once.summary(None)
    assert [(s["begin"], s["cause"]) for s in shown["stalls"]] == [(s["begin"], s["cause"]) for s in expected["stalls"]]
    assert shown["stall_s"] == {"memtable": 5.0, "l0": 6.0, "pending_bytes": 0.0, "other": 0.0}, "all but the guess"
