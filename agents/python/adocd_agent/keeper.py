"""Keeps a session's lease and restores what it changed when it ends; its thread starts with the first lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from adocd_agent.lease_machine import LeaseMachine, PlanStep, Times, plan_of
from adocd_agent.option_state import describe
from adocd_agent.problems import DatabaseClosed, Refusal, database_closed

Json = Any
LOOK_S = 0.2
"""Interval of checks for expiry and conditions; the contract requires one per second."""
JOIN_S = 5.0
TRIES = 5
"""Most attempts for a restore step that keeps raising."""
_SHORTAGES = (OSError, MemoryError)
"""What is raised for lack of file descriptors or memory: they may come back, so a restore waits for them."""


class Subject(Protocol):
    """The part of its session that the keeper needs."""

    def emit(self, kind: str, **members: Json) -> None:
        """Record an event."""

    def property_value(self, column_family: str, name: str) -> int | None:
        """Return the current value of a column family's property, None when it cannot be read."""

    def lack_of_space(self, change: Json) -> str | None:
        """Say in one sentence that there is no room for what RocksDB writes at this change; None if there is."""

    def undo(self, change: Json) -> dict[str, Json]:
        """Execute the change of a restore step and return its step result."""

    def adopt_originals(self) -> None:
        """Make the current values the originals; nothing else is executed meanwhile."""


class LeaseKeeper:
    """Gives one session's lease machine a clock, a lock, and a thread that executes what is due.

    `now` returns the time; `executing` admits one change at a time and is taken before the keeper's own lock.
    """

    def __init__(self, subject: Subject, now: Callable[[], Times], executing: threading.RLock) -> None:
        self._subject = subject
        self._now = now
        self._executing = executing
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._closed = False
        self._machine: LeaseMachine[Json] = LeaseMachine(
            lambda kind, detail: subject.emit(kind, detail=detail), _refusal
        )
        self._adoption_due = False
        self._failed_tries = 0
        self._dropped: set[str] = set()
        """Column families that were dropped since the plan was armed; a new one of the same name is another."""
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """End the session: a plan that was not executed is void."""
        with self._news:
            self._closed = True
            self._news.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(JOIN_S)

    def hold(self, holder: str, ttl_s: float, epoch: int | None) -> Json:
        """PUT lease: acquires, or renews."""
        with self._news:
            self._refuse_when_closed()
            self._start()
            held = self._machine.hold(holder, ttl_s, epoch, self._look())
            self._news.notify_all()
            return held._asdict()

    def require(self, holder: str, epoch: int) -> None:
        """Refuse unless this is the current lease."""
        with self._lock:
            self._refuse_when_closed()
            self._machine.require(holder, epoch, self._look())

    def holds(self, holder: str, epoch: int) -> bool:
        """Tell whether this is (still) the current lease."""
        try:
            self.require(holder, epoch)
        except Refusal:
            return False
        return True

    def arm(self, holder: str, epoch: int, plan: list[Json]) -> None:
        """Replace the restore plan; refuse unless this is still the current lease, whose end may begin the plan."""
        with self._lock:
            self._refuse_when_closed()
            self._machine.arm(holder, epoch, plan_of(plan), self._look())
            self._dropped.clear()

    def release(self, holder: str | None, epoch: int | None, *, restore: bool, force: bool) -> Json:
        """DELETE lease."""
        with self._news:
            ended = self._machine.release(holder, epoch, self._look(), restore=restore, force=force)
            if ended and not restore:
                self._adoption_due = True
            self._news.notify_all()
        if not restore:
            with self._executing:  # let a change in flight end first: its values stay too
                self.adopt_if_due()
        return self.restore()

    def adopt_if_due(self) -> None:
        """Make the values left by a release without restore the originals; the caller holds `executing`."""
        with self._lock:
            due, self._adoption_due = self._adoption_due, False
        if due:
            self._subject.adopt_originals()

    def forget_column_family(self, family: str) -> None:
        """Note that one was dropped: the plan has no business with the next one of its name.

        Its steps become errors, and conditions on it count as true. The caller must not hold the session's lock, which
        the keeper takes while it has its own.
        """
        with self._lock:
            self._dropped.add(family)

    def lease(self) -> Json:
        """Return the lease as JSON, or None."""
        with self._lock:
            held = self._machine.lease(self._look())
            return None if held is None else held._asdict()

    def revoked_epoch(self) -> int | None:
        """Return the epoch of the newest lease at the last DELETE with force; None where there was none."""
        with self._lock:
            return self._machine.revoked_epoch

    def restore(self) -> Json:
        """Tell how far the restore is, as JSON."""
        with self._lock:
            return self._machine.restore()._asdict()

    def restore_now(self, wait_s: float = 0.0) -> None:
        """Execute the rest of the plan on this thread, because it cannot run later.

        For at most `wait_s` it waits for what steps wait for; after that it executes them all the same.
        """
        deadline_s = time.monotonic() + wait_s
        with self._news:
            self._closed = True  # this thread executes now, and no other
            self._news.notify_all()
            self._machine.end()

        def can_wait() -> bool:
            return time.monotonic() < deadline_s

        while True:
            with self._news:
                step = self._due_step(can_wait)
                if step is None:
                    if not self._machine.is_restoring:
                        return
                    self._news.wait(LOOK_S)
                    continue
            if not self._try_step(step, can_wait) and can_wait():
                time.sleep(LOOK_S)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise database_closed()

    def _look(self) -> Times:
        """Read the clock, and end an expired lease; the thread then starts to restore."""
        now = self._now()
        if self._machine.look(now):
            self._news.notify_all()
        return now

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="adocd-apply", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                detail = "The process cannot start the thread that would keep the lease; try again."
                raise Refusal(503, "unavailable", detail) from None
            self._thread = thread

    def _run(self) -> None:
        while True:
            try:
                if not self._turn():
                    return
            except Exception:  # out of memory, even for what notes it: the lease is to be kept all the same
                time.sleep(LOOK_S)

    def _turn(self) -> bool:
        """Execute what is due, or sleep until the next look; false once the session has ended."""
        with self._news:
            if self._closed:
                return False
            now = self._look()
            step = self._due_step(_always)
            if step is None:
                self._news.wait(self._nap_s(now))
                return True
        try:
            tried = self._try_step(step, _always)
        except DatabaseClosed:  # the session ends soon
            tried = False
        if not tried:
            with self._news:
                self._news.wait(LOOK_S)
        return True

    def _try_step(self, step: PlanStep[Json], can_wait: Callable[[], bool]) -> bool:
        """Execute a step; false if it must be tried again. A step that keeps raising counts as failed."""
        try:
            self._restore_step(step, can_wait)
        except DatabaseClosed:
            raise
        except Exception as error:
            if not self._is_over(error, can_wait):
                return False
            self._book_step(step, _words(error))
        return True

    def _is_over(self, error: Exception, can_wait: Callable[[], bool]) -> bool:
        """Whether a step that raised has raised often enough; a shortage is waited for, and is no attempt."""
        if isinstance(error, _SHORTAGES) and can_wait():
            with self._lock:
                self._machine.put_off(_words(error))
            return False
        self._failed_tries += 1
        return self._failed_tries >= TRIES

    def _nap_s(self, now: Times) -> float | None:
        """Return how long to sleep: until the expiry, but only briefly; for ever if there is nothing to keep."""
        if self._machine.is_restoring:
            return LOOK_S
        left_s = self._machine.left_s(now)
        return None if left_s is None else max(0.001, min(LOOK_S, left_s))

    def _due_step(self, can_wait: Callable[[], bool]) -> PlanStep[Json] | None:
        """Return the due step, once it could be seen that it is due, or seeing that has failed often enough."""
        try:
            return self._look_for_step(can_wait)
        except DatabaseClosed:
            return None
        except Exception as error:  # as in _try_step
            return self._machine.due(_unreadable) if self._is_over(error, can_wait) else None

    def _look_for_step(self, can_wait: Callable[[], bool]) -> PlanStep[Json] | None:
        return self._machine.due(self._value_of, self._lack) if can_wait() else self._machine.due(_unreadable)

    def _value_of(self, column_family: str, name: str) -> int | None:
        return None if column_family in self._dropped else self._subject.property_value(column_family, name)

    def _lack(self, change: Json) -> str | None:
        return None if self._is_for_dropped(change) else self._subject.lack_of_space(change)

    def _is_for_dropped(self, change: Json) -> bool:
        return change["scope"] == "column_family" and change["column_family"] in self._dropped

    def _restore_step(self, step: PlanStep[Json], can_wait: Callable[[], bool]) -> None:
        """Execute a step if it is still due: a call that was awaited here may have taken long."""
        with self._executing:
            with self._lock:
                if self._due_step(can_wait) is not step:
                    return
                gone = self._is_for_dropped(step.change)
            if gone:
                self._book_step(step, f"Column family {step.change['column_family']!r} is gone.")
            else:
                self._book_step(step, self._subject.undo(step.change)["error"])

    def _book_step(self, step: PlanStep[Json], error: str | None) -> None:
        with self._lock:
            self._machine.done(step, describe(step.change), error)
        self._failed_tries = 0


def _refusal(status: int, code: str, detail: str, holder: str | None) -> Refusal:
    return Refusal(status, code, detail, **({} if holder is None else {"holder": holder}))


def _unreadable(_column_family: str, _name: str) -> None:
    """Replace an unreadable property, for which a restore does not wait."""


def _always() -> bool:
    """Replace the question whether a restore can wait, for one that goes on in the background."""
    return True


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
