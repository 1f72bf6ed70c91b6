"""What ends a flood: clients write little, or nothing has pressed for long. Pure."""

from adocd.controllers.tide.family import anyone_is_held
from adocd.controllers.tide.learned import Learned
from adocd.model.sample import Sample

#: Clients are at the ebb below this share of their peak, or of the device, for so long; or below this one for longer.
_EBB_OF_CLIENTS, _EBB_OF_DEVICE, _EBB_S = 1 / 10, 1 / 8, 5.0
_SLACK_OF_DEVICE, _SLACK_S = 1 / 6, 60.0
#: A flood in which nothing has pressed for so long ends, in s; and the longest that this can become.
_NEEDLESS_S, _NEEDLESS_MOST_S = 300.0, 4 * 3600.0


class Quiet:
    """For how long clients have written little, from sample to sample.

    Where they write in bursts, each would be a flood: everything taken and given back each time. So where a flood
    comes after less than a minute of quiet, the next ebb waits twice as long, up to a minute; after more, as at
    first, because waiting for a minute would not have saved it.
    """

    def __init__(self) -> None:
        self._after_s = _EBB_S
        #: Since an ebb began, in s; None if a flood has come since, or none has begun yet.
        self._ebbed_s: float | None = None
        self.flood_is_over()

    def flood_is_over(self) -> None:
        """Count from the next window on."""
        self._ebb_s = self._slack_s = 0.0

    def observe(self, sample: Sample, learned: Learned, *, in_flood: bool, presses: bool) -> bool:
        """Take in a window; tell whether clients have written little for long enough, and nobody waits.

        `in_flood`: there was one before it. `presses`: one begins in it, or goes on, unless that is so.
        """
        enough, slack = _little(learned)
        waits = sample.condition != "normal" or anyone_is_held(sample)
        self._ebb_s = 0.0 if learned.writes > enough or waits else self._ebb_s + sample.interval_s
        self._slack_s = 0.0 if learned.writes > slack or waits else self._slack_s + sample.interval_s
        if self._ebbed_s is not None:
            self._ebbed_s += sample.interval_s
        is_quiet = self._ebb_s >= self._after_s or self._slack_s >= _SLACK_S
        if is_quiet and in_flood and self._ebbed_s is None:
            self._ebbed_s = 0.0
        elif presses and not is_quiet and self._ebbed_s is not None:
            self._after_s = min(_SLACK_S, 2 * self._after_s) if self._after_s + self._ebbed_s < _SLACK_S else _EBB_S
            self._ebbed_s = None
        return is_quiet


class Needless:
    """For how long nothing has pressed in a flood: then the owner's options may do as well, whatever clients write.

    The files of level 0 press only where a flood begins: later they are the law's doing. Where it presses again soon
    after such an end, the next one takes twice as long.
    """

    def __init__(self) -> None:
        self._after_s, self._unpressed_s = _NEEDLESS_S, 0.0
        #: Since it has ended a flood, in s; None if what came next has been seen.
        self._ended_s: float | None = None

    @property
    def is_long(self) -> bool:
        """Whether nothing has pressed for long enough."""
        return self._unpressed_s >= self._after_s

    @property
    def has_ended(self) -> bool:
        """Whether a flood has ended for this, and nothing has pressed since."""
        return self._ended_s is not None

    def observe(self, sample: Sample, *, begins: bool) -> None:
        """Take in a window; `begins`: a flood begins in it."""
        waits = sample.condition != "normal" or sample.stalled_fraction or anyone_is_held(sample)
        if begins or waits:
            if self._ended_s is not None:
                is_soon = self._ended_s < self._after_s
                self._after_s = min(_NEEDLESS_MOST_S, 2 * self._after_s) if is_soon else _NEEDLESS_S
            self._unpressed_s, self._ended_s = 0.0, None
        else:
            self._unpressed_s += sample.interval_s
            if self._ended_s is not None:
                self._ended_s += sample.interval_s

    def ends(self) -> None:
        """Note that a flood ends for this."""
        self._ended_s = 0.0


def writes_little(learned: Learned) -> bool:
    """Whether what clients write now would end a flood sooner or later."""
    _, slack = _little(learned)
    return learned.writes <= slack


def _little(learned: Learned) -> tuple[float, float]:
    """Return what clients write at most at the ebb, and where that lasts for longer, in bytes/s."""
    device = (learned.device or 0.0) / learned.kept  # in bytes as clients write them
    enough = max(_EBB_OF_CLIENTS * (learned.clients or 0.0), _EBB_OF_DEVICE * device)
    return enough, max(enough, _SLACK_OF_DEVICE * device)
