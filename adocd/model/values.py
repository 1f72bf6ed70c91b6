"""Option values by name: one flat map for current, wanted and original values.

An agent reports values by scope (adocd.model.snapshot.OptionValues); comparing, guarding and planning need one map.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adocd.model.snapshot import OptionValues

Scope = Literal["database", "column_family", "rate_limiter", "thread_pool"]


class _Hashed:
    # Not a dataclass field, because it would be serialised with the others.
    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class OptionName(_Hashed):
    """One option of a target: `name` is the column family's or the pool's, None if the scope has no names.

    The hash is computed once, because each cycle looks up hundreds of options in maps.
    """

    scope: Scope
    option: str
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.scope, self.option, self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["OptionName"], tuple[Scope, str, str | None]]:
        # Drop the hash: a string's hash differs between processes.
        return OptionName, (self.scope, self.option, self.name)

    def __str__(self) -> str:
        match self.scope:
            case "column_family":
                return f"{self.option} ({self.name})"
            case "thread_pool":
                return f"{THREAD_POOL_PREFIX}{self.name}"
            case "rate_limiter":
                return RATE_LIMITER_WORD
        return self.option


#: Values as RocksDB writes them.
Values = Mapping[OptionName, str]

RATE_LIMITER = OptionName("rate_limiter", "bytes_per_s")
#: Operators' names for the two knobs that are not RocksDB options.
RATE_LIMITER_WORD = "rate_limiter_bytes_per_s"
THREAD_POOL_PREFIX = "thread_pool_"
#: Most names cached of each kind, so that equal names are one object: enough for thousands of column families.
_NAMES_KEPT = 1 << 16


@functools.lru_cache(_NAMES_KEPT)
def of_family(column_family: str, option: str) -> OptionName:
    """Return the name of a column family's option."""
    return OptionName("column_family", option, column_family)


@functools.lru_cache(_NAMES_KEPT)
def of_database(option: str) -> OptionName:
    """Return the name of a database-wide option."""
    return OptionName("database", option)


@functools.lru_cache(_NAMES_KEPT)
def of_pool(pool: str) -> OptionName:
    """Return the name of a thread pool's size."""
    return OptionName("thread_pool", "threads", pool)


def nested(values: Values) -> OptionValues:
    """Convert a flat map into an agent's form, by scope."""
    database: dict[str, str] = {}
    families: dict[str, dict[str, str]] = {}
    pools: dict[str, int] = {}
    for option, value in values.items():
        match option.scope:
            case "database":
                database[option.option] = value
            case "column_family":
                families.setdefault(option.name or "", {})[option.option] = value
            case "thread_pool":
                pools[option.name or ""] = int(value)
    rate = values.get(RATE_LIMITER)
    return OptionValues(database, families, None if rate is None else int(rate), pools)


def flat(values: OptionValues) -> dict[OptionName, str]:
    """Convert an agent's report into one flat map."""
    found = {of_database(option): value for option, value in values.database.items()}
    for family, options in values.column_families.items():
        found |= {of_family(family, option): value for option, value in options.items()}
    if values.rate_limiter_bytes_per_s is not None:
        found[RATE_LIMITER] = str(values.rate_limiter_bytes_per_s)
    return found | {of_pool(pool): str(threads) for pool, threads in values.thread_pools.items()}
