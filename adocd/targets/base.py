"""The seam between the daemon and a database: a few calls."""

from typing import Protocol

from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import DatabaseDetail
from adocd.model.snapshot import Lease, Restore, Snapshot


class Target(Protocol):
    """One live database. Every call raises a TargetError of adocd.targets.errors when it cannot be done."""

    async def detail(self) -> DatabaseDetail:
        """Read identity, capabilities and original options."""

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the newest snapshot, with the events after a cursor."""

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """Acquire (epoch None) or renew the lease."""

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """Give the lease back and let the agent restore the originals."""

    async def revoke_lease(self) -> Restore:
        """Take the lease from whoever holds it and let the agent restore the originals: the panic button."""

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
    ) -> tuple[StepResult, ...]:
        """Execute changes in order, with `repeat` also those whose values are there.

        It takes as long as it takes: many seconds during a stall.
        """

    async def close(self) -> None:
        """Close the connections."""
