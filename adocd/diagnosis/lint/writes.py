"""Rules about when RocksDB slows and stops writes.

At open RocksDB corrects most of these (db/column_family.cc, SanitizeOptions). Live, it accepts whatever it is given, so
a person, or a tuner that was killed, has set these values live.
"""

from collections.abc import Iterator

from adocd.diagnosis.lint.facts import Facts, Values
from adocd.diagnosis.lint.finding import Hit, Severity, family_rule, rule
from adocd.model.in_words import size
from adocd.model.options import (
    DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S,
    DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S,
    FIFO_COMPACTION,
    LEVEL_COMPACTION,
)

#: More level-0 files than any database has, so a trigger this high means "never".
_NEVER_FILES = 1 << 20

_CONDITIONS = "RocksDB db/column_family.cc, ColumnFamilyData::GetWriteStallConditionAndCause"
_SANITIZE = "RocksDB db/column_family.cc, SanitizeOptions"


def _counts_pending_bytes(options: Values) -> bool:
    """Whether the limits for pending compaction bytes can hold writes.

    RocksDB estimates those bytes for level compaction alone (VersionStorageInfo::EstimateCompactionBytesNeeded).
    """
    return options.text("compaction_style") in (None, LEVEL_COMPACTION)


@family_rule(Severity.DANGER, _CONDITIONS)
def compaction_is_off(options: Values) -> Hit | None:
    """Find that automatic compaction is off, and with it write stalls for level 0 and pending bytes."""
    if options.flag("disable_auto_compactions") is not True:
        return None
    return Hit(
        "disable_auto_compactions",
        "disable_auto_compactions = true: nothing compacts level 0, and RocksDB neither slows nor stops writes for "
        "it, so it grows without bound",
        "set it to false, but first raise level0_stop_writes_trigger above the current number of L0 files, or writes "
        "stop at once; if nobody wanted it off, a killed tuner has left it in the OPTIONS file that the program loads",
    )


@rule(Severity.DANGER, "RocksDB advanced_options.h, disable_auto_compactions")
def restore_waits_without_compaction(facts: Facts) -> Iterator[Hit]:
    """Find that a restore waits while automatic compaction is off, so level 0 does not drain."""
    # In force now: the restore's own first steps switch on again what a law has switched off.
    restore, families = facts.snapshot.restore, facts.snapshot.options.column_families
    off = tuple(sorted(name for name, options in families.items() if Values(options).flag("disable_auto_compactions")))
    if restore.state == "waiting" and off:
        yield Hit(
            "disable_auto_compactions",
            f"adocd's restore waits for {restore.waiting_for}, and disable_auto_compactions = true: level 0 does not "
            "drain meanwhile",
            "set it to false; the restore then continues by itself",
            off,
        )


@family_rule(Severity.DANGER, "RocksDB options.h, level0_file_num_compaction_trigger; " + _SANITIZE)
def level0_is_never_compacted(options: Values) -> Hit | None:
    """Find that no number of L0 files starts a compaction: the trigger is negative, or too high to be reached."""
    trigger = options.number("level0_file_num_compaction_trigger")
    if trigger is None or 0 <= trigger < _NEVER_FILES or options.text("compaction_style") == FIFO_COMPACTION:
        return None
    return Hit(
        "level0_file_num_compaction_trigger",
        f"level0_file_num_compaction_trigger = {trigger}: no number of L0 files starts a compaction",
        "set it to a positive number; RocksDB's default is 4",
    )


@family_rule(Severity.DANGER, _CONDITIONS)
def stop_before_compaction(options: Values) -> Hit | None:
    """Find that writes stop at fewer L0 files than start a compaction, so nothing ends the stop."""
    stop = options.number("level0_stop_writes_trigger")
    trigger = options.number("level0_file_num_compaction_trigger")
    if stop is None or trigger is None or trigger >= _NEVER_FILES or stop >= max(trigger, 1):
        return None
    return Hit(
        "level0_stop_writes_trigger",
        f"level0_stop_writes_trigger = {stop}, but level0_file_num_compaction_trigger = {trigger}: writes stop before "
        "a compaction starts, and may never resume",
        "set it to more than level0_slowdown_writes_trigger; RocksDB's default is 36",
    )


@family_rule(Severity.DANGER, _SANITIZE)
def stop_below_slowdown(options: Values) -> Hit | None:
    """Find that writes are stopped for level 0 before they are slowed."""
    stop, slowdown = options.number("level0_stop_writes_trigger"), options.number("level0_slowdown_writes_trigger")
    if stop is None or slowdown is None or stop >= slowdown or slowdown >= _NEVER_FILES:
        return None
    if stop < max(options.number("level0_file_num_compaction_trigger") or 1, 1):
        return None  # stop_before_compaction reports the worse problem
    return Hit(
        "level0_stop_writes_trigger",
        f"level0_stop_writes_trigger = {stop} is below level0_slowdown_writes_trigger = {slowdown}: writes stop "
        "without being slowed first, and before the law sees level-0 overflow",
        f"set it to {slowdown} or more",
    )


@family_rule(Severity.DANGER, _SANITIZE)
def slowdown_below_trigger(options: Values) -> Hit | None:
    """Find that writes are slowed for level 0 before a compaction starts."""
    slowdown = options.number("level0_slowdown_writes_trigger")
    trigger = options.number("level0_file_num_compaction_trigger")
    if slowdown is None or trigger is None or trigger >= _NEVER_FILES or not 0 <= slowdown < max(trigger, 1):
        return None
    return Hit(
        "level0_slowdown_writes_trigger",
        f"level0_slowdown_writes_trigger = {slowdown}, but level0_file_num_compaction_trigger = {trigger}: writes are "
        "slowed while there is nothing to compact",
        f"set it to more than {max(trigger, 1)}; RocksDB's default is 20",
    )


@family_rule(Severity.USELESS, "RocksDB advanced_options.h, level0_slowdown_writes_trigger")
def level0_never_slows(options: Values) -> Hit | None:
    """Find that no number of L0 files slows writes, so level-0 overflow is never seen."""
    slowdown = options.number("level0_slowdown_writes_trigger")
    if slowdown is None or 0 <= slowdown < _NEVER_FILES or options.text("compaction_style") == FIFO_COMPACTION:
        return None
    return Hit(
        "level0_slowdown_writes_trigger",
        f"level0_slowdown_writes_trigger = {slowdown} turns the slowdown off, and with it the law's level-0 overflow",
        "set it to the number of L0 files that reads can tolerate; RocksDB's default is 20",
    )


@family_rule(Severity.DANGER, _SANITIZE)
def soft_above_hard(options: Values) -> Hit | None:
    """Find that writes are stopped for pending compaction bytes before they are slowed; a limit of 0 is off."""
    soft = options.number("soft_pending_compaction_bytes_limit")
    hard = options.number("hard_pending_compaction_bytes_limit")
    if soft is None or hard is None or hard <= 0 or soft <= hard or not _counts_pending_bytes(options):
        return None
    return Hit(
        "hard_pending_compaction_bytes_limit",
        f"hard_pending_compaction_bytes_limit = {hard} is below soft_pending_compaction_bytes_limit = {soft}: writes "
        "stop without being slowed first",
        "set the hard limit to the soft limit or more, or to 0, which turns it off",
    )


@family_rule(Severity.USELESS, _CONDITIONS)
def soft_limit_is_off(options: Values) -> Hit | None:
    """Find that the soft limit for pending compaction bytes is off, so redundancy overflow is never seen."""
    if options.number("soft_pending_compaction_bytes_limit") != 0 or not _counts_pending_bytes(options):
        return None
    return Hit(
        "soft_pending_compaction_bytes_limit",
        "soft_pending_compaction_bytes_limit = 0 turns the limit off, and with it the law's redundancy overflow",
        "set it to the compaction debt that the disk has room for; RocksDB's default is 64 GiB",
    )


@family_rule(Severity.NOTE, _CONDITIONS)
def hard_limit_is_off(options: Values) -> Hit | None:
    """Find that no amount of pending compaction bytes stops writes, so their disk space is not bounded."""
    if options.number("hard_pending_compaction_bytes_limit") != 0 or not _counts_pending_bytes(options):
        return None
    return Hit(
        "hard_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit = 0: no compaction debt stops writes, so nothing limits its disk space",
        "watch the free space, or set a limit; RocksDB's default is 256 GiB",
    )


@family_rule(Severity.DANGER, "RocksDB db/column_family.cc, SanitizeOptions: at least 2")
def too_few_memtables(options: Values) -> Hit | None:
    """Find that with fewer than two memtables every flush stops writes."""
    memtables = options.number("max_write_buffer_number")
    if memtables is None or memtables >= 2:
        return None
    return Hit(
        "max_write_buffer_number",
        f"max_write_buffer_number = {memtables}: writes stop whenever a memtable waits for its flush",
        "set it to 2 or more",
    )


@family_rule(Severity.NOTE, "RocksDB options.h, delayed_write_rate; " + _CONDITIONS)
def memtables_delay(options: Values) -> Hit | None:
    """Find that with more than three memtables RocksDB slows writes before the last memtable is in use."""
    memtables = options.number("max_write_buffer_number")
    if memtables is None or memtables <= 3:
        return None
    return Hit(
        "max_write_buffer_number",
        f"max_write_buffer_number = {memtables}: from {memtables - 1} unflushed memtables on, writes are slowed to "
        "delayed_write_rate, whatever the L0 triggers are",
        "use 3 or fewer with a larger write_buffer_size, or a delayed_write_rate near the disk's flush rate",
    )


@rule(Severity.DANGER, "RocksDB options.h, delayed_write_rate; db/write_controller.h")
def delayed_writes_stand_still(facts: Facts) -> Iterator[Hit]:
    """Find that delayed_write_rate is almost zero, so the first slowdown freezes the program."""
    rate = facts.database.number("delayed_write_rate")
    if rate is None or rate >= DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S:
        return
    zero = "set live, 0 means about 1 byte/s, not the default" if rate == 0 else "the first slowdown freezes it"
    yield Hit(
        "delayed_write_rate",
        f"delayed_write_rate = {rate} bytes/s: {zero}",
        f"set it to the disk's flush rate; RocksDB's default is {size(DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S)}/s",
    )


@rule(Severity.NOTE, "RocksDB options.h, delayed_write_rate")
def delayed_writes_are_slow(facts: Facts) -> Iterator[Hit]:
    """Find that delayed_write_rate is below RocksDB's default, so one slowdown costs most of the throughput."""
    rate = facts.database.number("delayed_write_rate")
    if rate is None or not DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S <= rate < DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S:
        return
    yield Hit(
        "delayed_write_rate",
        f"delayed_write_rate = {rate} bytes/s is below RocksDB's default of "
        f"{size(DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S)}/s, and slowed writes get no more (db_bench sets "
        "8 MiB/s; a rate limiter at open sets it to its own rate)",
        "raise it to the disk's flush rate if delayed writes are too slow",
    )


RULES = (
    compaction_is_off,
    restore_waits_without_compaction,
    level0_is_never_compacted,
    stop_before_compaction,
    stop_below_slowdown,
    slowdown_below_trigger,
    level0_never_slows,
    soft_above_hard,
    soft_limit_is_off,
    hard_limit_is_off,
    too_few_memtables,
    memtables_delay,
    delayed_writes_stand_still,
    delayed_writes_are_slow,
)
