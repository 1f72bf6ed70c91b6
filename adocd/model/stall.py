"""The causes of write stalls, and RocksDB's own rule for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from adocd.model.sample import ColumnFamilyOptions
from adocd.model.snapshot import Condition

#: The cause of a column family's write stall, in the words of `stall_counts` in agents/admin-api.yaml.
Cause = Literal["memtable", "l0", "pending_bytes", "other"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
#: How writes are held.
Held = Literal["delayed", "stopped"]

#: The cause and kind of each name in `stall_counts`, which RocksDB counts by column family.
COUNTS: Mapping[str, tuple[Cause, Held]] = {
    "memtable_stops": ("memtable", "stopped"),
    "memtable_slowdowns": ("memtable", "delayed"),
    "l0_stops": ("l0", "stopped"),
    "l0_slowdowns": ("l0", "delayed"),
    "pending_bytes_stops": ("pending_bytes", "stopped"),
    "pending_bytes_slowdowns": ("pending_bytes", "delayed"),
}


@dataclass(frozen=True, slots=True)
class StallVerdict:
    """A column family's write condition and its cause; no cause when the condition is normal."""

    condition: Condition
    cause: Cause | None = None


NORMAL = StallVerdict("normal")


def counted(stall_counts: Mapping[str, int], cause: Cause) -> int:
    """Return how often writes were delayed or stopped for one cause."""
    return sum(stall_counts.get(name, 0) for name, (counts, _) in COUNTS.items() if counts == cause)


def judge(
    *, immutable_memtables: int, l0_files: int, pending_compaction_bytes: int, options: ColumnFamilyOptions
) -> StallVerdict:
    """Return RocksDB's verdict on these figures (db/column_family.cc, GetWriteStallConditionAndCause).

    The first rule that applies wins: stops before delays, and within each memtables, level 0, pending bytes.

    - `immutable_memtables` is rocksdb.num-immutable-mem-table: those not flushed yet, including those being flushed.
      They delay writes only if max_write_buffer_number is above 3 and at least one more than
      `min_write_buffer_number_to_merge` waits.
    - `l0_files` is a number of files; under universal compaction RocksDB counts sorted runs instead, so pass those
      (`ColumnFamilySample.l0_delay_trigger_count`). A slowdown trigger below 0 is off; one of 0 always holds.
    - `pending_compaction_bytes` is rocksdb.estimate-pending-compaction-bytes; a limit of 0 means off.
    - With automatic compactions disabled, only memtables count.

    The rule is the same in 6.29, 7.8 and 9.8. Before 6.18 a delay by memtables did not consider how many must merge
    (facebook/rocksdb#7921). RocksDB applies the rule when it installs a superversion, so between two installs it may
    still hold writes by older figures. A stall by a WriteBufferManager (facebook/rocksdb#7898) is not part of this
    rule: it shows in no figure of a column family.
    """
    o, compacts = options, options.compaction_holds_writes
    delays_by_memtables = max(o.max_write_buffer_number - 1, o.min_write_buffer_number_to_merge + 1)
    rule: tuple[tuple[bool, Cause, Held], ...] = (
        (immutable_memtables >= o.max_write_buffer_number, "memtable", "stopped"),
        (compacts and l0_files >= o.level0_stop_writes_trigger, "l0", "stopped"),
        (
            compacts and 0 < o.hard_pending_compaction_bytes_limit <= pending_compaction_bytes,
            "pending_bytes",
            "stopped",
        ),
        (o.max_write_buffer_number > 3 and immutable_memtables >= delays_by_memtables, "memtable", "delayed"),
        (compacts and 0 <= o.level0_slowdown_writes_trigger <= l0_files, "l0", "delayed"),
        (
            compacts and 0 < o.soft_pending_compaction_bytes_limit <= pending_compaction_bytes,
            "pending_bytes",
            "delayed",
        ),
    )
    return next((StallVerdict(held, cause) for holds, cause, held in rule if holds), NORMAL)
