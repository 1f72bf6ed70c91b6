"""Running flushes and compactions, by the events of one session. Pure."""

from collections.abc import Iterator

from adocd.model.snapshot import Event, Snapshot

_RUNNING = {"flush": "rocksdb.num-running-flushes", "compaction": "rocksdb.num-running-compactions"}
#: Events that end a job.
ENDS = ("flush_end", "compaction_end")
_Key = tuple[str, str, int]


class RunningJobs:
    """Keeps the start event of each job that has not ended; takes each event once, in order.

    RocksDB notifies its listeners of the end of a flush only if it succeeded (DBImpl::FlushMemTableToOutputFile), and
    flushes of a column family succeed in order. So a flush is over when a later one has ended, and a job of either kind
    is over when the properties show none running.
    """

    def __init__(self) -> None:
        self._begun: dict[_Key, Event] = {}

    def take(self, event: Event) -> Event | None:
        """Take an event; return the start event of the job that it ends, None if that was not seen."""
        kind, _, what = event.kind.partition("_")
        if kind not in _RUNNING or what not in ("begin", "end"):
            return None
        key = kind, event.column_family or "", event.job or 0
        if what == "begin":
            self._begun[key] = event
            return None
        begin = self._begun.pop(key, None)
        if kind == "flush":
            for one in [one for one in self._begun if one[:2] == key[:2] and one[2] < key[2]]:
                del self._begun[one]
        return begin

    def look(self, snapshot: Snapshot) -> None:
        """Forget jobs that ended without an event; call it after all events of this snapshot."""
        looked_s = snapshot.monotonic_s - snapshot.collect_s
        idle = [kind for kind, running in _RUNNING.items() if snapshot.properties.get(running) == 0]
        for key in [key for key, begin in self._begun.items() if key[0] in idle and begin.monotonic_s < looked_s]:
            del self._begun[key]

    def forget(self) -> None:
        """Forget all jobs because events were lost: any job may have ended."""
        self._begun.clear()

    def of(self, family: str) -> set[int]:
        """Return the running jobs of a column family."""
        return {number for _, its, number in self._begun if its == family}

    def __iter__(self) -> Iterator[Event]:
        """Return the start events of all running jobs."""
        return iter(self._begun.values())
