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
"""Most attempts for a restore step that cannot even be tried, e.g. for lack of file descriptors."""


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
        while True:
            with self._news:
                step = self._due_step() if time.monotonic() < deadline_s else self._machine.due(_unreadable)
                if step is None:
                    if not self._machine.is_restoring:
                        return
                    self._news.wait(LOOK_S)
                    continue
            self._try_step(step)

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
            with self._news:
                if self._closed:
                    return
                now = self._look()
                step = self._due_step()
                if step is None:
                    self._news.wait(self._nap_s(now))
                    continue
            try:
                tried = self._try_step(step)
            except DatabaseClosed:  # the session ends soon
                tried = False
            if not tried:
                with self._news:
                    self._news.wait(LOOK_S)

    def _try_step(self, step: PlanStep[Json]) -> bool:
        """Execute a step; false if it must be tried again. A step that keeps raising counts as failed."""
        try:
            self._restore_step(step)
        except DatabaseClosed:
            raise
        except Exception as error:
            self._failed_tries += 1
            if self._failed_tries < TRIES:
                return False
            self._book_step(step, f"{type(error).__name__}: {error}")
        self._failed_tries = 0
        return True

    def _nap_s(self, now: Times) -> float | None:
        """Return how long to sleep: until the expiry, but only briefly; for ever if there is nothing to keep."""
        if self._machine.is_restoring:
            return LOOK_S
        left_s = self._machine.left_s(now)
        return None if left_s is None else max(0.001, min(LOOK_S, left_s))

    def _due_step(self) -> PlanStep[Json] | None:
        """Return the due step, once it could be seen that it is due, or seeing that has failed often enough."""
        try:
            return self._machine.due(self._subject.property_value, self._subject.lack_of_space)
        except DatabaseClosed:
            return None
        except Exception:  # as in _try_step
            self._failed_tries += 1
            return None if self._failed_tries < TRIES else self._machine.due(_unreadable)

    def _restore_step(self, step: PlanStep[Json]) -> None:
        with self._executing:
            with self._lock:
                if not self._machine.is_due(step):
                    return
            self._book_step(step, self._subject.undo(step.change)["error"])

    def _book_step(self, step: PlanStep[Json], error: str | None) -> None:
        with self._lock:
            self._machine.done(step, describe(step.change), error)


def _refusal(status: int, code: str, detail: str, holder: str | None) -> Refusal:
    return Refusal(status, code, detail, **({} if holder is None else {"holder": holder}))


def _unreadable(_column_family: str, _name: str) -> None:
    """Replace an unreadable property, for which a restore does not wait."""
