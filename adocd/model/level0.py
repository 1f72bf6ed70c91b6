"""Level 0 after a large merge."""


def few_files(trigger: int, slowdown: int) -> int:
    """Return the number of L0 files below which level 1, where it is too large, is better moved down first.

    A large merge out of level 0 leaves the files behind that came while it ran. The owner's trigger would merge them at
    once, with all that level 1 holds now: for five files, RocksDB wrote ten gigabytes again. With the owner's base
    level in force, it moves level 1 down first, mostly without writing it. With many files that costs more than it
    saves.

    So where both were raised, the trigger comes back in two steps: to this number, which leaves a few files alone, and
    to the owner's when the base level comes back. A slowdown of 0 or less is none, as one that was switched off live.
    """
    few = min(slowdown, 2 * trigger) if slowdown > 0 else 2 * trigger
    return max(1, trigger, few)
