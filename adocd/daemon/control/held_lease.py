"""The lease that we hold, or held, on one session's database."""

from adocd.model.snapshot import Lease, Restore, Snapshot
from adocd.targets.base import Target
from adocd.targets.errors import Closed, Refused

#: Renew a lease after this share of its TTL, not in every cycle: each renewal is one more request per target.
_RENEW_SHARE = 0.25


class HeldLease:
    """Acquires, renews and releases the lease; Session keeps track of what was changed under it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        #: None while we hold none.
        self.current: Lease | None = None
        #: Whether the agent has this lease's restore plan, which undoes all of our changes.
        self.has_way_back = False
        self._is_lost = False
        #: The epoch of our newest lease, whether or not we still hold it.
        self._epoch: int | None = None
        #: When the lease was last renewed; None if it was not renewed since it was acquired.
        self._renewed_s: float | None = None

    async def acquire(self, holder: str, ttl_s: float, snapshot: Snapshot) -> str | None:
        """Acquire the lease unless we hold it; return None when we hold it, else why it was refused.

        The lease is not acquired while a change or a restore step of an earlier lease is in flight, because its result
        is unknown. Nor while the snapshot shows a lease that this session did not acquire, even one of ours or one that
        ends before we ask: its changes would be mistaken for the owner's.
        """
        if self.current is not None:
            return None
        if snapshot.change_in_flight:
            return "a change made under an earlier lease is still in flight"
        if snapshot.restore.state == "running" or is_due(snapshot):
            return "the agent is executing a restore step of an earlier lease"
        if snapshot.lease is not None:
            if snapshot.lease.holder != holder:
                return f"{snapshot.lease.holder} holds the lease; wait until it ends, or revoke it by adocctl restore"
            await self._target.release_lease(holder, snapshot.lease.epoch)
            return "a lease from before the connection was lost was released, and the agent restores the originals"
        self.has_way_back, self._renewed_s = False, None
        refused = await self._hold(holder, ttl_s, None)
        self._epoch = None if self.current is None else self.current.epoch
        return refused

    async def renew(self, holder: str, ttl_s: float, now_s: float, *, responds_during_stall: bool) -> None:
        """Renew the lease once a quarter of its TTL has passed, or find out that it is lost.

        This comes first in a cycle: an agent that cannot answer now finds the renewal in its socket when it can, before
        it lets the lease expire. For the same reason an agent that a stall can block gets a renewal in every cycle.
        `now_s` may come from any monotonic clock, as long as it is always the same one.
        """
        if self.current is None:
            return
        waits = responds_during_stall and self.current.ttl_s == ttl_s
        if waits and self._renewed_s is not None and now_s - self._renewed_s < _RENEW_SHARE * ttl_s:
            return
        await self._hold(holder, ttl_s, self.current.epoch)
        self._renewed_s = now_s  # not set when renewing raised: the next cycle tries again

    async def release(self) -> Restore | None:
        """Release the lease, which makes the agent restore; None if none is held. Raises TargetError."""
        if self.current is None:
            return None
        restore = await self._target.release_lease(self.current.holder, self.current.epoch)
        self.let_go()
        return restore

    def was_revoked(self, snapshot: Snapshot) -> bool:
        """Whether an operator revoked the lease, before this snapshot or since our last renewal."""
        ours, self._is_lost = self.current is not None or self._is_lost, False
        told = ours and any(event.kind == "lease_revoked" for event in snapshot.events)
        return told or (self._epoch is not None and snapshot.revoked_epoch == self._epoch)

    def has_lapsed(self, snapshot: Snapshot) -> bool:
        """Whether the agent has ended the lease because nobody renewed it."""
        return self.current is not None and not _is_same(self.current, snapshot.lease)

    def revoked(self) -> None:
        """Drop a lease that an operator revokes or has revoked."""
        self._epoch = None
        self.let_go()

    def let_go(self) -> None:
        """Drop the lease; the agent undoes the changes made under it."""
        self.current, self.has_way_back = None, False

    async def _hold(self, holder: str, ttl_s: float, epoch: int | None) -> str | None:
        try:
            self.current = await self._target.hold_lease(holder, ttl_s, epoch)
        except Closed:
            raise
        except Refused as error:
            self.let_go()
            self._is_lost = error.code == "lease_lost"
            return str(error)
        return None


def is_due(snapshot: Snapshot) -> bool:
    """Whether a restore is about to begin: its plan is armed, and its lease has ended."""
    return snapshot.lease is None and snapshot.restore.state == "armed"


def _is_same(ours: Lease, held: Lease | None) -> bool:
    return held is not None and (held.holder, held.epoch) == (ours.holder, ours.epoch)
