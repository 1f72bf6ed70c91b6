"""Level 0's limits in a flood, and the slope on which writes slow down towards them. Pure."""

from dataclasses import dataclass, replace
from typing import Self

from adocd.controllers.tide.backlog import Bound, base_level_bytes, coming_down
from adocd.model.knob import Knob
from adocd.model.options import LEVEL_COMPACTION
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

#: Shares of the bound: where the gate opens, where writes slow down, and where they are as slow as what lasts.
_OPENS, _SLOWS, _LASTS = 0.5, 0.6, 0.95
#: Where reads matter: of the owner's slowdown, the files at which level 0 is merged.
_MERGED_OF_SLOWDOWN = 0.6
#: Of the device, what the lasting rate counts on.
_DEVICE_SHARE = 0.95
#: At the bound itself, of the rate that lasts.
_LEAST_SHARE = 1 / 4


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
        """Return the owner's."""
        trigger, slowdown, stop, base = (
            owners_value(knob, sample, cf.name) or 0
            for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.LEVEL_BASE_SIZE)
        )
        return cls(trigger, slowdown, stop, base, stop)

    @classmethod
    def in_flood(cls, cf: ColumnFamilySample, sample: Sample, bound: Bound, *, is_read: bool) -> Self:
        """Return those for a bound.

        Where no more files fit than the owner allows, only the files are larger. Where reads matter, the owner's
        slowdown and stop stay, and level 0 is merged before it is slowed down.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        most, opens, slows = bound.files, int(bound.files * _OPENS), int(bound.files * _SLOWS)
        small = owners_value(Knob.MEMTABLE_SIZE, sample, cf.name) or bound.file_bytes
        is_small = most * _OPENS <= owners.trigger or most * _SLOWS * bound.file_bytes <= owners.slowdown * small
        if is_small:
            base = max(owners.base_bytes, min(owners.trigger, most) * bound.file_bytes)
            found = replace(owners, base_bytes=base)
        elif is_read:
            base = max(owners.base_bytes, min(most, owners.slowdown) * bound.file_bytes)
            found = replace(owners, trigger=owners._merged_for_reads(cf, opens), base_bytes=base)
        else:
            base = max(owners.base_bytes, most * bound.file_bytes)
            found = cls(opens, max(owners.slowdown, slows), max(owners.stop, most), base, most)
        return found._beside_what_is_there(cf, sample, keeps_slowdown=is_read)

    @classmethod
    def put_off(cls, cf: ColumnFamilySample, sample: Sample, bound: Bound) -> Self:
        """Return those of a database that is under no pressure itself and puts its merges off for its neighbours.

        Its files are as large as the owner's, so only the gate is shut: writes slow down where they do anyway.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        slowdown, stop = max(owners.slowdown, int(bound.files * _SLOWS)), max(owners.stop, bound.files)
        trigger = min(max(owners.trigger, int(bound.files * _OPENS)), slowdown)
        found = cls(trigger, slowdown, stop, max(owners.base_bytes, bound.files * bound.file_bytes), stop)
        return found._beside_what_is_there(cf, sample, keeps_slowdown=False)

    def _merged_for_reads(self, cf: ColumnFamilySample, opens: int) -> int:
        """Return the files at which level 0 is merged where somebody reads; what is due already stays so."""
        later = max(self.trigger, min(opens, int(self.slowdown * _MERGED_OF_SLOWDOWN)))
        is_due = cf.options.level0_file_num_compaction_trigger <= self.trigger and cf.l0_files >= later
        return self.trigger if is_due or cf.l0_files >= self.slowdown else later

    def _beside_what_is_there(self, cf: ColumnFamilySample, sample: Sample, *, keeps_slowdown: bool) -> Self:
        """Keep the limits in force that would stop writes, or make much due at once, if they came down now.

        Level 0 may be full of what came before the bound fell, or before somebody read. Only its merge makes that less.
        With readers the slowdown stays, too: they need the merge to be soon over, and a slope would make it longer.
        """
        now = cf.options
        if cf.l0_files < self.slowdown:
            return replace(self, base_bytes=coming_down(self.base_bytes, cf, sample))
        slowdown = now.level0_slowdown_writes_trigger if keeps_slowdown else 0
        return replace(
            self,
            slowdown=max(self.slowdown, slowdown),
            stop=max(self.stop, now.level0_stop_writes_trigger),
            base_bytes=max(self.base_bytes, now.max_bytes_for_level_base_bytes),
        )

    def slope(self, cf: ColumnFamilySample, sample: Sample, device: float, clients: float) -> float | None:
        """Return what level 0 allows all writers, in bytes/s; None before the slope begins.

        `device` is what flushes and compactions can count on, `clients` what clients do at their peak, in bytes/s.
        """
        if cf.l0_files < self.slowdown or not cf.level_bytes:
            return None
        above = base_level_bytes(cf, sample) / max(1, cf.level_bytes[0])
        lasting = max(self.slowdown + 1, int(self.bound * _LASTS))
        room = max(0.0, (lasting - self.trigger) / max(1, self.trigger))
        lasts = min(clients, _DEVICE_SHARE * device * room / (1 + above + room))
        if cf.l0_files <= lasting:
            return clients + (lasts - clients) * (cf.l0_files - self.slowdown) / (lasting - self.slowdown)
        beyond = min(1.0, (cf.l0_files - lasting) / max(1, self.bound - lasting))
        return lasts * (1 - (1 - _LEAST_SHARE) * beyond)
