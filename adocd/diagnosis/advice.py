"""Advice against stalls: a few rules, each of which states what it saw and its source."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adocd.diagnosis.around import FULL_FRACTION, Around
from adocd.diagnosis.stall_options import OLD_JOBS
from adocd.model.in_words import size as in_bytes
from adocd.probes.log.events import Cause
from adocd.probes.log.stalls import StallFound

MIB = 1 << 20
GIB = 1 << 30
#: A cause with less than this share of the stall time gets no advice: it would change nothing.
_SHARE_LEAST = 0.05
#: RocksDB's defaults (include/rocksdb/options.h, advanced_options.h).
_WRITE_BUFFER_BYTES = 64 * MIB
_SLOWDOWN_FILES, _STOP_FILES = 20, 36
_SOFT_LIMIT_BYTES = 64 * GIB
_DELAYED_BYTES_PER_S = 16 * MIB
#: With two, one is flushed while the other fills, and writes stop if it is full before the flush is done.
_MEMTABLES_FEW = 3
#: max_background_jobs is 2 by default: one flush and one compaction (DBImpl::GetBGJobLimits).
_JOBS_FEW = 3
#: A quarter of them are for flushes: with fewer, only one flush runs at a time.
_JOBS_OF_TWO_FLUSHES = 8
#: A rate limiter counts as the bottleneck when flushes and compactions wrote this share of its rate.
_LIMITED_SHARE = 0.8
#: A device counts as full when it was at its limit for this share of the longest stall.
_AT_LIMIT_SHARE = 0.3
#: CPUs count as taken when some runnable task waited for a CPU for this share of the longest stall (PSI, `some`).
_NO_CPU_SHARE = 0.5

WRITE_STALLS = "RocksDB wiki, Write-Stalls"
_TUNING = "RocksDB wiki, RocksDB-Tuning-Guide"
_LIMITER = "RocksDB rate_limiter.h; ADOC, FAST'23, section 4.2"
_JUDGE = "RocksDB db/column_family.cc, ColumnFamilyData::GetWriteStallConditionAndCause"


@dataclass(frozen=True)
class Advice:
    """What to do about a cause in a column family, why, and the source."""

    cause: Cause
    column_family: str
    do: str
    why: str
    source: str


#: The option it changes, which identifies the advice when its figures change; what to do; why; the source.
_Found = Iterator[tuple[str, str, str, str]]
#: Returns the current values of the options of a column family that matter for a cause.
Values = Callable[[str, Cause], Mapping[str, str]]


def advise(
    stalls: Iterable[StallFound],
    around: Callable[[StallFound], Around | None] = lambda _: None,
    now: Values = lambda _family, _cause: {},
) -> list[Advice]:
    """Return advice, the worst cause first; `around` returns what disks and process did during a stall.

    A rule must hold with the options at the time of the longest stall, which caused it, and with those of `now`, which
    can be changed. So nothing is advised that a law or an operator has set since.
    """
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
        held_then = {subject for subject, *_ in rule(_Seen(by_cause[key], around))}
        for subject, do, why, source in rule(_Seen(by_cause[key], around, now(family, cause))):
            if subject in held_then and (cause, do) not in said:
                said.add((cause, do))
                advice.append(Advice(cause, family, do, why, source))
    return advice


def _memtable(seen: "_Seen") -> _Found:
    yield from _held_back(seen)
    count, size = seen.figure("max_write_buffer_number"), seen.figure("write_buffer_size")
    if count is not None and count <= _MEMTABLES_FEW:
        yield (
            "max_write_buffer_number",
            f"raise max_write_buffer_number from {count} to {count + 2}",
            f"with {count} memtables writes stop if the last one is full before the others are flushed; two more "
            "cost their memory, and with more than three RocksDB slows writes before it stops them",
            f"{WRITE_STALLS}; {_JUDGE}",
        )
    if size is not None and 0 < size < _WRITE_BUFFER_BYTES:
        yield (
            "write_buffer_size",
            f"raise write_buffer_size from {in_bytes(size)} to {in_bytes(_WRITE_BUFFER_BYTES)}",
            "small memtables fill faster than they are flushed; this is RocksDB's default, and ADOC's answer to memory "
            "overflow starts with the batch size too",
            "RocksDB options.h, write_buffer_size; ADOC, FAST'23, section 4",
        )
    jobs = seen.jobs
    if jobs is not None and jobs < _JOBS_OF_TWO_FLUSHES and seen.has_room:
        yield (
            "max_background_jobs",
            f"raise max_background_jobs from {jobs} to {_JOBS_OF_TWO_FLUSHES} or more",
            "RocksDB gives flushes a quarter of the jobs, at least one: only one flush could run at a time, and two "
            f"need {_JOBS_OF_TWO_FLUSHES} jobs",
            f"{WRITE_STALLS}; RocksDB db/db_impl, DBImpl::GetBGJobLimits",
        )
    yield from _delay(seen)


def _l0(seen: "_Seen") -> _Found:
    yield from _held_back(seen)
    yield from _compactions_off(seen)
    yield from _more_compactions(seen)
    if seen.figure("max_subcompactions") == 1 and seen.has_room:
        yield (
            "max_subcompactions",
            "raise max_subcompactions from 1 to 2 or 4, where there are CPUs to spare",
            "only one compaction from level 0 runs at a time, on one thread, whatever max_background_jobs is",
            f"RocksDB options.h, max_subcompactions; {_TUNING}",
        )
    slow, stop = seen.figure("level0_slowdown_writes_trigger"), seen.figure("level0_stop_writes_trigger")
    trigger = seen.figure("level0_file_num_compaction_trigger")
    if slow is not None and 0 <= slow < _SLOWDOWN_FILES and (trigger is None or slow <= 3 * trigger):
        room = "" if trigger is None else f": a compaction starts only at {trigger}, so it has little time"
        higher = "" if stop is None or stop >= _STOP_FILES else f", level0_stop_writes_trigger to {_STOP_FILES}"
        yield (
            "level0_slowdown_writes_trigger",
            f"raise level0_slowdown_writes_trigger to {_SLOWDOWN_FILES}{higher}",
            f"writes are slowed at {slow} files{room}; these are RocksDB's defaults, and reads look into more files "
            "then",
            f"RocksDB advanced_options.h; {WRITE_STALLS}",
        )
    size = seen.figure("write_buffer_size")
    if size is not None and 0 < size < _WRITE_BUFFER_BYTES:
        yield (
            "write_buffer_size",
            f"raise write_buffer_size from {in_bytes(size)} to {in_bytes(_WRITE_BUFFER_BYTES)}",
            "each flush makes one file of level 0, so smaller memtables make more of them",
            f"{WRITE_STALLS}; RocksDB options.h, write_buffer_size",
        )
    yield from _delay(seen)


def _pending(seen: "_Seen") -> _Found:
    yield from _held_back(seen)
    yield from _compactions_off(seen)
    yield from _more_compactions(seen)
    soft = seen.figure("soft_pending_compaction_bytes_limit")
    if soft is not None and 0 < soft < _SOFT_LIMIT_BYTES:
        yield (
            "soft_pending_compaction_bytes_limit",
            f"raise soft_pending_compaction_bytes_limit from {in_bytes(soft)} (RocksDB's default is "
            f"{in_bytes(_SOFT_LIMIT_BYTES)}), and the hard limit with it",
            "a burst's backlog does no harm if the disk has space for it and a quieter time follows; otherwise the "
            "stall only comes later",
            f"{WRITE_STALLS}; RocksDB advanced_options.h, soft_pending_compaction_bytes_limit",
        )
    yield from _delay(seen)


def _held_back(seen: "_Seen") -> _Found:
    """Say what holds flushes and compactions back, the surest cause first.

    If they reach the rate limiter's rate and the device could give more, the limiter is the cause. Busy CPUs are then
    a coincidence, and more of them would change nothing.
    """
    if seen.is_limited and not seen.is_device_full:
        yield from _limiter(seen)
        yield from _full(seen)
    else:
        yield from _full(seen)
        yield from _limiter(seen)


def _full(seen: "_Seen") -> _Found:
    """Name the bottleneck that more jobs would only divide."""
    around = seen.around
    if around is not None and seen.is_device_full:
        yield (
            "device",
            "give the database a faster device or a larger quota, or make it write less to this one with larger "
            "memtables or stronger compression of the deepest level",
            f"the device was at its limit for {around.at_limit_fraction or 0:.0%} of the longest of these stalls, with "
            f"{in_bytes(around.write_bytes_per_s or 0)}/s written and {in_bytes(around.read_bytes_per_s or 0)}/s read: "
            "flushes and compactions already used all of it, and running more at once would only divide it",
            "ADOC, FAST'23, section 4.2",
        )
    if around is not None and seen.is_cpu_full:
        yield (
            "cpu",
            "give the database more CPU, or make flushes and compactions cheaper with a lighter compression",
            f"its process used {around.cpu_cores or 0:.1f} of the {around.cpu_limit_cores or 0:.3g} CPUs available to "
            "it in the longest of these stalls",
            f"{_TUNING}; RocksDB options.h, compression",
        )
    elif around is not None and seen.waits_for_cpu:
        yield (
            "cpu",
            "give the database more CPU: move other work away or raise its CPU share",
            f"tasks of its cgroup, or of the machine if the cgroup's are unknown, waited for a CPU for "
            f"{around.cpu_pressure_some_fraction or 0:.0%} of the longest of these stalls: more jobs at once would "
            "only wait with them",
            "Linux Documentation/accounting/psi.rst",
        )


def _limiter(seen: "_Seen") -> _Found:
    """Blame the rate limiter, which limits flushes and compactions only."""
    if seen.is_limited:
        yield (
            "rate_limiter",
            f"raise the rate limiter from {in_bytes(seen.limiter_bytes_per_s or 0)}/s",
            f"it caps what flushes and compactions write, however many run; {seen.wrote}",
            _LIMITER,
        )
    elif seen.limiter_bytes_per_s is None and seen.has_limiter:
        yield (
            "rate_limiter",
            "check whether the rate limiter's rate is too low",
            "there is one, it caps what flushes and compactions write, and a LOG does not show its rate",
            _LIMITER,
        )


def _compactions_off(seen: "_Seen") -> _Found:
    if seen.value("disable_auto_compactions") in ("1", "true"):
        yield (
            "disable_auto_compactions",
            "set disable_auto_compactions to false",
            "automatic compaction is off, so nothing reduces the backlog that writes wait for",
            "RocksDB advanced_options.h, disable_auto_compactions",
        )


def _more_compactions(seen: "_Seen") -> _Found:
    jobs = seen.jobs
    if jobs is not None and jobs <= _JOBS_FEW and seen.has_room:
        yield (
            "max_background_jobs",
            f"raise max_background_jobs from {jobs} to the number of CPUs, at least to 4",
            f"with {jobs} jobs {'one compaction' if jobs < 3 else 'two compactions'} may run at a time; more help "
            f"while CPU and device have room{_room(seen.around)}",
            f"{WRITE_STALLS}; RocksDB db/db_impl, DBImpl::GetBGJobLimits",
        )


def _room(around: Around | None) -> str:
    if around is None:
        return ", which a LOG does not show"
    cpus = "the process itself did not use all of its CPUs" if around.cpu_fraction is not None else ""
    device = "the device was not at its limit" if around.at_limit_fraction is not None else ""
    known = " and ".join(filter(None, (cpus, device)))
    return f": in the longest of these stalls {known}" if known else ", which was not measured"


def _delay(seen: "_Seen") -> _Found:
    rate = seen.figure("delayed_write_rate")
    if rate is not None and 0 < rate < _DELAYED_BYTES_PER_S and seen.mostly_delayed:
        yield (
            "delayed_write_rate",
            f"raise delayed_write_rate from {in_bytes(rate)}/s to {in_bytes(_DELAYED_BYTES_PER_S)}/s or more",
            "writes were slowed more than they were stopped, and RocksDB starts at this rate and lowers it further",
            "RocksDB options.h, delayed_write_rate; db/write_controller.h",
        )


class _Seen:
    """The circumstances of the longest stall of one kind."""

    def __init__(
        self,
        stalls: Sequence[StallFound],
        around: Callable[[StallFound], Around | None],
        now: Mapping[str, str] | None = None,
    ) -> None:
        """Take the options at the time of the longest stall, or those of `now` where they are known."""
        longest = max(stalls, key=lambda stall: stall.stalled_s)
        self._options: Mapping[str, str] = {**longest.led.options, **(now or {})}
        self.around = around(longest)
        self.is_device_full = self.around is not None and (self.around.at_limit_fraction or 0) >= _AT_LIMIT_SHARE
        cpu = None if self.around is None else self.around.cpu_fraction
        self.is_cpu_full = cpu is not None and cpu >= FULL_FRACTION
        waiting = None if self.around is None else self.around.cpu_pressure_some_fraction
        self.waits_for_cpu = waiting is not None and waiting >= _NO_CPU_SHARE
        #: Bytes/s, as far as known.
        self.limiter_bytes_per_s = self.figure("rate_limiter_bytes_per_s")
        self.has_limiter = self.value("rate_limiter") not in (None, "0", "0x0", "(nil)")
        led = longest.led
        before = (led.flushed_bytes + led.compacted_bytes) / led.seconds
        during = (None if self.around is None else self.around.jobs_write_bytes_per_s) or 0.0
        #: What the limiter let through, by samples in the stall or by the jobs that ended in the minute before it.
        self.wrote = (
            f"in the longest of these stalls they wrote {in_bytes(during)}/s"
            if during >= before
            else f"in the {led.seconds} s before the longest of these stalls they wrote {in_bytes(before)}/s together"
        )
        limit = self.limiter_bytes_per_s or 0
        self.is_limited = limit > 0 and max(during, before) >= _LIMITED_SHARE * limit
        self.has_room = not (self.is_device_full or self.is_cpu_full or self.waits_for_cpu or self.is_limited)
        delayed_s = sum(stall.stalled_s for stall in stalls if stall.condition == "delayed")
        self.mostly_delayed = delayed_s > sum(stall.stalled_s for stall in stalls) / 2

    @property
    def jobs(self) -> int | None:
        """max_background_jobs; None if it is unknown, or has no effect because an old option is set (options.h)."""
        is_overridden = any(self.figure(old) not in (None, -1) for old in OLD_JOBS)
        return None if is_overridden else self.figure("max_background_jobs")

    def value(self, name: str) -> str | None:
        return self._options.get(name)

    def figure(self, name: str) -> int | None:
        value = self._options.get(name, "")
        return int(value) if value.removeprefix("-").isdecimal() and len(value) < 25 else None


_RULES: Mapping[Cause, Callable[[_Seen], _Found]] = {
    "memtable": _memtable,
    "l0": _l0,
    "pending_bytes": _pending,
}
