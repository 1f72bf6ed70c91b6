"""While a call of rocksdict keeps the interpreter lock the agent stands still; that must cost nobody a lease."""

from __future__ import annotations

import threading
import time

import pytest
from adocd_agent.running_clock import STANDSTILL_S, TICK_S, RunningClock
from adocd_agent.stall_watch import StallTimes, WaitCounters

from tests.python_agent.conftest import Scene
from tests.support.agent_client import Reply
from tests.support.changes import back, family
from tests.support.waiting import eventually

CHANGE, UNDO = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))


def test_a_renewal_that_waits_in_the_socket_is_in_time(scene: Scene) -> None:
    scene.ask("open")
    with scene.client() as client:
        db = client.only_database()["id"]
        epoch = client.acquire(db, "daemon", ttl_s=2)
        client.change(db, epoch, [CHANGE], [UNDO], holder="daemon").ok()
        replies: list[Reply] = []

        def renew() -> None:
            time.sleep(1)  # in the middle of the standstill
            replies.append(client.put_lease(db, "daemon", ttl_s=2, epoch=epoch))

        renewer = threading.Thread(target=renew)
        renewer.start()
        began_s = time.monotonic()
        scene.program.ask("stand_still", 3000)
        assert time.monotonic() - began_s >= 3, "the host did not stand still"
        renewer.join()
        assert replies[0].ok()["epoch"] == epoch
        snapshot = client.fresh_snapshot(db, 0)
        assert snapshot["restore"]["state"] == "armed"
        kinds = [event["kind"] for event in snapshot["events"]]
        assert "lease_acquired" in kinds
        assert "lease_expired" not in kinds


def test_a_holder_that_stays_silent_loses_the_lease_all_the_same(scene: Scene) -> None:
    scene.ask("open")
    with scene.client() as client:
        db = client.only_database()["id"]
        client.acquire(db, "daemon", ttl_s=1)
        scene.program.ask("stand_still", 1500)
        eventually(lambda: client.snapshot(db)["lease"] is None, what="the expiry")


def test_a_stall_is_measured_though_the_agent_stood_still(scene: Scene) -> None:
    """A real stall: flushes go through a rate limiter of 1 MB/s, and each stopped put keeps the interpreter lock."""
    scene.ask("open", "statistics=yes", "rate_limiter=1000000", "write_buffer_size=1048576")
    with scene.client() as client:
        db = client.only_database()["id"]
        scene.ask("put", 4500, "default", 1000)
        snapshot = client.fresh_snapshot(db)
        waited_s = snapshot["counters"]["stall_micros"] / 1e6
        assert waited_s > 1, "no stall: the test shows nothing"
        measured_s = snapshot["stall"]["stopped_s"] + snapshot["stall"]["delayed_s"]
        assert measured_s >= 0.7 * waited_s
        assert snapshot["stall"]["stopped_s"] > 0
        assert snapshot["column_families"]["default"]["stall_counts"]["memtable_stops"] > 0


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def test_the_running_clock_runs_as_long_as_somebody_looks() -> None:
    hands = Hands()
    clock = RunningClock(hands)
    for _ in range(50):
        hands.now_s += TICK_S
        clock()
    assert clock() == pytest.approx(105)
    assert clock.stood_still_s() == 0


def test_the_running_clock_takes_a_standstill_out_at_the_first_look() -> None:
    hands = Hands()
    clock = RunningClock(hands)
    hands.now_s += 30
    assert clock() == pytest.approx(100 + TICK_S)
    hands.now_s += STANDSTILL_S
    assert clock() == pytest.approx(100 + TICK_S + STANDSTILL_S), "waking late by this much is the scheduler's doing"
    assert clock.stood_still_s() == pytest.approx(30 - TICK_S)


def look(watch: StallTimes, now_s: float, condition: str, waited: WaitCounters) -> tuple[float, float]:
    watch.look(now_s, stopped=condition == "stopped", delayed=condition == "delayed", waited=lambda: waited)
    shown = watch.as_json()
    assert shown["condition"] == condition
    return shown["stopped_s"], shown["delayed_s"]


def test_time_between_looks_belongs_to_the_condition_found_before() -> None:
    nothing = WaitCounters(0, 0)
    watch = StallTimes(0.0, nothing)
    assert look(watch, 0.1, "delayed", nothing) == (0, 0)
    assert look(watch, 0.2, "stopped", nothing) == pytest.approx((0, 0.1))
    assert look(watch, 2.2, "normal", WaitCounters(2_000_000, 1)) == pytest.approx((2.0, 0.1))
    assert look(watch, 4.2, "normal", WaitCounters(2_000_000, 1)) == pytest.approx((2.0, 0.1)), "not twice"


@pytest.mark.parametrize(
    ("condition", "waited", "expected"),
    [
        ("delayed", WaitCounters(2_000_000, 1), (2.0, 0.0)),
        ("delayed", WaitCounters(2_000_000, 0), (0.0, 2.0)),
        ("stopped", WaitCounters(2_000_000, 0), (2.0, 0.0)),  # counted when it began
        ("stopped", WaitCounters(0, 0), (0.0, 0.0)),
        ("delayed", WaitCounters(None, 0), (0.0, 9.0)),
    ],
)
def test_a_standstill_that_began_in_a_stall_counts_as_far_as_writers_waited(
    condition: str, waited: WaitCounters, expected: tuple[float, float]
) -> None:
    watch = StallTimes(0.0, WaitCounters(0, 0))
    look(watch, 0.1, condition, WaitCounters(0, 0))
    assert look(watch, 9.1, "normal", waited) == pytest.approx(expected)
    assert look(watch, 18.1, "normal", waited) == pytest.approx(expected), "not twice"


@pytest.mark.parametrize(
    ("waited", "expected"),
    [
        (WaitCounters(2_500_000, 1), (2.5, 0.0)),
        (WaitCounters(2_500_000, 0), (0.0, 2.5)),
        (WaitCounters(9_000_000, 1), (3.0, 0.0)),  # never more than the standstill
        (WaitCounters(0, 0), (0.0, 0.0)),  # it stood still for reasons of its own
        (WaitCounters(None, 0), (0.0, 0.0)),
    ],
)
def test_a_standstill_counts_as_far_as_writers_waited(waited: WaitCounters, expected: tuple[float, float]) -> None:
    watch = StallTimes(0.0, WaitCounters(0, 0))
    assert look(watch, 3.0, "normal", waited) == pytest.approx(expected)
