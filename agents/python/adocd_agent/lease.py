"""Who may change a database: one holder at a time, rising epochs, an end that only a renewal puts off."""

from __future__ import annotations

from typing import Any, NamedTuple

from adocd_agent.problems import Refusal

Json = Any
GRACE_S = 2.0
"""How long the process must have been able to run since a renewal before the lease can expire.

Renewals wait in the socket while it stands still, and are served within this once it runs again. It is much shorter
than a time to live in use, so that standstills cannot keep the lease of a dead holder alive.
"""


class Times(NamedTuple):
    """One moment on two clocks: the monotonic one, and the one that stands still while the process does."""

    wall_s: float
    running_s: float


class LeaseBook:
    """The lease of one session. Knows no clock and no lock: its keeper brings both."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self._epoch = 0
        self.revoked_epoch: int | None = None
        self._ttl_s = 0.0
        self._expires = Times(0.0, 0.0)

    def hold(self, holder: str, ttl_s: float, epoch: int | None, now: Times) -> bool:
        """Acquire or renew; true when it was acquired.

        An epoch that is not the current one always means "lost", so that a former holder learns what happened even
        when somebody else holds the lease by now.
        """
        if epoch is not None and (self.holder is None or epoch != self._epoch):
            raise self._lost(epoch)
        if self.holder is not None and self.holder != holder:
            raise self._held()
        acquired = self.holder is None
        if acquired:
            self.holder = holder
            self._epoch += 1
        self._ttl_s = ttl_s
        self._expires = Times(now.wall_s + ttl_s, now.running_s + min(ttl_s, GRACE_S))
        return acquired

    def require(self, holder: str, epoch: int) -> None:
        """Refuse unless this is the current lease."""
        if self.holder is None:
            if 1 <= epoch <= self._epoch:
                raise self._lost(epoch)
            raise Refusal(409, "lease_required", "Nobody holds the lease; acquire it with PUT .../lease.")
        if epoch != self._epoch and (self.holder == holder or epoch < self._epoch):
            raise self._lost(epoch)
        if self.holder != holder:
            raise self._held()

    def require_for_release(self, holder: str | None, epoch: int | None) -> None:
        """Refuse a release by somebody else, or by nobody in particular."""
        if holder is None:
            raise Refusal(400, "bad_request", "Name the holder and the epoch, or use force=true.")
        if holder != self.holder:
            raise self._held()
        if epoch is not None and epoch != self._epoch:
            raise self._lost(epoch)

    def end(self) -> None:
        """Nobody holds it any more."""
        self.holder = None

    def revoke(self) -> None:
        """Note that an operator revokes the newest lease, also where it has expired a moment ago."""
        self.revoked_epoch = self._epoch or None

    def left_s(self, now: Times) -> float | None:
        """Return the seconds until it expires, 0 or less when that is due; None when nobody holds it."""
        if self.holder is None:
            return None
        return max(self._expires.wall_s - now.wall_s, self._expires.running_s - now.running_s)

    def as_json(self, now: Times) -> dict[str, Json] | None:
        """Write it as the contract's Lease."""
        left_s = self.left_s(now)
        if left_s is None:
            return None
        return {
            "holder": self.holder,
            "epoch": self._epoch,
            "ttl_s": self._ttl_s,
            "expires_in_s": max(0.0, left_s),
        }

    def _held(self) -> Refusal:
        detail = f"{self.holder} holds the lease; wait until it ends, or revoke it with force=true."
        return Refusal(409, "lease_held", detail, holder=str(self.holder))

    def _lost(self, epoch: int) -> Refusal:
        return Refusal(409, "lease_lost", f"Epoch {epoch} is not the current lease; acquire a new one.")
