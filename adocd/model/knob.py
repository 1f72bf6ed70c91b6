"""The knobs that a controller may turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

MIB = 1 << 20


class Knob(StrEnum):
    """A knob is what a law controls: one RocksDB option, or several that only have meaning together."""

    BATCH_SIZE = "batch_size"
    BACKGROUND_JOBS = "background_jobs"
    FLUSH_THREADS = "flush_threads"
    COMPACTION_THREADS = "compaction_threads"
    SUBCOMPACTIONS = "subcompactions"
    COMPACTION_READAHEAD = "compaction_readahead"
    RATE_LIMIT = "rate_limit"
    DELAYED_WRITE_RATE = "delayed_write_rate"
    BYTES_PER_SYNC = "bytes_per_sync"
    AUTO_COMPACTION = "auto_compaction"
    MEMTABLE_SIZE = "memtable_size"
    MEMTABLE_NUMBER = "memtable_number"
    FILE_SIZE = "file_size"
    LEVEL_BASE_SIZE = "level_base_size"
    LEVEL_MULTIPLIER = "level_multiplier"
    COMPACTION_SIZE = "compaction_size"
    LEVEL0_TRIGGER = "level0_compaction_trigger"
    LEVEL0_SLOWDOWN = "level0_slowdown_trigger"
    LEVEL0_STOP = "level0_stop_trigger"
    SOFT_PENDING_LIMIT = "soft_pending_limit"
    HARD_PENDING_LIMIT = "hard_pending_limit"


@dataclass(frozen=True, slots=True)
class KnobFacts:
    """The properties of a knob.

    Attributes:
        scope: whether it belongs to a column family, the database or the process (a rate limiter).
        options: the RocksDB options that carry it; none if it is not an option.
        unit: of its value; `switch` is 1 for on and 0 for off, `percent` a fraction times 100.
        disables: options that have no effect while this knob is turned, or that cancel its effect.
        zero_is_off: whether 0 removes the limit, and so counts as the highest value.

    """

    scope: Literal["column_family", "database", "process"]
    options: tuple[str, ...]
    unit: Literal["bytes", "bytes/s", "threads", "memtables", "files", "percent", "switch"]
    disables: tuple[str, ...] = ()
    zero_is_off: bool = False


def _family(
    option: str, unit: Literal["bytes", "memtables", "files", "percent", "switch"], *, zero_is_off: bool = False
) -> KnobFacts:
    return KnobFacts("column_family", (option,), unit, zero_is_off=zero_is_off)


_OLD_THREADS = ("max_background_flushes", "max_background_compactions")

KNOBS: Mapping[Knob, KnobFacts] = {
    Knob.BATCH_SIZE: KnobFacts(
        "column_family", ("write_buffer_size", "target_file_size_base", "max_bytes_for_level_base"), "bytes"
    ),
    # The old thread options override max_background_jobs (options.h), so only one of the two can be in use.
    Knob.BACKGROUND_JOBS: KnobFacts("database", ("max_background_jobs",), "threads", disables=_OLD_THREADS),
    Knob.FLUSH_THREADS: KnobFacts(
        "database", ("max_background_flushes",), "threads", disables=("max_background_jobs",)
    ),
    Knob.COMPACTION_THREADS: KnobFacts(
        "database", ("max_background_compactions",), "threads", disables=("max_background_jobs",)
    ),
    Knob.SUBCOMPACTIONS: KnobFacts("database", ("max_subcompactions",), "threads"),
    Knob.COMPACTION_READAHEAD: KnobFacts("database", ("compaction_readahead_size",), "bytes"),
    Knob.RATE_LIMIT: KnobFacts("process", (), "bytes/s"),
    Knob.DELAYED_WRITE_RATE: KnobFacts("database", ("delayed_write_rate",), "bytes/s"),
    Knob.BYTES_PER_SYNC: KnobFacts("database", ("bytes_per_sync",), "bytes"),
    Knob.AUTO_COMPACTION: _family("disable_auto_compactions", "switch"),
    Knob.MEMTABLE_SIZE: _family("write_buffer_size", "bytes"),
    Knob.MEMTABLE_NUMBER: _family("max_write_buffer_number", "memtables"),
    Knob.FILE_SIZE: _family("target_file_size_base", "bytes"),
    Knob.LEVEL_BASE_SIZE: _family("max_bytes_for_level_base", "bytes"),
    Knob.LEVEL_MULTIPLIER: _family("max_bytes_for_level_multiplier", "percent"),
    Knob.COMPACTION_SIZE: _family("max_compaction_bytes", "bytes"),
    Knob.LEVEL0_TRIGGER: _family("level0_file_num_compaction_trigger", "files"),
    Knob.LEVEL0_SLOWDOWN: _family("level0_slowdown_writes_trigger", "files"),
    Knob.LEVEL0_STOP: _family("level0_stop_writes_trigger", "files"),
    Knob.SOFT_PENDING_LIMIT: _family("soft_pending_compaction_bytes_limit", "bytes", zero_is_off=True),
    Knob.HARD_PENDING_LIMIT: _family("hard_pending_compaction_bytes_limit", "bytes", zero_is_off=True),
}


def contend(one: Knob, other: Knob) -> bool:
    """Whether two laws that turn these knobs would undo each other's changes."""
    if one is other:
        return True
    mine, others = KNOBS[one], KNOBS[other]
    return bool({*mine.options, *mine.disables} & set(others.options) or set(mine.options) & set(others.disables))
