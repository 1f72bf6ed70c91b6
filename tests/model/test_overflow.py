"""Overflow detection, condition by condition."""

import pytest

from adocd.model.overflow import Overflow, detect

QUIET = {
    "l0_files": 0,
    "level0_slowdown_writes_trigger": 20,
    "pending_compaction_bytes": 0,
    "soft_pending_compaction_bytes_limit": 64,
    "immutable_memtables": 0,
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
        ({"immutable_memtables": 1}, ()),
        ({"immutable_memtables": 2}, (Overflow.MEMORY,)),
        ({"memtable_stalls": 1}, (Overflow.MEMORY,)),
        (
            {"l0_files": 40, "pending_compaction_bytes": 99, "memtable_stalls": 3},
            (Overflow.LEVEL0, Overflow.REDUNDANCY, Overflow.MEMORY),
        ),
        # RocksDB takes 0 for "off" (soft limit) and negative triggers likewise.
        ({"pending_compaction_bytes": 1 << 40, "soft_pending_compaction_bytes_limit": 0}, ()),
        ({"l0_files": 99, "level0_slowdown_writes_trigger": -1}, ()),
    ],
)
def test_detect(changes: dict[str, int], expected: tuple[Overflow, ...]) -> None:
    assert detect(**(QUIET | changes)) == expected
