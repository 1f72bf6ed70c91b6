"""What the journal can forget of a target that nobody holds a lease on. Pure."""

from collections.abc import Mapping, Set
from typing import Protocol

from adocd.model.values import OptionName, Values


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
