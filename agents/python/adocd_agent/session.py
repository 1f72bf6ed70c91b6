"""One open of one database: its lease, its originals, its events, its snapshots and its changes."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Set
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.changes import check_change, check_condition, check_plan
from adocd_agent.database import OpenDatabase
from adocd_agent.events import EventRing
from adocd_agent.host_safety import Conflict, find_conflict, without
from adocd_agent.keeper import LeaseKeeper
from adocd_agent.lease_machine import Times
from adocd_agent.option_state import Name, OptionState, describe, read_back, wanted
from adocd_agent.problems import DatabaseClosed, database_closed
from adocd_agent.snapshot import SnapshotCache

Json = Any
Clock = Callable[[], float]


class DatabaseSession:
    """Everything the protocol says about one open of a database; `lease_clock` stands still while the process does."""

    def __init__(
        self, database: OpenDatabase, name: str, *, clock: Clock = time.monotonic, lease_clock: Clock | None = None
    ) -> None:
        self.database = database
        self.name = name
        self.events = EventRing(clock)
        self.snapshots = SnapshotCache(self._take, clock)
        self._executing = threading.RLock()
        self._lock = threading.RLock()
        self._clock = clock
        self._closed = threading.Event()
        self._changes_in_flight = 0
        self._pid = os.getpid()
        self._leased: dict[Name, str] = {}
        """Options that this session's leases changed and that are not restored yet, with what they were set to."""
        self._unsure: set[Name] = set()
        """Options whose call failed: the value may still be in use, although the file that is read back lacks it."""
        self.originals: OptionState = database.read_options(fresh=True)
        running = clock if lease_clock is None else lease_clock
        self.keeper = LeaseKeeper(self, lambda: Times(clock(), running()), self._executing)

    # --- life -----------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the session is over; asks the database, so that a close is noticed at once.

        It is over in a forked child too: the database belongs to the parent, and our threads do not exist there.
        """
        return self._closed.is_set() or self._forked or not self.database.is_open()

    @property
    def _forked(self) -> bool:
        return os.getpid() != self._pid

    def close(self) -> None:
        """End the session with its lease and plan; the database is not touched any more."""
        if self._forked:
            return
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
        try:
            self.events.close()
            self.snapshots.close()
            self.keeper.close()
        finally:
            with self._lock:
                outliving = ("rate_limiter", "thread_pool")
                changed = {name: value for name, value in sorted(self._leased.items()) if name[0] in outliving}
            self.database.end(changed, self.originals)

    # --- what it says ---------------------------------------------------------------------------------------

    def describe(self, database_id: str, capabilities: Capabilities) -> dict[str, Json]:
        """Write it as the contract's Database."""
        return {
            "id": database_id,
            "path": self.database.path,
            "db_identity": self.database.db_identity,
            "session": self.name,
            "opened_monotonic_s": self.database.opened_monotonic_s,
            "column_families": list(self._current().column_families),
            **self.database.describe(),
            "capabilities": self.database.narrow(capabilities).as_json(),
        }

    def originals_json(self) -> dict[str, Json]:
        """Write the originals as the contract's OptionValues."""
        self._current()
        with self._lock:
            return self.originals.as_json()

    def snapshot(self, after: int | None) -> dict[str, Json]:
        """Write the cached sample with what is known without the database."""
        taken = self.snapshots.get()
        return {
            **taken,
            "age_s": max(0.0, self._clock() - taken["monotonic_s"]),
            "lease": self.keeper.lease(),
            "restore": self.keeper.restore(),
            "change_in_flight": self._changes_in_flight > 0,
            "revoked_epoch": self.keeper.revoked_epoch(),
            **self.events.since(after),
        }

    def wait(self, after: int, kinds: Set[str], timeout_s: float) -> Json:
        """Wait for an event of these kinds after a cursor; None if none came."""
        event = self.events.wait(after, kinds, timeout_s)
        if self.closed:
            raise database_closed()
        if event is not None:
            self.snapshots.must_begin_after(event["monotonic_s"])
        return event

    def _take(self) -> dict[str, Json]:
        options = self._current()
        measured = self.database.measure()
        return {"session": self.name, **measured, "options": options.as_json()}

    def _current(self, *, fresh: bool = False) -> OptionState:
        """Read the options, and note created and dropped column families."""
        current = self.database.read_options(fresh=fresh)
        with self._lock:
            known = self.originals.column_families
            dropped = [family for family in known if family not in current.column_families]
        for family in dropped:
            self.forget_column_family(family)
        with self._lock:
            for family, values in current.column_families.items():
                known.setdefault(family, dict(values))
        return current

    def forget_column_family(self, family: str) -> None:
        """Forget one that was dropped: if there is another of its name, its originals are read anew.

        What the restore plan says of it does not hold for the other. The caller has no lock: see the keeper.
        """
        with self._lock:
            self.originals.column_families.pop(family, None)
            of_family = [name for name in {*self._leased, *self._unsure} if name[:2] == ("column_family", family)]
            for name in of_family:
                self._leased.pop(name, None)
                self._unsure.discard(name)
        self.keeper.forget_column_family(family)

    # --- changes --------------------------------------------------------------------------------------------

    def change(self, request: Json, capabilities: Capabilities) -> dict[str, Json]:
        """PATCH options: check everything, then execute step by step."""
        holder, epoch = request["holder"], request["epoch"]
        if self.closed:
            raise database_closed()
        self.keeper.require(holder, epoch)
        with self._lock:
            self._changes_in_flight += 1
        try:
            with self._executing:
                self.keeper.require(holder, epoch)
                self.keeper.adopt_if_due()
                self._check(request, capabilities)
                self.keeper.arm(holder, epoch, request["restore_plan"])
                steps = self._execute_all(request)
        finally:
            with self._lock:
                self._changes_in_flight -= 1
        if not steps:
            raise database_closed()
        return {"steps": steps}

    def _check(self, request: Json, capabilities: Capabilities) -> None:
        changes, plan = request["changes"], request["restore_plan"]
        current, catalogue = self._current(fresh=True), self.database.catalogue
        # That a database has no limiter is another refusal than that the agent cannot change one.
        here = dataclasses.replace(self.database.narrow(capabilities), rate_limiter=capabilities.rate_limiter)
        readable = self.snapshots.readable()
        for change in [*changes, *(step["change"] for step in plan)]:
            check_change(change, current, here, catalogue)
        for step in plan:
            check_condition(step, current, readable)
        check_plan(plan, changes, self.must_restore(current))

    def _execute_all(self, request: Json) -> list[Json]:
        steps: list[Json] = []
        for number, change in enumerate(request["changes"]):
            steps += self._execute_one(number, change, request)
            if not steps or len(steps) <= number or steps[-1]["outcome"] == "error":
                break
        return steps

    def _execute_one(self, number: int, change: Json, request: Json) -> list[Json]:
        """Execute one step of a PATCH; returns nothing if the database was closed before the first step."""
        if not self.closed and not self.keeper.holds(request["holder"], request["epoch"]):
            return [_failed("The lease ended; what was changed is being restored.")]
        try:
            step = self.execute(change, repeat=request["repeat"])
        except DatabaseClosed:
            return [_failed("The database was closed.")] if number else []
        if step["outcome"] != "unchanged":
            error = f" (error: {step['error']})" if step["error"] else ""
            self.emit("options_changed", detail=describe(change) + error)
        return [step]

    # --- what the keeper needs ------------------------------------------------------------------------------

    def emit(self, kind: str, **members: Json) -> None:
        """Record an event."""
        self.events.emit(kind, **members)

    def property_value(self, column_family: str, name: str) -> int | None:
        """Return a column family's property, as a restore condition reads it."""
        return self.database.property_value(column_family, name)

    def lack_of_space(self, change: Json) -> str | None:
        """Say why a restore step waits: RocksDB would write OPTIONS and LOG, and there is no room for them.

        A step that is in force already writes nothing, nor does one for a column family that was dropped.
        """
        lack = self._lack_of_space(change)
        if lack is None:
            return None
        current = self._current(fresh=True)
        with self._lock:
            targets = wanted(change).items()
            writes = any(name in self._unsure or current.get(name) not in (None, value) for name, value in targets)
        return lack if writes else None

    def _lack_of_space(self, change: Json) -> str | None:
        return self.database.lack_of_space() if change["scope"] in ("column_family", "database") else None

    def execute(self, change: Json, *, repeat: bool = False) -> dict[str, Json]:
        """Execute a step of a PATCH, unless every value is already in force, and read back the result.

        `repeat`: call even then. RocksDB before 9.11 can have reverted a change internally and still show the new
        value.
        """
        return self._try(change, repeat=repeat, without_space=False)[0]

    def _try(self, change: Json, *, repeat: bool, without_space: bool) -> tuple[dict[str, Json], Conflict | None]:
        """Make one call, unless there is no need, or it must not be made; return the step's result, and a conflict.

        `without_space`: make it even if there is no room for what RocksDB writes.
        """
        if self.closed:
            raise DatabaseClosed
        started_s = time.monotonic()
        before = after = self._current(fresh=True)
        there = not repeat and self._is_there(change, before)
        conflict = None if there else find_conflict(change, before)
        obstacle = None if conflict is None else conflict.why
        if not (there or obstacle or without_space):
            obstacle = self._lack_of_space(change)
        error = f"Not executed: {obstacle}." if obstacle else None
        if not (there or obstacle):
            error = self._call(change)
            after = self._current(fresh=True)
        step = {
            "outcome": "unchanged" if there else "applied" if error is None else "error",
            "elapsed_s": time.monotonic() - started_s,
            "error": error,
            "read_back": read_back(after, change),
        }
        return step, conflict

    def _is_there(self, change: Json, current: OptionState) -> bool:
        with self._lock:
            targets = wanted(change).items()
            return all(current.get(name) == value and name not in self._unsure for name, value in targets)

    def _call(self, change: Json) -> str | None:
        """Make one call; return RocksDB's error message if it fails."""
        targets = wanted(change)
        with self._lock:
            self._leased.update(targets)
            self._unsure.update(targets)
        error = self.database.call(change)
        if error is None:
            with self._lock:
                self._unsure.difference_update(targets)
        return error

    def undo(self, change: Json) -> dict[str, Json]:
        """Execute the change of a restore step; an option back at its original counts as the host's own again.

        Whether there is space is the keeper's question, since at the end of the process a restore cannot wait.
        """
        step = self._execute_what_fits(change)
        with self._lock:
            for name in wanted(change):
                if name not in self._unsure and step["read_back"].get(name[2]) == self.originals.get(name):
                    self._leased.pop(name, None)
        return step

    def _execute_what_fits(self, change: Json) -> dict[str, Json]:
        """Set the options of a restore step without those whose values do not go together, and say which."""
        step, conflict = self._try(change, repeat=False, without_space=True)
        while conflict is not None:
            change = without(change, conflict.options)
            if not change["options"]:
                break
            rest, conflict = self._try(change, repeat=False, without_space=True)
            step = {
                "outcome": "error",
                "elapsed_s": step["elapsed_s"] + rest["elapsed_s"],
                "error": " ".join(error for error in (step["error"], rest["error"]) if error),
                "read_back": {**step["read_back"], **rest["read_back"]},
            }
        return step

    def must_restore(self, current: OptionState) -> set[Name]:
        """Return the options that differ from their originals, or may, because of this session's leases."""
        with self._lock:
            there = ((name, current.get(name)) for name in self._leased)
            return {
                name
                for name, value in there
                if value is not None and (name in self._unsure or value != self.originals.get(name))
            }

    def adopt_originals(self) -> None:
        """Make the values that leases changed this session's new originals; the caller holds `executing`."""
        current = self._current(fresh=True)
        with self._lock:
            adopted = self.must_restore(current)
            for name in adopted:
                self.originals.put(name, current.get(name) or "")
            self._leased.clear()
        for _, pool, _ in (name for name in adopted if name[0] == "thread_pool"):
            # Set once more to the size it has, it is that of the process: see ThreadPools.set.
            self.database.call({"scope": "thread_pool", "pool": pool, "threads": current.thread_pools[pool]})


def _failed(error: str) -> dict[str, Json]:
    return {"outcome": "error", "elapsed_s": 0.0, "error": error, "read_back": {}}
