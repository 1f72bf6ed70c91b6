"""Translates operators' pins into options. Pure."""

from collections.abc import Iterable

from adocd.daemon.book.journal.records import Override
from adocd.model import units
from adocd.model.capabilities import ONLY_OBSERVED, Capabilities
from adocd.model.nearest import instead, nearest
from adocd.model.options import OPTIONS
from adocd.model.values import (
    RATE_LIMITER,
    RATE_LIMITER_WORD,
    THREAD_POOL_PREFIX,
    OptionName,
    Values,
    of_database,
    of_family,
    of_pool,
)

#: RocksDB's thread pools (env.h, Env::Priority), as agents name them.
_POOLS = ("low", "high", "bottom")


#: The options that can be pinned, as operators name them.
PINNABLE = (
    *(option.name for option in OPTIONS.values() if option.live),
    RATE_LIMITER_WORD,
    *(f"{THREAD_POOL_PREFIX}{pool}" for pool in _POOLS),
)


class NoSuchOption(ValueError):
    """The option or column family cannot be pinned here; the message is one sentence."""


def options_meant(option: str, column_family: str | None, families: Iterable[str]) -> tuple[OptionName, ...]:
    """Return the options that an operator means; those of every column family if none is named. Raises NoSuchOption."""
    families = tuple(families)
    facts = OPTIONS.get(option)
    if facts is not None and facts.scope == "column_family":
        if column_family is None:
            return tuple(of_family(family, option) for family in families)
        if column_family not in families:
            raise NoSuchOption(f"there is no column family {column_family!r} here{instead(column_family, families)}")
        return (of_family(column_family, option),)
    if column_family is not None:
        raise NoSuchOption(f"{option} belongs to the whole database: leave the column family out")
    if option == RATE_LIMITER_WORD:
        return (RATE_LIMITER,)
    if option.removeprefix(THREAD_POOL_PREFIX) in _POOLS and option not in _POOLS:
        return (of_pool(option.removeprefix(THREAD_POOL_PREFIX)),)
    if facts is None:
        near = nearest(option, PINNABLE)
        what_can = f"did you mean {near}?" if near else "docs/safety.md lists what it can"
        raise NoSuchOption(f"adocd cannot pin {option!r}: it does not know its bounds; {what_can}")
    return (of_database(option),)


def unreachable(option: OptionName, current: Values, capabilities: Capabilities) -> str | None:
    """Return why this agent cannot change an option; None when it can."""
    if not capabilities.can_change:
        return f"{option} cannot be changed: {ONLY_OBSERVED}"
    can = {
        "column_family": option.option in capabilities.column_family_options,
        "database": option.option in capabilities.database_options,
        "thread_pool": option.name in capabilities.thread_pools,
        "rate_limiter": capabilities.rate_limiter,
    }[option.scope]
    if not can:
        return f"this agent cannot change {option}"
    if option not in current:
        why = "the database was opened without one" if option == RATE_LIMITER else "the agent does not report it"
        return f"{option} cannot be pinned: {why}"
    if option.scope == "thread_pool" and current[option] == "0":
        # RocksDB's bottom pool, by default. With 0 again, a compaction that waits in it would never run.
        return f"{option} cannot be pinned: this pool has no threads, and no restore could take them away again"
    return None


def pins(
    overrides: Iterable[Override], families: Iterable[str], current: Values, capabilities: Capabilities
) -> dict[OptionName, str]:
    """Return the overrides' values by option; later ones take precedence, and options missing here are left out."""
    families = tuple(families)
    values: dict[OptionName, str] = {}
    for override in overrides:
        try:
            meant = options_meant(override.option, override.column_family, families)
        except NoSuchOption:
            continue
        values |= {o: override.value for o in meant if unreachable(o, current, capabilities) is None}
    return values


def as_rocksdb_writes(option: str, value: str) -> str:
    """Format a value as RocksDB does in an OPTIONS file, so that it compares equal: a double's 10 is 10.000000.

    A size or rate may have a unit. Raises units.NoQuantity for one that is ambiguous or that there is not.
    """
    facts, unit = OPTIONS.get(option), units.unit_of(option)
    if unit is not None and not value.removeprefix("-").isdecimal():
        return str(units.read(value, unit))
    if facts is not None and facts.kind == "double":
        try:
            return f"{float(value):.6f}"
        except ValueError:
            return value
    if facts is not None and facts.kind == "bool":
        return value.lower()
    return (value.lstrip("0") or "0") if value.isascii() and value.isdecimal() else value
