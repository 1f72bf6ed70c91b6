"""What would likely help against stalls, and why: few rules, each of which says what it saw and where it is from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adocd.diagnosis.stalls import StallFound
from adocd.probes.log.events import Cause

MIB = 1 << 20
GIB = 1 << 30
#: Causes that made less than this share of the stalls get no advice: it would do nothing.
_SHARE_LEAST = 0.05
#: RocksDB's defaults (include/rocksdb/options.h, advanced_options.h).
_WRITE_BUFFER_BYTES = 64 * MIB
_SLOWDOWN_FILES, _STOP_FILES = 20, 36
_SOFT_LIMIT_BYTES = 64 * GIB
_DELAYED_BYTES_PER_S = 16 * MIB
#: With two, one is flushed while the other fills, and writes stop whenever the flush is not done by then.
_MEMTABLES_FEW = 3
#: max_background_jobs is 2 by default: one flush and one compaction (DBImpl::GetBGJobLimits).
_JOBS_FEW = 3

WRITE_STALLS = "RocksDB wiki, Write-Stalls"
_TUNING = "RocksDB wiki, RocksDB-Tuning-Guide"
_JUDGE = "RocksDB db/column_family.cc, ColumnFamilyData::GetWriteStallConditionAndCause"


@dataclass(frozen=True)
class Advice:
    """What to do about a cause in a column family, why, and who says so."""

    cause: Cause
    column_family: str
    do: str
    why: str
    source: str


_Found = Iterator[tuple[str, str, str]]


def advise(stalls: Iterable[StallFound]) -> list[Advice]:
    """Say what would likely help, the worst cause first."""
    by_cause: dict[tuple[Cause, str], list[StallFound]] = {}
    for stall in stalls:
        by_cause.setdefault((stall.cause, stall.column_family), []).append(stall)
    lasted_s = {key: sum(stall.stalled_s for stall in found) for key, found in by_cause.items()}
    least_s = _SHARE_LEAST * sum(lasted_s.values())
    advice: list[Advice] = []
    said: set[tuple[Cause, str]] = set()
    for key in sorted(lasted_s, key=lambda each: -lasted_s[each]):
        cause, family = key
        rule = _RULES.get(cause)
        if rule is None or lasted_s[key] <= 0 or lasted_s[key] < least_s:
            continue
        for do, why, source in rule(by_cause[key]):
            if (cause, do) not in said:
                said.add((cause, do))
                advice.append(Advice(cause, family, do, why, source))
    return advice


def _memtable(stalls: Sequence[StallFound]) -> _Found:
    seen = _Seen(stalls)
    count, size = seen.figure("max_write_buffer_number"), seen.figure("write_buffer_size")
    if count is not None and count <= _MEMTABLES_FEW:
        yield (
            f"raise max_write_buffer_number from {count} to {count + 2}",
            f"with {count} memtables writes stop when the last is full before the flush of the others is done; two "
            "more cost their memory",
            f"{WRITE_STALLS}; {_JUDGE}",
        )
    if size is not None and 0 < size < _WRITE_BUFFER_BYTES:
        yield (
            f"raise write_buffer_size from {_bytes(size)} to {_bytes(_WRITE_BUFFER_BYTES)}",
            "small memtables fill faster than they are flushed; this is RocksDB's default, and ADOC's answer to memory "
            "overflow begins with the batch size, too",
            "RocksDB options.h, write_buffer_size; ADOC, FAST'23, section 4",
        )
    jobs = seen.figure("max_background_jobs")
    if jobs is not None and jobs <= _JOBS_FEW and seen.figure("max_background_flushes") in (None, -1):
        yield (
            f"raise max_background_jobs from {jobs} to the number of CPUs",
            "a quarter of the jobs may flush, at least one: one flush at a time is all there was",
            f"{WRITE_STALLS}; RocksDB db/db_impl, DBImpl::GetBGJobLimits",
        )


def _l0(stalls: Sequence[StallFound]) -> _Found:
    seen = _Seen(stalls)
    yield from _compactions_off(seen)
    yield from _more_compactions(seen)
    if seen.figure("max_subcompactions") == 1:
        yield (
            "raise max_subcompactions from 1 to 2 or 4, where there are CPUs to spare",
            "a compaction from level 0 runs alone, as one thread, whatever max_background_jobs says",
            f"RocksDB options.h, max_subcompactions; {_TUNING}",
        )
    slow, stop = seen.figure("level0_slowdown_writes_trigger"), seen.figure("level0_stop_writes_trigger")
    trigger = seen.figure("level0_file_num_compaction_trigger")
    if slow is not None and 0 <= slow < _SLOWDOWN_FILES and (trigger is None or slow <= 3 * trigger):
        room = "" if trigger is None else f": a compaction begins at {trigger}, which leaves it little time"
        higher = "" if stop is None or stop >= _STOP_FILES else f", level0_stop_writes_trigger to {_STOP_FILES}"
        yield (
            f"raise level0_slowdown_writes_trigger to {_SLOWDOWN_FILES}{higher}",
            f"writes are slowed at {slow} files{room}; these are RocksDB's defaults, and reads look into more files "
            "then",
            f"RocksDB advanced_options.h; {WRITE_STALLS}",
        )
    size = seen.figure("write_buffer_size")
    if size is not None and 0 < size < _WRITE_BUFFER_BYTES:
        yield (
            f"raise write_buffer_size from {_bytes(size)} to {_bytes(_WRITE_BUFFER_BYTES)}",
            "each flush makes one file of level 0, so smaller memtables make more of them",
            f"{WRITE_STALLS}; RocksDB options.h, write_buffer_size",
        )
    yield from _delay(seen)


def _pending(stalls: Sequence[StallFound]) -> _Found:
    seen = _Seen(stalls)
    yield from _compactions_off(seen)
    yield from _more_compactions(seen)
    soft = seen.figure("soft_pending_compaction_bytes_limit")
    if soft is not None and 0 < soft < _SOFT_LIMIT_BYTES:
        yield (
            f"raise soft_pending_compaction_bytes_limit from {_bytes(soft)} (RocksDB's default is "
            f"{_bytes(_SOFT_LIMIT_BYTES)}), and the hard limit with it",
            "the backlog of a burst is no danger as long as there is space for it and a quieter time comes; where none "
            "comes, the stall only comes later",
            f"{WRITE_STALLS}; RocksDB advanced_options.h, soft_pending_compaction_bytes_limit",
        )
    yield from _delay(seen)


def _compactions_off(seen: "_Seen") -> _Found:
    if seen.value("disable_auto_compactions") in ("1", "true"):
        yield (
            "set disable_auto_compactions to false",
            "automatic compaction is off, so nothing takes away what writes wait for",
            "RocksDB advanced_options.h, disable_auto_compactions",
        )


def _more_compactions(seen: "_Seen") -> _Found:
    jobs = seen.figure("max_background_jobs")
    if jobs is not None and jobs <= _JOBS_FEW and seen.figure("max_background_compactions") in (None, -1):
        yield (
            f"raise max_background_jobs from {jobs} to the number of CPUs",
            f"with {jobs} jobs {'one compaction' if jobs < 3 else 'two compactions'} may run at a time; more help as "
            "long as CPU and device are not full, which a LOG does not tell",
            f"{WRITE_STALLS}; RocksDB db/db_impl, DBImpl::GetBGJobLimits",
        )


def _delay(seen: "_Seen") -> _Found:
    rate = seen.figure("delayed_write_rate")
    if rate is not None and 0 < rate < _DELAYED_BYTES_PER_S and seen.mostly_delayed:
        yield (
            f"raise delayed_write_rate from {_bytes(rate)}/s to {_bytes(_DELAYED_BYTES_PER_S)}/s or more",
            "writes were slowed more than they were stopped, and RocksDB begins at this rate and goes down from there",
            "RocksDB options.h, delayed_write_rate; db/write_controller.h",
        )


class _Seen:
    """What held in the longest of some stalls of one kind."""

    def __init__(self, stalls: Sequence[StallFound]) -> None:
        self._options: Mapping[str, str] = max(stalls, key=lambda stall: stall.stalled_s).led.options
        delayed_s = sum(stall.stalled_s for stall in stalls if stall.condition == "delayed")
        self.mostly_delayed = delayed_s > sum(stall.stalled_s for stall in stalls) / 2

    def value(self, name: str) -> str | None:
        return self._options.get(name)

    def figure(self, name: str) -> int | None:
        value = self._options.get(name, "")
        return int(value) if value.removeprefix("-").isdecimal() and len(value) < 25 else None


_RULES: Mapping[Cause, Callable[[Sequence[StallFound]], _Found]] = {
    "memtable": _memtable,
    "l0": _l0,
    "pending_bytes": _pending,
}


def _bytes(value: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value} bytes"
