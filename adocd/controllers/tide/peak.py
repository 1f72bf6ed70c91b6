"""A peak of clients who read from the disks: when it is on, and for how long it is a reason to put merges off. Pure."""

import math

#: A peak begins when clients have taken the first of the owner's limit for so long, in s, and ends when they take less
#: than the second.
_BEGINS, _BEGINS_AFTER_S, _ENDS = 1 / 3, 5.0, 1 / 4
#: Clients that take so many times the owner's limit show that it is not the device's bandwidth, for so long, in s.
_NO_BANDWIDTH, _NO_BANDWIDTH_FOR_S = 2, 60.0
#: What lasts longer than this is no peak but the load, and merges that are put off would only become larger, in s.
_MOST_S = 240.0
#: Peaks with shorter valleys than this between them are one, in s.
_OVER_S = 30.0


class Peak:
    """The clients' peak, from sample to sample."""

    def __init__(self) -> None:
        self._is_on = False
        #: Since clients began to take so much, since they took too much to believe the limit, since a peak was on, and
        #: since the first of those that count as one began, in s.
        self._above_s, self._believed_s, self._off_s, self._lasts_s = 0.0, math.inf, math.inf, 0.0

    def observe(self, taken: float, owners: float | None, seconds: float, *, reads_reach_disks: bool) -> None:
        """Take in what clients write and read from the disks, and the owner's limit, in bytes/s; None: not to turn."""
        limit = math.inf if owners is None else owners
        self._believed_s = 0.0 if taken > _NO_BANDWIDTH * limit else self._believed_s + seconds
        may_be = reads_reach_disks and self._believed_s >= _NO_BANDWIDTH_FOR_S
        self._above_s = self._above_s + seconds if may_be and taken >= _BEGINS * limit else 0.0
        self._is_on = may_be and (self._above_s >= _BEGINS_AFTER_S or (self._is_on and taken >= _ENDS * limit))
        self._off_s = 0.0 if self._is_on else self._off_s + seconds
        self._lasts_s = 0.0 if self._off_s >= _OVER_S else self._lasts_s + seconds

    @property
    def is_on(self) -> bool:
        """Whether clients take much of the disks, and read from them."""
        return self._is_on

    @property
    def presses(self) -> bool:
        """Whether merges are put off for it."""
        return self._is_on and self._lasts_s <= _MOST_S

    @property
    def is_past(self) -> bool:
        """Whether none has been on for a while, or it has lasted too long to be one."""
        return self._off_s >= _OVER_S or self._lasts_s > _MOST_S
