"""One session where things go wrong: its lease, its threads, and a fork; without a process and without a socket."""

from __future__ import annotations

import os
import threading

import pytest
from adocd_agent.keeper import LeaseKeeper
from adocd_agent.lease_machine import GRACE_S, LeaseMachine, Times
from adocd_agent.problems import DatabaseClosed, Refusal
from adocd_agent.running_clock import RunningClock
from adocd_agent.session import DatabaseSession

from tests.python_agent.sessions import CHANGE, UNDO, Json, Watched, change, restored, revoke, value
from tests.python_agent.test_standstill import Hands
from tests.support.changes import back, family

# --- the lease ends while a PATCH is checked ------------------------------------------------------------------------


def test_a_lease_that_ends_while_a_change_is_checked_is_restored(database: Watched) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]

    def revoked_now() -> None:
        database.while_checking = lambda: None
        revoke(database)

    database.while_checking = revoked_now
    with pytest.raises(Refusal) as refused:
        change(database, [family(write_buffer_size="8388608")], [UNDO])
    assert refused.value.body["code"] == "lease_lost"
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"


def test_force_begins_a_plan_that_is_armed_though_nobody_holds_the_lease(database: Watched) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.keeper._machine._holder = None  # however that came about
    revoke(database)
    restored(database)
    assert value(database) == "67108864"


# --- threads --------------------------------------------------------------------------------------------------------


def test_a_lease_needs_the_thread_that_keeps_it(database: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def short_of_threads(thread: threading.Thread) -> None:
        if thread.name == "adocd-apply":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as shortage:
        shortage.setattr(threading.Thread, "start", short_of_threads)
        with pytest.raises(Refusal) as refused:
            database.keeper.hold("daemon", 60, None)
        assert (refused.value.status, refused.value.body["code"]) == (503, "unavailable")
        assert database.keeper.lease() is None
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    revoke(database)
    restored(database)


def test_a_close_after_the_shortage_lets_the_database_go(database: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(_keeper: LeaseKeeper) -> None:
        raise RuntimeError("cannot join thread before it is started")

    monkeypatch.setattr(LeaseKeeper, "close", raises)
    with pytest.raises(RuntimeError):
        database.session.close()
    assert database.ended == [{}]


def test_only_one_of_many_closes(database: Watched) -> None:
    begin = threading.Barrier(8)

    class Slow(threading.Event):
        """An event that gives others their chance between asking and setting."""

        def is_set(self) -> bool:
            known = super().is_set()
            threading.Event().wait(0.05)
            return known

    database.session._closed = Slow()

    def close() -> None:
        begin.wait()
        database.session.close()

    closers = [threading.Thread(target=close) for _ in range(8)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()
    assert len(database.ended) == 1


# --- what is repeated -----------------------------------------------------------------------------------------------


def test_a_repeated_change_is_restored_once_and_only_where_it_differs(database: Watched) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    assert change(database, [CHANGE], [UNDO], repeat=True) == ["applied"]
    database.executed.clear()
    revoke(database)
    assert restored(database)["errors"] == []
    assert database.executed == [UNDO["change"]]
    assert change(database, [UNDO["change"]], [UNDO], repeat=True) == ["applied"]
    other = family(max_write_buffer_number="5")
    assert change(database, [other], [back(family(max_write_buffer_number="2"))]) == ["applied"], "UNDO is not needed"


def test_a_repeat_that_fails_is_unsure(database: Watched) -> None:
    assert change(database, [UNDO["change"]], [UNDO]) == ["unchanged"]
    database.fail_next("column_family", "IO error: No space left on device")
    assert change(database, [UNDO["change"]], [UNDO], repeat=True) == ["error"]
    database.executed.clear()
    revoke(database)
    assert restored(database)["errors"] == []
    assert database.executed == [UNDO["change"]]


# --- the child of a fork --------------------------------------------------------------------------------------------


def test_a_forked_child_touches_nothing(database: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.executed.clear()
    session: DatabaseSession = database.session
    pid = os.getpid()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: pid + 1)
        assert session.closed
        with pytest.raises(DatabaseClosed):
            session.execute(UNDO["change"])
        with pytest.raises(DatabaseClosed):
            session.keeper.restore_now()
        with pytest.raises(Refusal):
            change(database, [CHANGE], [UNDO])
        session.close()
    assert database.executed == []
    assert database.ended == []


# --- when a lease expires -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ttl_s", "now", "left_s"),
    [
        (10, Times(109.0, 60.0), 1.0),
        (10, Times(110.0, 60.0), 0.0),
        (10, Times(110.0, 51.5), 0.5),  # the process has just run again
        (10, Times(200.0, 50.0 + GRACE_S), 0.0),  # it hardly ever could: that does not keep a silent holder's lease
        (1, Times(101.0, 50.25), 0.75),
        (1, Times(101.0, 51.0), 0.0),
    ],
)
def test_a_lease_expires_after_its_time_to_live_and_some_running_time(ttl_s: float, now: Times, left_s: float) -> None:
    machine: LeaseMachine[Json] = LeaseMachine(lambda _kind, _detail: None, lambda *_: AssertionError())
    machine.hold("daemon", ttl_s, None, Times(100.0, 50.0))
    assert machine.left_s(now) == pytest.approx(left_s)


@pytest.mark.parametrize("gap_s", [0.45, 0.6, 2.0])
def test_standstills_again_and_again_put_the_expiry_off_by_the_grace_alone(database: Watched, gap_s: float) -> None:
    hands = Hands()
    session = DatabaseSession(database, "slow", clock=hands, lease_clock=RunningClock(hands))
    looks = 0
    session.keeper.hold("dead", 60, None)
    while session.keeper.lease() is not None:
        hands.now_s += gap_s
        looks += 1
    assert looks * gap_s == pytest.approx(60, abs=gap_s), "the grace was over long before"
    session.close()


def test_a_lease_that_is_renewed_while_the_process_hardly_runs_lives(database: Watched) -> None:
    hands = Hands()
    session = DatabaseSession(database, "slow", clock=hands, lease_clock=RunningClock(hands))
    epoch = session.keeper.hold("slow", 3, None)["epoch"]
    for _ in range(20):
        for _ in range(15):
            hands.now_s += 0.45
            session.keeper.lease()
        assert session.keeper.hold("slow", 3, epoch)["epoch"] == epoch, "after 6.75 s, of which it ran for 1.5 s"
    session.close()
