"""Level 0 after a large merge."""

#: Few files, in the owner's triggers: always, and the most, as a share of those that a large merge took.
_LEAST_TRIGGERS, _MOST_TRIGGERS, _OF_A_MERGE = 2, 5, 6


def few_files(trigger: int, slowdown: int, now: int = 0) -> int:
    """Return the number of L0 files below which level 1, where it is too large, is better moved down first.

    A large merge out of level 0 leaves the files behind that came while it ran. The owner's trigger would merge them at
    once, with all that level 1 holds now: for five files, RocksDB wrote ten gigabytes again. With the owner's base
    level in force, it moves level 1 down first, mostly without writing it. With many files that costs more than it
    saves: level 1 holds at least as many as the trigger in force, `now`, and few are at most a sixth of that. Measured
    with 18 files above a level 1 of 256: RocksDB wrote 0.6 GB, and 2.4 GB where the files were merged with all of it.

    So where both were raised, the trigger comes back in two steps: to this number, which leaves a few files alone, and
    to the owner's when the base level comes back. That they are as few with the first step in force lets the second
    follow. A slowdown of 0 or less is none, as one that was switched off live.
    """
    most = min(slowdown, _MOST_TRIGGERS * trigger) if slowdown > 0 else _MOST_TRIGGERS * trigger
    of_merge = now if now <= most else now // _OF_A_MERGE
    return max(1, trigger, min(most, max(_LEAST_TRIGGERS * trigger, of_merge)))
