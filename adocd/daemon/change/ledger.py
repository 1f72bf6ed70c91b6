"""What is ours of a database's options: what we set, what leads back, and what others did meanwhile. Pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal, Protocol

from adocd.daemon.change.planner import restorable
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName, Values, nested

#: RocksDB takes a value back: this often it is sent again, before somebody else is taken for the cause.
_REVERTS_MAX = 3


Blame = Literal["reverted-by-engine", "changed-by-someone-else"]


class Left(Protocol):
    """What the journal says of an option that adocd has changed and not seen restored."""

    @property
    def original(self) -> str:
        """The value from before all our changes."""

    @property
    def session(self) -> str:
        """The open of the database in which it was changed first."""

    def is_ours(self, value: str) -> bool:
        """Whether this value is one of ours, and not the original."""


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
    """One session's account.

    `baseline` is where the way back leads: the value an option had before we touched it, which the host may change
    for as long as we have not. `ours` are the options that we have changed, or that an earlier lease has left changed,
    until they are seen back. `sent` are the values of ours that were sent and not put back, in flight or there.
    """

    def __init__(self, opened_with: Values) -> None:
        """Begin with the values that the session's open found."""
        self._opened_with = dict(opened_with)
        self.baseline: dict[OptionName, str] = dict(opened_with)
        self.ours: set[OptionName] = set()
        self.sent: dict[OptionName, str] = {}
        #: Whether the agent has asked for more names than we know of: an earlier daemon's journal is lost.
        self.names_all = False
        #: Whether a column family that was dropped and created anew is known as another (see reopened_with).
        self.knows_anew = False
        #: Whatever this session's leases have changed: the agent wants it named as long as it is not as it was opened.
        self._touched: set[OptionName] = set()
        #: What the agent's plan says of options that are not ours any more.
        self._armed: dict[OptionName, str] = {}
        self._confirmed: dict[OptionName, str] = {}
        self._last_seen: dict[OptionName, str] = {}
        self._before: dict[OptionName, str] = {}
        self._reverts: dict[OptionName, int] = {}
        #: What was last taken stock of, and followed, while nothing has changed here since: most cycles end there.
        self._stock: Values | None = None
        self._followed: Values | None = None
        self._way_back: dict[OptionName, str] | None = None
        self._nested: OptionValues | None = None

    @property
    def way_back(self) -> Mapping[OptionName, str]:
        """The values that lead back, or leave an option to its owner."""
        if self._way_back is None:
            self._way_back = {option: restorable(option, value) for option, value in self.baseline.items()}
        return self._way_back

    @property
    def originals(self) -> OptionValues:
        """The baseline as agents report values."""
        if self._nested is None:
            self._nested = nested(self.baseline)
        return self._nested

    def _changed(self) -> None:
        """Forget what was worked out of how things were."""
        self._stock = self._followed = self._way_back = self._nested = None

    @property
    def knows_nothing(self) -> bool:
        """Whether nothing was changed by us in this session."""
        return not self._touched

    def unheld(self, current: Values, left: Mapping[OptionName, Left]) -> None:
        """Take stock while nobody holds the lease.

        An option is ours when the journal says that its value is; everything else is as its owner wants it, and that
        may change.
        """
        if current is self._stock and not left:
            return
        self.released()
        self.baseline = dict(current)
        for option, value in current.items():
            known = left.get(option)
            if known is not None and known.is_ours(value):
                self.baseline[option] = known.original
                self.ours.add(option)
        self._touched |= self.ours
        self._changed()
        self._stock = current if not left else None

    def differs(self, current: Values) -> bool:
        """Whether anything is not as this session was opened with."""
        return any(self._differs(option, value) for option, value in current.items())

    def to_name(self, current: Values) -> set[OptionName]:
        """Name what a restore plan must speak of.

        That is what is ours, and what this session's leases have changed and somebody else has taken over. More would
        hold the host to values that it may change at any time.
        """
        taken_over = {o for o in self._touched & current.keys() if current[o] != self._opened_with.get(o, current[o])}
        unknown = {o for o, value in current.items() if self._differs(o, value)} if self.names_all else set()
        return self.ours | taken_over | unknown

    def arming(self, named: Set[OptionName]) -> None:
        """Remember what a plan that is sent says of options that are not ours."""
        self._armed = {option: self.baseline[option] for option in named - self.ours if option in self.baseline}

    def outdated(self, current: Values) -> dict[OptionName, str]:
        """Give the options that are not ours, and of which the armed plan says what their owner wants no more."""
        return {o: current[o] for o, value in self._armed.items() if o in current and current[o] != value}

    def _differs(self, option: OptionName, value: str) -> bool:
        # Pools may have grown by themselves, and the limiter may be another database's.
        return self._opened_with.get(option, value) != value and option.scope in ("column_family", "database")

    def watch(self, current: Values) -> None:
        """Follow the host's own changes of what is not ours, while we hold the lease."""
        if current is self._followed:
            return
        for option, value in current.items():
            if option not in self.ours:
                self.baseline[option] = value
        self._changed()
        self._followed = current

    def sending(self, sent: Values, current: Values) -> None:
        """Take over what is about to be sent, before it is known what becomes of it."""
        self._changed()
        self.ours |= sent.keys()
        self._touched |= sent.keys()
        self.sent.update(sent)
        for option in sent:
            self._before[option] = current[option]
            self._confirmed.pop(option, None)

    def set_of(self, family: str, current: Values) -> dict[OptionName, str]:
        """Give what we have set of a column family, put back included, and what is still there."""
        return {
            o: v
            for o, v in self._last_seen.items()
            if o.scope == "column_family" and o.name == family and current.get(o) == v
        }

    def seen(self, values: Values) -> None:
        """Remember what was read back after a change; what is at its baseline again is its owner's."""
        self._last_seen.update(values)
        for option, value in values.items():
            if option in self.baseline and value == restorable(option, self.baseline[option]):
                self._leave(option)
            else:
                self._confirmed[option] = value

    def deviations(self, current: Values) -> tuple[Deviation, ...]:
        """Find what is not as we left it.

        A value that is back to what it was before our change was taken back by RocksDB; any other is somebody else's.
        Pools grow by themselves and belong to the process, so nobody is blamed. The limiter does, too, but one database
        at a time turns it (safety.shared): when it moves, RocksDB's auto_tuned or somebody else has moved it.
        """
        found = []
        for option, expected in list(self._confirmed.items()):
            value = current.get(option, expected)
            if value == expected:
                continue
            if option.scope == "thread_pool":
                del self._confirmed[option]
                continue
            reverted = option.scope != "rate_limiter" and value == self._before.get(option)
            reverted = reverted and self._reverts.get(option, 0) < _REVERTS_MAX
            if reverted:
                self._reverts[option] = self._reverts.get(option, 0) + 1
                del self._confirmed[option]
            outcome: Blame = "reverted-by-engine" if reverted else "changed-by-someone-else"
            may_be_anew = option.scope == "column_family" and option.name != "default" and not self.knows_anew
            found.append(Deviation(option, outcome, expected, value, may_be_anew))
        return tuple(found)

    def give_up(self, option: OptionName, value: str) -> None:
        """Leave an option to whoever changed it: its value now is where the way back leads."""
        self._leave(option)
        self._reverts.pop(option, None)
        self.baseline[option] = value
        self._changed()

    def lose(self, option: OptionName) -> None:
        """Send no more of an option that falls back to an earlier value of ours: it stays ours, to be put back."""
        for account in (self.sent, self._confirmed, self._before, self._reverts):
            account.pop(option, None)
        self._changed()

    def reopened_with(self, opened_with: Values, anew: Set[str] = frozenset()) -> None:
        """Go on with column families that came, and without those that went; those `anew` did both."""
        self._changed()
        self._opened_with = dict(opened_with)
        families = [o for o in (self.ours | self._touched | self.baseline.keys()) if o.scope == "column_family"]
        gone = {option for option in families if option not in opened_with or option.name in anew}
        self._touched -= gone
        for option in gone:
            self._leave(option)
        self.baseline = {**opened_with, **{o: v for o, v in self.baseline.items() if o not in gone}}

    def released(self) -> None:
        """Forget what is ours: the agent leads it back."""
        self._changed()
        for account in (
            self.ours,
            self.sent,
            self._armed,
            self._confirmed,
            self._last_seen,
            self._before,
            self._reverts,
        ):
            account.clear()

    def _leave(self, option: OptionName) -> None:
        if option in self.ours and option in self.baseline:
            self._armed[option] = restorable(option, self.baseline[option])
        self.ours.discard(option)
        self._changed()
        for account in (self.sent, self._confirmed, self._before):
            account.pop(option, None)


def settled(left: Mapping[OptionName, Left], current: Values, session: str, unseen: Set[str]) -> list[OptionName]:
    """Name what the journal can forget while nobody holds the lease: what has been seen with its original value.

    Also what is gone with its column family, unless it is one of the `unseen`, which this agent does not see; and what
    another open than the one that was tuned has come up with, where that is none of our values: its owner has
    configured it so. `session` is the open there is now. Within the one that was tuned, a strange value may be what
    RocksDB made of ours, so it is no reason to forget the original.
    """

    def is_settled(option: OptionName, known: Left) -> bool:
        value = current.get(option)
        if value is None:
            return not (option.scope == "column_family" and option.name in unseen)
        return value == known.original or (known.session != session and not known.is_ours(value))

    return [option for option, known in left.items() if is_settled(option, known)]
