"""What is ours of a database's options: what we set, what leads back, and what others did meanwhile. Pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal

from adocd.daemon.change.account import Account, Known
from adocd.daemon.change.planner import restorable
from adocd.daemon.change.settled import Left
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName, Values

#: RocksDB takes a value back: this often it is sent again, before somebody else is taken for the cause.
_REVERTS_MAX = 3


Blame = Literal["reverted-by-engine", "changed-by-someone-else"]


@dataclass(frozen=True, slots=True)
class Deviation:
    """An option of ours that is not as we left it."""

    option: OptionName
    outcome: Blame
    expected: str
    found: str
    #: Whether it may be another column family of the same name: not every agent reads RocksDB's ids of them.
    may_be_anew: bool = False

    def __str__(self) -> str:
        who = "RocksDB took it back" if self.outcome == "reverted-by-engine" else "somebody else changed it"
        if self.may_be_anew:
            who += ", or dropped the column family and created it anew"
        return f"{self.option} is {self.found}, not {self.expected}: {who}"


class Ledger:
    """One session's account, by option.

    `baseline` is where the way back leads: the value an option had before we touched it, which the host may change
    for as long as we have not. `ours` are the options that we have changed, or that an earlier lease has left changed,
    until they are seen back. `sent` are the values of ours that were sent and not put back, in flight or there.
    """

    def __init__(self, opened_with: Values) -> None:
        """Begin with the values that the session's open found."""
        self._accounts = {option: Account(value, value) for option, value in opened_with.items()}
        #: Whether the agent has asked for more names than we know of: an earlier daemon's journal is lost.
        self.names_all = False
        #: Whether a column family that was dropped and created anew is known as another (see reopened_with).
        self.knows_anew = False
        self._known_now: Known | None = None
        #: The values that the accounts follow, and whether nobody held the lease then.
        self._follows: tuple[Values, bool] | None = None

    @property
    def baseline(self) -> Values:
        """Where the way back leads, by option."""
        return self._known.baseline

    @property
    def way_back(self) -> Values:
        """The values that lead back, or leave an option to its owner."""
        return self._known.way_back

    @property
    def originals(self) -> OptionValues:
        """The baseline as agents report values."""
        return self._known.originals

    @property
    def ours(self) -> frozenset[OptionName]:
        """What is to be put back."""
        return self._known.ours

    @property
    def sent(self) -> Values:
        """The values that we have set and not put back."""
        return self._known.sent

    @property
    def knows_nothing(self) -> bool:
        """Whether nothing was changed by us in this session."""
        return not any(account.is_touched for account in self._accounts.values())

    def unheld(self, current: Values, left: Mapping[OptionName, Left]) -> None:
        """Take stock while nobody holds the lease.

        An option is ours when the journal says that its value is; everything else is as its owner wants it, and that
        may change.
        """
        if self._is_followed(current, is_unheld=True) and not left:
            return
        self.released()
        for option, account in self._accounts.items():
            account.baseline = current.get(option)
        for option, value in current.items():
            account, known = self._of(option), left.get(option)
            account.baseline = value
            if known is not None and known.is_ours(value):
                account.baseline, account.is_ours, account.is_touched = known.original, True, True
        self._changed()
        self._follows = None if left else (current, True)

    def watch(self, current: Values) -> None:
        """Follow the host's own changes of what is not ours, while we hold the lease."""
        if self._is_followed(current, is_unheld=False):
            return
        for option, value in current.items():
            account = self._of(option)
            if not account.is_ours:
                account.baseline = value
        self._changed()
        self._follows = current, False

    def differs(self, current: Values) -> bool:
        """Whether anything is not as this session was opened with."""
        return any(self._differs(option, value) for option, value in current.items())

    def to_name(self, current: Values) -> set[OptionName]:
        """Name what a restore plan must speak of.

        That is what is ours, and what this session's leases have changed and somebody else has taken over. More would
        hold the host to values that it may change at any time.
        """
        taken_over = {
            option
            for option, account in self._accounts.items()
            if account.is_touched and current.get(option, account.opened_with) != account.opened_with
        }
        unknown = {o for o, value in current.items() if self._differs(o, value)} if self.names_all else set()
        return {*self.ours, *taken_over, *unknown}

    def arming(self, named: Set[OptionName]) -> None:
        """Remember what a plan that is sent says of options that are not ours."""
        for option, account in self._accounts.items():
            account.armed = account.baseline if option in named and not account.is_ours else None

    def outdated(self, current: Values) -> dict[OptionName, str]:
        """Give the options that are not ours, and of which the armed plan says what their owner wants no more."""
        armed = ((option, account.armed) for option, account in self._accounts.items() if account.armed is not None)
        return {o: current[o] for o, value in armed if o in current and current[o] != value}

    def sending(self, sent: Values, current: Values) -> None:
        """Take over what is about to be sent, before it is known what becomes of it."""
        for option, value in sent.items():
            account = self._of(option)
            account.is_ours = account.is_touched = True
            account.sent, account.before, account.confirmed = value, current[option], None
        self._changed()

    def set_of(self, family: str, current: Values) -> dict[OptionName, str]:
        """Give what we have set of a column family, put back included, and what is still there."""
        return {
            option: account.last_seen
            for option, account in self._accounts.items()
            if account.last_seen is not None
            and (option.scope, option.name) == ("column_family", family)
            and current.get(option) == account.last_seen
        }

    def seen(self, values: Values) -> None:
        """Remember what was read back after a change; what is at its baseline again is its owner's."""
        for option, value in values.items():
            account = self._of(option)
            account.last_seen = value
            if account.baseline is not None and value == restorable(option, account.baseline):
                self._leave(option)
            else:
                account.confirmed = value

    def deviations(self, current: Values) -> tuple[Deviation, ...]:
        """Find what is not as we left it.

        A value that is back to what it was before our change was taken back by RocksDB; any other is somebody else's.
        Pools grow by themselves and belong to the process, so nobody is blamed. The limiter does, too, but one database
        at a time turns it (safety.shared): when it moves, RocksDB's auto_tuned or somebody else has moved it.
        """
        found = []
        for option, account in self._accounts.items():
            expected = account.confirmed
            value = current.get(option, expected)
            if expected is None or value is None or value == expected:
                continue
            if option.scope == "thread_pool":
                account.confirmed = None
                continue
            reverted = option.scope != "rate_limiter" and value == account.before and account.reverts < _REVERTS_MAX
            if reverted:
                account.reverts += 1
                account.confirmed = None
            outcome: Blame = "reverted-by-engine" if reverted else "changed-by-someone-else"
            may_be_anew = option.scope == "column_family" and option.name != "default" and not self.knows_anew
            found.append(Deviation(option, outcome, expected, value, may_be_anew))
        return tuple(found)

    def give_up(self, option: OptionName, value: str) -> None:
        """Leave an option to whoever changed it: its value now is where the way back leads."""
        self._leave(option)
        account = self._of(option)
        account.reverts, account.baseline = 0, value
        self._changed()

    def lose(self, option: OptionName) -> None:
        """Send no more of an option that falls back to an earlier value of ours: it stays ours, to be put back."""
        account = self._of(option)
        account.sent = account.confirmed = account.before = None
        account.reverts = 0
        self._changed()

    def reopened_with(self, opened_with: Values, anew: Set[str] = frozenset()) -> None:
        """Go on with column families that came, and without those that went; those `anew` did both."""
        for option, account in self._accounts.items():
            if option.scope == "column_family" and (option not in opened_with or option.name in anew):
                account.is_touched = False
                account.leave(option)
                account.baseline = None
            account.opened_with = None
        for option, value in opened_with.items():
            account = self._of(option)
            account.opened_with = value
            if account.baseline is None:
                account.baseline = value
        self._changed()

    def released(self) -> None:
        """Forget what is ours: the agent leads it back."""
        for account in self._accounts.values():
            account.release()
        self._changed()

    @property
    def _known(self) -> Known:
        if self._known_now is None:
            self._known_now = Known.of(self._accounts.items())
        return self._known_now

    def _changed(self) -> None:
        self._known_now = self._follows = None

    def _is_followed(self, current: Values, *, is_unheld: bool) -> bool:
        return self._follows is not None and self._follows[0] is current and self._follows[1] is is_unheld

    def _of(self, option: OptionName) -> Account:
        account = self._accounts.get(option)
        if account is None:
            account = self._accounts[option] = Account(None, None)
        return account

    def _leave(self, option: OptionName) -> None:
        self._of(option).leave(option)
        self._changed()

    def _differs(self, option: OptionName, value: str) -> bool:
        # Pools may have grown by themselves, and the limiter may be another database's.
        account = self._accounts.get(option)
        opened_with = None if account is None else account.opened_with
        return opened_with not in (None, value) and option.scope in ("column_family", "database")
