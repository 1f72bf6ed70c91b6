"""Detects changes whose values do not go together, though each is valid alone: RocksDB checks that only at open."""

from __future__ import annotations

from typing import Any, NamedTuple

from adocd_agent.option_state import OptionState

Json = Any


class Conflict(NamedTuple):
    """Options of a column family whose values do not go together, and why in words that follow "Not executed:"."""

    why: str
    options: tuple[str, str]


class _Order(NamedTuple):
    """`lower` + `apart` <= `upper`, as RocksDB ensures at open (SanitizeOptions in db/column_family.cc)."""

    lower: str
    upper: str
    apart: int
    otherwise: str


_TRIGGER = "level0_file_num_compaction_trigger"
_ORDERS = (
    # A librocksdb with assertions would abort; rocksdict's has none.
    _Order(_TRIGGER, "level0_slowdown_writes_trigger", 0, "slows writes down before a compaction is due"),
    _Order(_TRIGGER, "level0_stop_writes_trigger", 0, "stops writes before a compaction is due, for good"),
    _Order(
        "min_write_buffer_number_to_merge",
        "max_write_buffer_number",
        1,
        "stops writes before a flush is due, for good",
    ),
)


def find_conflict(change: Json, current: OptionState) -> Conflict | None:
    """Return what RocksDB must not be told where it has the values `current`; None if it may be."""
    if change["scope"] != "column_family":
        return None
    changed = change["options"]
    values = {**current.column_families.get(change["column_family"], {}), **changed}
    for lower, upper, apart, otherwise in _ORDERS:
        if (lower not in changed and upper not in changed) or lower not in values or upper not in values:
            continue
        if int(values[lower]) + apart > int(values[upper]):
            must = "be smaller" if apart else "not be greater"
            return Conflict(
                f"{lower} would be {values[lower]} and {upper} {values[upper]}, and the first must {must}, "
                f"or RocksDB {otherwise}",
                (lower, upper),
            )
    return None


def without(change: Json, options: tuple[str, ...]) -> Json:
    """Return a column family's change without some of its options."""
    return {**change, "options": {name: value for name, value in change["options"].items() if name not in options}}
