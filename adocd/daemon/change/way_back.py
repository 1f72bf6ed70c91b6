"""The restore plan of a change: the way back from everything that is then ours. Pure: values in, values out."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from adocd.daemon.change.calls import grouped
from adocd.daemon.change.guards.compaction import SWITCH
from adocd.model.change import Below, ColumnFamilyChange, DatabaseChange, RestoreStep
from adocd.model.level0 import few_files, files_when_merged
from adocd.model.options import BYTES_PER_SYNC_OFF, DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S, OUT_OF_THE_WAY
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values, of_database, of_family

DELAYED_WRITE_RATE = of_database("delayed_write_rate")
BYTES_PER_SYNC = of_database("bytes_per_sync")
#: What a restore sets in place of a 0 that cannot be set live.
_RESTORED_ZEROS = {
    DELAYED_WRITE_RATE: str(DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S),
    BYTES_PER_SYNC: str(BYTES_PER_SYNC_OFF),
}

TRIGGER = "level0_file_num_compaction_trigger"
SLOWDOWN, STOP = "level0_slowdown_writes_trigger", "level0_stop_writes_trigger"
BASE = "max_bytes_for_level_base"
SUBCOMPACTIONS = of_database("max_subcompactions")
HARD = "hard_pending_compaction_bytes_limit"
MEMTABLES, MEMTABLE_SIZE = "max_write_buffer_number", "write_buffer_size"
OFF = "0"
_L0_FILES = "rocksdb.num-files-at-level0"
_IMMUTABLE_MEMTABLES = "rocksdb.num-immutable-mem-table"
_PENDING_BYTES = "rocksdb.estimate-pending-compaction-bytes"
#: Agents read a signed number; an owner's limit may be the highest unsigned one.
_MOST_BELOW = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Look:
    """What the last look at a column family says of its way back.

    `merged` is how many files a merge of all of level 0 would have now, with those of the base level. `of_flush` is how
    many immutable memtables a flush takes, unless one is forced: then it may take fewer. None if that is not known.
    `further_runs` are sorted runs below level 0, which count for RocksDB's triggers under universal compaction.
    """

    merged: int = 0
    of_flush: int | None = None
    further_runs: int = 0


def way_back(sample: Sample, baseline: Values, ours: Set[OptionName], sent: Values) -> tuple[RestoreStep, ...]:
    """Plan the restore from any values that our options may have: first what can be set at once, then what must wait.

    The agent executes it when nobody watches, so the numbers of files and bytes at that time are unknown. Where
    compaction may be off, the call that switches it on also raises the stop trigger and removes the hard limit
    (HAZARDS 8); a later step lowers them again when that no longer stops writes. Slowdowns stay in force meanwhile, so
    that compaction can work off the backlog.

    Pools and rate limiter come first: they return at once and may be what ends a stall, in which the other calls wait.
    The agent takes one step after the other, so those come last that may have to wait longest: for memtables, of which
    some wait as long as a flood lasts. The width of merges comes after the base levels: until then level 0 is merged as
    wide as it was filled for.
    """
    back = {option: restorable(option, baseline[option]) for option in ours if option in baseline}
    reached = sample.values, sent
    looks = {
        cf.name: _Look(files_when_merged(cf, sample), cf.memtables_of_flush, cf.further_runs)
        for cf in sample.column_families
    }
    later: list[RestoreStep] = []
    memtables: list[RestoreStep] = []
    flushed: list[RestoreStep] = []
    for family in sorted({option.name or "" for option in back if option.scope == "column_family"}):
        now, when_flushed = _postpone(family, back, baseline, reached, looks.get(family, _Look()))
        later += now
        flushed += when_flushed
        memtables += _postpone_memtables(family, back, baseline, reached)
    width = _postpone_width(back, baseline, reached, later)
    at_once = sorted(grouped(back), key=lambda change: change.scope not in ("thread_pool", "rate_limiter"))
    return (*(RestoreStep(change) for change in at_once), *later, *memtables, *flushed, *width)


def restorable(option: OptionName, value: str) -> str:
    """Return the value that a restore sends for an original.

    A delayed_write_rate of 0 only means the default at open (HAZARDS 5), and a bytes_per_sync of 0 cannot be set live
    (HAZARDS 19).
    """
    return value if value != "0" else _RESTORED_ZEROS.get(option, value)


def stop_may_be_lowered_below(slowdown: int, stop: int) -> int:
    """Return the number of L0 files below which a stop trigger can be lowered to `stop` without stopping writes.

    That is half-way to the slowdown trigger, because a flush may end between the snapshot and the change; if there is
    no such room, the stop trigger itself.
    """
    return max(1, stop - max(0, stop - slowdown) // 2)


def holds(limit: int) -> bool:
    """Whether a limit of level 0, in files, is in force: neither off, which is 0 or less, nor out of the way."""
    return 0 < limit < OUT_OF_THE_WAY


def up_to_slowdown(trigger: int, slowdown: int) -> int:
    """Return a trigger that is not above the slowdown trigger, which RocksDB asserts; 0 or less is no slowdown."""
    return trigger if slowdown <= 0 else min(trigger, slowdown)


def _postpone(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], look: _Look
) -> tuple[list[RestoreStep], list[RestoreStep]]:
    """Move values that would stop writes from a restore's first steps into later steps with a condition.

    `reached` holds the options' present and next values, because the change may fail between the two. An option that is
    postponed and may be below its original is raised at once, because its neighbours return to their originals. Returns
    the steps, and those that come after a flush.
    """
    switch, slowdown, stop, hard = (of_family(family, option) for option in (SWITCH, SLOWDOWN, STOP, HARD))
    may_be_off = back.get(switch) == "false" and any(values.get(switch) == "true" for values in reached)
    later, when_flushed = _postpone_base(family, back, baseline, reached, look)
    if {slowdown, stop} <= baseline.keys() and (may_be_off or _may_exceed(stop, back, baseline, reached)):
        # Agents see files of level 0 alone. Below the owner's trigger it comes back all the same.
        least = max(1, int(baseline.get(of_family(family, TRIGGER), 1)))
        below = stop_may_be_lowered_below(int(baseline[slowdown]), int(baseline[stop]))
        below = min(below, max(least, below - look.further_runs))
        # A trigger or slowdown that is still above the original comes back first.
        few = _files(when_flushed[-1]) if when_flushed else 0
        steps = when_flushed if few > int(baseline[stop]) else later
        steps.append(_when(family, _L0_FILES, below, STOP, baseline[stop]))
        out_of_the_way = str(max(OUT_OF_THE_WAY, int(baseline[stop])))
        _raise(stop, back, baseline, reached, out_of_the_way if may_be_off else None)
    if baseline.get(hard, OFF) != OFF and (may_be_off or _may_exceed(hard, back, baseline, reached)):
        below = min(int(baseline[hard]), _MOST_BELOW)
        later.append(_when(family, _PENDING_BYTES, below, HARD, baseline[hard]))
        _raise(hard, back, baseline, reached, OFF if may_be_off else None)
    # The agent takes one step after the other, so the one that more files allow comes first, and those for bytes last.
    return sorted(later, key=_files, reverse=True), when_flushed


def _files(step: RestoreStep) -> int:
    """Return the number of L0 files below which this step is taken, 0 if it waits for something else."""
    return step.when.below if step.when and step.when.property == _L0_FILES else 0


def _postpone_base(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], look: _Look
) -> tuple[list[RestoreStep], list[RestoreStep]]:
    """Let a raised base level come back when level 0 is merged, and the trigger when few files are left.

    Returns the steps, and those that come after a flush (see _waits_for_flush).

    Until level 0 has fewer files than a raised trigger, that stays: with a lower one RocksDB would merge the files that
    come while a merge runs within level 0. It goes up where few are more (adocd.model.level0), so that the few files
    that the merge leaves are not merged with all of level 1 before the agent has seen them. Then it is at few, and it
    comes back last. A raised slowdown goes the same way as far as its original is lower: from then on writes are
    delayed, as they are while level 0 is merged, until level 1 has moved down and level 0 has fewer files than that.
    Neither is above the slowdown that is surely in force, because the stop trigger may be no higher. Where the last
    change may have failed that can be the owner's. A trigger that is out of the way says nothing of a merge's size.
    """
    base, trigger, slowdown = (of_family(family, option) for option in (BASE, TRIGGER, SLOWDOWN))
    if not ({base, slowdown} <= baseline.keys() and _may_exceed(base, back, baseline, reached)):
        return [], []
    triggers, slowdowns = _limits(trigger, reached), _limits(slowdown, reached)
    original = int(baseline[slowdown])
    meanwhile = min(slowdowns, default=0) if slowdown in back else original
    # A merge takes at least as many files as the highest trigger.
    few = few_files(int(baseline.get(trigger, 0)), meanwhile, max([look.merged, *triggers]))
    later = [_when(family, _L0_FILES, max(few, original), BASE, baseline[base])]
    when_flushed: list[RestoreStep] = []
    if look.of_flush is not None and _waits_for_flush(family, back, baseline, reached):
        in_force = max((values[base] for values in reached if base in values), key=int)
        later = [_when(family, _L0_FILES, max(few, original), BASE, in_force)]
        when_flushed = [_when(family, _IMMUTABLE_MEMTABLES, look.of_flush, BASE, baseline[base])]
    _raise(base, back, baseline, reached, None)
    if not _may_exceed(trigger, back, baseline, reached):
        return later, when_flushed
    at_first = max(few, up_to_slowdown(min(triggers, default=few), meanwhile))
    at_few = {TRIGGER: few}
    if slowdown in back and 0 < original < at_first:
        at_few[SLOWDOWN] = max(few, original)
    originals = {option: back[of_family(family, option)] for option in at_few}
    back |= {of_family(family, option): str(at_first) for option in at_few}
    if few < at_first:
        later.append(_when_files(family, at_first, {option: str(value) for option, value in at_few.items()}))
    if last := {option: value for option, value in originals.items() if int(value) != at_few[option]}:
        (when_flushed or later).append(_when_files(family, few, last))
    return later, when_flushed


def _limits(option: OptionName, reached: tuple[Values, Values]) -> list[int]:
    """Return the numbers of files that a limit of level 0 may be at, without those at which it is off."""
    return [limit for values in reached if option in values and holds(limit := int(values[option]))]


def _waits_for_flush(family: str, back: Values, baseline: Values, reached: tuple[Values, Values]) -> bool:
    """Whether a base level comes back only when none of its column family's memtables is being flushed.

    RocksDB before 9.11 works out what each level may hold when it installs a version, and a flush does that with the
    options of its beginning (facebook/rocksdb#13294), while the score of level 0 takes the base level in force. So with
    the owner's base level set during a flush, level 0 is due and level 1 is not: RocksDB merges all of level 1 with the
    few files above it, and would have moved it down (tests/native/test_silent_revert.py). A compaction does the same,
    but while level 0 has few files and the base level is raised, none is due.

    A step has one condition. So one step waits for level 0 and sets the base level that is there, and the next one
    waits for the flush. One flush may follow the other until level 0 has as many files as the slowdown, and RocksDB
    delays writes. So where the slowdown is off, the flush is not waited for. Nor is it where the trigger was not
    raised, so that level 0 is merged all the time, or where the last change may have failed and left the owner's
    values.
    """
    are_above = all(_is_above(of_family(family, option), back, baseline, reached) for option in (BASE, TRIGGER))
    return are_above and holds(int(baseline[of_family(family, SLOWDOWN)]))


def _postpone_width(
    back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], later: Sequence[RestoreStep]
) -> list[RestoreStep]:
    """Keep merges out of level 0 wide until the last raised base level comes back.

    RocksDB decides about a merge's width when it picks it. Until a flood's level 0 is merged the owner's limits delay
    writes, and one thread may not fill the device. The number of jobs comes back at once: with a slot for a second
    merge, RocksDB would merge what is left of level 0 within it while level 1 moves down.
    """
    merged = [step.when for step in later if _files(step) and any(o.option == BASE for o in step.change.sets())]
    if not merged or not _may_exceed(SUBCOMPACTIONS, back, baseline, reached):
        return []
    options = {SUBCOMPACTIONS.option: back[SUBCOMPACTIONS]}
    if BYTES_PER_SYNC in back:  # see plan: each change of the database would switch it on
        options[BYTES_PER_SYNC.option] = back[BYTES_PER_SYNC]
    _raise(SUBCOMPACTIONS, back, baseline, reached, None)
    return [RestoreStep(DatabaseChange(options), merged[-1])]


def _postpone_memtables(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values]
) -> list[RestoreStep]:
    """Let the number of memtables come down when fewer wait, and with it a size that may have to grow."""
    number, size = (of_family(family, option) for option in (MEMTABLES, MEMTABLE_SIZE))
    if not _may_exceed(number, back, baseline, reached):
        return []
    options = {MEMTABLES: baseline[number]}
    if size in back and any(_height(size, values) < _height(size, baseline) for values in reached):
        options[MEMTABLE_SIZE] = back.pop(size)
    _raise(number, back, baseline, reached, None)
    when = Below(family, _IMMUTABLE_MEMTABLES, int(baseline[number]))
    return [RestoreStep(ColumnFamilyChange(family, options), when)]


def _may_exceed(option: OptionName, back: Values, baseline: Values, reached: tuple[Values, Values]) -> bool:
    return option in back and any(_height(option, values) > _height(option, baseline) for values in reached)


def _is_above(option: OptionName, back: Values, baseline: Values, reached: tuple[Values, Values]) -> bool:
    """Whether an option is above its original in each state that may have been reached."""
    heights = [_height(option, values) for values in reached if option in values]
    return option in back and all(height > _height(option, baseline) for height in heights)


def _raise(
    option: OptionName, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], to: str | None
) -> None:
    """Set this option in the first steps to a value at or above its original, until its later step."""
    back.pop(option, None)
    if to is None and any(_height(option, values) < _height(option, baseline) for values in reached):
        to = max((values for values in reached if option in values), key=lambda values: _height(option, values))[option]
    if to is not None:
        back[option] = to


def _height(option: OptionName, values: Values) -> float:
    """Return a value's rank. A hard limit of 0 is off: infinite. A missing option is NaN, neither above nor below."""
    value = values.get(option)
    return float("nan") if value is None else float("inf") if (option.option, value) == (HARD, OFF) else int(value)


def _when(family: str, prop: str, below: int, option: str, value: str) -> RestoreStep:
    return RestoreStep(ColumnFamilyChange(family, {option: value}), Below(family, prop, below))


def _when_files(family: str, below: int, options: Mapping[str, str]) -> RestoreStep:
    return RestoreStep(ColumnFamilyChange(family, options), Below(family, _L0_FILES, below))
