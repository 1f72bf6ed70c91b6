"""What can be observed of a target without its agent: its LOG, devices and process, and the stalls they show.

A look runs on a thread of its own, because a file can be on a device that hangs; such a look is abandoned, and
control goes on without it. Only one look runs at a time. No error here reaches the control loop.
"""

import asyncio
import contextlib
import logging
import platform
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from adocd.daemon.watch.charted import charted
from adocd.daemon.watch.history import History
from adocd.diagnosis import Diagnosis
from adocd.diagnosis.around import Surrounded
from adocd.diagnosis.held import HeldWriters
from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.told import Told, limiter_of
from adocd.model.database import Database, Info
from adocd.model.sample import Sample
from adocd.model.surroundings import Surroundings
from adocd.probes.log import LogFollower
from adocd.probes.log.clock import zone_here
from adocd.probes.options_file import holds_another
from adocd.probes.own_thread import OwnThread
from adocd.probes.shared import Shared
from adocd.probes.surroundings import SurroundingsProbe
from adocd.targets.directory.target import KIND, gone

_log = logging.getLogger(__name__)
#: Most LOG bytes that one look reads: about 70 ms of one CPU. Catching up with a large LOG takes several looks.
_LOG_BYTES_A_LOOK = 4 << 20
#: The lock is released after this many events, about a millisecond, mainly for the control loop.
_EVENTS_AT_ONCE = 128
#: Longest wait for a look, including the wait for its turn. A longer look has measured over an unknown interval.
_PATIENCE_S = 1.0
_OWN_LOGGER = "the program has a logger of its own"
_NO_ENDS = "its LOG has no line of level INFO yet, and only those tell when a stall is over"
#: Most looks of all targets at once, because each competes with the control loops for the GIL.
LOOKS_AT_ONCE = 4


class Observation:
    """One target's LOG and surroundings, across all its sessions. For the parameters see LoopSettings."""

    def __init__(
        self,
        path: str,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        looks: asyncio.Semaphore,
        shared: Shared | None = None,
    ) -> None:
        self.watch = StallWatch()
        #: The last look's result; None if there is none, or not yet.
        self.surroundings: Surroundings | None = None
        #: Why there is no LOG to read, in one sentence; None if there is one.
        self.no_log: str | None = "the database has not been seen open yet"
        self._path = path
        self._clock = clock
        self._wall_clock = wall_clock
        self._probe: SurroundingsProbe | None = None
        self._log_path: Path | None = None
        self._follower: LogFollower | None = None
        #: Whether the LOG has been read to its end once: a large one takes many looks, and the newest lines come last.
        self._has_caught_up = False
        #: The directory and identity of a database whose LOG may be read once they are found to belong together.
        self._unproven: tuple[Path, str] | None = None
        self._diagnosis = Diagnosis()
        #: The diagnosis from the agent's samples, for a target without a LOG.
        self._told = Told()
        self._rocksdb_version: str | None = None
        #: False for a directory: then the LOG is the only source, and its counters are as old as its last stats dump.
        self._has_agent = True
        self._surrounded = Surrounded()
        #: What flushes and compactions wrote by the newest sample; None if that is unknown.
        self._jobs_write_bytes_per_s: float | None = None
        self._looked_s = 0.0
        self._looked_in_time = True
        self._thread = OwnThread(f"look around {path}")
        self._looks = looks
        self._shared = shared
        #: Guards the diagnosis, which looks write and requests read.
        self._lock = threading.Lock()

    def opened(self, info: Info, database: Database) -> None:
        """Observe this process and LOG from now on; reading the LOG resumes where it stopped."""
        self._rocksdb_version, self._has_agent = info.rocksdb_version, info.agent.kind != KIND
        if info.host != platform.node():
            self._probe, self.no_log = None, f"the database's process is on another host, {info.host}"
            return
        wal_dir = None if database.wal_dir is None else Path(database.wal_dir)
        with self._lock:
            self._probe = SurroundingsProbe(
                info.pid_here,
                Path(database.path),
                wal_dir,
                shared=self._shared,
                paths_are_its_own=self._has_agent,  # of a directory they are the daemon's
                data_paths=tuple(map(Path, database.data_paths)),
            )
            self.surroundings = None
        self._follow(Path(database.log_path) if database.log_path else None)
        self._unproven = Path(database.path), database.db_identity

    def _follow(self, log_path: Path | None) -> None:
        """Follow this LOG; None if RocksDB writes none, because an old one in the database's directory is of no use."""
        if log_path != self._log_path:
            self._log_path, self._follower, self._has_caught_up = log_path, None, False
            if log_path is not None:
                self._follower = LogFollower(log_path, zone=zone_here(), poll_bytes_most=_LOG_BYTES_A_LOOK)
        self.no_log = _OWN_LOGGER if log_path is None else None

    @property
    def in_words(self) -> str | None:
        """What disks and process are doing, in one sentence; None if that cannot be observed."""
        return None if self.surroundings is None else self.surroundings.in_words()

    async def look(self) -> None:
        """Look at everything once; returns at once if the previous look still hangs.

        When this one hangs or fails, what an earlier one has found is dropped: it must not be taken for what is now.
        """
        if self._probe is None:
            return
        probe, follower = self._probe, self._follower
        if not self._thread.is_busy:
            with self._going_on("looking at its LOG and device"), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_S), self._looks:
                    await self._thread.run(lambda: self._look(probe, follower), _PATIENCE_S)
                    return
        self.surroundings = None

    def sampled(self, sample: Sample) -> None:
        """Take in the agent's newest sample."""
        now_s = self._wall_clock()
        with self._going_on("taking a sample in"), self._lock:
            self.watch.sampled(sample, now_s)
            self._jobs_write_bytes_per_s = _written_by_jobs(sample)
            self._diagnosis.learn(limiter_of(sample, now_s))
            if self._has_agent:
                self._diagnosis.in_force(sample.options)
            self._told.sampled(sample, now_s, self.watch.found, self._rocksdb_version)
            if self._has_agent and (micros := sample.counters.stall_micros) is not None:
                self._diagnosis.counted(sample.session, now_s, micros / 1e6)
                self._told.counted(sample.session, now_s, micros / 1e6)

    def chart(self, sample: Sample, history: History, controller: str | None) -> None:
        """Add the newest sample to its target's history; `controller` is the law that acts, None if none does."""
        with self._going_on("charting a sample"), self._lock:
            history.add(charted(sample, *self.watch.within(sample), controller))

    def silent(self, silent_s: float, *, may_be_stalled: bool) -> None:
        """Note that the agent has not answered for `silent_s` seconds."""
        with self._going_on("taking silence in"), self._lock:
            self._jobs_write_bytes_per_s = None
            self.watch.silent(silent_s, self._wall_clock(), may_be_stalled, self.in_words)

    def closed(self) -> None:
        """Note that the database was closed."""
        with self._going_on("taking the close in"), self._lock:
            self._probe, self.surroundings, self._jobs_write_bytes_per_s = None, None, None
            self.watch.closed(self._wall_clock())

    async def diagnosis(self) -> dict[str, Any]:
        """Return what stalled and why, as `adocctl explain` shows it."""
        return await asyncio.to_thread(self._summary)

    def logged_before(self, unix_s: float, span_s: float) -> HeldWriters | None:
        """Return how writers fared before this time, by the LOG; None if no LOG covers it, or it is not read yet.

        The span ends where the LOG shows the first change of an option since the open, and is at most `span_s` long.
        """
        with self._lock:
            is_known = self.no_log is None and self._has_caught_up
            return self._diagnosis.held_before(unix_s, span_s) if is_known else None

    def _look(self, probe: SurroundingsProbe, follower: LogFollower | None) -> None:
        with self._going_on("looking at its LOG and device"):
            self._look_around(probe)
            if follower is not None and self._is_its_own(follower):
                self._read_log(follower)

    def _look_around(self, probe: SurroundingsProbe) -> None:
        looked_s, now_s = self._clock(), self._wall_clock()
        surroundings = probe.read(looked_s)
        in_time = self._clock() - looked_s <= _PATIENCE_S
        with self._lock:
            if self._probe is not probe:  # closed or reopened during the look
                return
            is_measured = surroundings is not None and in_time and self._looked_in_time
            self.surroundings = surroundings if is_measured else None
            if surroundings is not None and is_measured:
                interval_s, jobs = looked_s - self._looked_s, self._jobs_write_bytes_per_s
                self._surrounded.add(now_s, interval_s, surroundings.point(), jobs)
            self._looked_s, self._looked_in_time = looked_s, in_time

    def _is_its_own(self, follower: LogFollower) -> bool:
        """Check once an open whose LOG it is: the path may come from a container, and be another database's here."""
        unproven = self._unproven
        if unproven is None:
            return True
        is_another = holds_another(*unproven)
        if self._unproven is unproven:  # it was not opened anew during the look
            if is_another:
                self.no_log = (
                    f"{unproven[0]} is another database's directory here, as it can be where this one is in a "
                    f"container, so {follower.path} is not read"
                )
            else:
                self._unproven = None
        return not is_another

    def _read_log(self, follower: LogFollower) -> None:
        events, now_s = follower.poll(), self._wall_clock()
        error = follower.error
        if self._follower is not follower:  # the look took so long that another LOG is followed now
            return
        if error is not None:
            self.no_log = f"{self._log_path} cannot be read: {error.strerror}"
        elif follower.is_gone or not follower.missed:
            self.no_log = gone(follower.path) if follower.is_gone else None
        for at in range(0, max(1, len(events)), _EVENTS_AT_ONCE):
            with self._lock:
                some = events[at : at + _EVENTS_AT_ONCE]
                for event in some:
                    self._diagnosis.add(event)
                if self._probe is not None:  # else it was closed during the look, and nothing would end such a stall
                    self.watch.logged(some, now_s)
        self._has_caught_up = self._has_caught_up or follower.caught_up

    @contextlib.contextmanager
    def _going_on(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception:
            _log.exception("%s: %s failed; going on", self._path, what)

    def _summary(self) -> dict[str, Any]:
        with self._lock:
            facts = {
                "log": None if self._log_path is None else str(self._log_path),
                "no_log": self._why_no_log,
                "source": "LOG" if self._has_log else "agent",
                "now": None if (now := self.watch.now) is None else asdict(now),
                "around": self.in_words,
                "is_reading": self._has_log and self._follower is not None and not self._has_caught_up,
            }
            if self._follower is None or not self._has_log:
                return facts | self._told.summary(self._surrounded)
            parser = self._follower.parser
            self._diagnosis.so_far()
            return facts | self._diagnosis.summary(
                lines=parser.lines,
                unread=parser.unread,
                stepped_back=parser.stepped_back,
                surrounded=self._surrounded,
            )

    @property
    def _has_log(self) -> bool:
        return not self._has_agent or (self.no_log is None and self._diagnosis.tells_ends)

    @property
    def _why_no_log(self) -> str | None:
        has_read = self._has_agent and bool(self._diagnosis.events)
        return _NO_ENDS if self.no_log is None and has_read and not self._diagnosis.tells_ends else self.no_log


def _written_by_jobs(sample: Sample) -> float | None:
    rates = (sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s)
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None
