"""A policy at work on one session: the law, the window it sees, and its shaping."""

from adocd.controllers import registry
from adocd.daemon.change.shaping import Shaper
from adocd.model.capabilities import Capabilities
from adocd.model.decision import Decision
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.probes.statistics import StatisticsProbe

#: A law is called when this share of its period has passed, so that a tick's jitter does not skip one.
_PERIOD_TOLERANCE = 0.9


class Law:
    """A controller with fresh state; raises registry.PolicyError when the policy makes no sense."""

    def __init__(self, policy: Policy, capabilities: Capabilities) -> None:
        self.policy = policy
        self.controller = registry.create(policy)
        self.shaper = Shaper(policy.shaping)
        self._window = StatisticsProbe(capabilities)
        self._window_began_s: float | None = None

    def step(self, snapshot: Snapshot) -> tuple[Decision, Sample] | None:
        """Ask the law once its period has passed, with a sample of all the time since it was last asked.

        The loop may tick faster than the law's period; the law must still see all of its window. Returns the decision
        and what it was made of; None when there is none.
        """
        sample = self.measure(snapshot)
        decision = None if sample is None else self.controller.step(sample)
        return None if decision is None or sample is None else (decision, sample)

    def measure(self, snapshot: Snapshot) -> Sample | None:
        """Measure the window, once it is over; the first call begins it."""
        began_s = self._window_began_s
        if began_s is not None and snapshot.monotonic_s - began_s < self.controller.period_s * _PERIOD_TOLERANCE:
            return None
        self._window_began_s = snapshot.monotonic_s
        return self._window.sample(snapshot)
