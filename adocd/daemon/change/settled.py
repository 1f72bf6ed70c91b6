"""Which entries the journal can delete for a target without a lease. Pure."""

from collections.abc import Mapping, Set
from typing import Protocol

from adocd.model.values import OptionName, Values


class Left(Protocol):
    """The journal's entry for an option that adocd has changed and not seen restored."""

    @property
    def original(self) -> str:
        """The value before all our changes."""

    @property
    def session(self) -> str:
        """The session in which it was first changed."""

    def is_ours(self, value: str) -> bool:
        """Whether we set this value, and it is not the original."""


def settled(left: Mapping[OptionName, Left], current: Values, session: str, unseen: Set[str]) -> list[OptionName]:
    """Return the options that the journal can delete while nobody holds the lease: those seen with their originals.

    Also those of column families that are gone, except the `unseen` ones, which this agent cannot see; and those that a
    later session opened with a value that is not ours, because then the owner has configured it. `session` is the
    present one. Within the session in which the option was changed, an unknown value may be what RocksDB made of ours,
    so the original is kept.
    """

    def is_settled(option: OptionName, known: Left) -> bool:
        value = current.get(option)
        if value is None:
            return not (option.scope == "column_family" and option.name in unseen)
        return value == known.original or (known.session != session and not known.is_ours(value))

    return [option for option, known in left.items() if is_settled(option, known)]
