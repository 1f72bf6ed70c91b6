"""What the fake agent checks before it executes anything: options exist, are live, parse, and are in the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.contract import schema_errors
from tests.support.fake_http import Refusal
from tests.support.fake_options import COLUMN_FAMILY_OPTIONS, DATABASE_OPTIONS, NOT_LIVE, parses_exactly

Json = Any
Name = tuple[str, str, str]
"""What a change touches: scope, column family (or pool, or ""), option."""


@dataclass
class FakeCapabilities:
    """What the fake agent can do; narrow it to stand in for an agent that can do less (as the Python agent)."""

    column_family_options: tuple[str, ...] = tuple(COLUMN_FAMILY_OPTIONS)
    database_options: tuple[str, ...] = tuple(DATABASE_OPTIONS)
    rate_limiter: bool = True
    thread_pools: tuple[str, ...] = ("low", "high", "bottom")
    events: tuple[str, ...] = ("flush", "compaction", "stall", "background_error", "database")
    statistics: str = "all"
    responds_during_stall: bool = True

    def as_json(self) -> dict[str, Json]:
        """Write it as the contract's Capabilities."""
        return {
            "column_family_options": sorted(self.column_family_options),
            "database_options": sorted(self.database_options),
            "rate_limiter": self.rate_limiter,
            "thread_pools": list(self.thread_pools),
            "events": list(self.events),
            "statistics": self.statistics,
            "responds_during_stall": self.responds_during_stall,
        }


@dataclass
class OptionState:
    """Everything that can be changed in a database, with its values."""

    column_families: dict[str, dict[str, str]]
    database: dict[str, str]
    rate_limiter_bytes_per_s: int | None = None
    thread_pools: dict[str, int] = field(default_factory=lambda: {"low": 1, "high": 1, "bottom": 0})

    def copy(self) -> OptionState:
        """Return an independent copy."""
        families = {name: dict(options) for name, options in self.column_families.items()}
        return OptionState(families, dict(self.database), self.rate_limiter_bytes_per_s, dict(self.thread_pools))

    def as_json(self) -> dict[str, Json]:
        """Write it as the contract's OptionValues."""
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
        return {(scope, "", "bytes_per_s"): str(int(change["bytes_per_s"]))}
    if scope == "thread_pool":
        return {(scope, change["pool"], "threads"): str(int(change["threads"]))}
    where = change.get("column_family", "")
    return {(scope, where, option): value for option, value in change["options"].items()}


def read_back(state: OptionState, change: Json) -> dict[str, str]:
    """Return the values of the options a change names, by option name."""
    values = {name[2]: state.get(name) for name in wanted(change)}
    return {option: value for option, value in values.items() if value is not None}


def check_body(schema: str, body: Json) -> None:
    """Refuse a body that is not what the contract describes."""
    if (error := schema_errors(schema, body)) is not None:
        raise Refusal(400, "bad_request", f"Not a {schema}: {error}.")


def check_change(change: Json, state: OptionState, capabilities: FakeCapabilities) -> None:
    """Refuse a change that RocksDB would refuse, or would take for something else than it says."""
    scope = change["scope"]
    if scope == "rate_limiter":
        if not capabilities.rate_limiter:
            raise Refusal(422, "unsupported", "This agent cannot change the rate limiter.")
        if state.rate_limiter_bytes_per_s is None:
            raise Refusal(422, "no_rate_limiter", "The database was opened without a rate limiter.")
        if change["bytes_per_s"] >= 2**63:
            raise Refusal(422, "bad_value", "bytes_per_s does not fit into 63 bits.", option="bytes_per_s")
        return
    if scope == "thread_pool":
        if change["pool"] not in capabilities.thread_pools:
            raise Refusal(422, "unsupported", f"This agent cannot change the pool {change['pool']}.")
        return
    if scope == "column_family" and change["column_family"] not in state.column_families:
        raise Refusal(422, "no_such_column_family", f"There is no column family {change['column_family']!r}.")
    catalogue, live = (
        (COLUMN_FAMILY_OPTIONS, capabilities.column_family_options)
        if scope == "column_family"
        else (DATABASE_OPTIONS, capabilities.database_options)
    )
    for option, value in change["options"].items():
        _check_option(option, value, catalogue, live)


def _check_option(option: str, value: str, catalogue: Mapping[str, tuple[str, str]], live: Iterable[str]) -> None:
    if option in NOT_LIVE:
        raise Refusal(422, "not_live", f"{option} cannot be changed while RocksDB runs.", option=option)
    if option not in catalogue:
        raise Refusal(422, "no_such_option", f"RocksDB has no option {option!r} here.", option=option)
    if option not in live:
        raise Refusal(422, "unsupported", f"This agent cannot change {option}.", option=option)
    if not parses_exactly(catalogue[option][0], value):
        raise Refusal(422, "bad_value", f"{option}: RocksDB would not read {value!r} as that.", option=option)


def check_plan(plan: list[Json], changes: list[Json], must_name: set[Name]) -> None:
    """Refuse a plan that leaves out an option of the change, or one that this session has changed."""
    named = {name for step in plan for name in wanted(step["change"])}
    missing = (must_name | {name for change in changes for name in wanted(change)}) - named
    if missing:
        scope, where, option = min(missing)
        raise Refusal(
            422,
            "plan_incomplete",
            f"The restore plan does not name {option} ({scope} {where}); add the step that puts it back.",
            option=option,
        )


def check_condition(step: Json, state: OptionState) -> None:
    """Refuse a plan step that waits for something that does not exist."""
    when = step.get("when")
    if when is None:
        return
    if when["column_family"] not in state.column_families:
        raise Refusal(422, "no_such_column_family", f"There is no column family {when['column_family']!r}.")
    if not when["property"].startswith("rocksdb."):
        raise Refusal(422, "bad_value", f"There is no property {when['property']!r}.")
