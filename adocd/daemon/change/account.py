"""One option in the ledger: one state, which everything that is said of it follows from. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from adocd.daemon.change.planner import restorable
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName, nested


@dataclass(slots=True)
class Account:
    """One option of the session."""

    #: The value that the session's open found; None where the option came later.
    opened_with: str | None
    #: Where the way back leads; None where nobody knows, because the option is not reported.
    baseline: str | None
    #: Whether we have changed it, or an earlier lease has left it changed, and it was not seen back yet.
    is_ours: bool = False
    #: Whether this session's leases have changed it: the agent wants it named as long as it is not as it was opened.
    is_touched: bool = False
    #: Our value that was sent and not put back, in flight or there.
    sent: str | None = None
    #: Our value that was read back after a change, and is expected to stay.
    confirmed: str | None = None
    #: The value before our last change.
    before: str | None = None
    #: The value last read back after a change of ours, put back included.
    last_seen: str | None = None
    #: What the agent's plan says of it, where it is not ours.
    armed: str | None = None
    #: How often RocksDB has taken our value back.
    reverts: int = 0

    def leave(self, option: OptionName) -> None:
        """Leave it to its owner."""
        if self.is_ours and self.baseline is not None:
            self.armed = restorable(option, self.baseline)
        self.is_ours = False
        self.sent = self.confirmed = self.before = None

    def release(self) -> None:
        """Forget what was done under a lease."""
        self.is_ours, self.reverts = False, 0
        self.sent = self.confirmed = self.before = self.last_seen = self.armed = None


@dataclass(frozen=True, slots=True)
class Known:
    """What follows from the accounts, until one of them changes: most cycles change none."""

    baseline: dict[OptionName, str]
    way_back: dict[OptionName, str]
    originals: OptionValues
    ours: frozenset[OptionName]
    sent: dict[OptionName, str]

    @classmethod
    def of(cls, accounts: Iterable[tuple[OptionName, Account]]) -> "Known":
        """Work it out."""
        accounts = tuple(accounts)
        baseline = {option: account.baseline for option, account in accounts if account.baseline is not None}
        return cls(
            baseline,
            {option: restorable(option, value) for option, value in baseline.items()},
            nested(baseline),
            frozenset(option for option, account in accounts if account.is_ours),
            {option: account.sent for option, account in accounts if account.sent is not None},
        )
