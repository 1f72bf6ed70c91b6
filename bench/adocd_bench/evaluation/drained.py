"""How a run was settled after its measured phase, in the run's own time."""

from collections.abc import Sequence
from pathlib import Path

from adocd.probes.log.events import CompactionFinished, FlushFinished, LogEvent, TrivialMove
from adocd_bench.errors import RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.loads.program import LoadOutcome
from adocd_bench.run.observe import ObservedRun
from adocd_bench.run.settle import Settlement

#: What RocksDB writes to its LOG for each compaction that it gives up for want of disk space, again and again
#: (db_impl_compaction_flush.cc, EnoughRoomForCompaction).
_NO_ROOM = "Cancelled compaction because not enough room"
#: What the system says (strerror of ENOSPC) where one ran and failed. RocksDB recovers when there is room again, so the
#: run goes on to its end.
_FULL = "No space left on device"


def see_room(database: Path) -> None:
    """Raise RunFailed if the disk was too small for a compaction: nothing that follows is the scheme's doing."""
    log = (database / "LOG").read_text(encoding="utf-8", errors="replace")
    if _NO_ROOM in log:
        raise RunFailed(
            "the disk was too small: RocksDB cancelled a compaction because there was not enough room for it"
        )
    if _FULL in log:
        raise RunFailed("the disk was too small: RocksDB found no space left on it, and had to try again")


def settled_of(outcome: LoadOutcome, seen: Settlement) -> raw.Settled | None:
    """Give the record; None for a program that is not drained.

    Raises RunFailed where the program ended before the owner's options were back.
    """
    if outcome.clients_ended_monotonic_s is None:
        return None
    restored_s, due = seen.restored_s, seen.due
    if seen.asked_s is None or restored_s is None or seen.owners_s is None or due is None:
        raise RunFailed(
            "the program closed its database before the owner's options were back, so its debt is not known; "
            f"the bench was waiting for {seen.waits_for}"
        )
    begin_s = outcome.begin_monotonic_s
    return raw.Settled(
        clients_ended_s=outcome.clients_ended_monotonic_s - begin_s,
        asked_s=seen.asked_s - begin_s,
        restored_s=restored_s - begin_s,
        owners_s=seen.owners_s - begin_s,
        changed=seen.changed or {},
        quiet_s=None if seen.quiet_s is None else seen.quiet_s - begin_s,
        running_flushes=due.running_flushes,
        running_compactions=due.running_compactions,
        flush_pending=due.flush_pending,
        compaction_pending=due.compaction_pending,
        memtables=due.memtables,
        pending_compaction_bytes=due.pending_compaction_bytes,
    )


def drain_s_of(settled: raw.Settled, observed: ObservedRun, outcome: LoadOutcome) -> float | None:
    """Give the time from the clients' end until the owner's options were back and the last job had ended.

    When a job ended the LOG says; the snapshots, which are some 0.1 s apart, only say that it was the last.
    """
    if settled.quiet_s is None:
        return None
    last_job_s = last_job_unix_s(observed.log) - observed.unix_minus_monotonic_s - outcome.begin_monotonic_s
    return max(settled.owners_s, last_job_s) - settled.clients_ended_s


def last_job_unix_s(log: Sequence[LogEvent]) -> float:
    """Say when the last flush or compaction ended, in unix seconds; 0 where there was none."""
    jobs = FlushFinished | CompactionFinished | TrivialMove
    return max((event.time_s for event in log if isinstance(event, jobs)), default=0.0)
