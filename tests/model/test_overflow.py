"""Overflow detection, condition by condition."""

from typing import Any

import pytest

from adocd.model.options import FIFO_COMPACTION, LEVEL_COMPACTION, UNIVERSAL_COMPACTION
from adocd.model.overflow import Overflow, detect
from adocd.model.sample import ColumnFamilySample
from tests.builders import GIB, column_family

QUIET: dict[str, Any] = {
    "l0_files": 0,
    "level0_slowdown_writes_trigger": 20,
    "pending_compaction_bytes": 0,
    "soft_pending_compaction_bytes_limit": 64,
    "compaction_holds_writes": True,
    "memtables_wait": False,
    "memtable_stalls": 0,
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"l0_files": 19}, ()),
        ({"l0_files": 20}, (Overflow.LEVEL0,)),
        ({"pending_compaction_bytes": 63}, ()),
        ({"pending_compaction_bytes": 64}, (Overflow.REDUNDANCY,)),
        ({"memtables_wait": True}, (Overflow.MEMORY,)),
        ({"memtable_stalls": 1}, (Overflow.MEMORY,)),
        (
            {"l0_files": 40, "pending_compaction_bytes": 99, "memtable_stalls": 3},
            (Overflow.LEVEL0, Overflow.REDUNDANCY, Overflow.MEMORY),
        ),
        # RocksDB takes 0 for "off" (soft limit) and negative triggers likewise.
        ({"pending_compaction_bytes": 1 << 40, "soft_pending_compaction_bytes_limit": 0}, ()),
        ({"l0_files": 99, "level0_slowdown_writes_trigger": -1}, ()),
        # Without automatic compaction it delays and stops writes for memtables alone.
        ({"l0_files": 99, "pending_compaction_bytes": 99, "compaction_holds_writes": False}, ()),
        ({"memtables_wait": True, "compaction_holds_writes": False}, (Overflow.MEMORY,)),
    ],
)
def test_detect(changes: dict[str, Any], expected: tuple[Overflow, ...]) -> None:
    assert detect(**(QUIET | changes)) == expected


@pytest.mark.parametrize(
    ("merge", "immutable", "waits"),
    [(1, 1, False), (1, 2, True), (2, 2, False), (2, 3, True), (4, 4, False), (4, 5, True)],
)
def test_memtables_that_one_flush_merges_wait_for_nothing(merge: int, immutable: int, waits: bool) -> None:
    """A flush begins when min_write_buffer_number_to_merge of them are there."""
    cf = column_family(immutable_memtables=immutable, min_write_buffer_number_to_merge=merge)
    assert cf.memtables_wait is waits
    assert cf.overflow == ((Overflow.MEMORY,) if waits else ())


def loading(*, disable_auto_compactions: bool) -> ColumnFamilySample:
    return column_family(
        l0_files=500, pending_compaction_bytes=300 * GIB, disable_auto_compactions=disable_auto_compactions
    )


def test_a_backlog_that_rocksdb_holds_no_writes_for_is_no_overflow() -> None:
    assert loading(disable_auto_compactions=False).overflow == (Overflow.LEVEL0, Overflow.REDUNDANCY)
    assert loading(disable_auto_compactions=True).overflow == ()


@pytest.mark.parametrize(
    ("style", "overflow"), [(UNIVERSAL_COMPACTION, (Overflow.LEVEL0,)), (LEVEL_COMPACTION, ()), (FIFO_COMPACTION, ())]
)
def test_under_universal_compaction_sorted_runs_overflow(style: str, overflow: tuple[Overflow, ...]) -> None:
    """RocksDB compares the L0 triggers with them: each further level with files is one."""
    runs = column_family(l0_files=17, further_levels=(0, 0, 0, 1, 9, 40), compaction_style=style)
    assert runs.overflow == overflow
    assert column_family(l0_files=17, further_levels=(0, 9, 40), compaction_style=style).overflow == ()
