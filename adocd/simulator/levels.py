"""The levels of an LSM tree under level compaction: sizes, scores, debt, and the next compaction.

Follows version_set.cc (VersionStorageInfo) and compaction_picker_level.cc of RocksDB 7.8 with its defaults: seven
levels, level_compaction_dynamic_level_bytes false. Keys are uniformly random over `keys_bytes` of distinct keys, so
every level-0 file overlaps every other one and all of level 1. A file in a deeper level overlaps the share of the next
level that lies in its key range, plus one file at its edges. Levels from 1 on are kept as sums, with files of equal
size.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from adocd.model import levels
from adocd.simulator.options import FamilyOptions

NUM_LEVELS = 7
#: The deepest level that is compacted into another (VersionStorageInfo::MaxInputLevel).
MAX_INPUT_LEVEL = NUM_LEVELS - 2
BASE_LEVEL = 1
#: kMinFilesForIntraL0Compaction (compaction_picker_level.cc, compaction_picker.h).
_MIN_INTRA_L0_FILES = 4


@dataclass(slots=True, eq=False)
class L0File:
    """A file of level 0."""

    bytes: int
    is_compacted: bool = False


@dataclass(slots=True)
class Level:
    """A level from 1 on.

    `busy_bytes` are being compacted. `covered` is the share of the keys that its files span: it grows while the level
    fills. A gap that a compaction leaves is too narrow for a file from the level above.
    """

    bytes: int = 0
    files: int = 0
    busy_bytes: int = 0
    covered: float = 0.0

    @property
    def free_bytes(self) -> int:
        """The bytes that no compaction has taken."""
        return self.bytes - self.busy_bytes

    @property
    def file_bytes(self) -> int:
        """The size of one of its files, in bytes."""
        return max(1, self.bytes // max(1, self.files))

    def remove(self, size: int) -> None:
        """Remove the bytes that a compaction has moved to another level."""
        if size:
            self.files = max(1, self.files - max(1, round(size / self.file_bytes)))
            self.bytes -= size
            self.busy_bytes -= size
        if not self.bytes:
            self.files, self.covered = 0, 0.0


@dataclass(slots=True, eq=False)
class Compaction:
    """A compaction's inputs and output; a trivial move changes only the level."""

    input_level: int
    output_level: int
    l0_files: list[L0File]
    upper_bytes: int
    lower_bytes: int
    output_bytes: int
    #: The share of all keys that the upper files span.
    span: float
    is_move: bool = False

    @property
    def input_bytes(self) -> int:
        """All bytes that it reads."""
        return self.upper_bytes + self.lower_bytes


def level_targets(options: FamilyOptions) -> tuple[int, ...]:
    """Return each level's target size in bytes."""
    return _targets(options.max_bytes_for_level_base, options.max_bytes_for_level_multiplier)


@functools.lru_cache
def _targets(base_bytes: int, multiplier: float) -> tuple[int, ...]:
    return levels.LevelTargets.of((0,) * NUM_LEVELS, base_bytes, multiplier).targets


@dataclass(slots=True)
class Levels:
    """One column family's files. `keys_bytes` is the size of all distinct keys with their values."""

    keys_bytes: int
    #: Level-0 files, the newest first.
    l0: list[L0File] = field(default_factory=list)
    deeper: list[Level] = field(default_factory=lambda: [Level() for _ in range(1, NUM_LEVELS)])
    #: Overwritten values that compactions have dropped, in bytes.
    dropped_bytes: int = 0
    _running: list[Compaction] = field(default_factory=list)

    def level(self, number: int) -> Level:
        """Return a level, from 1 on."""
        return self.deeper[number - 1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the size of each level in bytes."""
        # A list, because level 0 may have hundreds of files, and this is called several times per event.
        return (sum([file.bytes for file in self.l0]), *[level.bytes for level in self.deeper])

    @property
    def files(self) -> tuple[int, ...]:
        """Count the files of each level."""
        return (len(self.l0), *[level.files for level in self.deeper])

    # -- changes

    def flush(self, memtable_bytes: int) -> int:
        """Add a flush's file to level 0; return the file's size in bytes."""
        size = self.flushed_bytes(memtable_bytes)
        self.dropped_bytes += memtable_bytes - size
        self.l0.insert(0, L0File(size))
        return size

    def flushed_bytes(self, memtable_bytes: int) -> int:
        """Return the bytes left of this many bytes of random writes when each key is kept once."""
        left = round(-math.expm1(-memtable_bytes / self.keys_bytes) * self.keys_bytes)
        return min(memtable_bytes, max(1, left))

    def begin(self, compaction: Compaction) -> None:
        """Mark a compaction's inputs as busy."""
        self._running.append(compaction)
        for file in compaction.l0_files:
            file.is_compacted = True
        if compaction.input_level > 0:
            self.level(compaction.input_level).busy_bytes += compaction.upper_bytes
        if compaction.output_level > 0:
            self.level(compaction.output_level).busy_bytes += compaction.lower_bytes

    def finish(self, compaction: Compaction, target_file_bytes: int) -> None:
        """Replace a compaction's inputs by its output."""
        self._running.remove(compaction)
        self.dropped_bytes += compaction.input_bytes - compaction.output_bytes
        if compaction.output_level == 0:
            place = self.l0.index(compaction.l0_files[0])
            self.l0[place : place + len(compaction.l0_files)] = [L0File(compaction.output_bytes)]
            return
        taken = set(map(id, compaction.l0_files))
        self.l0 = [file for file in self.l0 if id(file) not in taken]
        if compaction.input_level > 0:
            self.level(compaction.input_level).remove(compaction.upper_bytes)
        lower = self.level(compaction.output_level)
        lower.remove(compaction.lower_bytes)
        lower.bytes += compaction.output_bytes
        lower.files += max(1, -(-compaction.output_bytes // max(1, target_file_bytes)))
        lower.covered = min(1.0, lower.covered + compaction.span)

    # -- scores and picking

    def scores(self, options: FamilyOptions) -> list[tuple[float, int]]:
        """Return (score, level) pairs, the highest score first (VersionStorageInfo::ComputeCompactionScore).

        Files being compacted do not count. Level 0 is scored by its number of files or their size, whichever is higher.
        """
        targets = level_targets(options)
        free = [file.bytes for file in self.l0 if not file.is_compacted]
        l0 = max(_ratio(len(free), options.level0_file_num_compaction_trigger), _ratio(sum(free), targets[0]))
        scored = [(l0, 0)]
        scored += [(_ratio(self.level(n).free_bytes, targets[n]), n) for n in range(1, MAX_INPUT_LEVEL + 1)]
        return sorted(scored, key=lambda each: -each[0])

    def pending_bytes(self, options: FamilyOptions) -> int:
        """Estimate the bytes to compact until all levels are within their target sizes.

        rocksdb.estimate-pending-compaction-bytes. Files being compacted count.
        """
        found = levels.LevelTargets(self.sizes, BASE_LEVEL, level_targets(options))
        is_due = len(self.l0) >= options.level0_file_num_compaction_trigger or found.sizes[0] >= found.targets[0]
        return found.pending_bytes(is_l0_due=is_due)

    def pick(self, options: FamilyOptions, shown: FamilyOptions) -> Compaction | None:
        """Pick the next compaction; None if no level is full, or every full one waits for a running compaction.

        `options` are those behind the scores, `shown` those that read back (LevelCompactionBuilder::SetupInitialFiles).
        """
        skipped_l0 = False
        for score, number in self.scores(options):
            if score < 1:
                return None
            if number == 0:
                found = self._pick_l0() or self._pick_intra_l0(shown)
                skipped_l0 = True
            elif number == BASE_LEVEL and skipped_l0:
                continue  # otherwise the way out of level 0 would never be free
            else:
                found = self._pick_deeper(number)
            if found is not None:
                return found
        return None

    def _pick_l0(self) -> Compaction | None:
        """Take all of level 0 and level 1 if neither has busy files: only one such compaction runs at a time."""
        base = self.level(BASE_LEVEL)
        if base.busy_bytes or any(each.input_level == 0 or each.output_level == BASE_LEVEL for each in self._running):
            return None
        upper = sum(file.bytes for file in self.l0)
        distinct = self._distinct([file.bytes for file in self.l0])
        output = self._merged(distinct, base.bytes)
        return Compaction(0, BASE_LEVEL, list(self.l0), upper, base.bytes, output, span=1.0)

    def _pick_intra_l0(self, options: FamilyOptions) -> Compaction | None:
        """Compact the newest files within level 0 while level 1 is busy (FindIntraL0Compaction)."""
        if len(self.l0) < options.level0_file_num_compaction_trigger + 2 or self.l0[0].is_compacted:
            return None
        total, per_deleted, limit = self.l0[0].bytes, float("inf"), 1
        while limit < len(self.l0):
            total += self.l0[limit].bytes
            if self.l0[limit].is_compacted or total // limit > per_deleted or total > options.max_compaction_bytes:
                break
            per_deleted = total // limit
            limit += 1
        if limit < _MIN_INTRA_L0_FILES:
            return None
        files = self.l0[:limit]
        upper = sum(file.bytes for file in files)
        return Compaction(0, 0, files, upper, 0, self._distinct([file.bytes for file in files]), span=1.0)

    def _pick_deeper(self, number: int) -> Compaction | None:
        """Take one file, and the files that it overlaps in the next level."""
        upper, lower = self.level(number), self.level(number + 1)
        size = min(upper.file_bytes, upper.free_bytes)
        if size <= 0:
            return None
        span = upper.covered * size / upper.bytes
        if not lower.bytes or lower.covered + span <= 1:
            # Files that overlap nothing come first (kMinOverlappingRatio) and only change their level.
            return Compaction(number, number + 1, [], size, 0, size, span, is_move=True)
        overlapped = min(lower.bytes, round(span / lower.covered * lower.bytes) + lower.file_bytes)
        if overlapped > lower.free_bytes:
            return None
        output = self._merged(size, overlapped, lower.bytes)
        return Compaction(number, number + 1, [], size, overlapped, output, span)

    def _distinct(self, sizes: Sequence[int]) -> int:
        missing = 1.0
        for size in sizes:
            missing *= 1 - min(1.0, size / self.keys_bytes)
        return min(sum(sizes), max(1, round(self.keys_bytes * (1 - missing))))

    def _merged(self, upper: int, lower: int, lower_level: int | None = None) -> int:
        """Return the size of two merged runs; the lower one has an upper key as likely as its level is full."""
        level = lower if lower_level is None else lower_level
        return max(1, lower, upper + lower - round(upper * min(1.0, level / self.keys_bytes)))


def _ratio(size: int, target: int) -> float:
    return size / target if target > 0 else float("inf") if size else 0.0
