"""All values of a database that a change can set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = Any
Name = tuple[str, str, str]
"""What a change touches: scope, column family (or pool, or ""), option."""


@dataclass
class OptionState:
    """Option values as RocksDB writes them, plus the two knobs that are not options."""

    column_families: dict[str, dict[str, str]]
    database: dict[str, str]
    rate_limiter_bytes_per_s: int | None = None
    thread_pools: dict[str, int] = field(default_factory=dict)

    def copy(self) -> OptionState:
        """Return an independent copy."""
        families = {name: dict(options) for name, options in self.column_families.items()}
        return OptionState(families, dict(self.database), self.rate_limiter_bytes_per_s, dict(self.thread_pools))

    def as_json(self) -> dict[str, Json]:
        """Return it as the contract's OptionValues."""
        copied = self.copy()
        return {
            "database": copied.database,
            "column_families": copied.column_families,
            "rate_limiter_bytes_per_s": copied.rate_limiter_bytes_per_s,
            "thread_pools": copied.thread_pools,
        }

    def get(self, name: Name) -> str | None:
        """Return the value of one option, None when it is not there."""
        scope, where, option = name
        if scope == "column_family":
            return self.column_families.get(where, {}).get(option)
        if scope == "database":
            return self.database.get(option)
        if scope == "rate_limiter":
            return None if self.rate_limiter_bytes_per_s is None else str(self.rate_limiter_bytes_per_s)
        threads = self.thread_pools.get(where)
        return None if threads is None else str(threads)

    def put(self, name: Name, value: str) -> None:
        """Set one option."""
        scope, where, option = name
        if scope == "column_family":
            self.column_families[where][option] = value
        elif scope == "database":
            self.database[option] = value
        elif scope == "rate_limiter":
            self.rate_limiter_bytes_per_s = int(value)
        else:
            self.thread_pools[where] = int(value)


def wanted(change: Json) -> dict[Name, str]:
    """Return what a change sets, by name."""
    scope = change["scope"]
    if scope == "rate_limiter":
        return {(scope, "", "bytes_per_s"): str(change["bytes_per_s"])}
    if scope == "thread_pool":
        return {(scope, change["pool"], "threads"): str(change["threads"])}
    where = change.get("column_family", "")
    return {(scope, where, option): value for option, value in change["options"].items()}


def read_back(state: OptionState, change: Json) -> dict[str, str]:
    """Return the values of the options a change names, by option name."""
    values = {name[2]: state.get(name) for name in wanted(change)}
    return {option: value for option, value in values.items() if value is not None}


def describe(change: Json) -> str:
    """Describe a change in a few words, for events and errors."""
    where = change.get("column_family", change.get("pool", ""))
    values = ", ".join(f"{name[2]}={value}" for name, value in wanted(change).items())
    return " ".join(part for part in (change["scope"], where, values) if part)
