"""One open of a database under control: what is forgotten when it closes."""

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.daemon.actuator import Actuator
from adocd.daemon.planner import Touched, differing_from
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Lease, OptionValues, Restore, Snapshot
from adocd.probes.statistics import StatisticsProbe
from adocd.targets.base import DatabaseDetail, Target
from adocd.targets.errors import Closed, Refused

#: A law is called when this share of its period has passed, so that a tick's jitter does not skip one.
_PERIOD_TOLERANCE = 0.9


class Session:
    """State of one session: originals, probe, law, lease and the change in flight."""

    def __init__(self, target: Target, detail: DatabaseDetail, policy: Policy, actuator: Actuator) -> None:
        self.target = target
        self.detail = detail
        self.probe = StatisticsProbe()
        self.actuator = actuator
        self.touched = Touched()
        self.lease: Lease | None = None
        self.last_event: int | None = None
        self.take_policy(policy)

    @property
    def originals(self) -> OptionValues:
        """The values the options had when this session opened the database."""
        return self.detail.originals

    def take_policy(self, policy: Policy) -> None:
        """Begin with a fresh law; raises registry.PolicyError when the policy makes no sense."""
        self.controller: Controller = registry.create(policy)
        self._last_step_s: float | None = None

    def due(self, sample: Sample) -> bool:
        """Whether the law's period has passed since it was last called; notes the call."""
        last = self._last_step_s
        if last is not None and sample.monotonic_s - last < self.controller.period_s * _PERIOD_TOLERANCE:
            return False
        self._last_step_s = sample.monotonic_s
        return True

    async def hold_lease(self, holder: str, ttl_s: float, snapshot: Snapshot) -> str | None:
        """Acquire or renew the lease; the sentence says why that was refused, None when it is ours.

        What a lease before ours left changed is taken over, so that our restore plan leads back from it too.
        """
        epoch = None if self.lease is None else self.lease.epoch
        try:
            lease = await self.target.hold_lease(holder, ttl_s, epoch)
        except Closed:
            raise
        except Refused as error:
            self.lease = None
            return str(error)
        if lease.epoch != epoch:
            self.touched = differing_from(self.originals, snapshot.options)
        self.lease = lease
        return None

    async def release_lease(self) -> Restore | None:
        """Give the lease back, which makes the agent restore; None where none is held. Raises TargetError."""
        lease, self.lease = self.lease, None
        if lease is None:
            return None
        restore = await self.target.release_lease(lease.holder, lease.epoch)
        self.touched = Touched()
        return restore

    def knows(self, snapshot: Snapshot) -> bool:
        """Whether the originals held are those of the database in the snapshot."""
        return self.detail.session == snapshot.session and set(self.detail.column_families) == set(
            snapshot.column_families
        )
