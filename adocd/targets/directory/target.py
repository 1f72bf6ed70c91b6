"""A database observed by its directory alone, from its LOG and its OPTIONS file, and never changed.

The database's process needs no agent and is not involved, so this cannot slow it down.
"""

import platform
import threading
import time
from collections.abc import Callable, Set
from pathlib import Path
from typing import Never, TypeVar

from adocd import __version__
from adocd.model.capabilities import Capabilities
from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import AgentKind, DatabaseDetail, Info
from adocd.model.snapshot import (
    Condition,
    Lease,
    OptionValues,
    Restore,
    Snapshot,
    Stall,
)
from adocd.probes.lock_holder import still_holds
from adocd.probes.log.tree import Tree
from adocd.probes.own_thread import OwnThread
from adocd.targets.directory.log_values import column_family, dump, properties
from adocd.targets.directory.options import DirectoryOptions, opened_with
from adocd.targets.directory.place import QUIET_S, DirectoryPlace, Place
from adocd.targets.directory.reading import DirectoryReading
from adocd.targets.errors import Closed, OnlyObserved, OutOfSight, Silent

#: The kind reported where an agent reports its own.
KIND = "directory"
_NOTHING = Capabilities()
#: Longest wait for a read, because a device may hang for ever; a piece of a LOG, or all of /proc, takes far less.
_PATIENCE_S = 5.0
_T = TypeVar("_T")


class Directory:
    """One directory, and any database in it, across opens."""

    def __init__(
        self,
        path: Path,
        *,
        proc: Path = Path("/proc"),
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self._place = DirectoryPlace(path, proc=proc, clock=clock)
        self._proc, self._clock, self._wall_clock = proc, clock, wall_clock
        self._thread = OwnThread(f"look at {path}")

    async def look(self) -> Place:
        """Return which database is there, and whether it is open. Raises NoDatabase if there is none, and Silent."""
        return await _patiently(self._thread, self._place.look, self.path)

    async def open(self, place: Place) -> "DirectoryTarget":
        """Read the LOG to its end, which may take seconds for a large one. Raises TargetError."""
        target = DirectoryTarget(place, self._place.closed, self._proc, self._clock, self._wall_clock)
        await target.catch_up()
        return target


class DirectoryTarget:
    """One open of a database. `info` describes its process, as far as that can be seen.

    Calls raise Closed once the process has released its lock, or the LOG reports the close or another open; if no lock
    holder can be seen, once the LOG has not been written for a minute.
    """

    def __init__(
        self,
        place: Place,
        closed: Callable[[], None],
        proc: Path,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self.place = place
        self._tell_closed = closed
        self._proc, self._clock, self._wall_clock = proc, clock, wall_clock
        # One offset for the whole session, so that a LOG time always maps to the same time on our clock.
        self._ahead_s = clock() - wall_clock()
        self._options = DirectoryOptions(place.path, place.db_identity, clock)
        self._reading = DirectoryReading(place.log_path, clock, self._monotonic_s)
        self._session: str | None = None
        self._sequence = 0
        self._condition: Condition = "normal"
        self._since_s = clock()
        self._why_closed: str | None = None
        #: Needed because the thread of a cancelled call reads on.
        self._lock = threading.Lock()
        self._thread = OwnThread(f"read {place.log_path}")

    @property
    def info(self) -> Info:
        """The process that has the database open; pid 0 if that cannot be seen."""
        holder = self.place.holder
        return Info(
            protocol="none",
            agent=AgentKind(KIND, __version__),
            rocksdb_version=self._reading.state.rocksdb_version or "unknown",
            host=platform.node(),
            pid=0 if holder is None else holder.pid,
            program="unknown" if holder is None else holder.program,
            user="unknown" if holder is None else holder.user,
            capabilities=_NOTHING,
            pid_here=None if holder is None else holder.pid,
        )

    @property
    def is_followed(self) -> bool:
        """Whether this open has not ended."""
        return self._why_closed is None

    async def catch_up(self) -> None:
        """Read the LOG to its end, piece by piece. Raises Closed, Silent, and TargetError if it cannot be read."""
        while not await self._on_thread(self._look):
            pass

    def step_back(self, why: str) -> None:
        """Stop following this open, for example because an agent now serves the database."""
        self._why_closed = why

    async def detail(self) -> DatabaseDetail:
        """Return identity and the options at open; the capabilities allow no change."""
        return await self._on_thread(self._detail)

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the new LOG lines and return what is known; the first time this reads the whole session's LOG."""
        began_s = self._clock()
        await self.catch_up()
        return await self._on_thread(lambda: self._snapshot(events_after, began_s))

    async def wait(self, events_after: int, kinds: Set[str], timeout_s: float) -> bool:  # noqa: ARG002
        """Raise OnlyObserved: a LOG says late that something happened."""
        _refuse()

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:  # noqa: ARG002
        """Raise OnlyObserved."""
        _refuse()

    async def release_lease(self, holder: str, epoch: int) -> Restore:  # noqa: ARG002
        """Raise OnlyObserved."""
        _refuse()

    async def revoke_lease(self) -> Restore:
        """Raise OnlyObserved."""
        _refuse()

    async def change(
        self,
        holder: str,  # noqa: ARG002
        epoch: int,  # noqa: ARG002
        changes: tuple[Change, ...],  # noqa: ARG002
        restore_plan: tuple[RestoreStep, ...],  # noqa: ARG002
        *,
        repeat: bool = False,  # noqa: ARG002
        lift_rate_limit: bool = False,  # noqa: ARG002
    ) -> tuple[StepResult, ...]:
        """Raise OnlyObserved."""
        _refuse()

    async def close(self) -> None:
        """Stop reading."""
        self._why_closed = self._why_closed or "it is not followed any more"

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        return await _patiently(self._thread, work, self.place.path)

    # -- on a thread

    def _look(self) -> bool:
        with self._lock:
            if self._why_closed is None and not self._is_held():
                self._end("nobody has it open any more")
            self._raise_closed()
            caught_up = self._reading.read()
            if caught_up:
                self._check_session()
                self._raise_closed()
                self._check_log()
            return caught_up

    def _raise_closed(self) -> None:
        if self._why_closed is not None:
            raise Closed(404, "database_closed", f"{self.place.path}: {self._why_closed}")

    def _is_held(self) -> bool:
        if self.place.holder is not None:
            return still_holds(self.place.holder, self.place.lock_path, self._proc)
        try:
            return self._wall_clock() - self.place.log_path.stat().st_mtime <= QUIET_S
        except FileNotFoundError:
            return True  # without a LOG nothing shows whether the database is open
        except OSError:
            return False

    def _check_session(self) -> None:
        state = self._reading.state
        if state.is_closed:
            self._end("its LOG says that it was closed")
        session = state.session or "unknown"
        if self._session is not None and session != self._session:
            self._end("it was opened anew")
        self._session = session

    def _check_log(self) -> None:
        if self._reading.is_gone:
            why = gone(self.place.log_path)
            self._end(why)
            raise OutOfSight(404, "log_gone", why)

    def _end(self, why: str) -> None:
        self._why_closed = why
        self._tell_closed()

    def _detail(self) -> DatabaseDetail:
        with self._lock:
            place, state = self.place, self._reading.state
            values = self._values()
            return DatabaseDetail(
                id=place.id,
                path=str(place.path),
                db_identity=place.db_identity,
                session=self._session or "unknown",
                opened_monotonic_s=self._since_s if state.opened_s is None else self._monotonic_s(state.opened_s),
                column_families=self._families(values),
                capabilities=_NOTHING,
                log_path=str(place.log_path),
                wal_dir=str(place.wal_dir),
                originals=opened_with(state.options, values),
            )

    def _snapshot(self, events_after: int | None, began_s: float) -> Snapshot:
        with self._lock:
            state = self._reading.state
            values, now_s = self._values(), self._clock()
            events, lost = self._reading.events.after(events_after)
            self._sequence += 1
            return Snapshot(
                database=self.place.id,
                session=self._session or "unknown",
                sequence=self._sequence,
                monotonic_s=now_s,
                age_s=0.0,
                collect_s=now_s - began_s,
                stall=self._stall(now_s),
                counters=state.counters,
                properties=properties(self._reading),
                tickers=None,
                options=values,
                column_families={name: column_family(state.trees.get(name, Tree())) for name in self._families(values)},
                lease=None,
                restore=Restore("none"),
                change_in_flight=False,
                events=events,
                last_event=self._reading.events.last,
                lost_events=lost,
                dump=dump(state.dump, self._monotonic_s),
            )

    def _values(self) -> OptionValues:
        has_changed, self._reading.options_changed = self._reading.options_changed, False
        values = self._options.read(self._reading.state.options, has_changed=has_changed)
        if self._has_dropped():
            values = self._options.read(self._reading.state.options, has_changed=True)
            if self._has_dropped():
                self._reading.keep(self._options.families or ())
        return values

    def _has_dropped(self) -> bool:
        """Whether a column family stalls that the OPTIONS file does not have: the LOG does not name a dropped one."""
        families = self._options.families
        return families is not None and not self._reading.stalls.keys() <= set(families)

    def _families(self, values: OptionValues) -> tuple[str, ...]:
        return tuple(values.column_families or self._reading.state.trees)

    def _stall(self, now_s: float) -> Stall:
        reading = self._reading
        if reading.condition != self._condition:
            began = [stall.since_s for stall in reading.stalls.values() if stall.condition == reading.condition]
            self._condition, self._since_s = reading.condition, self._monotonic_s(min(began)) if began else now_s
        stopped_s, delayed_s = reading.held_s("stopped", now_s), reading.held_s("delayed", now_s)
        return Stall(self._condition, self._since_s, stopped_s, delayed_s)

    def _monotonic_s(self, unix_s: float) -> float:
        return unix_s + self._ahead_s


def gone(log_path: Path) -> str:
    """Return the sentence for a deleted LOG, with the remedy."""
    return f"its LOG {log_path} is gone; RocksDB makes another when the database is opened anew"


async def _patiently(thread: OwnThread, work: Callable[[], _T], path: Path) -> _T:
    try:
        return await thread.run(work, _PATIENCE_S)
    except TimeoutError:
        raise Silent(f"{path} could not be read within {_PATIENCE_S:g} s; see whether its device hangs") from None


def _refuse() -> Never:
    raise OnlyObserved
