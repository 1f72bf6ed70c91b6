"""RocksDB's write-stall rule applied to a column family's figures in a sample, and those figures in words."""

from collections.abc import Mapping
from dataclasses import replace

from adocd.model.sample import ColumnFamilySample
from adocd.model.stall import Cause, Held, StallVerdict, judge
from adocd.probes.log.stalls import OpenStall

#: Stands for a limit that the agent does not report: never reached.
_NEVER = 1 << 62


def verdict(cf: ColumnFamilySample, reported: Mapping[str, str]) -> StallVerdict:
    """Apply RocksDB's rule to a column family; a limit that is not among the options `reported` holds no writes."""
    options = cf.options
    if "max_write_buffer_number" not in reported:
        options = replace(options, max_write_buffer_number=_NEVER)
    if "level0_stop_writes_trigger" not in reported:
        options = replace(options, level0_stop_writes_trigger=_NEVER)
    if "level0_slowdown_writes_trigger" not in reported:
        options = replace(options, level0_slowdown_writes_trigger=-1)
    return judge(
        immutable_memtables=cf.immutable_memtables,
        l0_files=cf.l0_delay_trigger_count,
        pending_compaction_bytes=cf.pending_compaction_bytes,
        options=options,
    )


def figures(cf: ColumnFamilySample, cause: Cause, held: Held) -> str:
    """Describe the figure behind a cause, and its limit."""
    stopped, options = held == "stopped", cf.options
    if cause == "memtable":
        return (
            f"{cf.immutable_memtables} immutable memtables, max_write_buffer_number {options.max_write_buffer_number}"
        )
    if cause == "l0":
        name = "stop" if stopped else "slowdown"
        trigger = options.level0_stop_writes_trigger if stopped else options.level0_slowdown_writes_trigger
        levels = cf.further_runs
        runs = f" and {levels} further {'level' if levels == 1 else 'levels'} with files" if levels else ""
        return f"{cf.l0_files} level-0 files{runs}, {name} trigger {trigger}"
    if cause == "pending_bytes":
        name = "hard" if stopped else "soft"
        limit = options.hard_pending_compaction_bytes_limit if stopped else options.soft_pending_compaction_bytes_limit
        return f"{cf.pending_compaction_bytes} bytes of pending compaction, {name} limit {limit}"
    return "no figure that is reported says why"


def figures_of_log(stall: OpenStall) -> str:
    """Describe an open stall in the LOG's figures."""
    if stall.cause == "memtable":
        said = f"{stall.figure} immutable memtables, max_write_buffer_number {stall.limit}"
    elif stall.cause == "l0":
        said = f"{stall.figure} level-0 files"
    elif stall.cause == "pending_bytes":
        said = f"{stall.figure} bytes of pending compaction"
    else:
        said = "a reason that this version does not know"
    return f"{said} by its LOG, whose lines can be some seconds late"
