"""When RocksDB delays and stops writes, and by how much (db/column_family.cc, db/write_controller.cc, 7.8)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from adocd.model.snapshot import Condition
from adocd.simulator.options import FamilyOptions

Cause = Literal["memtable", "l0", "pending_bytes"]
#: All causes of a stall, in RocksDB's precedence.
CAUSES: tuple[Cause, ...] = ("memtable", "l0", "pending_bytes")

#: SetupDelay's factors for the rate: when the debt did not shrink, when it shrank, near a stop, and after the delay.
_INCREASE_SLOWDOWN = 0.8
_DECREASE_SLOWDOWN = 1 / 0.8
_NEAR_STOP = 0.6
_RECOVERED = 1.4
_MIN_RATE_BYTES_PER_S = 16 * 1024
#: min_write_buffer_number_to_merge, which cannot be changed live.
_MERGE = 1


@dataclass(frozen=True, slots=True)
class StallInputs:
    """The figures that decide the stall condition."""

    unflushed_memtables: int
    l0_files: int
    pending_bytes: int


def condition_of(load: StallInputs, options: FamilyOptions) -> tuple[Condition, Cause | None]:
    """Return the stall condition and its cause (ColumnFamilyData::GetWriteStallConditionAndCause)."""
    if (cause := _stops(load, options)) is not None:
        return "stopped", cause
    if (cause := _delays(load, options)) is not None:
        return "delayed", cause
    return "normal", None


def _stops(load: StallInputs, options: FamilyOptions) -> Cause | None:
    if load.unflushed_memtables >= options.max_write_buffer_number:
        return "memtable"
    if options.disable_auto_compactions:
        return None
    if load.l0_files >= options.level0_stop_writes_trigger:
        return "l0"
    return "pending_bytes" if 0 < options.hard_pending_compaction_bytes_limit <= load.pending_bytes else None


def _delays(load: StallInputs, options: FamilyOptions) -> Cause | None:
    number, unflushed = options.max_write_buffer_number, load.unflushed_memtables
    if number > 3 and unflushed >= number - 1 and unflushed - 1 >= _MERGE:
        return "memtable"
    if options.disable_auto_compactions:
        return None
    if 0 <= options.level0_slowdown_writes_trigger <= load.l0_files:
        return "l0"
    return "pending_bytes" if 0 < options.soft_pending_compaction_bytes_limit <= load.pending_bytes else None


@dataclass(slots=True)
class WriteController:
    """The delay with its adaptive rate, and the stop, of a database with one column family.

    `rate_bytes_per_s` is the delayed write rate, kept while there is no delay. `counts` are RocksDB's own, by agents'
    names (`l0_stops`, ...): each recalculation that finds the condition adds one.
    """

    max_rate_bytes_per_s: int
    rate_bytes_per_s: int = 0
    condition: Condition = "normal"
    cause: Cause | None = None
    counts: Counter[str] = field(default_factory=Counter)
    _pressure: bool = False
    _debt_before: int = 0

    def __post_init__(self) -> None:
        self.set_max_rate(self.max_rate_bytes_per_s)

    @property
    def needs_speedup(self) -> bool:
        """Whether several compactions may run at once (WriteController::NeedSpeedupCompaction)."""
        return self._pressure or self.condition != "normal"

    def set_max_rate(self, bytes_per_s: int) -> None:
        """Take a delayed_write_rate. Any effective SetDBOptions calls this and resets the adapted rate (HAZARDS 6)."""
        self.max_rate_bytes_per_s = self.rate_bytes_per_s = max(1, bytes_per_s)

    def recalculate(self, load: StallInputs, options: FamilyOptions) -> None:
        """Recalculate the condition and adapt a continuing delay (RecalculateWriteStallConditions).

        RocksDB does so at every memtable switch, end of a flush or compaction, and SetOptions.
        """
        was = self.condition
        condition, cause = condition_of(load, options)
        if condition == "delayed":
            self._set_rate(self._delay(load, options, cause, was))
        elif condition == "normal" and was == "delayed":
            self._set_rate(int(self.rate_bytes_per_s * _RECOVERED))
        if cause is not None:
            self.counts[f"{cause}_{'stops' if condition == 'stopped' else 'slowdowns'}"] += 1
        self.condition, self.cause = condition, cause
        self._pressure = condition == "normal" and _has_pressure(load, options)
        self._debt_before = load.pending_bytes

    def _delay(self, load: StallInputs, options: FamilyOptions, cause: Cause | None, was: Condition) -> int:
        """Return the rate at which the delay starts or continues (SetupDelay)."""
        rate = self.rate_bytes_per_s
        if options.disable_auto_compactions:
            return self.max_rate_bytes_per_s
        # Only a continuing delay is adapted. After a stop the rate is the one from before it: with one column family
        # the penalty for having been stopped never applies, because no other one delays writes.
        if was != "delayed" or self.max_rate_bytes_per_s <= _MIN_RATE_BYTES_PER_S:
            return rate
        if _is_near_stop(load, options, cause):
            return max(int(rate * _NEAR_STOP), _MIN_RATE_BYTES_PER_S)
        if 0 < self._debt_before <= load.pending_bytes:
            return max(int(rate * _INCREASE_SLOWDOWN), _MIN_RATE_BYTES_PER_S)
        return int(rate * _DECREASE_SLOWDOWN) if self._debt_before > load.pending_bytes else rate

    def _set_rate(self, bytes_per_s: int) -> None:
        self.rate_bytes_per_s = min(self.max_rate_bytes_per_s, max(1, bytes_per_s))


def _is_near_stop(load: StallInputs, options: FamilyOptions, cause: Cause | None) -> bool:
    if cause == "l0":
        return load.l0_files >= options.level0_stop_writes_trigger - 2
    hard, soft = options.hard_pending_compaction_bytes_limit, options.soft_pending_compaction_bytes_limit
    return cause == "pending_bytes" and hard > 0 and load.pending_bytes - soft > 3 * (hard - soft) // 4


def _has_pressure(load: StallInputs, options: FamilyOptions) -> bool:
    """Whether compactions should speed up before writes are delayed (the last branch of the recalculation)."""
    trigger, slowdown = options.level0_file_num_compaction_trigger, options.level0_slowdown_writes_trigger
    # A quarter of the way from compaction to slowdown, or twice the trigger (GetL0FileCountForCompactionSpeedup).
    speedup = min(2 * trigger, trigger + (slowdown - trigger) // 4)
    soft = options.soft_pending_compaction_bytes_limit
    return (trigger >= 0 and load.l0_files >= speedup) or load.pending_bytes >= soft // 4
