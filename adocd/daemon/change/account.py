"""The ledger's record of one option; the ledger derives all its answers from these records. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from adocd.daemon.change.way_back import restorable
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName, nested


@dataclass(slots=True)
class OptionAccount:
    """What one session knows of one option."""

    #: The value when the session opened; None if the option appeared later.
    opened_with: str | None
    #: The value to restore; None if unknown because the option is not reported.
    baseline: str | None
    #: Whether we, or an earlier lease, changed it, and it has not been seen restored.
    is_ours: bool = False
    #: Whether this session's leases changed it: the restore plan must name it until it has its opening value again.
    is_touched: bool = False
    #: Our value, in flight or set, and not restored yet.
    sent: str | None = None
    #: Our value that was read back after a change and should stay.
    confirmed: str | None = None
    #: The value before our last change.
    before: str | None = None
    #: The value last read back after a change of ours, restores included.
    last_seen: str | None = None
    #: The value in the agent's restore plan, if the option is not ours.
    armed: str | None = None
    #: How often RocksDB has reverted our value.
    reverts: int = 0

    def leave(self, option: OptionName) -> None:
        """Leave it to its owner."""
        if self.is_ours and self.baseline is not None:
            self.armed = restorable(option, self.baseline)
        self.is_ours = False
        self.sent = self.confirmed = self.before = None

    def release(self) -> None:
        """Forget the changes made under a lease."""
        self.is_ours, self.reverts = False, 0
        self.sent = self.confirmed = self.before = self.last_seen = self.armed = None


@dataclass(frozen=True, slots=True)
class KnownAccounts:
    """The answers derived from all accounts, cached until one changes: most cycles change none."""

    baseline: dict[OptionName, str]
    way_back: dict[OptionName, str]
    originals: OptionValues
    ours: frozenset[OptionName]
    sent: dict[OptionName, str]

    @classmethod
    def of(cls, accounts: Iterable[tuple[OptionName, OptionAccount]]) -> "KnownAccounts":
        """Derive the answers from the accounts."""
        accounts = tuple(accounts)
        baseline = {option: account.baseline for option, account in accounts if account.baseline is not None}
        return cls(
            baseline,
            {option: restorable(option, value) for option, value in baseline.items()},
            nested(baseline),
            frozenset(option for option, account in accounts if account.is_ours),
            {option: account.sent for option, account in accounts if account.sent is not None},
        )
