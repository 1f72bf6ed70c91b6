"""Bytes that flushes and compactions move within a window, although an agent counts them when jobs end. Pure.

Measured on librocksdb 7.8.3 with db_bench, 30 MB/s for flushes and compactions: for a compaction of 10 s that wrote
263 MB, the agent's counters showed nine seconds of 0 and one of 263 MB. The tickers rocksdb.compact.write.bytes and
.read.bytes grew by 30 MB/s meanwhile, because RocksDB adds to them every thousand keys
(CompactionJob::ProcessKeyValueCompaction), but rocksdb.flush.write.bytes grew in one step at the end of the flush
(FlushJob::WriteLevel0Table).

So compactions use the tickers where there are Statistics. Flushes always, and compactions without Statistics, use:

    bytes in the window = sum over finished jobs     of bytes x share of the job's time within the window
                        + sum over running jobs      of r x turns of the job within the window
    turns = seconds / number of jobs of the kind running at once, because they share the device or the limiter
    r     = bytes / turns of the last eight finished jobs of the kind (for compactions: into the same level); 0 before
            the first job has finished, and 0 once a job would have moved more than the largest of these eight

A job's time runs from its start to its end; if nobody saw the start, the end event gives the duration. An error in one
window is not corrected in a later one, where it would be a spike. So the rates are right on average while jobs go on
like the last ones, and lag by up to a job's duration when jobs change. The windows need not add up to the counters,
which are exact. Where an agent reports no events, or some were lost, the counters are used. On db_bench under a limiter
of 40 MB/s, windows of 10 s were off by 1.9 MB/s (root mean square; mostly by the first compaction, about which nothing
is known until it ends), those from the counters by 5.2.
"""

from collections import deque
from dataclasses import dataclass

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import Event, Snapshot
from adocd.probes.increase import rate
from adocd.probes.running_jobs import RunningJobs

#: statistics.h, COMPACT_READ_BYTES and COMPACT_WRITE_BYTES: of all databases that share the Statistics object.
_READ, _WRITTEN = "rocksdb.compact.read.bytes", "rocksdb.compact.write.bytes"
#: Finished jobs from which the rate of running ones is taken.
_LIKE_THE_LAST = 8
#: Most jobs per window; the oldest beyond that are left out.
_ENDED_MOST = 4096


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes per second in a window; None where nothing reports them."""

    flush_written_bytes_per_s: float | None
    compaction_read_bytes_per_s: float | None
    compaction_written_bytes_per_s: float | None


class BackgroundBytes:
    """Follows one session's flushes and compactions."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._events = capabilities.events
        self._jobs = {"flush": _Jobs(), "compaction": _Jobs()}
        self._running = RunningJobs()
        self._has_lost = False

    def observe(self, snapshot: Snapshot) -> None:
        """Take a snapshot's events; each snapshot once."""
        if snapshot.lost_events:
            self._has_lost = True
            self._running.forget()
        for event in snapshot.events:
            begin = self._running.take(event)
            kind, _, what = event.kind.partition("_")
            if (jobs := self._jobs.get(kind)) is None or what not in ("begin", "end"):
                continue
            jobs.turns.share(event.monotonic_s, len(self._of(kind)))
            if what == "begin":
                jobs.begin(event)
            else:
                jobs.end(event, begin)
        self._running.look(snapshot)
        for kind, jobs in self._jobs.items():
            jobs.turns.share(snapshot.monotonic_s, len(self._of(kind)))

    def _of(self, kind: str) -> list[Event]:
        return [begin for begin in self._running if begin.kind == f"{kind}_begin"]

    def rates(self, before: Snapshot, snapshot: Snapshot) -> Rates:
        """Return the rates between two snapshots, once all events up to then were observed; windows are consecutive."""
        began_s, ended_s = before.monotonic_s, snapshot.monotonic_s
        seconds = ended_s - began_s
        flush, compaction = (jobs.within(began_s, ended_s, self._of(kind)) for kind, jobs in self._jobs.items())
        has_lost, self._has_lost = self._has_lost, False
        now, then = snapshot.counters, before.counters
        written = rate(now.flush_written_bytes, then.flush_written_bytes, seconds)
        if written is not None and "flush" in self._events and not has_lost:
            written = flush.written / seconds
        read_compacted = rate(now.compaction_read_bytes, then.compaction_read_bytes, seconds)
        compacted = rate(now.compaction_written_bytes, then.compaction_written_bytes, seconds)
        if "compaction" in self._events and not has_lost:
            read_compacted = None if read_compacted is None else compaction.read / seconds
            compacted = None if compacted is None else compaction.written / seconds
        return Rates(
            written,
            _by_ticker(_READ, before, snapshot, read_compacted),
            _by_ticker(_WRITTEN, before, snapshot, compacted),
        )


@dataclass(slots=True)
class _Bytes:
    read: float = 0.0
    written: float = 0.0

    def add(self, other: "_Bytes", times: float) -> None:
        self.read += other.read * times
        self.written += other.written * times


@dataclass(frozen=True, slots=True)
class _Job:
    began_s: float
    ended_s: float
    turns: float
    bytes: _Bytes

    def share(self, began_s: float, ended_s: float) -> float:
        """Return the share of a job's time within a window; a job of no duration counts where it ended."""
        if self.ended_s <= self.began_s:
            return float(began_s < self.ended_s <= ended_s)
        return _overlap_s(self.began_s, self.ended_s, began_s, ended_s) / (self.ended_s - self.began_s)


class _Turns:
    """Time as seen by a job that shares with others: a second counts half while two run, and 0 while none runs.

    As in processor sharing; a job's turns are the difference between its end and its start.
    """

    def __init__(self) -> None:
        #: The times at which the number of sharing jobs changed, that number, and the turns until then.
        self._changes: deque[tuple[float, float, int]] = deque([(0.0, 0.0, 0)], maxlen=_ENDED_MOST)

    def share(self, at_s: float, jobs: int) -> None:
        """Set the number of sharing jobs from this time on; a time before the last change counts as that change."""
        last_s, _, before = self._changes[-1]
        if jobs != before:
            self._changes.append((max(at_s, last_s), self.until(max(at_s, last_s)), jobs))

    def until(self, at_s: float) -> float:
        """Return the turns until this time, counted from the last forgotten one."""
        since_s, turns, jobs = next((c for c in reversed(self._changes) if c[0] <= at_s), self._changes[0])
        return turns + max(0.0, at_s - since_s) / jobs if jobs else turns

    def forget(self, before_s: float) -> None:
        """Forget changes that no window needs any more."""
        while len(self._changes) > 1 and self._changes[1][0] <= before_s:
            self._changes.popleft()


class _Jobs:
    """Jobs of one kind."""

    def __init__(self) -> None:
        self.turns = _Turns()
        #: The turns at the start of each running job, by its start event's number.
        self._began: dict[int, float] = {}
        #: Finished jobs that overlap a window that is not over yet.
        self._ended: deque[_Job] = deque(maxlen=_ENDED_MOST)
        #: By output level, and for all levels: a LOG does not show the level when a job starts.
        self._last: dict[int | None, deque[_Job]] = {}

    def begin(self, event: Event) -> None:
        self._began[event.sequence] = self.turns.until(event.monotonic_s)

    def end(self, event: Event, begin: Event | None) -> None:
        ended_s, written = event.monotonic_s, event.bytes if event.written_bytes is None else event.written_bytes
        if begin is None:
            began_s = ended_s - (event.elapsed_s or 0.0)
            turns = ended_s - began_s  # with how many jobs it shared is unknown
        else:
            began_s = begin.monotonic_s
            turns = self.turns.until(ended_s) - self._began.pop(begin.sequence)
        job = _Job(began_s, ended_s, turns, _Bytes(event.read_bytes or 0, written or 0))
        self._ended.append(job)
        for level in {event.output_level, None}:
            self._last.setdefault(level, deque(maxlen=_LIKE_THE_LAST)).append(job)

    def within(self, began_s: float, ended_s: float, running: list[Event]) -> _Bytes:
        """Return the bytes moved within a window; `running` are the start events of running jobs."""
        found = _Bytes()
        for job in self._ended:
            found.add(job.bytes, job.share(began_s, ended_s))
        from_, to = self.turns.until(began_s), self.turns.until(ended_s)
        for begin in running:
            last = self._last.get(begin.output_level, ())
            began = self._began[begin.sequence]
            all_turns, written = sum(job.turns for job in last), sum(job.bytes.written for job in last)
            if all_turns > 0 and written > 0:
                # Otherwise a blocked job would count as writing for ever: a flush has no more than its memtable.
                most = all_turns * max(job.bytes.written for job in last) / written
                turns = max(0.0, min(to, began + most) - max(from_, began))
                for job in last:
                    found.add(job.bytes, turns / all_turns)
        # An agent also reports events after its snapshot: the next window has a share of those jobs.
        while self._ended and self._ended[0].ended_s <= ended_s:
            self._ended.popleft()
        self.turns.forget(ended_s)
        numbers = {begin.sequence for begin in running}
        self._began = {number: turns for number, turns in self._began.items() if number in numbers}
        return found


def _overlap_s(began_s: float, ended_s: float, from_s: float, to_s: float) -> float:
    return max(0.0, min(ended_s, to_s) - max(began_s, from_s))


def _by_ticker(ticker: str, before: Snapshot, snapshot: Snapshot, otherwise: float | None) -> float | None:
    now, then = snapshot.tickers or {}, before.tickers or {}
    counted = rate(now.get(ticker), then.get(ticker), snapshot.monotonic_s - before.monotonic_s)
    return otherwise if counted is None else counted
