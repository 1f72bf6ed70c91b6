"""What the planner says of a database with RocksDB's defaults, and how a step of a way back that waits is written."""

from __future__ import annotations

from collections.abc import Set

from adocd.daemon.change import planner
from adocd.daemon.change.planner import ChangePlan
from adocd.model.change import Below, ColumnFamilyChange, RestoreStep
from adocd.model.values import OptionName, Values
from tests.daemon.change.rocksdb_model import SWITCH, RocksDB, defaults, family, opened

OFF, ON = family({SWITCH: "true"}), family({SWITCH: "false"})


def plan(
    goal: Values, now: RocksDB | None = None, baseline: Values | None = None, ours: Set[OptionName] = frozenset()
) -> ChangePlan:
    now = now or opened()
    return planner.plan(goal, now.sample(), baseline or defaults(now.families), ours)


def waits(option: str, value: str, prop: str, below: int, name: str = "default") -> RestoreStep:
    return RestoreStep(ColumnFamilyChange(name, {option: value}), Below(name, prop, below))
