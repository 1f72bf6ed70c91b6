"""The sizes that RocksDB wants its levels to have, and what it estimates it must compact until they have them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from adocd.model.sample import ColumnFamilySample, Sample

#: The level into which level 0 is merged, unless it follows from the size of the data.
_FIRST = 1


@dataclass(frozen=True, slots=True)
class LevelTargets:
    """The levels of a column family under level compaction (version_set.cc, VersionStorageInfo).

    Attributes:
        sizes: of each level, in bytes.
        base: the number of the level into which level 0 is merged.
        targets: the size that each level should have, in bytes; level 0 has the base's.

    """

    sizes: tuple[int, ...]
    base: int
    targets: tuple[int, ...]

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        base_bytes: int,
        multiplier: float,
        *,
        additional: Sequence[int] = (),
        is_dynamic: bool = False,
    ) -> Self:
        """Work out base and targets (CalculateBaseBytes).

        Args:
            sizes: of each level, in bytes.
            base_bytes: max_bytes_for_level_base.
            multiplier: max_bytes_for_level_multiplier.
            additional: max_bytes_for_level_multiplier_additional, by the level above; 1 with dynamic levels.
            is_dynamic: level_compaction_dynamic_level_bytes.

        """
        base, size = _dynamic_base(sizes, base_bytes, multiplier) if is_dynamic else (_FIRST, float(base_bytes))
        found = [base_bytes]
        for level in range(_FIRST, len(sizes)):
            size = size * multiplier if level > base else size
            if base < level <= len(additional) and not is_dynamic:
                size *= additional[level - 1]
            found.append(max(base_bytes, int(size)) if is_dynamic else int(size))
        return cls(tuple(sizes), base, tuple(found))

    def bytes_in(self, level: int) -> int:
        """Return what a level holds, in bytes; 0 where there is no such level."""
        return self.sizes[level] if level < len(self.sizes) else 0

    def pending_bytes(self, *, is_l0_due: bool) -> int:
        """Return rocksdb.estimate-pending-compaction-bytes (EstimateCompactionBytesNeeded)."""
        pending = carried = self.sizes[0] if is_l0_due else 0
        for level in range(self.base, len(self.sizes) - 1):
            size, below = self.sizes[level], self.sizes[level + 1]
            if level == self.base and is_l0_due:
                pending += size
            size += carried
            carried = max(0, size - self.targets[level])
            if carried and below:
                pending += int(carried * (below / size + 1))
        return pending


def levels_of(cf: ColumnFamilySample, sample: Sample, base_bytes: int, more_bytes: int = 0) -> LevelTargets | None:
    """Return the levels as they would be with this base level, and with so many bytes more in it; None if unknown."""
    if cf.level_bytes is None:
        return None
    options = sample.options.column_families.get(cf.name, {})
    multiplier = float(options.get("max_bytes_for_level_multiplier", "10"))
    additional = _numbers(options.get("max_bytes_for_level_multiplier_additional", ""))
    is_dynamic = options.get("level_compaction_dynamic_level_bytes") == "true"
    of = partial(LevelTargets.of, additional=additional, is_dynamic=is_dynamic)
    found = of(cf.level_bytes, base_bytes, multiplier)
    if not more_bytes:
        return found
    sizes = list(cf.level_bytes)
    sizes[found.base] += more_bytes
    return of(sizes, base_bytes, multiplier)


def base_level_bytes(cf: ColumnFamilySample, sample: Sample) -> int:
    """Return what the level holds into which level 0 is merged; 0 if it is unknown."""
    levels = levels_of(cf, sample, cf.options.max_bytes_for_level_base_bytes)
    return 0 if levels is None else levels.bytes_in(levels.base)


def _numbers(text: str) -> tuple[int, ...]:
    """Read a list of numbers as RocksDB writes it, 1:1:4; none where it is anything else."""
    parts = text.split(":")
    return tuple(map(int, parts)) if all(part.isascii() and part.isdecimal() for part in parts) else ()


def _dynamic_base(sizes: Sequence[int], base_bytes: int, multiplier: float) -> tuple[int, float]:
    """Return the base level's number and target: the targets follow from the largest level, the last one."""
    last = len(sizes) - 1
    base = next((level for level in range(_FIRST, last) if sizes[level]), last)
    size = max(sizes[_FIRST:], default=0) / multiplier ** (last - base)
    if size <= base_bytes / multiplier:
        return base, base_bytes / multiplier + 1
    while base > _FIRST and size > base_bytes:
        base, size = base - 1, size / multiplier
    return base, min(size, base_bytes)
