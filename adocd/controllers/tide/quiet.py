"""Whether clients write little, which ends a flood. Pure."""

from adocd.controllers.tide.family import is_held
from adocd.controllers.tide.learned import Learned
from adocd.model.sample import Sample

#: Clients are at the ebb below this share of their peak, or of the device, for so long; or below this one for longer.
_EBB_OF_CLIENTS, _EBB_OF_DEVICE, _EBB_S = 1 / 10, 1 / 8, 5.0
_SLACK_OF_DEVICE, _SLACK_S = 1 / 6, 60.0


class Quiet:
    """For how long clients have written little, from sample to sample."""

    def __init__(self) -> None:
        self._ebb_s = self._slack_s = 0.0

    def observe(self, sample: Sample, learned: Learned) -> bool:
        """Take in a window; tell whether clients have written little for long enough, and nobody waits."""
        enough, slack = _little(learned)
        waits = sample.condition != "normal" or any(map(is_held, sample.column_families))
        self._ebb_s = 0.0 if learned.writes > enough or waits else self._ebb_s + sample.interval_s
        self._slack_s = 0.0 if learned.writes > slack or waits else self._slack_s + sample.interval_s
        return self._ebb_s >= _EBB_S or self._slack_s >= _SLACK_S


def writes_little(learned: Learned) -> bool:
    """Whether what clients write now would end a flood sooner or later."""
    _, slack = _little(learned)
    return learned.writes <= slack


def _little(learned: Learned) -> tuple[float, float]:
    """Return what clients write at most at the ebb, and where that lasts for longer, in bytes/s."""
    device = (learned.device or 0.0) / learned.kept  # in bytes as clients write them
    enough = max(_EBB_OF_CLIENTS * (learned.clients or 0.0), _EBB_OF_DEVICE * device)
    return enough, max(enough, _SLACK_OF_DEVICE * device)
