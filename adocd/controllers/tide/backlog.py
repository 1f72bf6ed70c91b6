"""How much level 0 may hold in a flood, how the base level comes down again, and what is still owed."""

import math
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, replace
from typing import Self

from adocd.controllers.tide.learned import NEARLY_ALL, FreeSpace
from adocd.controllers.tide.parameters import TideParameters
from adocd.model.knob import MIB, Knob
from adocd.model.level0 import few_files
from adocd.model.levels import base_level_bytes, levels_of
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

#: Share of the bound at which the gate opens.
OPENS = 0.5
#: Of the free space, of the soft limit of pending compaction bytes, and of the hard one.
_FREE_SHARE, _SOFT_SHARE, _HARD_SHARE = 2.7, 2, 2
#: The bound follows what is learned in steps of at least this factor, because each step is a SetOptions call, and down
#: only after so many seconds: what neighbours want for a moment opens no gate. Where the soft limit holds the gate, it
#: follows that more closely, because beyond it RocksDB delays writes.
_BOUND_STEP, _GATE_STEP, _BOUND_DOWN_S = 1.3, 1.1, 10.0
#: Where there is no room for larger memtables, they are the owner's size times a power of this.
_DOUBLE = 2
#: The base level comes down in steps of at least a fifth, or of any size where a quarter of the soft limit is pending.
_STEP, _LITTLE_SHARE = 0.8, 4
#: Debt that has not become less by a hundredth for so long does not become less, in s.
_LESS, _CONSTANT_S = 0.99, 60.0
#: Memtables that are still smaller than was asked for after so long stay so, in s.
_REFUSED_S = 30.0
#: Fewer files say nothing of the size of a file; and with fewer than this, most may be from before the flood.
_FILES_LEAST, _FILES_KNOWN = 4, 40


@dataclass(frozen=True, slots=True)
class Bound:
    """What level 0 may hold: so many files of this size in bytes, which is what a flush added when it was set.

    Attributes:
        files: with so many, level 0 is full.
        file_bytes: the size of a file.
        opens: with so many files, level 0 is merged.
        kept: what a file has for each byte of its memtables, at most 1.

    """

    files: int
    file_bytes: int
    opens: int
    kept: float = 1.0

    def within(self, files: int) -> Self:
        """Return it with no more files than that."""
        files = min(self.files, files)
        return replace(self, files=files, opens=min(self.opens, int(files * OPENS)))

    def is_larger_than(self, other: "Bound") -> bool:
        """Whether it has more files by a step, or no fewer ones and more bytes by a step."""
        more_bytes = self.files * self.file_bytes > other.files * other.file_bytes * _BOUND_STEP
        return self.files > other.files * _BOUND_STEP or (self.files >= other.files and more_bytes)

    @property
    def is_soft(self) -> bool:
        """Whether the gate opens earlier than at half of it, for the soft limit."""
        return self.opens < int(self.files * OPENS)


NO_BOUND = Bound(0, 0, 0)


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """What is known of the disks, and of how much of the clients' bytes reaches them.

    Attributes:
        device: what flushes and compactions may count on, in bytes/s; None if unknown.
        room: the space for level 0 of all of them and for its merges, in bytes; None if unknown.
        kept: what flushes write for each byte that clients write, at most 1.
        sharers: the column families that divide what there is.

    """

    device: float | None
    room: int | None
    kept: float
    sharers: int


class Level0Bounds:
    """How much level 0 of each column family in a flood may hold, in coarse steps."""

    def __init__(self, parameters: TideParameters) -> None:
        self._parameters = parameters
        #: By the column families that were in a flood.
        self.of: dict[str, Bound] = {}
        #: For how long each one's bound has been too high.
        self._too_high_s: dict[str, float] = {}
        #: What was free when no merge ran, and level 0, in bytes; and of which column families.
        self._space: tuple[int, frozenset[str]] | None = None
        #: What each one's files have for each byte of their memtables.
        self._kept: dict[str, float] = {}
        #: For how long each one's memtables in force have been smaller than what was asked for.
        self._refused_s: dict[str, float] = {}
        #: The largest memtables for whose files there is room, where that is less than was asked for.
        self.largest: dict[str, int] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self.keep(frozenset())

    def keep(self, names: Set[str]) -> None:
        """Forget all other column families."""
        known: tuple[dict[str, Bound] | dict[str, float] | dict[str, int], ...]
        known = (self.of, self._too_high_s, self._kept, self._refused_s, self.largest)
        for figures in known:
            for name in figures.keys() - names:
                del figures[name]
        if not self.of:
            self.forget_space()

    def forget_space(self) -> None:
        """Forget what was free: it is not followed outside a flood."""
        self._space = None

    def room(
        self, sharing: Collection[ColumnFamilySample], sample: Sample, free: FreeSpace | None, *, is_merging: bool
    ) -> int | None:
        """Return the space for level 0 of these column families and its merges, in bytes; None if unknown.

        Level 0 counts as free, because it is what is to be bounded; the base level does not, because a merge writes it
        again. While a merge runs, what it has written takes space until its inputs are gone: that makes the room no
        smaller. When one ends, the room is what is free then, although another may have begun: else it would never
        become smaller where they overlap. `is_merging`: a merge out of level 0 may be running, and none has just ended.
        """
        if free is None:
            return None
        names = frozenset(cf.name for cf in sharing)
        space, allowed = free.without_level0(sharing, sample), sample.allowance
        if allowed is not None and allowed.space_bytes is not None:
            space = min(space, allowed.space_bytes)
        if is_merging and self._space is not None and self._space[1] == names:
            # A merge cannot have written more than it reads; what is gone beyond that somebody else has taken.
            inputs = sum(cf.level_bytes[0] + base_level_bytes(cf, sample) for cf in sharing if cf.level_bytes)
            space = max(space, min(self._space[0], space + inputs))
        self._space = space, names
        return space - sum(base_level_bytes(cf, sample) for cf in sharing)

    def fit_files(self, cf: ColumnFamilySample, sample: Sample, wanted: int, disk: DiskFacts) -> None:
        """Note how large the memtables of this column family may be for the room of level 0; `wanted` is in bytes.

        RocksDB delays writes at a number of files, and the owner's slowdown is never lowered. So with larger files
        level 0 holds more bytes there than under the owner's options, and the disk and the limits of pending bytes must
        have room for as many. A slowdown that is out of the way allows any number of files of any size.
        """
        slowdown, stop = (owners_value(knob, sample, cf.name) or 0 for knob in (Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP))
        slows = stop if slowdown < 0 else min(slowdown, stop)
        fits = most_bytes(cf, sample, self._parameters, device=None, room=disk.room, sharers=disk.sharers)
        most = int(fits / disk.kept / max(1, slows)) if slows < OUT_OF_THE_WAY else wanted
        now = self.largest.pop(cf.name, None)
        if most < wanted * (1 if now is None else _BOUND_STEP):
            if now is None or not now <= most < _DOUBLE * _BOUND_STEP * now:
                now = _doubled(cf, sample, most)
            self.largest[cf.name] = now

    def follow(
        self, cf: ColumnFamilySample, sample: Sample, memtable_bytes: int, disk: DiskFacts, *, may_grow: bool
    ) -> None:
        """Follow the largest backlog that the device, the disk and the owner allow.

        `may_grow` False: whoever only makes way for others keeps its bound as long as that does, because each change
        holds its own writes.
        """
        memtable_bytes = self._in_force(cf, memtable_bytes, sample.interval_s)
        size = self._file_bytes(cf, memtable_bytes, disk.kept)
        most = most_bytes(
            cf,
            sample,
            self._parameters,
            device=disk.device,
            room=disk.room,
            sharers=disk.sharers,
        )
        files = min(self._parameters.files_max, most // size)
        wanted = Bound(files, size, _opens(cf, sample, files, size), min(1.0, size / memtable_bytes))
        now = self.of[cf.name]
        grows = wanted.is_larger_than(now) or (now.is_soft and wanted.opens > now.opens * _BOUND_STEP)
        falls = now.is_larger_than(wanted) or (wanted.is_soft and wanted.opens * _GATE_STEP < now.opens)
        too_high_s = self._too_high_s.get(cf.name, 0.0) + sample.interval_s if falls and not grows else 0.0
        if (grows and (may_grow or now.files == 0)) or too_high_s >= _BOUND_DOWN_S:
            self.of[cf.name], too_high_s = wanted, 0.0
        self._too_high_s[cf.name] = too_high_s

    def _in_force(self, cf: ColumnFamilySample, wanted_bytes: int, seconds: float) -> int:
        """Return the size of the memtables that come: what was asked for, unless a guard or a pin has refused it.

        A change takes a moment, and in a stall as long as that.
        """
        now = cf.options.write_buffer_size_bytes
        refused_s = self._refused_s.get(cf.name, 0.0) + seconds if now < wanted_bytes else 0.0
        self._refused_s[cf.name] = refused_s
        return now if refused_s >= _REFUSED_S else wanted_bytes

    def _file_bytes(self, cf: ColumnFamilySample, memtable_bytes: int, kept: float) -> int:
        """Return the size of a file in level 0: a memtable, as far as it is not compressed.

        Or more, because one flush may take several memtables. Smaller files count only where there are many of them:
        a few may be of the owner's memtables, and a bound for those is too much for the files to come.
        """
        mean = 0
        if cf.level_bytes is not None and cf.l0_files >= _FILES_LEAST:
            mean = cf.level_bytes[0] // cf.l0_files
            if cf.l0_files >= _FILES_KNOWN:
                share = mean / memtable_bytes
                self._kept[cf.name] = 1.0 if share > NEARLY_ALL else share
        return max(1, mean, int(memtable_bytes * self._kept.get(cf.name, kept)))


def _doubled(cf: ColumnFamilySample, sample: Sample, most: int) -> int:
    """Return the owner's memtable size, doubled as often as `most` bytes allow: each step is a SetOptions call."""
    size = owners_value(Knob.MEMTABLE_SIZE, sample, cf.name) or MIB
    while _DOUBLE * size <= most:
        size *= _DOUBLE
    return size


def most_bytes(
    cf: ColumnFamilySample,
    sample: Sample,
    parameters: TideParameters,
    *,
    device: float | None,
    room: int | None,
    sharers: int,
) -> int:
    """Return the most bytes that this column family's level 0 may hold, one of `sharers` in a flood.

    `device` is what flushes and compactions may count on in bytes/s, `room` the space for level 0 of all of them and
    its merges in bytes; None if unknown.
    """
    allowed = sample.allowance
    part = 1.0 if allowed is None else max(allowed.device_share, allowed.fair_share)
    limits = [part * parameters.debt_max_bytes / sharers]
    if device is not None:
        limits.append(device * parameters.pay_back_s / 2 / sharers)
    if room is not None:
        # Level 0 and a merge of all of it take 2 of 2.7 parts, and a bound may be too large by _BOUND_STEP.
        limits.append(max(0.0, room / _FREE_SHARE / sharers))
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


def _opens(cf: ColumnFamilySample, sample: Sample, files: int, size: int) -> int:
    """Return the files with which the gate opens: half of the bound, or fewer where more than the soft limit were due.

    Once level 0 is due, RocksDB counts it, all of the base level, and what the two hand down to each level that is
    full. Where even as many files as the owner's trigger are too much, fewer files would only mean more merges.
    """
    half = int(files * OPENS)
    soft = owners_value(Knob.SOFT_PENDING_LIMIT, sample, cf.name) or 0
    least = owners_value(Knob.LEVEL0_TRIGGER, sample, cf.name) or 1
    base = max(files * size, owners_value(Knob.LEVEL_BASE_SIZE, sample, cf.name) or 0)
    levels = levels_of(cf, sample, base)
    if soft <= 0 or levels is None or least >= half:
        return half

    def is_too_much(level0_bytes: int) -> bool:
        full = replace(levels, sizes=(level0_bytes, *levels.sizes[1:]))
        return full.pending_bytes(is_l0_due=True) > soft

    if not is_too_much(half * size) or is_too_much(least * size):
        return half
    return _bisected(least * size, half * size, is_too_much) // size


def opened_for(room: float, cf: ColumnFamilySample, sample: Sample, bound: Bound, *, is_merging: bool) -> Bound:
    """Return the bound with the gate at as few files as the device can merge beside the clients.

    With each byte of level 0, a merge may write `room` bytes of the base level again. The gate that is in force stays
    where that is as good, because each change is a SetOptions call, and while a merge runs: RocksDB would merge the
    files that came since within level 0.
    """
    if cf.level_bytes is None or not bound.file_bytes:
        return bound
    trigger, slowdown = (
        owners_value(knob, sample, cf.name) or 0 for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN)
    )
    least, now = few_files(trigger, slowdown), cf.options.level0_file_num_compaction_trigger
    opens = max(least, math.ceil(base_level_bytes(cf, sample) / room / bound.file_bytes))
    is_near = max(least, opens / _BOUND_STEP) <= now <= opens * _BOUND_STEP
    return replace(bound, opens=min(bound.opens, now if is_near or (is_merging and now > opens) else opens))


def is_raised(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether the base level is larger than the owner's."""
    owners = owners_value(Knob.LEVEL_BASE_SIZE, sample, cf.name)
    return owners is not None and cf.options.max_bytes_for_level_base_bytes > owners


def waits_for_base_level(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether the owner's trigger would make level 0 due before the base level, too large for that, has moved down.

    The two together may be more than half of the soft limit. When the owner's base level is in force and nothing is due
    under it, there is nothing to wait for.
    """
    trigger, base, soft = (
        owners_value(knob, sample, cf.name) or 0
        for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL_BASE_SIZE, Knob.SOFT_PENDING_LIMIT)
    )
    levels = levels_of(cf, sample, base)
    if soft <= 0 or levels is None or cf.l0_files < trigger:
        return False
    is_moved = not is_raised(cf, sample) and cf.pending_compaction_bytes <= base
    return levels.pending_bytes(is_l0_due=True) > soft / _SOFT_SHARE and not is_moved


def coming_down(wanted: int, cf: ColumnFamilySample, sample: Sample, trigger: int | None = None) -> int:
    """Return the next size of a base level on its way down to `wanted`, in bytes.

    What a flood has left in the base level is due in every level below as soon as the targets are the owner's: at once,
    that can be more pending bytes than the limits at which RocksDB delays and stops writes. So it comes down as far as
    half of the soft limit allows, and further when that is paid. `trigger` is level 0's if it is set at the same time;
    level 0 counts where it is due under that, or under the one in force.
    """
    now = cf.options.max_bytes_for_level_base_bytes
    soft = owners_value(Knob.SOFT_PENDING_LIMIT, sample, cf.name) or 0
    if wanted >= now or soft <= 0 or cf.level_bytes is None:
        return wanted
    in_force = cf.options.level0_file_num_compaction_trigger
    is_l0_due = cf.l0_files >= min(in_force, in_force if trigger is None else trigger)

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
