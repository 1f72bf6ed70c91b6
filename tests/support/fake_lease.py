"""The fake agent's lease and restore plan: who may change a database, and what is undone when they fall silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from tests.support.fake_http import Refusal

Json = Any


class Subject(Protocol):
    """What the keeper needs of its database."""

    def emit(self, kind: str, **members: Json) -> None:
        """Record an event."""

    def property_value(self, column_family: str, name: str) -> int | None:
        """Return the current value of a column family's property."""

    def execute(self, change: Json) -> Json:
        """Execute one change and return its step result."""

    def adopt_originals(self) -> None:
        """Let what is set now become the original."""


class LeaseKeeper:
    """The lease of one session, with a thread that sees to its expiry and executes the restore plan."""

    def __init__(self, subject: Subject, clock: Callable[[], float], executing: threading.Lock) -> None:
        self._subject = subject
        self._clock = clock
        self._executing = executing
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._holder: str | None = None
        self._epoch = 0
        self._ttl_s = 0.0
        self._expires_s = 0.0
        self._plan: list[Json] = []
        self._state = "none"
        self._waiting_for: str | None = None
        self._errors: list[str] = []
        self._thread = threading.Thread(target=self._run, name="fake-agent-lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the session: a plan that was not executed is void."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)

    def hold(self, holder: str, ttl_s: float, epoch: int | None) -> Json:
        """PUT lease: acquires, or renews."""
        with self._lock:
            self._expire()
            # An epoch that is not the current one always means "lost", so that a former holder learns what
            # happened even when somebody else holds the lease by now.
            if epoch is not None and (self._holder is None or epoch != self._epoch):
                raise self._lost(epoch)
            if self._holder is not None and self._holder != holder:
                raise self._held()
            if self._holder is None:
                self._holder = holder
                self._epoch += 1
                if self._plan:  # a restore that was under way: the rest of it is ours now
                    self._state, self._waiting_for = "armed", None
                self._subject.emit("lease_acquired", detail=holder)
            self._ttl_s = ttl_s
            self._expires_s = self._clock() + ttl_s
            return self.lease()

    def require(self, holder: str, epoch: int) -> None:
        """Refuse unless this is the current lease."""
        with self._lock:
            self._expire()
            if self._holder is None:
                if 1 <= epoch <= self._epoch:
                    raise self._lost(epoch)
                raise Refusal(409, "lease_required", "Nobody holds the lease; acquire it with PUT .../lease.")
            if epoch != self._epoch and (self._holder == holder or epoch < self._epoch):
                raise self._lost(epoch)
            if self._holder != holder:
                raise self._held()

    def holds(self, holder: str, epoch: int) -> bool:
        """Tell whether this is (still) the current lease."""
        try:
            self.require(holder, epoch)
        except Refusal:
            return False
        return True

    def arm(self, plan: list[Json]) -> None:
        """Replace the restore plan."""
        with self._lock:
            self._plan = list(plan)
            self._state = "armed" if plan else "none"
            self._waiting_for, self._errors = None, []

    def release(self, holder: str | None, epoch: int | None, *, restore: bool, force: bool) -> Json:
        """DELETE lease."""
        with self._lock:
            self._expire()
            if self._holder is not None and not force:
                if holder is None:
                    raise Refusal(400, "bad_request", "Name the holder and the epoch, or use force=true.")
                if holder != self._holder:
                    raise self._held()
                if epoch is not None and epoch != self._epoch:
                    raise self._lost(epoch)
            if self._holder is not None:
                self._subject.emit("lease_revoked" if force else "lease_released", detail=self._holder)
                self._end(restore=restore)
            elif force and not restore:
                self._end(restore=False)
            return self.restore()

    def lease(self) -> Json:
        """Return the lease as JSON, or None."""
        with self._lock:
            self._expire()
            if self._holder is None:
                return None
            return {
                "holder": self._holder,
                "epoch": self._epoch,
                "ttl_s": self._ttl_s,
                "expires_in_s": max(0.0, self._expires_s - self._clock()),
            }

    def restore(self) -> Json:
        """Tell how far the restore is, as JSON."""
        with self._lock:
            return {
                "state": self._state,
                "steps_left": len(self._plan),
                "waiting_for": self._waiting_for,
                "errors": list(self._errors),
            }

    def _held(self) -> Refusal:
        return Refusal(
            409, "lease_held", f"{self._holder} holds the lease; wait or revoke it.", holder=str(self._holder)
        )

    def _lost(self, epoch: int) -> Refusal:
        return Refusal(409, "lease_lost", f"Epoch {epoch} is not the current lease; acquire a new one.")

    def _expire(self) -> None:
        if self._holder is not None and self._clock() >= self._expires_s:
            self._subject.emit("lease_expired", detail=self._holder)
            self._end(restore=True)

    def _end(self, *, restore: bool) -> None:
        self._holder = None
        if not restore:
            self._plan, self._state, self._waiting_for = [], "none", None
            self._subject.adopt_originals()
        elif self._plan:
            self._state, self._errors = "running", []
            self._subject.emit("restore_begin", detail=f"{len(self._plan)} steps")

    def _run(self) -> None:
        while not self._closed.is_set():
            with self._lock:
                self._expire()
                step = self._due_step()
            if step is None:
                time.sleep(0.01)
            else:
                self._restore_step(step)

    def _due_step(self) -> Json | None:
        """Return the next step, when a restore is under way and its condition holds."""
        if self._state not in ("running", "waiting"):
            return None
        step = self._plan[0]
        when = step.get("when")
        if when is not None:
            value = self._subject.property_value(when["column_family"], when["property"])
            if value is not None and value >= when["below"]:
                self._state = "waiting"
                wish = f"{when['property']} of {when['column_family']} below {when['below']}"
                self._waiting_for = f"{wish} (it is {value})"
                return None
        self._state, self._waiting_for = "running", None
        return step

    def _restore_step(self, step: Json) -> None:
        with self._executing:
            with self._lock:
                if self._state != "running" or not self._plan or self._plan[0] is not step:
                    return
            result = self._subject.execute(step["change"])
            with self._lock:
                self._subject.emit("restore_step", detail=f"{step['change']}: {result['outcome']}")
                if result["outcome"] == "error":
                    self._errors.append(result["error"])
                if self._plan and self._plan[0] is step:
                    del self._plan[0]
                if self._plan:
                    return
                if self._state == "armed":  # a new lease came during the last step: nothing is left for it
                    self._state = "none"
                else:
                    self._state = "done"
                    self._subject.emit("restore_end", detail=f"{len(self._errors)} errors")
