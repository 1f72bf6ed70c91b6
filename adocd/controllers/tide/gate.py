"""Level 0's limits in a flood, the slope on which writes slow down towards them, and how both go at the ebb. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from adocd.controllers.tide.backlog import OPENS, Bound, coming_down, waits_for_base_level
from adocd.controllers.tide.family import is_pinned
from adocd.controllers.tide.merges import LEFT_LEAST_S
from adocd.model.decision import Setting
from adocd.model.knob import Knob
from adocd.model.level0 import few_files, files_when_merged
from adocd.model.levels import base_level_bytes
from adocd.model.options import LEVEL_COMPACTION, OUT_OF_THE_WAY
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample

#: Shares of the bound: where writes slow down, and where they are as slow as what lasts.
_SLOWS, _LASTS = 0.6, 0.95
#: Where reads matter: the files at which level 0 is merged, of the owner's slowdown, and in owner's triggers.
_MERGED_OF_SLOWDOWN, _MERGED_OF_TRIGGER = 0.6, 3
_LIMITS = (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP)
#: Of the device, what the lasting rate counts on.
_DEVICE_SHARE = 0.95
#: At the bound itself, of the rate that lasts.
_LEAST_SHARE = 1 / 4
#: While a merge runs, writers get so much more at first than what would fill level 0 evenly, because a merge of many
#: files reads before it writes, and less towards its end.
_AT_FIRST = 1.5
#: What stays free of the bound until a merge has ended, in files.
_LAST_FILES = 1


@dataclass(frozen=True, slots=True)
class Level0Flow:
    """What comes into level 0 and what goes.

    Attributes:
        device: what flushes and compactions can count on, in bytes/s that clients write.
        clients: what clients write at their peak, in bytes/s.
        file_bytes: what all clients write until another file comes into this level 0.
        merge_left_s: how long the merge out of level 0 will still run; None if none is known to.

    """

    device: float
    clients: float
    file_bytes: float
    merge_left_s: float | None


@dataclass(frozen=True, slots=True)
class Level0Gate:
    """Limits of one column family's level 0, in files, and the size of its base level in bytes.

    `bound` is where the slope ends. RocksDB's stop trigger is there too, unless the owner's is higher.
    """

    trigger: int
    slowdown: int
    stop: int
    base_bytes: int
    bound: int

    @classmethod
    def of_owner(cls, cf: ColumnFamilySample, sample: Sample) -> Self:
        """Return the owner's; a slowdown that is switched off is out of the way."""
        trigger, slowdown, stop, base = (
            owners_value(knob, sample, cf.name) or 0
            for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.LEVEL_BASE_SIZE)
        )
        return cls(trigger, _slowdown(slowdown), stop, base, stop)

    @classmethod
    def in_flood(cls, cf: ColumnFamilySample, sample: Sample, bound: Bound, *, is_read: bool) -> Self:
        """Return those for a bound.

        Where no more files fit than the owner allows, only the files are larger. Where reads matter, the owner's
        slowdown and stop stay, and level 0 is merged before it is slowed down.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        found = owners._as_far_as_pinned(
            cf, sample, bound, lambda most: owners._flooded(cf, sample, most, is_read=is_read)
        )
        return found._beside_what_is_there(cf, sample, keeps_slowdown=is_read)

    def _flooded(self, cf: ColumnFamilySample, sample: Sample, bound: Bound, *, is_read: bool) -> Self:
        """Return those for a bound, of the owner's."""
        most, slows = bound.files, int(bound.files * _SLOWS)
        # The owner's files are as compressed as those that come.
        small = bound.kept * (owners_value(Knob.MEMTABLE_SIZE, sample, cf.name) or bound.file_bytes)
        is_owners = most * _SLOWS * bound.file_bytes <= self.slowdown * small and self.slowdown < OUT_OF_THE_WAY
        if most * OPENS <= self.trigger or is_owners:
            return replace(self, base_bytes=max(self.base_bytes, min(self.trigger, most) * bound.file_bytes))
        if is_read:
            base = max(self.base_bytes, min(most, self.slowdown) * bound.file_bytes)
            # An owner's stop that is never reached is no end of a slope.
            end = min(self.stop, max(most, 2 * self.slowdown))
            return replace(self, trigger=self._merged_for_reads(cf, bound.opens), base_bytes=base, bound=end)
        return replace(
            self,
            trigger=max(self.trigger, bound.opens),
            slowdown=max(self.slowdown, slows),
            stop=max(self.stop, most),
            base_bytes=max(self.base_bytes, most * bound.file_bytes),
            bound=most,
        )

    @classmethod
    def put_off(cls, cf: ColumnFamilySample, sample: Sample, bound: Bound) -> Self:
        """Return those of a database that is under no pressure itself and puts its merges off for its neighbours.

        Its files are as large as the owner's, so only the gate is shut: writes slow down where they do anyway.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        found = owners._as_far_as_pinned(cf, sample, bound, owners._shut)
        return found._beside_what_is_there(cf, sample, keeps_slowdown=False)

    def _shut(self, bound: Bound) -> Self:
        """Return those with the gate alone shut, of the owner's."""
        slowdown, stop = max(self.slowdown, int(bound.files * _SLOWS)), max(self.stop, bound.files)
        trigger = max(self.trigger, min(bound.opens, slowdown))
        base = max(self.base_bytes, bound.files * bound.file_bytes)
        return replace(self, trigger=trigger, slowdown=slowdown, stop=stop, base_bytes=base, bound=stop)

    def _as_far_as_pinned(
        self, cf: ColumnFamilySample, sample: Sample, bound: Bound, found_for: Callable[[Bound], Self]
    ) -> Self:
        """Return those for the bound, or for one that fits into what an operator has pinned; else the owner's.

        A guard refuses a gate above what is pinned. Then a large base level would only make the merge of each few files
        write all of that level again.
        """
        found, pins = found_for(bound), _pins(cf, sample)
        if pins is None:
            return found
        if found.trigger <= pins.least:
            return found_for(pins.capped(bound))
        trigger = self.trigger if pins.trigger is None else pins.trigger
        slowdown = max(trigger, self.slowdown if pins.slowdown is None else pins.slowdown)
        stop = max(slowdown, self.stop if pins.stop is None else pins.stop)
        return replace(self, trigger=trigger, slowdown=slowdown, stop=stop, bound=stop)

    def _merged_for_reads(self, cf: ColumnFamilySample, opens: int) -> int:
        """Return the files at which level 0 is merged where somebody reads; what is due already stays so.

        A slowdown that the owner has put far away, for bulk loads as it were, is no leave to let each read look into as
        many files.
        """
        most = min(int(self.slowdown * _MERGED_OF_SLOWDOWN), self.trigger * _MERGED_OF_TRIGGER)
        later = max(self.trigger, min(opens, most))
        is_due = cf.options.level0_file_num_compaction_trigger <= self.trigger and cf.l0_files >= later
        return self.trigger if is_due or cf.l0_files >= self.slowdown else later

    def _beside_what_is_there(self, cf: ColumnFamilySample, sample: Sample, *, keeps_slowdown: bool) -> Self:
        """Keep the limits in force that would stop writes, or make much due at once, if they came down now.

        Level 0 may be full of what came before the bound fell, or before somebody read. Only its merge makes that less.
        With readers the slowdown stays, too: they need the merge to be soon over, and a slope would make it longer.
        """
        now = cf.options
        if cf.l0_files < min(self.slowdown, self.stop):
            return replace(self, base_bytes=coming_down(self.base_bytes, cf, sample, self.trigger))
        slowdown = now.level0_slowdown_writes_trigger if keeps_slowdown else 0
        return replace(
            self,
            slowdown=max(self.slowdown, slowdown),
            stop=max(self.stop, now.level0_stop_writes_trigger),
            base_bytes=max(self.base_bytes, now.max_bytes_for_level_base_bytes),
        )

    def slope(self, cf: ColumnFamilySample, sample: Sample, flow: Level0Flow) -> float | None:
        """Return what level 0 allows all writers, in bytes/s; None before the slope begins.

        Who writes less than what lasts is not held back, unless the running merge needs longer than that allows.
        """
        if cf.l0_files < self.slowdown or not cf.level_bytes:
            return None
        above = base_level_bytes(cf, sample) / max(1, cf.level_bytes[0])
        lasting = max(self.slowdown + 1, int(self.bound * _LASTS))
        room = max(0.0, (lasting - self.trigger) / max(1, self.trigger))
        lasts = _DEVICE_SHARE * flow.device * room / (1 + above + room)
        begins = max(flow.clients, lasts)
        if cf.l0_files <= lasting:
            slope = begins + (lasts - begins) * (cf.l0_files - self.slowdown) / (lasting - self.slowdown)
        else:
            beyond = min(1.0, (cf.l0_files - lasting) / max(1, self.bound - lasting))
            slope = lasts * (1 - (1 - _LEAST_SHARE) * beyond)
        if flow.merge_left_s is None:
            return slope
        paced = min(begins, self._pace(cf, flow, flow.merge_left_s, least=_LEAST_SHARE * lasts))
        return paced if flow.merge_left_s > LEFT_LEAST_S else min(paced, slope)

    def _pace(self, cf: ColumnFamilySample, flow: Level0Flow, left_s: float, *, least: float) -> float:
        """Return the rate in bytes/s that fills level 0 by the end of its merge: before that, no file leaves it.

        Beyond the bound it is `least`, as far as there is room up to the stop.
        """
        to_come = cf.l0_files + cf.immutable_memtables + _LAST_FILES
        fills, stops = (
            _AT_FIRST * max(0, files - to_come) * flow.file_bytes / left_s for files in (self.bound, self.stop)
        )
        return max(fills, min(stops, least))


@dataclass(frozen=True, slots=True)
class _Pins:
    """Level 0's limits that an operator has pinned, in files; None for one that is not."""

    trigger: int | None
    slowdown: int | None
    stop: int | None

    @property
    def least(self) -> int:
        """The lowest of them."""
        return min(limit for limit in (self.trigger, self.slowdown, self.stop) if limit is not None)

    def capped(self, bound: Bound) -> Bound:
        """Return the bound below the slowdown and the stop that are pinned."""
        if self.slowdown is not None:
            bound = bound.within(int(self.slowdown / _SLOWS))
        return bound if self.stop is None else bound.within(self.stop)


def _slowdown(files: int) -> int:
    """Read a slowdown trigger: one below 0 is switched off, so it is out of the way."""
    return OUT_OF_THE_WAY if files < 0 else files


def _pins(cf: ColumnFamilySample, sample: Sample) -> _Pins | None:
    """Return what is pinned, as it is in force; None if nothing is."""
    found = [value_now(knob, sample, cf.name) if is_pinned(knob, cf, sample) else None for knob in _LIMITS]
    if found == [None] * len(_LIMITS):
        return None
    trigger, slowdown, stop = found
    return _Pins(trigger, None if slowdown is None else _slowdown(slowdown), stop)


def ebbing(cf: ColumnFamilySample, sample: Sample, *, is_merging: bool, is_constant: bool) -> Iterator[Setting]:
    """Open the gate; the base level follows once level 0 is merged, so that it is merged only once.

    While a merge out of level 0 runs, the gate stays: RocksDB would merge the files that came since within level 0.
    What comes back last are base level and trigger, at the same time (adocd.model.level0); the trigger later where it
    would make more due than half of the soft limit. `is_constant`: what is due does not become less, so nothing is won
    by waiting.
    """
    trigger, base = (owners_value(knob, sample, cf.name) for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL_BASE_SIZE))
    if trigger is None or base is None:
        return
    slowdown = cf.options.level0_slowdown_writes_trigger  # the raised one stays until all is given back
    few = few_files(trigger, slowdown, files_when_merged(cf, sample))
    on_its_way = coming_down(base, cf, sample)
    if cf.l0_files < few:
        yield Setting(Knob.LEVEL_BASE_SIZE, on_its_way, cf.name)
    if not is_merging:
        half_way = min(few, max(trigger, cf.options.level0_file_num_compaction_trigger))
        waits = on_its_way != base or (waits_for_base_level(cf, sample) and not is_constant)
        yield Setting(Knob.LEVEL0_TRIGGER, trigger if cf.l0_files < few and not waits else half_way, cf.name)
