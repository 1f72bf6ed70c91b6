"""One open of a database under control: what is forgotten when it closes."""

from adocd.daemon.change.actuator import Actuator
from adocd.daemon.change.compaction import CompactionLimits
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.safety import Guard
from adocd.daemon.change.unsettled import Unsettled
from adocd.daemon.control.law import Law
from adocd.daemon.control.steering import Steering
from adocd.model.database import DatabaseDetail
from adocd.model.policy import Policy
from adocd.model.snapshot import Lease, Restore, Snapshot
from adocd.model.values import flat
from adocd.probes.statistics import StatisticsProbe
from adocd.targets.base import Target
from adocd.targets.errors import Closed, Refused

#: A lease is renewed when so much of its time has gone: each renewal is a request to every target.
_RENEW_SHARE = 0.25


class Session:
    """State of one session: probes, law, what is ours, lease and the change in flight."""

    def __init__(
        self,
        target: Target,
        detail: DatabaseDetail,
        snapshot: Snapshot,
        policy: Policy,
        actuator: Actuator,
        guards: tuple[Guard, ...],
        limits: CompactionLimits,
        *,
        repeats: bool = False,
        step_limit_s: float | None = None,
    ) -> None:
        """Begin; raises registry.PolicyError when the policy makes no sense.

        `repeats` says whether changes have to be looked after (adocd.daemon.change.unsettled), `step_limit_s` how long
        a law may take to decide (adocd.daemon.control.bounded).
        """
        self.target = target
        self.detail = detail
        #: RocksDB's ids of the column families, as far as the agent reads them.
        self._family_ids = _ids(snapshot)
        self.probe = StatisticsProbe(detail.capabilities)
        self.actuator = actuator
        self._step_limit_s = step_limit_s
        self.law = Law(policy, detail.capabilities, step_limit_s)
        self.ledger = Ledger(flat(detail.originals))
        self.ledger.knows_anew = bool(self._family_ids)
        self.steering = Steering(self.ledger, guards, limits)
        self.unsettled = Unsettled() if repeats else None
        self.lease: Lease | None = None
        #: Whether the agent has a plan of this lease's, which leads back from all that is ours.
        self.has_way_back = False
        #: Until when nothing new is sent, by the loop's clock, and why: somebody else has changed what we set.
        self.stands_back_until_s = 0.0
        self.why_back = ""
        self.last_event: int | None = None
        self._lease_lost = False
        #: Of the newest lease that was ours, whether or not it still is.
        self._epoch: int | None = None
        #: When the lease was last renewed; None since it was acquired.
        self._renewed_s: float | None = None

    def take_policy(self, policy: Policy) -> None:
        """Begin with a fresh law; raises registry.PolicyError when the policy makes no sense.

        Another law begins from the originals, the same with other parameters from where it is.
        """
        law = Law(policy, self.detail.capabilities, self._step_limit_s)
        if law.controller.name != self.law.controller.name:
            self.steering.forget_wishes()
        self.law = law

    def take_detail(self, detail: DatabaseDetail, snapshot: Snapshot) -> None:
        """Go on with column families that came, and without those that went; one that came anew is another."""
        anew = self.created_anew(snapshot)
        self.detail, self._family_ids = detail, _ids(snapshot)
        self.ledger.reopened_with(flat(detail.originals), anew)
        self.steering.forget_families(anew)

    def created_anew(self, snapshot: Snapshot) -> frozenset[str]:
        """Name the column families that were dropped and created anew since their originals were read."""
        known = self._family_ids
        return frozenset(name for name, id_ in _ids(snapshot).items() if known.get(name, id_) != id_)

    async def hold_lease(self, holder: str, ttl_s: float, snapshot: Snapshot) -> str | None:
        """Acquire the lease unless it is ours; the sentence says why that was refused, None when it is ours.

        Nothing is acquired while a change of an earlier lease is in flight, or a step of its restore: nobody could say
        what it leaves behind. Nor while the snapshot shows a lease of which this session knows nothing, not even one of
        ours, or one that ends before we ask: what was changed under it would be taken for the owner's.
        """
        if self.lease is not None:
            return None
        if snapshot.change_in_flight:
            return "a change made under an earlier lease is still in flight"
        if snapshot.restore.state == "running" or is_due(snapshot):
            return "the agent is executing a restore step of an earlier lease"
        if snapshot.lease is not None:
            if snapshot.lease.holder != holder:
                return f"{snapshot.lease.holder} holds the lease; wait until it ends, or revoke it by adocctl restore"
            await self.target.release_lease(holder, snapshot.lease.epoch)
            return "a lease from before the connection was lost was given back, and the agent restores"
        self.has_way_back, self._renewed_s = False, None
        refused = await self._hold(holder, ttl_s, None)
        self._epoch = None if self.lease is None else self.lease.epoch
        return refused

    async def renew_lease(self, holder: str, ttl_s: float, now_s: float) -> None:
        """Renew the lease where one is held and a quarter of its time has gone, or learn that it is lost.

        The first thing in a cycle: an agent that cannot answer now finds the renewal in its socket once it can, and
        before it lets the lease expire. One that may stand still is asked each time, for the same reason. `now_s` is by
        any monotonic clock, always the same.
        """
        if self.lease is None:
            return
        waits = self.detail.capabilities.responds_during_stall and self.lease.ttl_s == ttl_s
        if waits and self._renewed_s is not None and now_s - self._renewed_s < _RENEW_SHARE * ttl_s:
            return
        await self._hold(holder, ttl_s, self.lease.epoch)
        self._renewed_s = now_s  # not when that raised: then it is tried again in the next cycle

    async def _hold(self, holder: str, ttl_s: float, epoch: int | None) -> str | None:
        try:
            self.lease = await self.target.hold_lease(holder, ttl_s, epoch)
        except Closed:
            raise
        except Refused as error:
            if self.lease is not None:
                self.let_go()
            self._lease_lost = error.code == "lease_lost"
            return str(error)
        return None

    async def release_lease(self) -> Restore | None:
        """Give the lease back, which makes the agent restore; None where none is held. Raises TargetError."""
        if self.lease is None:
            return None
        restore = await self.target.release_lease(self.lease.holder, self.lease.epoch)
        self.let_go()
        return restore

    def notice_revoked(self, snapshot: Snapshot) -> bool:
        """Whether an operator took the lease away, before this snapshot or since our last renewal."""
        ours, self._lease_lost = self.lease is not None or self._lease_lost, False
        told = ours and any(event.kind == "lease_revoked" for event in snapshot.events)
        if not told and (self._epoch is None or snapshot.revoked_epoch != self._epoch):
            return False
        self.revoked()
        return True

    def revoked(self) -> None:
        """Let go of a lease that an operator revokes, or has revoked."""
        self._epoch = None
        self.let_go()

    def notice_lapsed(self, snapshot: Snapshot) -> bool:
        """Let go of a lease that the agent has ended, because nobody renewed it; returns whether it had.

        What the agent's restore then sets is its own doing, and no longer a change by somebody else.
        """
        if self.lease is None or _is_same(self.lease, snapshot.lease):
            return False
        self.let_go()
        return True

    def observe(self, snapshot: Snapshot) -> None:
        """Hand what happened to whoever follows it; each snapshot once, whether or not a sample can be made of it."""
        self.last_event = snapshot.last_event
        self.probe.observe(snapshot)
        self.law.observe(snapshot)
        if self.unsettled is not None:
            self.unsettled.observe(snapshot)

    def knows(self, snapshot: Snapshot) -> bool:
        """Whether the originals held are those of the database in the snapshot."""
        families = set(self.detail.column_families) == set(snapshot.column_families)
        return self.detail.session == snapshot.session and families and not self.created_anew(snapshot)

    def let_go(self) -> None:
        """Forget the lease and what was done under it: the agent leads it back."""
        self.lease, self.has_way_back = None, False
        self.steering.forget_wishes()
        self.ledger.released()


def _is_same(ours: Lease, held: Lease | None) -> bool:
    return held is not None and (held.holder, held.epoch) == (ours.holder, ours.epoch)


def _ids(snapshot: Snapshot) -> dict[str, int]:
    return {name: family.id for name, family in snapshot.column_families.items() if family.id is not None}


def is_due(snapshot: Snapshot) -> bool:
    """Whether a restore is about to begin: its plan is armed, and the lease that it waited for has ended."""
    return snapshot.lease is None and snapshot.restore.state == "armed"
