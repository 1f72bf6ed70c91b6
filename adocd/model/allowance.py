"""What a database may count on, of what it shares with other databases on the same disks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a target may count on while others share its disks; the daemon's arbiter allots it anew every second or so.

    It is advice and no limit: nothing enforces it, and a law that does not look at it works as before.

    Attributes:
        others: the number of other databases on its disks.
        device_share: its share of what the disks write, 0 to 1; all shares together make 1.
        fair_share: the share that it gets of everything as soon as it wants it: its weight by the weights of all.
        device_bytes_per_s: what it can count on in the long run, of what all of them were seen to write together: its
            share, or the fair one if that is more. None as long as nothing was written.
        memtables_bytes: the most memory for its memtables.
        space_bytes: of the free space and of what level 0 of all of them holds, its part; None if that is not known.
        is_scarce: whether at least one of the others wants more of the disks than is left. What can be put off, should
            be: a merge now takes from others what they need at once, and a later one does the work of several.
        width: the most threads with which it should write at once, because a neighbour's writers wait although that
            neighbour uses less than its share; None while there is no such neighbour.
        waiting: the number of those neighbours.

    """

    others: int
    device_share: float
    fair_share: float
    device_bytes_per_s: float | None
    memtables_bytes: int
    space_bytes: int | None
    is_scarce: bool = False
    width: int | None = None
    waiting: int = 0

    def in_words(self) -> str:
        """Say it in one sentence, without a full stop."""
        others = f"{self.others} other {'database' if self.others == 1 else 'databases'}"
        rate = "" if self.device_bytes_per_s is None else f" (in the long run {self.device_bytes_per_s / 1e6:.0f} MB/s)"
        why = "one of them wants more than is left" if self.is_scarce else "none of them wants more than it gets"
        words = f"it shares its disks with {others} and may count on {100 * self.device_share:.0f} %{rate}, as {why}"
        if self.width is None:
            return words
        who = (
            "one waits and uses less than its" if self.waiting == 1 else f"{self.waiting} wait and use less than their"
        )
        threads = "1 thread" if self.width == 1 else f"{self.width} threads"
        return f"{words}; it should write with {threads} at most, because {who} share"
