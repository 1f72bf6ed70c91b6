"""The interface between the daemon and a database."""

from collections.abc import Set
from typing import Protocol

from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import DatabaseDetail
from adocd.model.snapshot import Lease, Restore, Snapshot


class Target(Protocol):
    """One live database. Every call that fails raises a TargetError of adocd.targets.errors."""

    async def detail(self) -> DatabaseDetail:
        """Read identity, capabilities and original options."""

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the newest snapshot, with the events after the number `events_after`."""

    async def wait(self, events_after: int, kinds: Set[str], timeout_s: float) -> bool:
        """Wait for an event after the number `events_after` of one of these kinds; return whether it came in time.

        The kinds are some of the capability `waits_for`. A snapshot requested after that shows the event.
        """

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """Acquire (epoch None) or renew the lease."""

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """Release the lease, which makes the agent restore the originals."""

    async def revoke_lease(self) -> Restore:
        """Revoke the lease, whoever holds it, which makes the agent restore the originals: the panic button."""

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
        lift_rate_limit: bool = False,
    ) -> tuple[StepResult, ...]:
        """Execute changes in order; with `repeat` also those whose values are set already.

        There is no timeout: during a stall a change can take many seconds. With `lift_rate_limit` a rate limit that we
        have lowered is its owner's while a call waits, where the capability `lifts_rate_limit` says so.
        """

    async def close(self) -> None:
        """Close the connections."""
