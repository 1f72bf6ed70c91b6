"""The laws of production systems under a load that is too much: what each is for, in direction, not in size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from adocd.simulator.device import MB

from .lived import Life, live
from .scenes import GIB, MIB, setup

pytestmark = pytest.mark.long

HALF_HOUR_S = 1800.0
#: RocksDB's own limits, and memtables enough that none of them stops writes.
MEMTABLES: Mapping[str, Any] = {"max_write_buffer_number": 6}
#: An eighth of RocksDB's sizes and three compactions at a time: those out of level 0 take seconds, as in CockroachDB.
SMALL: Mapping[str, Any] = {
    **MEMTABLES,
    "max_background_jobs": 4,
    "write_buffer_size": 8 * MIB,
    "target_file_size_base": 8 * MIB,
    "max_bytes_for_level_base": 32 * MIB,
    "soft_pending_compaction_bytes_limit": 8 * GIB,
    "hard_pending_compaction_bytes_limit": 32 * GIB,
}
#: The first minutes are those of an empty database.
_SETTLED_S = 120.0


def standstills(life: Life, length_s: int = 10) -> int:
    """Count the windows of so many seconds in which next to nothing was written, less than 0.2 MB/s."""
    written = [each.written_bytes for each in life.seconds if each.at_s > _SETTLED_S][::length_s]
    return sum(after - before < 0.2 * MB * length_s for before, after in itertools.pairwise(written))


def rules(life: Life) -> set[str]:
    return {record.rule for record in life.decisions if record.outcome == "applied"}


def l0_after(life: Life) -> float:
    """The mean number of files in level 0 once it has filled."""
    found = [each.l0_files for each in life.seconds if each.at_s > _SETTLED_S]
    return sum(found) / len(found)


def test_without_a_law_such_a_load_stands_still() -> None:
    """Else the tests below would say nothing."""
    assert standstills(live("fixed", setup(**MEMTABLES), HALF_HOUR_S)) > 20
    assert standstills(live("fixed", setup(**SMALL), HALF_HOUR_S)) > 3


def test_speedb_keeps_writes_going_where_rocksdbs_own_delay_stands_still() -> None:
    fixed, speedb = (live(law, setup(**MEMTABLES), HALF_HOUR_S) for law in ("fixed", "speedb"))
    assert rules(speedb) == {"speedb.delay", "speedb.owners-rate"}
    assert standstills(speedb) < standstills(fixed) / 4
    rates = {each.database.delayed_write_rate for each in speedb.seconds}
    assert min(rates) == MIB
    assert max(rates) <= 16 * MIB + 2, "the owner's, or a byte or two more"
    assert {each.family for each in speedb.seconds} == {setup(**MEMTABLES).family}, "and nothing else is turned"


def test_tikv_no_longer_touches_zero() -> None:
    """tikv#10249: no full stop by level 0, which stays below 36 files, where RocksDB's own delay stands still."""
    tikv = live("tikv", setup(**MEMTABLES), HALF_HOUR_S)
    assert {"tikv.limited", "tikv.unlimited"} <= rules(tikv)
    assert standstills(tikv) == 0
    assert tikv.most(lambda each: each.l0_files) < 36


def test_tikv_takes_a_burst_that_rocksdb_throttles() -> None:
    """tikv#11081: the limit begins at the recent flow, so a burst that level 0 survives is hardly delayed."""
    fixed, tikv = (live(law, setup(workload="burst", rate=9 * MB), HALF_HOUR_S) for law in ("fixed", "tikv"))
    assert fixed.waited_s > 10
    assert tikv.waited_s < 0.5 * fixed.waited_s


def test_cockroach_holds_level_0_and_never_stands_still_where_its_compactions_are_short() -> None:
    fixed, cockroach = (live(law, setup(**SMALL), HALF_HOUR_S) for law in ("fixed", "cockroach"))
    assert "cockroach.tokens" in rules(cockroach)
    assert standstills(cockroach) == 0
    assert l0_after(cockroach) < 0.9 * l0_after(fixed)
    assert max(each.family.level0_slowdown_writes_trigger for each in cockroach.seconds[60:]) == 5


def test_cockroach_goes_on_where_its_compactions_are_long_with_more_files_in_level_0() -> None:
    """What it assumes does not hold there: see its module."""
    cockroach = live("cockroach", setup(**MEMTABLES), HALF_HOUR_S)
    assert standstills(cockroach) == 0
    assert l0_after(cockroach) > 20


@pytest.mark.parametrize("law", ["speedb", "tikv", "cockroach"])
def test_a_load_that_the_database_can_take_is_left_alone(law: str) -> None:
    life = live(law, setup(workload="sine", rate=6 * MB), HALF_HOUR_S)
    assert life.waited_s < 0.01 * HALF_HOUR_S
