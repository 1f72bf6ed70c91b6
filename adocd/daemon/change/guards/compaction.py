"""The safety guard over automatic compaction: limits for how long it is off, level-0 files and pending bytes.

disable_auto_compactions also disables the stalls on level-0 files and on pending compaction bytes, so RocksDB itself
does not bound the backlog, and switching compaction on again too late stops writes at once (HAZARDS 8).
"""

from dataclasses import dataclass, replace

from adocd.daemon.change.guards.guard import Beside, GuardRefusal
from adocd.model.judged import judged
from adocd.model.knob import MIB
from adocd.model.overflow import Overflow
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import Values, of_family

SWITCH = "disable_auto_compactions"
_SLOWDOWN, _SOFT = "level0_slowdown_writes_trigger", "soft_pending_compaction_bytes_limit"


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """Limits beyond which compaction is switched on, whatever a law or an operator wants."""

    #: Longest time off at a stretch, in seconds. A peak that lasts longer is the normal load.
    off_s: float = 600.0
    #: Most level-0 files. Every read looks into each of them unless a Bloom filter rules the file out.
    l0_files: int = 200
    #: Most pending compaction bytes (rocksdb.estimate-pending-compaction-bytes).
    pending_bytes: int = 64 * 1024 * MIB


class CompactionGuard:
    """Remembers, by column family, since when compaction has been off, in the samples' own time."""

    def __init__(self, limits: CompactionLimits) -> None:
        self.limits = limits
        self._off_since_s: dict[str, float] = {}
        #: Why each column family had to compact again; kept until level 0 and pending bytes no longer slow writes down.
        self._draining: dict[str, str] = {}

    def observe(self, sample: Sample, originals: Values) -> None:
        """Take in a sample, before the guard is asked about it; `originals`: the owner's values, as far as known."""
        for cf in sample.column_families:
            if cf.options.disable_auto_compactions:
                since_s = self._off_since_s.setdefault(cf.name, sample.monotonic_s)
                if (why := self._beyond(cf, sample.monotonic_s - since_s)) is not None:
                    self._draining[cf.name] = why
            else:
                self._off_since_s.pop(cf.name, None)
                if cf.name in self._draining and _is_drained(cf, originals):
                    del self._draining[cf.name]

    def __call__(self, wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
        """Refuse to switch or leave compaction off beyond a limit; if it is off, switch it on.

        A host that runs with compaction off keeps it off: no guard prevents restoring an original (guard.check).
        """
        refusals = []
        for cf in sample.column_families:
            switch, is_off = of_family(cf.name, SWITCH), cf.options.disable_auto_compactions
            if wanted.get(switch, "true" if is_off else "false") != "true":
                continue
            why = self._draining.get(cf.name) or self._beyond(cf, 0.0)
            if why is not None:
                instead = {switch: "false"} if is_off else {}
                refusals.append(GuardRefusal("compaction", frozenset({switch}), why, instead))
        return tuple(refusals)

    def _beyond(self, cf: ColumnFamilySample, off_s: float) -> str | None:
        limits = self.limits
        what = f"compaction of {cf.name} must go on:"
        if off_s >= limits.off_s:
            return f"{what} it was off for {off_s:.0f} s, the limit is {limits.off_s:g} s"
        if cf.l0_files >= limits.l0_files:
            return f"{what} level 0 has {cf.l0_files} files, the limit is {limits.l0_files}"
        if cf.pending_compaction_bytes >= limits.pending_bytes:
            pending, limit = cf.pending_compaction_bytes // MIB, limits.pending_bytes // MIB
            return f"{what} {pending} MiB are waiting for it, the limit is {limit} MiB"
        return None


def _is_drained(cf: ColumnFamilySample, originals: Values) -> bool:
    """Whether level 0 and pending bytes would slow no writes down under the owner's limits, where compaction is on.

    Who wants compaction off often has the limits out of the way, too, so those in force say nothing.
    """
    slowdown, soft = (originals.get(of_family(cf.name, option)) for option in (_SLOWDOWN, _SOFT))
    owners = replace(
        cf.options,
        level0_slowdown_writes_trigger=int(slowdown or cf.options.level0_slowdown_writes_trigger),
        soft_pending_compaction_bytes_limit=int(soft or cf.options.soft_pending_compaction_bytes_limit),
    )
    return not {Overflow.LEVEL0, Overflow.REDUNDANCY} & set(judged(cf, owners).overflow)
