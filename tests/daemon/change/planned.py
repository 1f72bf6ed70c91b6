"""What the planner says of a database with RocksDB's defaults, and how a step of a way back that waits is written."""

from __future__ import annotations

from collections.abc import Set

from adocd.daemon.change import planner
from adocd.daemon.change.planner import ChangePlan
from adocd.model.change import Below, ColumnFamilyChange, RestoreStep
from adocd.model.knob import MIB
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.values import OptionName, Values
from tests.daemon.change.rocksdb_model import SWITCH, RocksDB, database, defaults, family, opened

JOBS = database(max_background_jobs=4)
BATCH = family(write_buffer_size=128 * MIB, target_file_size_base=128 * MIB)
AWAY = str(OUT_OF_THE_WAY)
OFF, ON = family({SWITCH: "true"}), family({SWITCH: "false"})


def plan(
    goal: Values, now: RocksDB | None = None, baseline: Values | None = None, ours: Set[OptionName] = frozenset()
) -> ChangePlan:
    now = now or opened()
    return planner.plan(goal, now.sample(), baseline or defaults(now.families), ours)


def waits(option: str, value: str, prop: str, below: int, name: str = "default") -> RestoreStep:
    return RestoreStep(ColumnFamilyChange(name, {option: value}), Below(name, prop, below))
