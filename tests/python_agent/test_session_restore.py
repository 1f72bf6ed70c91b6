"""What one session restores where calls fail, and what it gives back at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from adocd_agent.keeper import TRIES
from adocd_agent.lease_machine import Times
from adocd_agent.option_state import OptionState
from adocd_agent.problems import Refusal
from adocd_agent.thread_pools import ThreadPools

from tests.python_agent.sessions import CHANGE, NAME, UNDO, Json, Watched, change, restored, revoke, value
from tests.python_agent.test_thread_pools import SlowPools
from tests.support.changes import back, family, threads
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S, eventually

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


BROKEN, SHORT = RuntimeError("out of order"), OSError(24, "Too many open files")


class Raising(FakeDatabase):
    """Cannot be read while it has something to raise, and counts how often it did."""

    raising: Exception | None = None
    raised = 0

    def _raise(self) -> None:
        if self.raising is not None:
            self.raised += 1
            raise self.raising

    def read_options(self, *, fresh: bool = False) -> OptionState:
        """See Database."""
        if fresh:
            self._raise()
        return super().read_options(fresh=fresh)

    def property_value(self, column_family: str, name: str) -> int | None:
        """See Database."""
        self._raise()
        return super().property_value(column_family, name)


@pytest.fixture
def raising() -> Iterator[Raising]:
    """Open one that raises when told to."""
    opened = Raising()
    yield opened
    opened.close()


CONDITIONS = [None, ("default", "rocksdb.num-files-at-level0", 1000)]


@pytest.mark.parametrize("when", CONDITIONS)
def test_a_restore_goes_on_after_a_step_that_keeps_raising(raising: Raising, when: tuple[str, str, int] | None) -> None:
    assert change(raising, [CHANGE], [back(UNDO["change"], when=when)]) == ["applied"]
    raising.raising = BROKEN
    revoke(raising)
    [error] = restored(raising)["errors"]
    assert "RuntimeError: out of order" in error


def test_a_restore_survives_a_step_that_raises_for_a_while(raising: Raising) -> None:
    assert change(raising, [CHANGE], [UNDO]) == ["applied"]
    raising.raising = BROKEN
    revoke(raising)
    eventually(lambda: 0 < raising.keeper._failed_tries < TRIES - 1, every_s=0.001, what="tries")
    raising.raising = None
    assert restored(raising)["errors"] == []
    assert value(raising) == "67108864"


@pytest.mark.parametrize("when", CONDITIONS)
@pytest.mark.parametrize("shortage", [SHORT, MemoryError("none left")])
def test_a_restore_waits_out_a_shortage(
    raising: Raising, shortage: Exception, when: tuple[str, str, int] | None
) -> None:
    """Of file descriptors, or of memory: nothing was called, and the originals must come back however long it lasts."""
    assert change(raising, [CHANGE], [back(UNDO["change"], when=when)]) == ["applied"]
    raising.raising = shortage
    revoke(raising)
    eventually(lambda: raising.raised > TRIES + 1, what="more tries than a step has")
    assert raising.keeper.restore()["state"] == "waiting"
    assert str(shortage) in raising.keeper.restore()["waiting_for"]
    raising.raising = None
    assert restored(raising)["errors"] == []
    assert value(raising) == "67108864"


def test_the_restore_at_detach_waits_for_a_shortage_as_for_a_condition(raising: Raising) -> None:
    assert change(raising, [CHANGE], [UNDO]) == ["applied"]
    raising.raising = SHORT
    detaching = threading.Thread(target=raising.keeper.restore_now, args=(PATIENCE_S,))
    detaching.start()
    eventually(lambda: raising.raised > TRIES + 1, what="more tries than a step has")
    raising.raising = None
    detaching.join()
    assert value(raising) == "67108864"


@pytest.mark.parametrize("error", [BROKEN, SHORT])
def test_the_restore_at_detach_does_not_try_for_ever(raising: Raising, error: Exception) -> None:
    assert change(raising, [CHANGE], [UNDO]) == ["applied"]
    raising.raising = error
    raising.keeper.restore_now()
    assert raising.keeper.restore()["state"] == "done"
    [said] = raising.keeper.restore()["errors"]
    assert str(error) in said


def test_a_lease_is_kept_after_memory_was_short(database: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even for a look at the clock."""
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    look, failures = database.keeper._machine.look, [MemoryError(), MemoryError()]

    def short_of_memory(now: Times) -> bool:
        if failures and threading.current_thread().name == "adocd-apply":
            raise failures.pop()
        return look(now)

    monkeypatch.setattr(database.keeper._machine, "look", short_of_memory)
    eventually(lambda: not failures, what="the shortage")
    revoke(database)
    restored(database)
    assert value(database) == "67108864"


# --- a wait for another call ----------------------------------------------------------------------------------------


class Asked(Watched):
    """Notes how often a condition's property was read."""

    asked = 0

    def property_value(self, column_family: str, name: str) -> int | None:
        """See Database."""
        found = super().property_value(column_family, name)
        self.asked += 1
        return found


def test_a_condition_is_asked_again_after_a_wait_for_another_call() -> None:
    """It may have taken long, and level 0 has grown meanwhile."""
    database = Asked()
    staged(database, files=19)
    with database.session._executing:
        revoke(database)
        eventually(lambda: database.asked, what="the condition to be read")
        database.measurements.column_families["default"][LEVEL0] = 20
    eventually(lambda: database.keeper.restore()["state"] == "waiting", what="the wait")
    assert value(database) == "4194304"
    database.measurements.column_families["default"][LEVEL0] = 19
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"
    database.close()


# --- column families that are dropped -------------------------------------------------------------------------------


def replaced(database: FakeDatabase, family: str) -> None:
    """Let the host drop a column family and create another one of its name; the agent saw that there was none."""
    database.drop_column_family(family)
    database.session._current()
    database.add_column_family(family)


OF_SHORT = family("short", write_buffer_size="4194304"), back(family("short", write_buffer_size="8388608"))


def test_a_plan_for_a_dropped_column_family_is_not_executed_on_another_of_its_name(database: Watched) -> None:
    database.add_column_family("short")
    assert change(database, [OF_SHORT[0], CHANGE], [OF_SHORT[1], UNDO]) == ["applied"] * 2
    replaced(database, "short")
    revoke(database)
    [error] = restored(database)["errors"]
    assert error == "column_family short write_buffer_size=8388608: Column family 'short' is gone."
    assert database.options.column_families["short"]["write_buffer_size"] == "67108864"
    assert value(database) == "67108864", "the rest of the plan"


def test_a_condition_on_a_dropped_column_family_says_nothing_of_another_of_its_name(database: Watched) -> None:
    database.add_column_family("short")
    assert change(database, [CHANGE], [back(UNDO["change"], when=("short", LEVEL0, 20))]) == ["applied"]
    replaced(database, "short")
    database.measurements.column_families["short"][LEVEL0] = 30
    revoke(database)
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"


def test_a_new_plan_is_for_the_new_column_family(database: Watched) -> None:
    database.add_column_family("short")
    assert change(database, [OF_SHORT[0]], [OF_SHORT[1]]) == ["applied"]
    replaced(database, "short")
    assert change(database, [OF_SHORT[0]], [OF_SHORT[1]]) == ["applied"]
    revoke(database)
    assert restored(database)["errors"] == []
    assert database.options.column_families["short"]["write_buffer_size"] == "8388608"


# --- the restore at detach ------------------------------------------------------------------------------------------

LEVEL0 = "rocksdb.num-files-at-level0"


def staged(database: FakeDatabase, files: int) -> None:
    """Change an option that is restored once level 0 has fewer than 20 files; it has `files` now."""
    database.measurements.column_families["default"][LEVEL0] = files
    assert change(database, [CHANGE], [back(UNDO["change"], when=("default", LEVEL0, 20))]) == ["applied"]


def test_the_restore_at_detach_waits_for_its_conditions(database: Watched) -> None:
    """The program may go on writing: an original stop trigger below the files of level 0 would stop it at once."""
    staged(database, files=30)
    detaching = threading.Thread(target=database.keeper.restore_now, args=(PATIENCE_S,))
    detaching.start()
    eventually(lambda: database.keeper.restore()["state"] == "waiting", what="the wait")
    assert value(database) == "4194304"
    database.measurements.column_families["default"][LEVEL0] = 19
    detaching.join()
    assert value(database) == "67108864"


def test_the_restore_at_detach_does_not_wait_for_ever(database: Watched) -> None:
    staged(database, files=30)
    database.keeper.restore_now(0.1)
    assert database.keeper.restore()["state"] == "done"
    assert value(database) == "67108864"


# --- a full file system ---------------------------------------------------------------------------------------------

FULL = "less than 8 MiB are free"


def test_a_restore_waits_for_space(database: Watched) -> None:
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.lacking = FULL
    revoke(database)
    eventually(lambda: database.keeper.restore()["waiting_for"] == FULL, what="the wait")
    assert value(database) == "4194304"
    database.lacking = None
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"


def test_a_restore_waits_for_no_space_where_it_writes_nothing(database: Watched) -> None:
    """Thread pools are in no file; what is in force, or gone, is not written again."""
    database.add_column_family("short")
    gone, undo_gone = family("short", write_buffer_size="4194304"), back(family("short", write_buffer_size="67108864"))
    plan = [back(threads("low", 1)), UNDO, undo_gone]
    assert change(database, [threads("low", 6), CHANGE, gone], plan) == ["applied"] * 3
    database.set_option("write_buffer_size", "67108864", "default")
    database.drop_column_family("short")
    database.lacking = FULL
    revoke(database)
    restored(database)
    assert database.options.thread_pools["low"] == 1


def test_what_may_be_in_force_though_the_file_lacks_it_waits_for_space(database: Watched) -> None:
    unpersisted(database)
    assert change(database, [CHANGE], [UNDO]) == ["error"]
    database.lacking = FULL
    revoke(database)
    eventually(lambda: database.keeper.restore()["state"] == "waiting", what="the wait")
    database.lacking = None
    assert restored(database)["errors"] == []


def test_the_restore_at_the_end_of_the_process_waits_for_no_space(database: Watched) -> None:
    """RocksDB takes the originals all the same, and is not asked later."""
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.lacking = FULL
    database.keeper.restore_now()
    assert value(database) == "67108864"


# --- what is whose --------------------------------------------------------------------------------------------------


def test_what_was_restored_is_not_given_back_again_at_close(database: Watched) -> None:
    assert change(database, [threads("low", 6)], [back(threads("low", 1))]) == ["applied"]
    revoke(database)
    restored(database)
    database.options.thread_pools["low"] = 5  # the host's own doing
    database.close()
    assert database.ended == [{}]


def test_what_was_not_restored_is_given_back_at_close(database: Watched) -> None:
    assert change(database, [threads("low", 5), threads("low", 6)], [back(threads("low", 1))]) == ["applied"] * 2
    database.close()
    assert database.ended == [{("thread_pool", "low", "threads"): "6"}], "as it was set last"


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
        eventually(lambda: is_executing(database), what="the step in flight")
        releaser = threading.Thread(target=lambda: revoke(database, restore=False))
        releaser.start()
        eventually(lambda: database.keeper.restore()["state"] == "none", what="the drop")
    releaser.join()
    assert database.keeper.restore()["state"] == "none"


def is_executing(database: FakeDatabase) -> bool:
    """Tell whether another thread is within a change."""
    if free := database.session._executing.acquire(blocking=False):
        database.session._executing.release()
    return not free


class Interrupted(FakeDatabase):
    """Its host gets a signal in the middle of a call."""

    def __init__(self) -> None:
        self.handlers: list[Callable[[], None]] = []
        super().__init__()

    def call(self, change: Json) -> str | None:
        """See Database."""
        while self.handlers:
            self.handlers.pop()()
        return super().call(change)


def test_a_signal_handler_may_detach_in_the_middle_of_the_restore_at_exit() -> None:
    database = Interrupted()
    assert change(database, [CHANGE], [UNDO]) == ["applied"]
    database.handlers.append(database.keeper.restore_now)
    threading.Thread(target=database.keeper.restore_now, daemon=True).start()
    assert restored(database)["errors"] == []
    assert value(database) == "67108864"
    database.close()
