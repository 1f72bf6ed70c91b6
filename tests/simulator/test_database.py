"""What always holds, whatever options and workload; and which stall comes from what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adocd.simulator.database import SimulatedDatabase

from .scenes import GIB, MIB, database, setup, until

PROFILES = st.sampled_from(["cap-20", "cap-100", "cap-210", "cap-490", "uncapped"])
LOADS = st.sampled_from(["closed-loop", "constant", "sine", "burst", "peaks"])
#: In the order of their options, so that trigger <= slowdown <= stop and soft <= hard.
TRIGGERS = st.lists(st.integers(1, 60), min_size=3, max_size=3).map(sorted)
LIMITS = st.lists(st.integers(64 * MIB, 100 * GIB), min_size=2, max_size=2).map(sorted)


@st.composite
def family_options(draw: st.DrawFn) -> dict[str, Any]:
    triggers, limits = draw(TRIGGERS), draw(LIMITS)
    return {
        "write_buffer_size": draw(st.integers(4 * MIB, 512 * MIB)),
        "max_write_buffer_number": draw(st.integers(2, 8)),
        "level0_file_num_compaction_trigger": triggers[0],
        "level0_slowdown_writes_trigger": triggers[1],
        "level0_stop_writes_trigger": triggers[2],
        "soft_pending_compaction_bytes_limit": draw(st.sampled_from([0, limits[0]])),
        "hard_pending_compaction_bytes_limit": draw(st.sampled_from([0, limits[1]])),
        "target_file_size_base": draw(st.integers(4 * MIB, 512 * MIB)),
        "max_bytes_for_level_base": draw(st.integers(16 * MIB, 2 * GIB)),
        "max_compaction_bytes": draw(st.integers(16 * MIB, 4 * GIB)),
        "disable_auto_compactions": draw(st.booleans()),
    }


DATABASE_OPTIONS = st.fixed_dictionaries(
    {
        "max_background_jobs": st.integers(1, 24),
        "max_subcompactions": st.integers(1, 4),
        "delayed_write_rate": st.integers(MIB, 100 * MIB),
    }
)
LIMITERS = st.none() | st.integers(MIB, 200 * MIB)
#: What the properties were held against.
SEEN: Counter[str] = Counter()
STEPS_S = st.lists(st.floats(0.001, 40.0), min_size=1, max_size=12)


def held(found: SimulatedDatabase) -> int:
    """Where the bytes that were written are."""
    memtables = int(found.memtables.active_bytes) + found.memtables.immutable_bytes
    return memtables + sum(found.levels.sizes) + found.levels.dropped_bytes


def check(found: SimulatedDatabase) -> None:
    """What holds at any moment."""
    assert held(found) == found.written_bytes, "bytes came or went"
    assert found.levels.dropped_bytes >= 0
    assert found.memtables.active_bytes >= 0
    assert found.writers.backlog_bytes >= 0
    assert found.writers.dirty_bytes >= 0
    for level in found.levels.deeper:
        assert 0 <= level.busy_bytes <= level.bytes
        assert (level.files > 0) == (level.bytes > 0)
        assert 0 <= level.covered <= 1
    SEEN["into level 1"] += any(job.compaction and job.compaction.output_level == 1 for job in found.compactions)
    SEEN["below level 1"] += any(job.compaction and job.compaction.output_level > 1 for job in found.compactions)
    spans = [(c.input_level, c.output_level) for job in found.compactions if (c := job.compaction) is not None]
    assert spans.count((0, 1)) <= 1, "the way out of level 0 is one compaction at a time"
    assert not ((0, 1) in spans and (1, 2) in spans), "they share the files of level 1"
    scores = [score for score, _ in found.levels.scores(found.in_force)]
    assert scores == sorted(scores, reverse=True)
    check_rates(found)


def check_rates(found: SimulatedDatabase) -> None:
    jobs = sum(job.bytes_per_s for job in (*found.flushes, *found.compactions))
    cap, read = found.setup.device.bytes_per_s, sum(job.bytes_per_s * job.reads for job in found.compactions)
    assert cap is None or jobs + found.flow.wal + read <= cap * (1 + 1e-9), "what is read is not written"
    assert found.limiter is None or jobs <= found.limiter.bytes_per_s * (1 + 1e-9)
    assert all(
        0 <= job.bytes_per_s <= job.most_bytes_per_s * (1 + 1e-9) for job in (*found.flushes, *found.compactions)
    )
    SEEN[found.controller.condition] += 1
    SEEN["limited"] += found.limiter is not None and jobs > 0
    SEEN["capped"] += cap is not None and jobs > 0
    match found.controller.condition:
        case "stopped":
            assert found.flow.writes == 0
        case "delayed":
            assert found.flow.writes <= found.controller.rate_bytes_per_s


def test_what_always_holds() -> None:
    """Bytes are conserved and never negative, L0-L1 is alone, the device's and the limiter's rates are kept.

    Also while options change under way, in any direction.
    """
    SEEN.clear()
    holds_with_any_options()
    # What is seldom drawn: delays, and compactions further down.
    found = database("cap-100")
    for now_s in range(1, 1800, 3):
        found.advance(float(now_s))
        check(found)
    assert {what for what, times in SEEN.items() if times} == {
        "normal", "delayed", "stopped", "limited", "capped", "into level 1", "below level 1",
    }  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PROFILES, LOADS, family_options(), DATABASE_OPTIONS, LIMITERS, STEPS_S, st.data())
def holds_with_any_options(
    profile: str,
    load: str,
    family: dict[str, Any],
    of_database: dict[str, Any],
    limiter: int | None,
    steps_s: list[float],
    data: st.DataObject,
) -> None:
    found = database(profile, load, limiter=limiter, **family, **of_database)
    for step_s in steps_s:
        before = found.account.device_bytes
        found.advance(found.now_s + step_s)
        check(found)
        if found.setup.device.bytes_per_s is not None:
            assert found.account.device_bytes - before <= found.setup.device.bytes_per_s * step_s * (1 + 1e-9) + 1
        match data.draw(st.sampled_from(["nothing", "family", "database", "limiter"])):
            case "family":
                found.set_family({name: str(value).lower() for name, value in data.draw(family_options()).items()})
            case "database":
                found.set_database({name: str(value) for name, value in data.draw(DATABASE_OPTIONS).items()})
            case "limiter":
                found.set_limiter(data.draw(st.integers(MIB, 200 * MIB)))
        check(found)


@settings(max_examples=30, deadline=None)
@given(PROFILES, LOADS, STEPS_S)
@example("cap-490", "constant", [1.001, 2.0, 1.0, 27.0, 40.0])
def test_how_often_it_is_looked_at_changes_nothing(profile: str, load: str, steps_s: list[float]) -> None:
    often, once = database(profile, load), database(profile, load)
    for step_s in steps_s:
        often.advance(often.now_s + step_s)
    once.advance(often.now_s)
    # Rounding decides which of two events of one moment comes first, and so for how long writes wait at it.
    assert often.written_bytes == pytest.approx(once.written_bytes, rel=1e-5, abs=2)
    assert (often.account.flushes, often.levels.files[0]) == (once.account.flushes, once.levels.files[0])
    # A byte over a file's size is a file more.
    assert often.levels.files == pytest.approx(once.levels.files, abs=1)


@pytest.mark.parametrize(
    ("cause", "profile", "options"),
    [
        # Two memtables, and a device that takes no flush as fast as clients fill them.
        ("memtable", "cap-20", {"level0_slowdown_writes_trigger": 1000, "level0_stop_writes_trigger": 1000}),
        # More threads for compactions leave flushes less of it, though level 0 is kept empty (ADOC, 3.3).
        (
            "memtable",
            "cap-100",
            {
                "max_background_flushes": 1,
                "max_background_compactions": 19,
                "level0_slowdown_writes_trigger": 1000,
                "level0_stop_writes_trigger": 1000,
            },
        ),
        # RocksDB's own defaults: one compaction thread does not empty level 0.
        ("l0", "cap-490", {}),
        ("l0", "uncapped", {"max_background_jobs": 2}),
        # Level 0 out of the way, and a soft limit that its own merge reaches.
        (
            "pending_bytes",
            "uncapped",
            {
                "level0_slowdown_writes_trigger": 1000,
                "level0_stop_writes_trigger": 1000,
                "soft_pending_compaction_bytes_limit": GIB,
                "hard_pending_compaction_bytes_limit": 4 * GIB,
            },
        ),
    ],
)
def test_each_stall_comes_from_what_should_cause_it(cause: str, profile: str, options: dict[str, Any]) -> None:
    found = database(profile, **options)
    found.advance(1800.0)
    waited = found.account.waited_s
    assert max(waited, key=waited.__getitem__) == cause, waited
    assert sum(waited.values()) > 300, waited
    assert found.controller.counts[f"{cause}_stops"] + found.controller.counts[f"{cause}_slowdowns"] > 0


def test_no_pressure_no_stall() -> None:
    found = database("uncapped", "constant", rate=5e6)
    found.advance(3600.0)
    assert sum(found.account.waited_s.values()) == 0
    assert not found.controller.counts
    assert found.written_bytes == pytest.approx(5e6 * 3600, rel=1e-6)


def test_a_closed_loop_is_never_queued_and_an_open_one_catches_up() -> None:
    """What a burst could not write comes in the valley after it."""
    closed = database("cap-100")
    closed.advance(600.0)
    assert closed.writers.backlog_bytes == 0
    burst = database("cap-100", "burst", rate=8e6, delayed_write_rate=4 * MIB, level0_slowdown_writes_trigger=6)
    until(burst, lambda: burst.writers.backlog_bytes > 100 * MIB, within_s=3600.0)
    until(burst, lambda: burst.writers.backlog_bytes == 0, within_s=1200.0)


def test_a_stop_in_progress_is_not_in_the_ticker_yet() -> None:
    """HAZARDS 15: a wait is posted when it ends; condition and property tell at once."""
    found = database("cap-20", level0_slowdown_writes_trigger=1000, level0_stop_writes_trigger=1000)
    until(found, lambda: found.controller.condition == "stopped")
    posted, began_s = found.account.stall_micros, found.now_s
    found.advance(found.now_s + 0.5)
    assert found.controller.condition == "stopped"
    assert found.account.stall_micros == posted
    until(found, lambda: found.controller.condition != "stopped")
    assert found.account.stall_micros - posted == pytest.approx((found.now_s - began_s) * 1e6, rel=0.05)


def test_a_memtables_stop_is_told_when_it_is_over() -> None:
    """Of stall events alone nobody learns that writes are stopped now (HAZARDS 15)."""
    found = database("cap-20", level0_slowdown_writes_trigger=1000, level0_stop_writes_trigger=1000)
    until(found, lambda: found.controller.condition == "stopped")
    assert found.stalls.condition == "normal"
    until(found, lambda: found.controller.condition != "stopped")
    told, _ = found.events.after(0)
    stalls = [(event.previous, event.condition) for event in told if event.kind == "stall"]
    assert stalls == [("normal", "stopped"), ("stopped", "normal")]


def test_a_job_that_began_before_a_change_takes_it_back_where_it_counts() -> None:
    """facebook/rocksdb#13294, HAZARDS 2: read-back shows the new value, the write controller has the old one."""
    found = database("cap-20", "constant", rate=10e6, disable_auto_compactions=True)
    until(found, lambda: bool(found.flushes))
    found.set_family({"write_buffer_size": str(32 * MIB)})
    assert found.in_force.write_buffer_size == 32 * MIB
    until(found, lambda: found.account.flushes == 1)
    assert found.shown.write_buffer_size == 32 * MIB
    assert found.in_force.write_buffer_size == 64 * MIB
    found.set_family({"write_buffer_size": str(32 * MIB)})
    assert found.in_force.write_buffer_size == 32 * MIB


def test_write_buffer_size_applies_to_the_active_memtable_at_once() -> None:
    """HAZARDS 10: shrinking it below what is in it forces a switch."""
    found = database("uncapped")
    until(found, lambda: found.memtables.active_bytes > 40 * MIB)
    before = found.memtables.unflushed + found.account.flushes
    found.set_family({"write_buffer_size": str(8 * MIB)})
    assert found.memtables.unflushed + found.account.flushes == before + 1
    assert found.memtables.active_bytes == 0


def test_switching_compaction_off_ends_stalls_and_on_again_stops_at_once() -> None:
    """HAZARDS 8."""
    found = database("uncapped", max_write_buffer_number=4)
    found.advance(60.0)
    found.set_family({"disable_auto_compactions": "true"})
    found.advance(120.0)
    assert found.controller.condition == "normal"
    assert len(found.levels.l0) > 36
    found.set_family({"disable_auto_compactions": "false"})
    assert (found.controller.condition, found.controller.cause) == ("stopped", "l0")


def test_one_compaction_at_a_time_until_there_is_pressure() -> None:
    found = database("uncapped", "constant", rate=20e6, max_background_jobs=8)
    until_pressure: list[int] = []
    since: list[int] = []
    for tenth in range(1, 3000):
        found.advance(tenth / 10)
        (since if since or found.controller.needs_speedup else until_pressure).append(len(found.compactions))
    assert max(until_pressure) == 1
    assert max(since) > 1


def test_more_threads_carry_more_and_write_amplification_is_that_of_a_tree() -> None:
    """Each level is rewritten about ten times over (the ratio of sizes) by what goes through it."""
    few, many = database("uncapped"), database("uncapped", max_background_jobs=16)
    for each in (few, many):
        each.advance(3600.0)
    assert many.written_bytes > 1.5 * few.written_bytes
    for each in (few, many):
        assert 5 < each.account.device_bytes / each.written_bytes < 30


def test_more_jobs_count_from_the_next_scheduling_on() -> None:
    """HAZARDS 19: SetDBOptions schedules before it stores the new number, so nothing begins until something ends."""
    found = database("cap-100")
    until(
        found,
        lambda: (
            len(found.compactions) == 1
            and found.controller.needs_speedup
            and found.levels.pick(found.in_force, found.shown) is not None
        ),
        within_s=1800.0,
    )
    counts = (found.account.flushes, found.account.compactions, found.memtables.unflushed)
    found.set_database({"max_background_jobs": "16"})
    assert found.options.max_background_jobs == 16
    assert len(found.compactions) == 1
    until(found, lambda: (found.account.flushes, found.account.compactions, found.memtables.unflushed) != counts)
    assert len(found.compactions) > 1


def test_reads_of_compactions_cost_what_the_page_cache_does_not_have() -> None:
    """One disk: the same database writes more where nothing that it merges is read from it."""
    opened = setup("cap-100", max_background_jobs=8)
    cached = replace(opened, device=replace(opened.device, cached_share=1.0))
    written = []
    for each in (opened, cached):
        found = SimulatedDatabase(each)
        found.advance(1800.0)
        written.append(found.written_bytes)
    assert written[1] > 1.2 * written[0]
