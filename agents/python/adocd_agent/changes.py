"""Checks before anything is executed: options exist, can be changed live, parse, and are in the restore plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.catalogue import Catalogue, OptionKind
from adocd_agent.option_state import Name, OptionState, wanted
from adocd_agent.problems import Refusal, shown

Json = Any


def check_change(change: Json, state: OptionState, capabilities: Capabilities, catalogue: Catalogue) -> None:
    """Refuse a change that RocksDB would refuse, or would read as something else."""
    scope = change["scope"]
    if scope == "rate_limiter":
        _check_limiter(change, state, capabilities)
    elif scope == "thread_pool":
        if change["pool"] not in capabilities.thread_pools:
            raise Refusal(422, "unsupported", f"This agent cannot change the thread pool {change['pool']}.")
    elif scope == "database":
        if not catalogue.database:
            raise Refusal(422, "unsupported", "This agent cannot change database-wide options.")
        for option, value in change["options"].items():
            _check_option(option, value, catalogue.database, capabilities.database_options, catalogue)
    else:
        _check_family(change["column_family"], state)
        for option, value in change["options"].items():
            _check_option(option, value, catalogue.column_family, capabilities.column_family_options, catalogue)


def _check_limiter(change: Json, state: OptionState, capabilities: Capabilities) -> None:
    if not capabilities.rate_limiter:
        raise Refusal(422, "unsupported", "This agent cannot change the rate limiter.")
    if state.rate_limiter_bytes_per_s is None:
        raise Refusal(422, "no_rate_limiter", "The database was opened without a rate limiter.")
    if change["bytes_per_s"] >= 2**63:
        raise Refusal(422, "bad_value", "bytes_per_s does not fit into 63 bits.", option="bytes_per_s")


def _check_family(name: str, state: OptionState) -> None:
    if name not in state.column_families:
        raise Refusal(
            422, "no_such_column_family", f"There is no column family {shown(name)} here; names are case-sensitive."
        )


def _check_option(
    option: str, value: str, kinds: Mapping[str, OptionKind], live: Iterable[str], catalogue: Catalogue
) -> None:
    if option in catalogue.not_live:
        raise Refusal(422, "not_live", f"{option} cannot be changed while RocksDB runs.", option=option)
    if option in catalogue.unchecked:
        raise Refusal(
            422, "unsupported", f"This agent does not change {option}: {catalogue.unchecked[option]}.", option=option
        )
    if option not in kinds:
        raise Refusal(
            422,
            "no_such_option",
            f"{shown(option)} is no option here; the database's capabilities list them.",
            option=option,
        )
    if option not in live:
        raise Refusal(422, "unsupported", f"This agent cannot change {option} here.", option=option)
    if not kinds[option].accepts(value):
        raise Refusal(
            422,
            "bad_value",
            f"{option}: {shown(value)} is not what RocksDB would write; send exactly that.",
            option=option,
        )


def check_plan(plan: list[Json], changes: list[Json], must_name: set[Name]) -> None:
    """Refuse a plan that leaves out an option of the change, or one that this session has changed."""
    named = {name for step in plan for name in wanted(step["change"])}
    missing = (must_name | {name for change in changes for name in wanted(change)}) - named
    if missing:
        scope, where, option = min(missing)
        place = f"{scope} {where}".strip()
        raise Refusal(
            422,
            "plan_incomplete",
            f"The restore plan does not name {option} ({place}); add the step that puts it back.",
            option=option,
        )


def check_condition(step: Json, state: OptionState, readable: Mapping[str, Iterable[str]]) -> None:
    """Refuse a plan step that waits for an unreadable property, because nobody could correct it later.

    `readable` has the properties of each column family in a snapshot; a column family that is not in it yet is not
    checked.
    """
    when = step.get("when")
    if when is None:
        return
    _check_family(when["column_family"], state)
    names = readable.get(when["column_family"])
    if names is not None and when["property"] not in names:
        raise Refusal(
            422, "bad_value", f"{shown(when['property'])} is no property that a snapshot has of that column family."
        )
