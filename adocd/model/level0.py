"""Level 0 after a large merge."""

from adocd.model.levels import base_level_bytes
from adocd.model.sample import ColumnFamilySample, Sample

#: Few files: at least so many of the owner's triggers, and a share of those beside them.
_LEAST_TRIGGERS, _SHARE = 2, 5


def few_files(trigger: int, slowdown: int, beside: int = 0) -> int:
    """Return the number of L0 files below which level 1, where it is too large, is better moved down first.

    A large merge out of level 0 leaves the files behind that came while it ran. The owner's trigger would merge them at
    once, with all that level 1 holds now: for five files, RocksDB wrote ten gigabytes again. With the owner's base
    level in force, it moves level 1 down first, mostly without writing it: for 18 files above 256 in level 1 it wrote
    0.6 GB, and 2.4 GB where they were merged first (runs of `bench/evaluation.sh flood-cap-13`). With many files moving
    costs more than it saves.

    So few are a fifth of the files `beside` them, but at least twice the owner's trigger, and no more than `slowdown`,
    the slowdown trigger in force: RocksDB asserts that no trigger is above it. A slowdown of 0 or less is none, as one
    that was switched off live.

    Where base level and trigger were raised, the trigger comes back in two steps: to this number, which leaves a few
    files alone, and to the owner's when the base level comes back. A raised slowdown takes the same two steps where the
    owner's is below this number.
    """
    few = max(_LEAST_TRIGGERS * trigger, beside // _SHARE)
    return max(1, trigger, few if slowdown <= 0 else min(few, slowdown))


def files_when_merged(cf: ColumnFamilySample, sample: Sample) -> int:
    """Return how many files of level 0's mean size the base level has when level 0 is merged."""
    if not cf.level_bytes or not cf.level_bytes[0]:
        return cf.l0_files
    return int(cf.l0_files * (1 + base_level_bytes(cf, sample) / cf.level_bytes[0]))
