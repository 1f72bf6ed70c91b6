"""What is ours of a database's options: what we set, what leads back, and what others did meanwhile. Pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal, Protocol

from adocd.model.values import OptionName, Values, of_database

#: RocksDB takes a value back: this often it is sent again, before somebody else is taken for the cause.
_REVERTS_MAX = 3


class Left(Protocol):
    """What the journal says of an option that adocd has changed and not seen restored."""

    @property
    def original(self) -> str:
        """The value from before all our changes."""

    def is_ours(self, value: str) -> bool:
        """Whether this value is one of ours, and not the original."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """An option of ours that is not as we left it."""

    option: OptionName
    outcome: Literal["reverted-by-engine", "changed-by-someone-else"]
    expected: str
    found: str

    def __str__(self) -> str:
        who = "RocksDB took it back" if self.outcome == "reverted-by-engine" else "somebody else changed it"
        return f"{self.option} is {self.found}, not {self.expected}: {who}"


class Ledger:
    """One session's account.

    `baseline` is where the way back leads: the value an option had before we touched it, which the host may change
    for as long as we have not. `ours` are the options that we have changed, or that an earlier lease has left changed.
    """

    def __init__(self, opened_with: Values) -> None:
        """Begin with the values that the session's open found."""
        self._opened_with = dict(opened_with)
        self.baseline: dict[OptionName, str] = dict(opened_with)
        self.ours: set[OptionName] = set()
        self._confirmed: dict[OptionName, str] = {}
        self._before: dict[OptionName, str] = {}
        self._reverts: dict[OptionName, int] = {}

    def unheld(self, current: Values, left: Mapping[OptionName, Left], *, restoring: bool) -> None:
        """Take stock while nobody holds the lease.

        An option is ours when the journal says that its value is, or when the agent is still restoring and it differs
        from what this session was opened with; everything else is as its owner wants it, and that may change.
        """
        self.ours.clear()
        self._confirmed.clear()
        self.baseline = dict(current)
        for option, value in current.items():
            known = left.get(option)
            if known is not None and known.is_ours(value):
                self.baseline[option] = known.original
                self.ours.add(option)
            elif restoring and self._is_left_over(option, value):
                self.baseline[option] = self._opened_with[option]
                self.ours.add(option)

    def _is_left_over(self, option: OptionName, value: str) -> bool:
        """Whether a value can only come from an earlier lease of this session.

        Pools may have grown by themselves. An original bytes_per_sync of 0 is no way back: any effective SetDBOptions
        makes it 1 MiB, and setting 0 live makes 1 MiB of it again (7.8, db_impl.cc, DBImpl::SetDBOptions).
        """
        opened_with = self._opened_with.get(option, value)
        no_way_back = option == of_database("bytes_per_sync") and opened_with == "0"
        return value != opened_with and option.scope != "thread_pool" and not no_way_back

    def differing(self, current: Values) -> set[OptionName]:
        """Name what is not as this session was opened with: a restore plan that names all of it is always complete."""
        return {
            option
            for option, value in current.items()
            if self._opened_with.get(option, value) != value and option.scope in ("column_family", "database")
        }

    def watch(self, current: Values) -> None:
        """Follow the host's own changes of what is not ours, while we hold the lease."""
        for option, value in current.items():
            if option not in self.ours:
                self.baseline[option] = value

    def sending(self, sent: Values, current: Values) -> None:
        """Take over what is about to be sent, before it is known what becomes of it."""
        for option in sent:
            self.ours.add(option)
            self._before[option] = current[option]
            self._confirmed.pop(option, None)

    def set_of(self, family: str) -> dict[OptionName, str]:
        """Give what we have set of a column family and seen there."""
        return {o: v for o, v in self._confirmed.items() if o.scope == "column_family" and o.name == family}

    def seen(self, values: Values) -> None:
        """Remember what was read back after a change."""
        self._confirmed.update(values)

    def deviations(self, current: Values) -> tuple[Deviation, ...]:
        """Find what is not as we left it.

        A value that is back to what it was before our change was taken back by RocksDB; any other is somebody else's.
        Pools and limiters belong to the process: another database's law may turn them, too, so nobody is blamed.
        """
        found = []
        for option, expected in list(self._confirmed.items()):
            value = current.get(option, expected)
            if value == expected:
                continue
            if option.scope in ("thread_pool", "rate_limiter"):
                del self._confirmed[option]
                continue
            reverted = value == self._before.get(option) and self._reverts.get(option, 0) < _REVERTS_MAX
            if reverted:
                self._reverts[option] = self._reverts.get(option, 0) + 1
                del self._confirmed[option]
            found.append(
                Deviation(option, "reverted-by-engine" if reverted else "changed-by-someone-else", expected, value)
            )
        return tuple(found)

    def give_up(self, option: OptionName, value: str) -> None:
        """Leave an option to whoever changed it: its value now is where the way back leads."""
        self.baseline[option] = value
        self._confirmed.pop(option, None)
        self._reverts.pop(option, None)

    def reopened_with(self, opened_with: Values) -> None:
        """Go on with column families that came, and without those that went."""
        self._opened_with = dict(opened_with)
        gone = {option for option in self.ours if option.scope == "column_family" and option not in opened_with}
        self.ours -= gone
        for option in gone:
            self._confirmed.pop(option, None)
        self.baseline = {**opened_with, **{o: v for o, v in self.baseline.items() if o not in gone}}

    def released(self) -> None:
        """Forget what is ours: the agent leads it back."""
        self.ours.clear()
        self._confirmed.clear()
        self._reverts.clear()


def settled(left: Mapping[OptionName, Left], current: Values, unseen: Set[str]) -> list[OptionName]:
    """Name what the journal can forget while nobody holds the lease: options with a value that is not ours.

    They are back, or somebody else's, or gone with their column family; but not those of families that this agent does
    not see.
    """
    return [
        option
        for option, known in left.items()
        if not known.is_ours(current.get(option, ""))
        and not (option.scope == "column_family" and option.name in unseen)
    ]
