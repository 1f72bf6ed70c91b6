"""One session where things go wrong: over a made-up database, without a process and without a socket."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from adocd_agent.capabilities import Capabilities
from adocd_agent.keeper import TRIES, LeaseKeeper
from adocd_agent.lease import GRACE_S, LeaseBook, Times
from adocd_agent.option_state import Name, OptionState
from adocd_agent.problems import DatabaseClosed, Refusal
from adocd_agent.running_clock import RunningClock
from adocd_agent.session import Session
from adocd_agent.thread_pools import ThreadPools

from tests.python_agent.test_standstill import Hands
from tests.python_agent.test_thread_pools import SlowPools
from tests.support.changes import back, family, threads
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

Json = Any
CHANGE, UNDO = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))
NAME: Name = ("column_family", "default", "write_buffer_size")


class Watched(FakeDatabase):
    """Notes what its sessions gave back at their end."""

    def __init__(self) -> None:
        self.ended: list[list[Name]] = []
        self.while_checking: Callable[[], None] = lambda: None
        super().__init__()

    def narrow(self, capabilities: Capabilities) -> Capabilities:
        """See Database; in the middle of the check of a PATCH."""
        self.while_checking()
        return super().narrow(capabilities)

    def end(self, changed: list[Name], originals: OptionState) -> None:  # noqa: ARG002
        """See Database."""
        self.ended.append(changed)


@pytest.fixture
def database() -> Iterator[Watched]:
    """Open one, and close it."""
    opened = Watched()
    yield opened
    opened.while_checking = lambda: None
    opened.close()


def change(
    database: FakeDatabase, changes: list[Json], plan: list[Json], holder: str = "daemon", *, repeat: bool = False
) -> list[str]:
    """Take the lease, where nobody has it, and PATCH; return the outcomes."""
    epoch = database.keeper.hold(holder, 60, None)["epoch"]
    request = {"holder": holder, "epoch": epoch, "changes": changes, "restore_plan": plan, "repeat": repeat}
    return [step["outcome"] for step in database.session.change(request, FakeCapabilities())["steps"]]


def revoke(database: FakeDatabase, *, restore: bool = True) -> None:
    """Press the operator's panic button."""
    database.keeper.release(None, None, restore=restore, force=True)


def restored(database: FakeDatabase) -> Json:
    """Wait for the end of the restore."""
    return eventually(lambda: (r := database.keeper.restore())["state"] == "done" and r, what="the restore")


def value(database: FakeDatabase) -> str | None:
    return database.options.get(NAME)


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
    database.keeper._book.end()  # however that came about
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
    assert database.ended == [[]]


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


# --- calls that fail ------------------------------------------------------------------------------------------------


def unpersisted(database: FakeDatabase) -> None:
    """Let a change fail whose value is in use, while the OPTIONS file has the one before (HAZARDS 3)."""
    database.fail_next("column_family", "IO error: No space left on device")


def test_what_a_failed_call_may_have_set_is_restored(database: Watched) -> None:
    unpersisted(database)
    assert change(database, [CHANGE], [UNDO]) == ["error"]
    database.executed.clear()
    revoke(database)
    assert restored(database)["errors"] == []
    assert database.executed == [UNDO["change"]], "though the value reads as if it were there"


def test_what_a_failed_call_may_have_set_is_in_every_plan_until_one_succeeds(database: Watched) -> None:
    unpersisted(database)
    assert change(database, [CHANGE], [UNDO]) == ["error"]
    other, undo_other = family(max_write_buffer_number="5"), back(family(max_write_buffer_number="2"))
    with pytest.raises(Refusal) as refused:
        change(database, [other], [undo_other])
    assert refused.value.body["code"] == "plan_incomplete"
    assert change(database, [UNDO["change"]], [UNDO]) == ["applied"]
    assert change(database, [UNDO["change"]], [UNDO]) == ["unchanged"]
    assert change(database, [other], [undo_other]) == ["applied"]


def test_a_failed_call_for_a_dropped_column_family_is_in_no_plan(database: Watched) -> None:
    database.add_column_family("short")
    step = family("short", write_buffer_size="4194304")
    unpersisted(database)
    assert change(database, [step], [back(family("short", write_buffer_size="67108864"))]) == ["error"]
    database.drop_column_family("short")
    assert change(database, [CHANGE], [UNDO]) == ["applied"]


class Raising(FakeDatabase):
    """Cannot be read, for lack of file descriptors for example."""

    raising = False

    def read_options(self, *, fresh: bool = False) -> OptionState:
        """See Database."""
        if self.raising and fresh:
            raise OSError("Too many open files")
        return super().read_options(fresh=fresh)

    def property_value(self, column_family: str, name: str) -> int | None:
        """See Database."""
        if self.raising:
            raise OSError("Too many open files")
        return super().property_value(column_family, name)


@pytest.mark.parametrize("when", [None, ("default", "rocksdb.num-files-at-level0", -1)])
def test_a_restore_goes_on_after_a_step_that_keeps_raising(when: tuple[str, str, int] | None) -> None:
    database = Raising()
    assert change(database, [CHANGE], [back(UNDO["change"], when=when)]) == ["applied"]
    database.raising = True
    revoke(database)
    [error] = restored(database)["errors"]
    assert "Too many open files" in error
    database.close()


def test_a_restore_survives_a_step_that_raises_for_a_while() -> None:
    database = Raising()
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.raising = True
    revoke(database)
    eventually(lambda: database.keeper._failed_tries == TRIES - 2, every_s=0.001, what="tries")
    database.raising = False
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"
    database.close()


def test_the_restore_at_detach_goes_on_as_well() -> None:
    database = Raising()
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.raising = True
    database.keeper.restore_now()
    assert database.keeper.restore()["state"] == "done"
    database.close()


# --- what is whose --------------------------------------------------------------------------------------------------


def test_what_was_restored_is_not_given_back_again_at_close(database: Watched) -> None:
    assert change(database, [threads("low", 6)], [back(threads("low", 1))]) == ["applied"]
    revoke(database)
    restored(database)
    database.options.thread_pools["low"] = 5  # the host's own doing
    database.close()
    assert database.ended == [[]]


def test_what_was_not_restored_is_given_back_at_close(database: Watched) -> None:
    assert change(database, [threads("low", 6)], [back(threads("low", 1))]) == ["applied"]
    database.close()
    assert database.ended == [[("thread_pool", "low", "threads")]]


class WithPools(FakeDatabase):
    """Its thread pools are those of a process."""

    def __init__(self) -> None:
        self.slow = SlowPools()
        self.pools = ThreadPools(self.slow, self.slow.count)
        super().__init__()

    def read_options(self, *, fresh: bool = False) -> OptionState:
        """See Database."""
        options = super().read_options(fresh=fresh)
        options.thread_pools = self.pools.sizes(fresh=fresh)
        return options

    def call(self, change: Json) -> str | None:
        """See Database."""
        if change["scope"] == "thread_pool":
            self.pools.set(change["pool"], change["threads"])
            return None
        return super().call(change)


def test_an_adopted_pool_is_the_original_of_the_next_database() -> None:
    database = WithPools()
    assert change(database, [threads("low", 7)], [back(threads("low", 4))]) == ["applied"]
    assert database.pools.originals()["low"] == 4
    revoke(database, restore=False)
    assert database.originals.thread_pools["low"] == 7
    assert database.pools.originals()["low"] == 7
    database.close()


def test_a_change_in_flight_is_adopted_too(database: Watched) -> None:
    """A release without restore ends the lease at once, and takes for the original what the step in flight sets."""
    outcomes: list[str] = []
    with database.hold_changes():
        changer = threading.Thread(target=lambda: outcomes.extend(change(database, [CHANGE], [UNDO])))
        changer.start()
        eventually(lambda: database.session._leased, what="the change in flight")
        releaser = threading.Thread(target=lambda: revoke(database, restore=False))
        releaser.start()
        eventually(lambda: database.keeper.lease() is None, what="the end of the lease")
    changer.join()
    releaser.join()
    assert outcomes == ["applied"]
    assert value(database) == database.originals.get(NAME) == "4194304"
    assert database.keeper.restore()["state"] == "none"


def test_a_restore_step_that_was_dropped_in_flight_leaves_no_restore(database: Watched) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    with database.hold_changes():
        revoke(database)
        eventually(database.session._executing.locked, what="the step in flight")
        releaser = threading.Thread(target=lambda: revoke(database, restore=False))
        releaser.start()
        eventually(lambda: database.keeper.restore()["state"] == "none", what="the drop")
    releaser.join()
    assert database.keeper.restore()["state"] == "none"


# --- the child of a fork --------------------------------------------------------------------------------------------


def test_a_forked_child_touches_nothing(database: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.executed.clear()
    session: Session = database.session
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
    book = LeaseBook()
    book.hold("daemon", ttl_s, None, Times(100.0, 50.0))
    assert book.left_s(now) == pytest.approx(left_s)


@pytest.mark.parametrize("gap_s", [0.45, 0.6, 2.0])
def test_standstills_again_and_again_put_the_expiry_off_by_the_grace_alone(database: Watched, gap_s: float) -> None:
    hands = Hands()
    session = Session(database, "slow", clock=hands, lease_clock=RunningClock(hands))
    looks = 0
    session.keeper.hold("dead", 60, None)
    while session.keeper.lease() is not None:
        hands.now_s += gap_s
        looks += 1
    assert looks * gap_s == pytest.approx(60, abs=gap_s), "the grace was over long before"
    session.close()


def test_a_lease_that_is_renewed_while_the_process_hardly_runs_lives(database: Watched) -> None:
    hands = Hands()
    session = Session(database, "slow", clock=hands, lease_clock=RunningClock(hands))
    epoch = session.keeper.hold("slow", 3, None)["epoch"]
    for _ in range(20):
        for _ in range(15):
            hands.now_s += 0.45
            session.keeper.lease()
        assert session.keeper.hold("slow", 3, epoch)["epoch"] == epoch, "after 6.75 s, of which it ran for 1.5 s"
    session.close()
