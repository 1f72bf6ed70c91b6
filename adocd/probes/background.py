"""What flushes and compactions move within a window, though an agent counts their bytes when they end. Pure.

Measured on librocksdb 7.8.3 with db_bench, 30 MB/s for flushes and compactions: of a compaction of 10 s that wrote
263 MB, nine seconds read as 0 and one as 263 MB. The tickers rocksdb.compact.write.bytes and .read.bytes grew by 30
MB/s meanwhile, for RocksDB adds to them every thousand keys (CompactionJob::ProcessKeyValueCompaction), but
rocksdb.flush.write.bytes grew in one piece, when the flush ended (FlushJob::WriteLevel0Table).

So compactions go by the tickers where there are Statistics. Flushes always, and compactions where there are none:

    within the window = sum over jobs that have ended     of its bytes x share of its time within the window
                      + sum over jobs that still run      of r x its turns within the window
    turns = seconds over how many jobs of its kind ran at once, for they share the device or the limiter
    r     = bytes over turns of the last eight jobs of its kind that have ended, of compactions those into the same
            level; nothing before the first has, and nothing once a job would have moved more than the largest of them

A job's time goes from its begin to its end, or, where nobody saw the begin, has the length that its end tells. Nothing
is corrected afterwards: what was reckoned wrong in one window is not made good in another, where it would be a lump.
So it is right in the mean as long as jobs go on as the last ones did, and behind by up to a job's length where they do
not; the windows need not add up to the counters, which are exact. Those are what is left where an agent reports no
events, or some were lost. On db_bench under a limiter of 40 MB/s, windows of 10 s were off by 1.9 MB/s (root mean
square; mostly the first compaction, of which nothing is known until it ends), those of the counters by 5.2.
"""

from collections import deque
from dataclasses import dataclass

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import Event, Snapshot
from adocd.probes.increase import rate
from adocd.probes.jobs import RunningJobs

#: statistics.h, COMPACT_READ_BYTES and COMPACT_WRITE_BYTES: of all databases that share the Statistics object.
_READ, _WRITTEN = "rocksdb.compact.read.bytes", "rocksdb.compact.write.bytes"
#: Of so many jobs that have ended the rate of those that run is taken.
_LIKE_THE_LAST = 8
#: As many as a window may have; of one that has more, the oldest are left out.
_ENDED_MOST = 4096


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes per second of a window; None where nobody reports them."""

    flush_written_bytes_per_s: float | None
    compaction_read_bytes_per_s: float | None
    compaction_written_bytes_per_s: float | None


class Background:
    """Follows one session's jobs."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._events = capabilities.events
        self._jobs = {"flush": _Jobs(), "compaction": _Jobs()}
        self._running = RunningJobs()
        self._has_lost = False

    def observe(self, snapshot: Snapshot) -> None:
        """Take in what happened; each snapshot once."""
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
        """Say what was moved between two snapshots, all that came by then observed; windows follow each other."""
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
        """Say how much of its time lies in a window; one that took none lies where it ended."""
        if self.ended_s <= self.began_s:
            return float(began_s < self.ended_s <= ended_s)
        return _overlap_s(self.began_s, self.ended_s, began_s, ended_s) / (self.ended_s - self.began_s)


class _Turns:
    """Time as one job has it that shares with others: a second counts half while two run, and nothing while none does.

    As in processor sharing; a job's turns are the difference between its end and its begin.
    """

    def __init__(self) -> None:
        #: From when on how many jobs share, and the turns until then.
        self._changes: deque[tuple[float, float, int]] = deque([(0.0, 0.0, 0)], maxlen=_ENDED_MOST)

    def share(self, at_s: float, jobs: int) -> None:
        """Let so many jobs share from now on; what was earlier than the last change is taken as that."""
        last_s, _, before = self._changes[-1]
        if jobs != before:
            self._changes.append((max(at_s, last_s), self.until(max(at_s, last_s)), jobs))

    def until(self, at_s: float) -> float:
        """Count the turns until a moment since the last one that was forgotten."""
        since_s, turns, jobs = next((c for c in reversed(self._changes) if c[0] <= at_s), self._changes[0])
        return turns + max(0.0, at_s - since_s) / jobs if jobs else turns

    def forget(self, before_s: float) -> None:
        """Forget what nobody asks for any more."""
        while len(self._changes) > 1 and self._changes[1][0] <= before_s:
            self._changes.popleft()


class _Jobs:
    """Jobs of one kind."""

    def __init__(self) -> None:
        self.turns = _Turns()
        #: The turns until each job that runs began, by its begin's number.
        self._began: dict[int, float] = {}
        #: Those that a window which is not over yet has a share of.
        self._ended: deque[_Job] = deque(maxlen=_ENDED_MOST)
        #: By output level, and of all: a LOG does not tell the level when a job begins.
        self._last: dict[int | None, deque[_Job]] = {}

    def begin(self, event: Event) -> None:
        self._began[event.sequence] = self.turns.until(event.monotonic_s)

    def end(self, event: Event, begin: Event | None) -> None:
        ended_s, written = event.monotonic_s, event.bytes if event.written_bytes is None else event.written_bytes
        if begin is None:
            began_s = ended_s - (event.elapsed_s or 0.0)
            turns = ended_s - began_s  # with whom it shared, nobody knows
        else:
            began_s = begin.monotonic_s
            turns = self.turns.until(ended_s) - self._began.pop(begin.sequence)
        job = _Job(began_s, ended_s, turns, _Bytes(event.read_bytes or 0, written or 0))
        self._ended.append(job)
        for level in {event.output_level, None}:
            self._last.setdefault(level, deque(maxlen=_LIKE_THE_LAST)).append(job)

    def within(self, began_s: float, ended_s: float, running: list[Event]) -> _Bytes:
        """Say what was moved within a window; `running` are the begins of those that still run."""
        found = _Bytes()
        for job in self._ended:
            found.add(job.bytes, job.share(began_s, ended_s))
        from_, to = self.turns.until(began_s), self.turns.until(ended_s)
        for begin in running:
            last = self._last.get(begin.output_level, ())
            began = self._began[begin.sequence]
            all_turns, written = sum(job.turns for job in last), sum(job.bytes.written for job in last)
            if all_turns > 0 and written > 0:
                # One that is held up would else be reckoned to write for ever: a flush has a memtable, and no more.
                most = all_turns * max(job.bytes.written for job in last) / written
                turns = max(0.0, min(to, began + most) - max(from_, began))
                for job in last:
                    found.add(job.bytes, turns / all_turns)
        # An agent tells of what has happened since its snapshot, too: the next window has a share of that.
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
