"""What is kept of one target across all its sessions. Only its loop writes it; anybody may read it."""

from collections.abc import Callable

from adocd.daemon.watch.decision_log import DecisionLog
from adocd.daemon.watch.history import History
from adocd.daemon.watch.samples import Samples
from adocd.daemon.watch.vitals import TargetVitals
from adocd.model.decision_record import DecisionRecord


class Remembered:
    """Samples, history, decisions, and the daemon's metrics of its own work on this target."""

    def __init__(
        self, path: str, samples: int, wall_clock: Callable[[], float], tell: Callable[[DecisionRecord], None]
    ) -> None:
        """Keep the last `samples` samples; `tell` is called with each decision and each update of it."""
        #: Without options and events, which are large.
        self.samples = Samples(samples)
        #: For charts.
        self.history = History()
        self.decisions = DecisionLog(path, wall_clock, tell)

    @property
    def vitals(self) -> TargetVitals:
        """The daemon's metrics of its own work."""
        return self.decisions.vitals

    def keep_samples(self, most: int) -> None:
        """Keep the last `most` samples from now on."""
        self.samples.keep(most)
