"""Tracks a database's options: which values are ours, what to restore, and what others changed meanwhile. Pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from adocd.daemon.change.account import KnownAccounts, OptionAccount
from adocd.daemon.change.settled import Left
from adocd.daemon.change.way_back import restorable
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName, Values

#: A value that RocksDB reverts is resent this often; after that the change is blamed on somebody else.
_REVERTS_MAX = 3
_NOTHING_LEFT: Mapping[OptionName, Left] = MappingProxyType({})


Blame = Literal["reverted-by-engine", "changed-by-someone-else"]


@dataclass(frozen=True, slots=True)
class Deviation:
    """An option that we set and that now has another value."""

    option: OptionName
    outcome: Blame
    expected: str
    found: str
    #: Whether this may be a recreated column family of the same name, because not every agent reads RocksDB's ids.
    may_be_anew: bool = False

    def __str__(self) -> str:
        who = "RocksDB took it back" if self.outcome == "reverted-by-engine" else "somebody else changed it"
        if self.may_be_anew:
            who += ", or dropped the column family and created it anew"
        return f"{self.option} is {self.found}, not {self.expected}: {who}"


class Ledger:
    """One session's accounts, by option.

    `baseline` holds the originals: the value an option had before we changed it, which the host may change until then.
    `ours` are the options that we changed, or that an earlier lease left changed, until they are seen restored. `sent`
    are our values, in flight or set, that are not restored yet.
    """

    def __init__(self, opened_with: Values) -> None:
        """Start with the values that the database was opened with."""
        self._accounts = {option: OptionAccount(value, value) for option, value in opened_with.items()}
        #: Whether the agent wants options in the restore plan that we do not know, because an earlier journal is lost.
        self.names_all = False
        #: Whether a recreated column family can be told from the dropped one (see reopened_with).
        self.knows_anew = False
        #: Whether this RocksDB may revert changes (adocd.daemon.change.unsettled).
        self.is_reverted = True
        self._known_now: KnownAccounts | None = None
        #: The values last taken over into the accounts, and whether nobody held the lease then.
        self._follows: tuple[Values, bool] | None = None

    @property
    def baseline(self) -> Values:
        """The original values, by option."""
        return self._known.baseline

    @property
    def way_back(self) -> Values:
        """The values that a restore sends, by option."""
        return self._known.way_back

    @property
    def originals(self) -> OptionValues:
        """The baseline as agents report values."""
        return self._known.originals

    @property
    def ours(self) -> frozenset[OptionName]:
        """The options to restore."""
        return self._known.ours

    @property
    def sent(self) -> Values:
        """The values that we have set and not restored."""
        return self._known.sent

    @property
    def knows_nothing(self) -> bool:
        """Whether we have changed nothing in this session."""
        return not any(account.is_touched for account in self._accounts.values())

    def unheld(self, current: Values, left: Mapping[OptionName, Left]) -> None:
        """Work out which values are ours while nobody holds the lease.

        An option is ours if the journal lists its present value as ours. Every other value is the owner's and becomes
        the baseline.
        """
        if self._is_followed(current, is_unheld=True) and not left:
            return
        self.released()
        for option, account in self._accounts.items():
            account.baseline = current.get(option)
        for option, value in current.items():
            self._begin(self._of(option), value, left.get(option))
        self._changed()
        self._follows = None if left else (current, True)

    def watch(self, current: Values) -> dict[OptionName, str]:
        """While we hold the lease, take over the host's changes to options that are not ours as the new baseline.

        Returns the former baseline of each option that the host has changed.
        """
        former: dict[OptionName, str] = {}
        if self._is_followed(current, is_unheld=False):
            return former
        for option, value in current.items():
            account = self._of(option)
            if account.is_ours:
                continue
            if account.baseline not in (None, value):
                former[option] = account.baseline
            account.baseline = value
        self._changed()
        self._follows = current, False
        return former

    def differs(self, current: Values) -> bool:
        """Whether any option differs from the value that the database was opened with."""
        return any(self._differs(option, value) for option, value in current.items())

    def to_name(self, current: Values) -> set[OptionName]:
        """Return the options that a restore plan must name.

        These are ours, and those that this session's leases changed and somebody else has since taken over. Naming more
        would pin the host to values that it may change at any time.
        """
        taken_over = {
            option
            for option, account in self._accounts.items()
            if account.is_touched and account.opened_with not in (None, current.get(option, account.opened_with))
        }
        if self.names_all:  # an agent may go by what it has changed, not by what is there now
            taken_over |= {o for o, account in self._accounts.items() if account.is_touched and o in current}
        unknown = {o for o, value in current.items() if self._differs(o, value)} if self.names_all else set()
        return {*self.ours, *taken_over, *unknown}

    def arming(self, named: Set[OptionName]) -> Mapping[OptionName, str | None]:
        """Remember the values that a restore plan, once sent, holds for options that are not ours.

        Returns those of the last plan, for `not_armed`.
        """
        former = {option: account.armed for option, account in self._accounts.items()}
        for option, account in self._accounts.items():
            account.armed = account.baseline if option in named and not account.is_ours else None
        return former

    def not_armed(self, former: Mapping[OptionName, str | None]) -> None:
        """Take back `arming`, because the agent has not taken the plan: it still has the one before."""
        for option, armed in former.items():
            if (account := self._accounts.get(option)) is not None:
                account.armed = armed

    def outdated(self, current: Values) -> dict[OptionName, str]:
        """Return the options that are not ours and whose value in the armed plan is no longer the owner's."""
        armed = ((option, account.armed) for option, account in self._accounts.items() if account.armed is not None)
        return {o: current[o] for o, value in armed if o in current and current[o] != value}

    def sending(self, sent: Values, current: Values) -> Mapping[OptionName, OptionAccount]:
        """Record what is about to be sent, before its outcome is known; return what was known, for `not_sent`."""
        former = {option: replace(self._of(option)) for option in sent}
        for option, value in sent.items():
            account = self._of(option)
            account.is_ours = account.is_touched = True
            account.sent, account.before, account.confirmed = value, current[option], None
        self._changed()
        return former

    def not_sent(self, sent: Values, former: Mapping[OptionName, OptionAccount]) -> None:
        """Take back `sending`, because nothing was sent. Whatever has been found out of an option since then stays."""
        for option, was in former.items():
            account = self._accounts.get(option)
            if account is not None and (account.sent, account.confirmed) == (sent[option], None):
                account.is_ours, account.is_touched = was.is_ours, was.is_touched
                account.sent, account.before, account.confirmed = was.sent, was.before, was.confirmed
        self._changed()

    def set_of(self, family: str, current: Values) -> dict[OptionName, str]:
        """Return our values in a column family, restored ones included, that are still in place."""
        return {
            option: account.last_seen
            for option, account in self._accounts.items()
            if account.last_seen is not None
            and (option.scope, option.name) == ("column_family", family)
            and current.get(option) == account.last_seen
        }

    def seen(self, values: Values) -> None:
        """Record the values read back after a change; an option back at its baseline is the owner's again."""
        for option, value in values.items():
            account = self._of(option)
            account.last_seen = value
            if account.baseline is not None and value == restorable(option, account.baseline):
                self._leave(option)
            else:
                account.confirmed = value

    def settle(self, current: Values) -> None:
        """Leave to its owner what was sent, never got there, and so still has its original value.

        Call it only when nothing is in flight. Otherwise the owner's next value would count as a deviation from ours.
        """
        for option in self.ours:
            account = self._of(option)
            is_original = account.baseline is not None and current.get(option) == restorable(option, account.baseline)
            if is_original and account.confirmed is None:
                self._leave(option)

    def deviations(self, current: Values) -> tuple[Deviation, ...]:
        """Find the options that no longer have the value we set.

        A column family's value equal to the one before our change was reverted by RocksDB, if that does so; any other
        was set by somebody else. RocksDB reverts nothing database-wide (#13294). Thread pools grow by themselves and
        belong to the process, so nobody is blamed. The rate limiter also belongs to the process, but only one database
        at a time turns it (guards.shared): if it moves, RocksDB's auto_tuned or somebody else moved it.
        """
        found = []
        for option, account in self._accounts.items():
            expected = account.confirmed
            if expected is None:
                continue
            value = current.get(option, expected)
            if value == expected:
                continue
            if option.scope == "thread_pool":
                account.confirmed = None
                continue
            may_be_reverted = self.is_reverted and option.scope == "column_family" and account.reverts < _REVERTS_MAX
            reverted = may_be_reverted and value == account.before
            if reverted:
                account.reverts += 1
                account.confirmed = None
            outcome: Blame = "reverted-by-engine" if reverted else "changed-by-someone-else"
            may_be_anew = option.scope == "column_family" and option.name != "default" and not self.knows_anew
            found.append(Deviation(option, outcome, expected, value, may_be_anew))
        return tuple(found)

    def give_up(self, option: OptionName, value: str) -> None:
        """Leave an option to whoever changed it: its present value becomes the baseline."""
        self._leave(option)
        account = self._of(option)
        account.reverts, account.baseline = 0, value
        self._changed()

    def lose(self, option: OptionName) -> None:
        """Stop sending an option that somebody set to an earlier value of ours; it stays ours and will be restored."""
        account = self._of(option)
        account.sent = account.confirmed = account.before = None
        account.reverts = 0
        self._changed()

    def reopened_with(
        self, opened_with: Values, anew: Set[str] = frozenset(), left: Mapping[OptionName, Left] = _NOTHING_LEFT
    ) -> None:
        """Add new column families and drop those that are gone; those in `anew` were dropped and recreated.

        A value that the journal, `left`, lists as ours is no original: the agent could not see that family meanwhile.
        """
        for option, account in self._accounts.items():
            if option.scope == "column_family" and (option not in opened_with or option.name in anew):
                account.is_touched = False
                account.leave(option)
                account.baseline = None
            account.opened_with = None
        # Column families that come and go leave nothing behind but what the agent's plan still says of them.
        self._accounts = {
            option: account
            for option, account in self._accounts.items()
            if option in opened_with or option.scope != "column_family" or account.armed is not None
        }
        for option, value in opened_with.items():
            account = self._of(option)
            account.opened_with = value
            if account.baseline is None:
                self._begin(account, value, left.get(option))
        self._changed()

    def released(self) -> None:
        """Forget our changes, because the agent restores them."""
        for account in self._accounts.values():
            account.release()
        self._changed()

    @property
    def _known(self) -> KnownAccounts:
        if self._known_now is None:
            self._known_now = KnownAccounts.of(self._accounts.items())
        return self._known_now

    def _changed(self) -> None:
        self._known_now = self._follows = None

    def _is_followed(self, current: Values, *, is_unheld: bool) -> bool:
        return self._follows is not None and self._follows[0] is current and self._follows[1] is is_unheld

    def _of(self, option: OptionName) -> OptionAccount:
        account = self._accounts.get(option)
        if account is None:
            account = self._accounts[option] = OptionAccount(None, None)
        return account

    def _begin(self, account: OptionAccount, value: str, known: Left | None) -> None:
        """Take the present value for the original, unless the journal knows it as ours."""
        account.baseline = value
        if known is not None and known.is_ours(value):
            account.baseline, account.is_ours, account.is_touched = known.original, True, True

    def _leave(self, option: OptionName) -> None:
        self._of(option).leave(option)
        self._changed()

    def _differs(self, option: OptionName, value: str) -> bool:
        # Not pools, which grow by themselves, nor the limiter, which may be another database's.
        account = self._accounts.get(option)
        opened_with = None if account is None else account.opened_with
        return opened_with not in (None, value) and option.scope in ("column_family", "database")
