"""Level 0's limits in a flood, and the slope on which writes slow down towards them. Pure."""

from dataclasses import dataclass
from typing import Self

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
    """Limits of one column family's level 0, in files, and the size of its base level in bytes."""

    trigger: int
    slowdown: int
    stop: int
    base_bytes: int

    @classmethod
    def of_owner(cls, cf: ColumnFamilySample, sample: Sample) -> Self:
        """Return the owner's."""
        trigger, slowdown, stop, base = (
            owners_value(knob, sample, cf.name) or 0
            for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.LEVEL_BASE_SIZE)
        )
        return cls(trigger, slowdown, stop, base)

    @classmethod
    def in_flood(
        cls, cf: ColumnFamilySample, sample: Sample, bound: int, memtable_bytes: int, *, is_read: bool
    ) -> Self:
        """Return those for a bound in files of one memtable each.

        Where no more files fit than the owner allows, only the files are larger. Where reads matter, the owner's
        slowdown and stop stay, and level 0 is merged before it is slowed down.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        small = owners_value(Knob.MEMTABLE_SIZE, sample, cf.name) or memtable_bytes
        opens, slows = int(bound * _OPENS), int(bound * _SLOWS)
        is_small = bound * _OPENS <= owners.trigger or bound * _SLOWS * memtable_bytes <= owners.slowdown * small
        if is_small:
            base = max(owners.base_bytes, owners.trigger * memtable_bytes)
            return cls(owners.trigger, owners.slowdown, owners.stop, base)
        if is_read and cf.l0_files < owners.slowdown:
            trigger = max(owners.trigger, min(opens, int(owners.slowdown * _MERGED_OF_SLOWDOWN)))
            base = max(owners.base_bytes, min(bound, owners.slowdown) * memtable_bytes)
            return cls(trigger, owners.slowdown, owners.stop, base)
        # Level 0 may be full of what came before the readers. It is merged now then, but the owner's limits would hold
        # writers for as long as that takes.
        trigger = owners.trigger if is_read else opens
        return cls(trigger, slows, bound, max(owners.base_bytes, bound * memtable_bytes))

    @classmethod
    def put_off(cls, cf: ColumnFamilySample, sample: Sample, bound: int, memtable_bytes: int) -> Self:
        """Return those of a database that is under no pressure itself and puts its merges off for its neighbours.

        Its files are as large as the owner's, so only the gate is shut: writes slow down where they do anyway.
        """
        owners = cls.of_owner(cf, sample)
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return owners
        slowdown, stop = max(owners.slowdown, int(bound * _SLOWS)), max(owners.stop, bound)
        trigger = min(max(owners.trigger, int(bound * _OPENS)), slowdown)
        return cls(trigger, slowdown, stop, max(owners.base_bytes, bound * memtable_bytes))

    def slope(self, cf: ColumnFamilySample, device: float, clients: float) -> float | None:
        """Return what level 0 allows all writers, in bytes/s; None before the slope begins.

        `device` is what flushes and compactions can count on, `clients` what clients do at their peak, in bytes/s.
        """
        if cf.l0_files < self.slowdown or not cf.level_bytes:
            return None
        above = sum(cf.level_bytes[1:2]) / max(1, cf.level_bytes[0])
        lasting = max(self.slowdown + 1, int(self.stop * _LASTS))
        room = (lasting - self.trigger) / max(1, self.trigger)
        lasts = min(clients, _DEVICE_SHARE * device * room / (1 + above + room))
        if cf.l0_files <= lasting:
            return clients + (lasts - clients) * (cf.l0_files - self.slowdown) / (lasting - self.slowdown)
        beyond = min(1.0, (cf.l0_files - lasting) / max(1, self.stop - lasting))
        return lasts * (1 - (1 - _LEAST_SHARE) * beyond)
