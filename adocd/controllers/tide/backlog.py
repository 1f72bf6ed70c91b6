"""How much level 0 may hold in a flood, how the base level comes down again, and what is still owed and merged."""

from collections.abc import Callable
from dataclasses import dataclass

from adocd.controllers.tide.parameters import TideParameters
from adocd.model.knob import Knob
from adocd.model.levels import LevelTargets
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

#: Of the free space, of the soft limit of pending compaction bytes, and of the hard one.
_FREE_SHARE, _SOFT_SHARE, _HARD_SHARE = 3, 2, 2
#: The base level comes down in steps of at least a fifth, or of any size where a quarter of the soft limit is pending.
_STEP, _LITTLE_SHARE = 0.8, 4
#: Debt that has not become less by a hundredth for so long does not become less, in s.
_LESS, _CONSTANT_S = 0.99, 60.0
#: Fewer files say nothing of the size of a file.
_FILES_LEAST = 4


@dataclass(frozen=True, slots=True)
class Bound:
    """What level 0 may hold: so many files of this size in bytes, which is what a flush added when it was set."""

    files: int
    file_bytes: int


NO_BOUND = Bound(0, 0)


def levels_of(cf: ColumnFamilySample, sample: Sample, base_bytes: int, more_bytes: int = 0) -> LevelTargets | None:
    """Return the levels as they would be with this base level, and with so many bytes more in it; None if unknown."""
    if cf.level_bytes is None:
        return None
    options = sample.options.column_families.get(cf.name, {})
    multiplier = float(options.get("max_bytes_for_level_multiplier", "10"))
    is_dynamic = options.get("level_compaction_dynamic_level_bytes") == "true"
    found = LevelTargets.of(cf.level_bytes, base_bytes, multiplier, is_dynamic=is_dynamic)
    if not more_bytes:
        return found
    sizes = list(cf.level_bytes)
    sizes[found.base] += more_bytes
    return LevelTargets.of(sizes, base_bytes, multiplier, is_dynamic=is_dynamic)


def base_level_bytes(cf: ColumnFamilySample, sample: Sample) -> int:
    """Return what the level holds into which level 0 is merged; 0 if it is unknown."""
    levels = levels_of(cf, sample, cf.options.max_bytes_for_level_base_bytes)
    return 0 if levels is None else levels.sizes[levels.base]


def file_bytes(cf: ColumnFamilySample, memtable_bytes: int) -> int:
    """Return the size of a file in level 0: a memtable, or more, because one flush may take several."""
    if cf.level_bytes is None or cf.l0_files < _FILES_LEAST:
        return memtable_bytes
    return max(memtable_bytes, cf.level_bytes[0] // cf.l0_files)


def most_bytes(
    cf: ColumnFamilySample,
    sample: Sample,
    parameters: TideParameters,
    *,
    device: float | None,
    free: int | None,
    sharers: int,
) -> int:
    """Return the most bytes that this column family's level 0 may hold, one of `sharers` in a flood.

    `device` is what flushes and compactions may count on in bytes/s, `free` the free space in bytes; None if unknown.
    """
    allowed = sample.allowance
    part = 1.0 if allowed is None else max(allowed.device_share, allowed.fair_share)
    limits = [part * parameters.debt_max_bytes / sharers]
    if device is not None:
        limits.append(device * parameters.pay_back_s / 2 / sharers)
    if free is not None and cf.level_bytes is not None:
        # What level 0 holds has been taken already; its merge also writes what the base level holds.
        room = free + cf.level_bytes[0]
        if allowed is not None and allowed.space_bytes is not None:
            room = min(room, allowed.space_bytes)
        limits.append(max(0.0, (room - base_level_bytes(cf, sample)) / _FREE_SHARE / sharers))
    if soft := owners_value(Knob.SOFT_PENDING_LIMIT, sample, cf.name):
        limits.append(soft / _SOFT_SHARE)
    most = int(min(limits))
    return min(most, _until_pending(cf, sample, most))


def _until_pending(cf: ColumnFamilySample, sample: Sample, most: int) -> int:
    """Return the bytes up to which the owner's base level, if it came back at once, would not stop writes.

    What level 0 hands down is due then in each level below that is full.
    """
    hard = owners_value(Knob.HARD_PENDING_LIMIT, sample, cf.name) or 0
    owners = owners_value(Knob.LEVEL_BASE_SIZE, sample, cf.name)
    if hard <= 0 or owners is None or cf.level_bytes is None:
        return most

    def is_too_much(more: int) -> bool:
        levels = levels_of(cf, sample, owners, more)
        return levels is not None and levels.pending_bytes(is_l0_due=False) > hard / _HARD_SHARE

    return most if not is_too_much(most) else _bisected(0, most, is_too_much)


def coming_down(wanted: int, cf: ColumnFamilySample, sample: Sample) -> int:
    """Return the next size of a base level on its way down to `wanted`, in bytes.

    What a flood has left in the base level is due in every level below as soon as the targets are the owner's: at once,
    that can be more pending bytes than the limits at which RocksDB delays and stops writes. So it comes down as far as
    half of the soft limit allows, and further when that is paid.
    """
    now = cf.options.max_bytes_for_level_base_bytes
    soft = owners_value(Knob.SOFT_PENDING_LIMIT, sample, cf.name) or 0
    if wanted >= now or soft <= 0 or cf.level_bytes is None:
        return wanted
    is_l0_due = cf.l0_files >= (owners_value(Knob.LEVEL0_TRIGGER, sample, cf.name) or 0)

    def is_enough(base: int) -> bool:
        levels = levels_of(cf, sample, base)
        return levels is None or levels.pending_bytes(is_l0_due=is_l0_due) <= soft / _SOFT_SHARE

    if is_enough(wanted):
        return wanted
    if not is_enough(now):
        return now
    found = _bisected(wanted, now, is_enough) + 1
    is_step = found <= now * _STEP or cf.pending_compaction_bytes <= soft / _LITTLE_SHARE
    return min(now, found) if is_step else now


def _bisected(low: int, high: int, is_reached: Callable[[int], bool]) -> int:
    """Return the highest value, from low on, for which it is not reached, to a thousandth; it is at `high`."""
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return low


class Debt:
    """Pending compaction bytes, and whether they still become less."""

    def __init__(self) -> None:
        self._least: int | None = None
        self._constant_s = 0.0

    @property
    def is_constant(self) -> bool:
        """Whether they have not become less for a minute."""
        return self._constant_s >= _CONSTANT_S

    def observe(self, pending_bytes: int, seconds: float) -> None:
        """Take in a window."""
        if self._least is None or pending_bytes < _LESS * self._least:
            self._least, self._constant_s = pending_bytes, 0.0
        else:
            self._constant_s += seconds


class Merges:
    """Merges out of level 0 that run, by job; the end of one that no event told is assumed after `most_s` seconds."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self.running: dict[int, float] = {}

    def observe(self, sample: Sample) -> None:
        """Take in a window's events."""
        older = {job: age_s + sample.interval_s for job, age_s in self.running.items()}
        self.running = {job: age_s for job, age_s in older.items() if age_s < self._most_s}
        for event in sample.events:
            if event.kind == "compaction_begin" and event.base_level == 0 and event.job is not None:
                self.running[event.job] = 0.0
            elif event.kind == "compaction_end" and event.job is not None:
                self.running.pop(event.job, None)
        if not sample.running_compactions:
            self.running.clear()
