"""One open of a database under control: what is forgotten when it closes."""

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.daemon.actuator import Actuator
from adocd.daemon.planner import Touched, differing_from
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Lease, OptionValues, Restore, Snapshot
from adocd.model.threads import threads_by
from adocd.probes.statistics import StatisticsProbe
from adocd.targets.base import DatabaseDetail, Target
from adocd.targets.errors import Closed, Refused

#: A law is called when this share of its period has passed, so that a tick's jitter does not skip one.
_PERIOD_TOLERANCE = 0.9


class Session:
    """State of one session: originals, probes, law, lease and the change in flight."""

    def __init__(self, target: Target, detail: DatabaseDetail, policy: Policy, actuator: Actuator) -> None:
        self.target = target
        self.detail = detail
        self.probe = StatisticsProbe(detail.capabilities)
        self.actuator = actuator
        self.touched = Touched()
        self.lease: Lease | None = None
        self.last_event: int | None = None
        self._lease_lost = False
        self.take_policy(policy)

    @property
    def originals(self) -> OptionValues:
        """The values the options had when this session opened the database."""
        return self.detail.originals

    def take_policy(self, policy: Policy) -> None:
        """Begin with a fresh law; raises registry.PolicyError when the policy makes no sense."""
        self.controller: Controller = registry.create(policy)
        self._window = StatisticsProbe(self.detail.capabilities)
        self._window_began_s: float | None = None

    def window(self, snapshot: Snapshot) -> Sample | None:
        """Measure the law's window: a sample since the law was last called, once its period has passed.

        The loop may tick faster than the law's period; the law must still see all of its window.
        """
        began_s = self._window_began_s
        if began_s is not None and snapshot.monotonic_s - began_s < self.controller.period_s * _PERIOD_TOLERANCE:
            return None
        self._window_began_s = snapshot.monotonic_s
        return self._window.sample(snapshot)

    async def hold_lease(self, holder: str, ttl_s: float, snapshot: Snapshot) -> str | None:
        """Acquire the lease unless it is ours; the sentence says why that was refused, None when it is ours.

        What a lease before ours left changed is taken over, so that our restore plan leads back from it too; so
        nothing is acquired while a change of that lease is still in flight.
        """
        if self.lease is not None:
            return None
        if snapshot.change_in_flight:
            return "a change made under an earlier lease is still in flight"
        refused = await self._hold(holder, ttl_s, None)
        if refused is None:
            by = threads_by(snapshot.options, self.detail.capabilities)
            self.touched = differing_from(self.originals, snapshot.options, by)
        return refused

    async def renew_lease(self, holder: str, ttl_s: float) -> None:
        """Renew the lease where one is held, or learn that it is lost.

        The first thing in a cycle: an agent that cannot answer now finds the renewal in its socket once it can, and
        before it lets the lease expire.
        """
        if self.lease is not None:
            await self._hold(holder, ttl_s, self.lease.epoch)

    async def _hold(self, holder: str, ttl_s: float, epoch: int | None) -> str | None:
        try:
            self.lease = await self.target.hold_lease(holder, ttl_s, epoch)
        except Closed:
            raise
        except Refused as error:
            self.lease, self._lease_lost = None, error.code == "lease_lost"
            return str(error)
        return None

    async def release_lease(self) -> Restore | None:
        """Give the lease back, which makes the agent restore; None where none is held. Raises TargetError."""
        if self.lease is None:
            return None
        restore = await self.target.release_lease(self.lease.holder, self.lease.epoch)
        self.lease, self.touched = None, Touched()
        return restore

    def notice_revoked(self, snapshot: Snapshot) -> bool:
        """Whether an operator took the lease away, before this snapshot or since our last renewal."""
        ours, self._lease_lost = self.lease is not None or self._lease_lost, False
        if not ours or all(event.kind != "lease_revoked" for event in snapshot.events):
            return False
        self.lease, self.touched = None, Touched()
        return True

    def knows(self, snapshot: Snapshot) -> bool:
        """Whether the originals held are those of the database in the snapshot."""
        return self.detail.session == snapshot.session and set(self.detail.column_families) == set(
            snapshot.column_families
        )
