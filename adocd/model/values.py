"""Option values by name: one flat map for what is, what is wanted and what leads back.

An agent reports values by scope (adocd.model.snapshot.OptionValues); who compares, guards or plans wants one map.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adocd.model.snapshot import OptionValues

Scope = Literal["database", "column_family", "rate_limiter", "thread_pool"]


class _Hashed:
    # No field of the dataclass, which would be written out with the others.
    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class OptionName(_Hashed):
    """One option of a target: `name` is the column family's or the pool's, None where the scope has no names.

    Each cycle looks up hundreds of options in maps, so that a name computes its hash once.
    """

    scope: Scope
    option: str
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.scope, self.option, self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["OptionName"], tuple[Scope, str, str | None]]:
        # The hash of a text is another one in each process.
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
#: What operators call the two knobs that are no options of RocksDB's.
RATE_LIMITER_WORD = "rate_limiter_bytes_per_s"
THREAD_POOL_PREFIX = "thread_pool_"
#: So many names are kept of each kind, to be the same object each time: thousands of column families fit.
_NAMES_KEPT = 1 << 16


@functools.lru_cache(_NAMES_KEPT)
def of_family(column_family: str, option: str) -> OptionName:
    """Name an option of a column family."""
    return OptionName("column_family", option, column_family)


@functools.lru_cache(_NAMES_KEPT)
def of_database(option: str) -> OptionName:
    """Name an option of the whole database."""
    return OptionName("database", option)


@functools.lru_cache(_NAMES_KEPT)
def of_pool(pool: str) -> OptionName:
    """Name the size of a thread pool."""
    return OptionName("thread_pool", "threads", pool)


def nested(values: Values) -> OptionValues:
    """Sort a map into an agent's report."""
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
    """Put an agent's report into one map."""
    found = {of_database(option): value for option, value in values.database.items()}
    for family, options in values.column_families.items():
        found |= {of_family(family, option): value for option, value in options.items()}
    if values.rate_limiter_bytes_per_s is not None:
        found[RATE_LIMITER] = str(values.rate_limiter_bytes_per_s)
    return found | {of_pool(pool): str(threads) for pool, threads in values.thread_pools.items()}
