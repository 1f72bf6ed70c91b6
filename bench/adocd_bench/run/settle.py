"""After the measured phase: the owner's options come back, and what is due under them is done.

The moment that clients have stopped, the daemon is asked to restore, as an operator asks it (`adocctl restore`): the
law is paused, and everything that it turned gets its original value. A scheme of other options at the open (a grid's,
SILK's presets) has nothing to restore, so the bench then sets the owner's options itself, by the agent's protocol. All
schemes thus end at the same options and owe nothing under them.

Nothing is due when no flush and no compaction runs or is pending, and all memtables are flushed, in two snapshots of
the agent one after the other. Pending is RocksDB's own word (`rocksdb.compaction-pending`,
`rocksdb.mem-table-flush-pending`): with compaction disabled, what is due stays pending. The program flushes the
memtables itself (db_bench's `flush`), since agents cannot.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from adocd.model.change import Change, ColumnFamilyChange, DatabaseChange, RestoreStep
from adocd.model.snapshot import OptionValues, Snapshot
from adocd.targets.agent import Agent, AgentTarget
from adocd.targets.errors import Refused, TargetError
from adocd.targets.run_dir import agent_sockets
from adocd_bench.errors import RunFailed
from adocd_bench.run.observe import Watched

#: Longest drain after the restore was asked for, in seconds; then the run ends without one.
SETTLED_WITHIN_S = 600.0
_HOLDER, _TTL_S = "adocd-bench", 3600.0
#: An active memtable of less is empty: an empty one has 2 KiB.
_EMPTY_BYTES = 64 << 10
_FAMILY = "default"


@dataclass(frozen=True, slots=True)
class Due:
    """What RocksDB says of its background work in one snapshot, on the host's monotonic clock."""

    monotonic_s: float
    running_flushes: int
    running_compactions: int
    flush_pending: int
    compaction_pending: int
    memtables: int
    pending_compaction_bytes: int

    @property
    def nothing(self) -> bool:
        """Whether nothing runs or is due; pending bytes are an estimate and do not count."""
        counts = (self.running_flushes, self.running_compactions, self.flush_pending, self.compaction_pending)
        return not any(counts) and self.memtables == 0

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Read a snapshot; `memtables` are those with content."""
        families = [family.properties for family in snapshot.column_families.values()]

        def every(name: str) -> int:
            return sum(family.get(f"rocksdb.{name}", 0) for family in families)

        active = sum(family.get("rocksdb.cur-size-active-mem-table", 0) >= _EMPTY_BYTES for family in families)
        return cls(
            monotonic_s=snapshot.monotonic_s,
            running_flushes=snapshot.properties.get("rocksdb.num-running-flushes", 0),
            running_compactions=snapshot.properties.get("rocksdb.num-running-compactions", 0),
            flush_pending=every("mem-table-flush-pending"),
            compaction_pending=every("compaction-pending"),
            memtables=active + every("num-immutable-mem-table"),
            pending_compaction_bytes=every("estimate-pending-compaction-bytes"),
        )


@dataclass(slots=True)
class Settlement:
    """How far it is, on the host's monotonic clock; None for what has not happened.

    Attributes:
        asked_s: the daemon was asked to restore.
        restored_s: the agent had executed the restore.
        owners_s: every option had the owner's value for the first time.
        changed: the options that the bench set itself, with the owner's values.
        quiet_s: the first snapshot from which on nothing was due.
        due: the last snapshot.
        waits_for: what kept it from being settled when it was last looked at, in words.

    """

    asked_s: float | None = None
    restored_s: float | None = None
    owners_s: float | None = None
    changed: Mapping[str, str] | None = None
    quiet_s: float | None = None
    due: Due | None = None
    waits_for: str = "the daemon to be asked"


class Settling:
    """Settles one database; `look` goes on with it, and waits for nothing but a change that it sends."""

    def __init__(self, room: Path, database: Path, owners: Mapping[str, str]) -> None:
        self.seen = Settlement()
        self._room, self._database, self._owners = room, database, owners
        self._runner = asyncio.Runner()
        self._target: AgentTarget | None = None
        #: When the daemon had told the agent to restore: an older snapshot does not show it.
        self._begun_s = 0.0
        #: When the bench had last set options.
        self._changed_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object | type[BaseException] | TracebackType | None) -> None:
        if self._target is not None:
            self._runner.run(self._target.close())
        self._runner.close()

    def look(self, watched: Watched) -> None:
        """Take the next step, unless it is settled. Raises RunFailed where the daemon or the agent refuses."""
        seen = self.seen
        if seen.quiet_s is not None:
            return
        if seen.asked_s is None:
            seen.asked_s = time.monotonic()
            watched.restore()
            self._begun_s = time.monotonic()
        try:
            target = self._find()
            snapshot = self._runner.run(target.snapshot(None))
            if seen.restored_s is None:
                seen.restored_s = _restored_s(snapshot, self._begun_s)
                seen.waits_for = _restore_in_words(snapshot)
            elif self._is_the_owners(target, snapshot):
                self._watch(Due.of(snapshot))
                seen.waits_for = f"nothing to be due: {seen.due}"
        except TargetError as error:
            raise RunFailed(
                f"{self._database.name} could not be settled after the phase: {error} "
                f"After {time.monotonic() - seen.asked_s:.0f} s the bench was waiting for {seen.waits_for}."
            ) from None

    def is_over(self, watched: Watched) -> bool:
        """Return whether nothing is due and the daemon has seen that, too; or whether it took too long."""
        seen, newest = self.seen, watched.newest
        if seen.asked_s is None:
            return False
        if seen.quiet_s is not None and newest is not None and newest.monotonic_s > seen.quiet_s:
            return True
        return self._took_too_long()

    def is_cut_off(self) -> bool:
        """Return whether something is due after the longest drain; it begins within 0.1 s of the clients' end."""
        return self.seen.quiet_s is None and self._took_too_long()

    def _took_too_long(self) -> bool:
        asked_s = self.seen.asked_s
        return asked_s is not None and time.monotonic() > asked_s + SETTLED_WITHIN_S

    def _is_the_owners(self, target: AgentTarget, snapshot: Snapshot) -> bool:
        """Return whether every option has the owner's value; set those that have not.

        A compaction that began before the restore can take it back at its end (RocksDB before 9.11,
        facebook/rocksdb#13294). The daemon then restores it again, under its lease; without it, the bench does.
        """
        seen, wanted = self.seen, unlike(snapshot, self._owners)
        if not wanted:
            seen.owners_s = seen.owners_s or snapshot.monotonic_s
            seen.changed = seen.changed or {}
            return True
        seen.due = None  # what was due under other options does not count
        seen.waits_for = f"the owner's values instead of {dict(_now(snapshot, wanted))}"
        if snapshot.monotonic_s > self._changed_s:  # an older one does not show what was set
            try:
                self._runner.run(_change(target, snapshot, wanted))
            except Refused as error:
                if error.code != "lease_held":
                    raise
                seen.waits_for += f", which {error.holder} holds the lease for"
                return False
            self._changed_s = time.monotonic()
            seen.changed = {**(seen.changed or {}), **wanted}
        return False

    def _watch(self, due: Due) -> None:
        before, self.seen.due = self.seen.due, due
        if before is not None and before.nothing and due.nothing:
            self.seen.quiet_s = before.monotonic_s

    def _find(self) -> AgentTarget:
        if self._target is None:
            for socket in agent_sockets(self._room):
                agent = Agent(socket)
                found = self._runner.run(agent.databases())
                mine = next((one for one in found if Path(one.path).resolve() == self._database.resolve()), None)
                self._runner.run(agent.close())
                if mine is not None:
                    self._target = agent.target(mine)
        if self._target is None:
            raise RunFailed("the program closed its database before it was settled")
        return self._target


async def _change(target: AgentTarget, snapshot: Snapshot, wanted: Mapping[str, str]) -> None:
    """Set options under a lease of our own; it outlasts the run, because its end would take them back."""
    lease = await target.hold_lease(_HOLDER, _TTL_S, None)
    kept = {**_now(snapshot, wanted), **_unlike_at_open(snapshot.options, (await target.detail()).originals)}
    plan = tuple(RestoreStep(change) for change in _changes(kept, snapshot))
    for step in await target.change(_HOLDER, lease.epoch, _changes(wanted, snapshot), plan):
        if step.error is not None:
            raise RunFailed(f"the owner's options could not be set after the phase: {step.error}")


def unlike(snapshot: Snapshot, owners: Mapping[str, str]) -> dict[str, str]:
    """Give the owner's values of the options that have others."""
    return {option: owners[option] for option, value in _now(snapshot, owners).items() if value != owners[option]}


def _unlike_at_open(options: OptionValues, originals: OptionValues) -> dict[str, str]:
    """Give the values that are not those at the open, as a plan must: a restore cannot put everything back."""
    now = {**options.column_families.get(_FAMILY, {}), **options.database}
    then = {**originals.column_families.get(_FAMILY, {}), **originals.database}
    return {option: value for option, value in now.items() if then.get(option, value) != value}


def _now(snapshot: Snapshot, names: Mapping[str, str]) -> dict[str, str]:
    known = {**snapshot.options.column_families.get(_FAMILY, {}), **snapshot.options.database}
    missing = sorted(names.keys() - known.keys())
    if missing:
        raise RunFailed(f"the agent does not report {', '.join(missing)}, so nobody knows whether it is the owner's")
    return {option: known[option] for option in names}


def _changes(wanted: Mapping[str, str], snapshot: Snapshot) -> tuple[Change, ...]:
    of_database = {option: value for option, value in wanted.items() if option in snapshot.options.database}
    of_family = {option: value for option, value in wanted.items() if option not in of_database}
    changes: list[Change] = []
    if of_database:
        changes.append(DatabaseChange(of_database))
    if of_family:
        changes.append(ColumnFamilyChange(_FAMILY, of_family))
    return tuple(changes)


def _restored_s(snapshot: Snapshot, begun_s: float) -> float | None:
    """Say when the restore was seen to be over; None while it runs or waits for its condition."""
    if snapshot.restore.errors:
        raise RunFailed(f"the restore after the phase failed: {snapshot.restore.errors[0]}")
    if snapshot.restore.state not in {"none", "done"} or snapshot.change_in_flight or snapshot.monotonic_s <= begun_s:
        return None
    return snapshot.monotonic_s


def _restore_in_words(snapshot: Snapshot) -> str:
    restore = snapshot.restore
    until = f" until {restore.waiting_for}" if restore.waiting_for else ""
    in_flight = ", with a change in flight" if snapshot.change_in_flight else ""
    return f"the restore, which is {restore.state} with {restore.steps_left} steps left{until}{in_flight}"
