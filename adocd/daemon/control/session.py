"""The state that belongs to one open of a database, and is dropped when it closes."""

from collections.abc import Mapping
from dataclasses import dataclass

from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.guards.memory import promised_bytes, worst_case_bytes
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.settled import Left
from adocd.daemon.change.unsettled import Unsettled, is_needed, takes_back
from adocd.daemon.control.flight import Flight
from adocd.daemon.control.held_lease import HeldLease
from adocd.daemon.control.law import Law
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.steering import Steering
from adocd.model.database import DatabaseDetail, Info
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.model.values import OptionName, flat
from adocd.probes.statistics import Made, StatisticsProbe
from adocd.targets.base import Target


@dataclass(frozen=True, slots=True)
class StandBack:
    """Until when to send nothing new, by the loop's clock, because somebody else changed an option that we had set."""

    until_s: float
    why: str


class Session:
    """State of one session: probe, law, wishes, lease and the change in flight."""

    def __init__(
        self,
        target: Target,
        info: Info,
        detail: DatabaseDetail,
        snapshot: Snapshot,
        policy: Policy,
        settings: LoopSettings,
    ) -> None:
        """Begin a session; raises registry.PolicyError when the policy is invalid."""
        self.target = target
        self.info = info
        self.detail = detail
        #: RocksDB's ids of the column families, if the agent reads them.
        self._family_ids = _ids(snapshot)
        self._probe = StatisticsProbe(detail.capabilities)
        self._step_limit_s = settings.step_limit_s
        self.flight = Flight(settings.clock)
        self.law = Law(policy, detail.capabilities, self._step_limit_s)
        self.law.measure(snapshot)  # starts its window
        self.ledger = Ledger(flat(detail.originals))
        self.ledger.knows_anew = bool(self._family_ids)
        self.ledger.is_reverted = takes_back(info.rocksdb_version)
        self.steering = Steering(self.ledger, GUARDS, settings.compaction)
        #: None if this RocksDB does not revert changes.
        self.unsettled = Unsettled() if is_needed(info.rocksdb_version, info.protocol) else None
        self.held = HeldLease(target)
        self.stand_back: StandBack | None = None
        self.last_event: int | None = None

    # -- what is seen

    def memtables_bytes(self, sample: Sample) -> int:
        """Return the worst case of the memtables, in bytes, with growth in flight."""
        return worst_case_bytes(sample, self.ledger.sent, self.ledger.way_back, self.steering.written.families)

    def promised_bytes(self, sample: Sample) -> int:
        """Return what we have added to the memtables' worst case and they do not take yet, in bytes."""
        return promised_bytes(sample, self.ledger.sent, self.ledger.way_back)

    def observe(self, snapshot: Snapshot) -> None:
        """Pass a snapshot's events on; call it once for each snapshot, even if no sample can be made of it."""
        self.last_event = snapshot.last_event
        self._probe.observe(snapshot)
        self.law.observe(snapshot)
        if self.unsettled is not None:
            self.unsettled.observe(snapshot)

    def measure(self, snapshot: Snapshot) -> Sample | None:
        """Make a sample that covers the time since the last one; None if there is nothing new to measure."""
        return self._probe.sample(snapshot)

    @property
    def made(self) -> Made | None:
        """The snapshots that the last sample was made of."""
        return self._probe.made

    def knows(self, snapshot: Snapshot) -> bool:
        """Whether this session's originals belong to the database, and the column families, in the snapshot."""
        families = set(self.detail.column_families) == set(snapshot.column_families)
        return self.detail.session == snapshot.session and families and not self.created_anew(snapshot)

    def created_anew(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the column families that were dropped and recreated since their originals were read."""
        known = self._family_ids
        return frozenset(name for name, id_ in _ids(snapshot).items() if known.get(name, id_) != id_)

    def may_revert(self, option: OptionName) -> bool:
        """Whether RocksDB may have reverted this option to an earlier value of ours, so that nobody else has set it."""
        if option.scope != "column_family" or not self.ledger.is_reverted:
            return False
        return self.unsettled is None or self.unsettled.is_in_doubt(option.name or "")

    def take_detail(self, detail: DatabaseDetail, snapshot: Snapshot, left: Mapping[OptionName, Left]) -> None:
        """Add new column families and drop those that are gone; a recreated one counts as new.

        `left` is what the journal lists as changed: the agent takes our values for the originals of a column family
        whose handle comes back.
        """
        anew = self.created_anew(snapshot)
        # One that has come since the last detail has no wishes yet: those with its name were for a family that is gone.
        stayed = set(self.detail.column_families) & set(detail.column_families) - anew
        self.detail, self._family_ids = detail, _ids(snapshot)
        self.ledger.reopened_with(flat(detail.originals), anew, left)
        self.steering.keep_families(stayed)

    # -- what is wanted

    def take_policy(self, policy: Policy) -> None:
        """Start a fresh law; raises registry.PolicyError when the policy is invalid.

        A different law starts from the originals. The same law with other parameters starts from the current values,
        but what it turns no more goes back.
        """
        law = Law(policy, self.detail.capabilities, self._step_limit_s)
        if law.controller.name != self.law.controller.name:
            self.forget_wishes()
        self.steering.keep_knobs(law.controller.knobs)
        self.law = law

    def begin_law_anew(self) -> None:
        """Start the law afresh under its policy; what its judge has condemned still rests."""
        judge = self.law.judge
        self.take_policy(self.law.policy)
        self.law.judge = judge
        judge.begin_anew()

    def forget_wishes(self) -> None:
        """Forget what the law wanted, so that the originals come back; that is no fault of its changes."""
        if self.steering.wanted:
            self.law.judge.begin_anew()
        self.steering.forget_wishes()

    def take_limits(self, limits: CompactionLimits) -> None:
        """Apply new limits on how long compaction may stay off."""
        self.steering.limit_compaction(limits)

    # -- the lease

    async def acquire_lease(self, holder: str, ttl_s: float, snapshot: Snapshot) -> str | None:
        """Acquire the lease unless we hold it; see HeldLease."""
        return await self.held.acquire(holder, ttl_s, snapshot)

    async def renew_lease(self, holder: str, ttl_s: float, now_s: float) -> None:
        """Renew the lease if one is held, or find out that it is lost; see HeldLease."""
        responds = self.detail.capabilities.responds_during_stall
        was_held = self.held.current is not None
        await self.held.renew(holder, ttl_s, now_s, responds_during_stall=responds)
        if was_held and self.held.current is None:
            self._forget()

    async def release_lease(self) -> None:
        """Release the lease, which makes the agent restore. Raises TargetError."""
        if await self.held.release() is not None:
            self._forget()

    def notice_revoked(self, snapshot: Snapshot) -> bool:
        """Drop the lease if an operator has revoked it; returns whether one has."""
        if not self.held.was_revoked(snapshot):
            return False
        self.revoked()
        return True

    def revoked(self) -> None:
        """Drop a lease that an operator revokes or has revoked."""
        self.held.revoked()
        self._forget()

    def notice_lapsed(self, snapshot: Snapshot) -> bool:
        """Drop the lease if the agent has ended it for lack of renewal; returns whether it has.

        What the agent's restore sets after that does not count as a change by somebody else.
        """
        if not self.held.has_lapsed(snapshot):
            return False
        self.held.let_go()
        self._forget()
        return True

    def _forget(self) -> None:
        """Forget what was changed under the lease, because the agent restores it."""
        self.forget_wishes()
        self.ledger.released()


def _ids(snapshot: Snapshot) -> dict[str, int]:
    return {name: family.id for name, family in snapshot.column_families.items() if family.id is not None}
