"""Turns current and wanted values into ordered calls and a restore plan. Pure: values in, values out.

All options of a column family go into one call, which RocksDB applies at once, so intermediate states exist only
between calls. A change that must wait, such as lowering a stop trigger below the present number of level-0 files, is
left out and explained in `held`; a later plan makes it.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from adocd.daemon.change.guards.compaction import SWITCH
from adocd.model.change import (
    Below,
    Change,
    ColumnFamilyChange,
    DatabaseChange,
    RateLimiterChange,
    RestoreStep,
    ThreadPoolChange,
)
from adocd.model.level0 import few_files, files_when_merged
from adocd.model.options import (
    BYTES_PER_SYNC_OFF,
    DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S,
    DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S,
    OUT_OF_THE_WAY,
)
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family

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
#: Options that make later compactions wider. RocksDB reads them when it picks a compaction, and not again.
_WIDTHS = (SUBCOMPACTIONS, of_database("max_background_jobs"))
SOFT, HARD = "soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit"
#: A rising rate within 1/100 of the original goes there at once: steps of 0.8 and 1.25 miss it by a byte or so.
_NEAR_SHARE = 100
_L0_FILES = "rocksdb.num-files-at-level0"
_MEMTABLES, _MEMTABLE_SIZE = "max_write_buffer_number", "write_buffer_size"
_IMMUTABLE_MEMTABLES = "rocksdb.num-immutable-mem-table"
_PENDING_BYTES = "rocksdb.estimate-pending-compaction-bytes"
_OFF = "0"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The calls in order, the values they set, the restore steps for everything then ours, and what has to wait."""

    changes: tuple[Change, ...]
    sent: Values
    restore: tuple[RestoreStep, ...]
    held: tuple[str, ...]
    #: Send it although every value is set already.
    repeat: bool = False


def plan(
    goal: Values, sample: Sample, baseline: Values, ours: Set[OptionName], rate_may_rise_to: int | None = None
) -> ChangePlan:
    """Plan the calls from the sample's options to the goal; an empty plan if they match it.

    Options that `goal` does not name are left alone. `baseline` holds the originals to restore, and `ours` the options
    that earlier plans changed. `rate_may_rise_to`, in bytes/s, is how far RocksDB would have raised the delayed write
    rate had a change not capped it (adocd.daemon.change.brake).

    Column families come before the database. While writes are delayed, each of their changes lowers the delayed write
    rate, and a database-wide change resets it to its maximum (HAZARDS 6, 7: write_controller.h,
    set_max_delayed_write_rate). So the database's call comes last and, during a delay, carries the rate in force. That
    call would also switch on a bytes_per_sync that is off (HAZARDS 19), so it carries that option, too. If a column
    family's change makes a compaction due, and the database's makes compactions wider, the database's call comes first:
    RocksDB decides about a compaction's width when it picks it (compaction_picker_level.cc). A rate limit that rises
    comes before everything: in a stall the other calls wait, perhaps for the flush that it lets through.
    """
    current = sample.values
    # An option that is not reported cannot be set, for example in a dropped column family.
    wanted = {o: value for o, value in goal.items() if o in current and current[o] != value}
    if wanted.get(BYTES_PER_SYNC) == _OFF:
        wanted[BYTES_PER_SYNC] = str(BYTES_PER_SYNC_OFF)
        if current[BYTES_PER_SYNC] == wanted[BYTES_PER_SYNC]:
            del wanted[BYTES_PER_SYNC]
    held = []
    for cf in sample.column_families:
        held += _stage(cf, wanted, current, baseline)
        held += _hold_base(cf, wanted, sample, baseline)
    held += _hold_width(wanted, goal, current, baseline)
    held += _hold_brake(wanted, goal, sample, baseline, rate_may_rise_to)
    if any(option.scope == "database" for option in wanted):
        is_pinned = goal.get(DELAYED_WRITE_RATE, "") not in ("", _original_rate(baseline))
        wanted = dict(wanted) if is_pinned else _with_brake(wanted, current, sample)
        if current.get(BYTES_PER_SYNC) == _OFF:
            wanted.setdefault(BYTES_PER_SYNC, str(BYTES_PER_SYNC_OFF))
    return ChangePlan(
        changes=_calls(
            wanted,
            limiter_first=RATE_LIMITER in wanted and int(wanted[RATE_LIMITER]) > int(current[RATE_LIMITER]),
            database_first=_widens(wanted, current) and _opens(wanted, current),
        ),
        sent=wanted,
        restore=way_back(sample, baseline, ours | wanted.keys(), wanted),
        held=tuple(held),
    )


#: When every value is set already: no calls, and no restore plan beyond the armed one.
NOTHING = ChangePlan((), {}, (), ())


def again(values: Values, sample: Sample, baseline: Values, ours: Set[OptionName]) -> ChangePlan:
    """Plan to resend values that are shown already but may not be in force (adocd.daemon.change.unsettled)."""
    restore = way_back(sample, baseline, ours | values.keys(), values)
    return ChangePlan(_calls(values), values, restore, held=(), repeat=True)


def way_back(sample: Sample, baseline: Values, ours: Set[OptionName], sent: Values) -> tuple[RestoreStep, ...]:
    """Plan the restore from any values that our options may have: first what can be set at once, then what must wait.

    The agent executes it when nobody watches, so the numbers of files and bytes at that time are unknown. Where
    compaction may be off, the call that switches it on also raises the stop trigger and removes the hard limit
    (HAZARDS 8); a later step lowers them again when that no longer stops writes. Slowdowns stay in force meanwhile, so
    that compaction can work off the backlog.

    Pools and rate limiter come first: they return at once and may be what ends a stall, in which the other calls wait.
    The width of merges comes after the base levels: until then level 0 is merged as wide as it was filled for.
    """
    back = {option: restorable(option, baseline[option]) for option in ours if option in baseline}
    reached = sample.values, sent
    merged = {cf.name: files_when_merged(cf, sample) for cf in sample.column_families}
    later: list[RestoreStep] = []
    last: list[RestoreStep] = []  # in a flood memtables wait all the time, and the agent takes one step after the other
    for family in sorted({option.name or "" for option in back if option.scope == "column_family"}):
        later += _postpone(family, back, baseline, reached, merged.get(family, 0))
        last += _postpone_memtables(family, back, baseline, reached)
    later += _postpone_width(back, baseline, reached, later)
    at_once = sorted(_calls(back), key=lambda change: change.scope not in ("thread_pool", "rate_limiter"))
    return tuple(RestoreStep(change) for change in at_once) + tuple(later + last)


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


def _stage(cf: ColumnFamilySample, wanted: dict[OptionName, str], current: Values, baseline: Values) -> list[str]:
    """Remove values that would stop writes at once from `wanted`, and add values that keep writes going meanwhile."""
    switch, slowdown, stop, hard = (of_family(cf.name, option) for option in (SWITCH, SLOWDOWN, STOP, HARD))
    going_on = current.get(switch) == "true" and wanted.get(switch) == "false"
    held = []

    # Raising a trigger needs no check. While compaction is off, level 0 stops no writes; switching it on may.
    if {slowdown, stop} <= current.keys():
        stop_after, now = int(wanted.get(stop, current[stop])), int(current[stop])
        below = stop_may_be_lowered_below(int(wanted.get(slowdown, current[slowdown])), stop_after)
        if cf.l0_delay_trigger_count >= below and (going_on or stop_after < now):
            wanted.pop(stop, None)
            if going_on and now < OUT_OF_THE_WAY:
                wanted[stop] = str(OUT_OF_THE_WAY)
            held.append(_held_by_files(cf, stop, str(stop_after), below))
            if _ends_at_stop(slowdown, stop_after, wanted, current, baseline):
                held.append(_held_by_files(cf, slowdown, wanted.pop(slowdown), below))

    number = of_family(cf.name, _MEMTABLES)
    if number in wanted and cf.immutable_memtables >= int(wanted[number]):
        held.append(
            f"{_MEMTABLES} of {cf.name} goes to {wanted.pop(number)} when there are fewer immutable memtables than "
            f"that, now {cf.immutable_memtables}"
        )
        size = of_family(cf.name, _MEMTABLE_SIZE)
        if int(wanted.get(size, 0)) > int(current[size]):
            # The guards have allowed the larger size with the smaller number.
            held.append(f"{_MEMTABLE_SIZE} of {cf.name} goes to {wanted.pop(size)} with it")

    hard_after = wanted.get(hard, current.get(hard, _OFF))
    if hard_after != _OFF and cf.pending_compaction_bytes >= int(hard_after):
        lower = current[hard] == _OFF or int(hard_after) < int(current[hard])
        if going_on or lower:
            wanted.pop(hard, None)
            if going_on and current[hard] != _OFF:
                wanted[hard] = _OFF
            held.append(
                f"{HARD} of {cf.name} goes to {hard_after} when pending compaction bytes, now "
                f"{cf.pending_compaction_bytes}, are below that"
            )
    return held


def _ends_at_stop(slowdown: OptionName, stop_after: int, wanted: Values, current: Values, baseline: Values) -> bool:
    """Whether a slowdown comes down to a stop trigger that has to wait, so that alone it would delay writes.

    Whoever wants both at one number wants no delay. An original comes back nevertheless: under a load that goes on, it
    is the delay that lets level 0 become small enough for the original stop trigger.
    """
    to = wanted.get(slowdown, "")
    return to == str(stop_after) and int(to) < int(current[slowdown]) and to != baseline.get(slowdown)


def _hold_base(cf: ColumnFamilySample, wanted: dict[OptionName, str], sample: Sample, baseline: Values) -> list[str]:
    """Keep a raised base level until level 0 is merged, where its original comes back and the trigger was raised too.

    Then a large merge out of level 0 is due, which leaves few files behind (adocd.model.level0): as few as the trigger
    is lowered to meanwhile, and the slowdown where its original is below that. Where the trigger is the original, level
    0 is merged all the time, and waiting gains nothing. As level 0 may stay full for as long as the load lasts, a hold
    of `silk` could then not end at its bound. The agent waits in either case (see way_back).
    """
    base, trigger, slowdown = (of_family(cf.name, option) for option in (BASE, TRIGGER, SLOWDOWN))
    current = sample.values
    if slowdown not in baseline or base not in wanted or wanted[base] != baseline.get(base):
        return []
    if int(wanted[base]) >= int(current[base]) or int(current.get(trigger, 0)) <= int(baseline.get(trigger, 0)):
        return []
    held = []
    meanwhile = current if wanted.get(slowdown, baseline[slowdown]) == baseline[slowdown] else wanted
    originals = int(baseline.get(trigger, 0)), int(meanwhile[slowdown])
    few = _few_at(int(current[trigger]), *originals, files_when_merged(cf, sample))
    if wanted.get(trigger) == baseline.get(trigger, "") and int(current[trigger]) >= few <= cf.l0_files:
        # RocksDB asserts that no trigger is above its slowdown. Such a pair would delay writes and merge nothing.
        for option in (trigger, slowdown):
            if option in wanted and 0 < int(wanted[option]) < few:
                held.append(_held_by_files(cf, option, wanted.pop(option), few))
                if int(current[option]) != few:
                    wanted[option] = str(few)
    below = max(few, int(baseline[slowdown]))
    if cf.l0_files >= below:
        held.append(_held_by_files(cf, base, wanted.pop(base), below))
    return held


def _few_at(in_force: int, trigger: int, slowdown: int, beside: int) -> int:
    """Return how many files are few: no more than the trigger in force, because level 0 may grow while it is merged."""
    return min(few_files(trigger, slowdown, beside), max(few_files(trigger, slowdown), in_force))


def _hold_width(wanted: dict[OptionName, str], goal: Values, current: Values, baseline: Values) -> list[str]:
    """Keep merges out of level 0 wide while a base level is held (see _hold_base), as the agent does (see way_back)."""
    is_held = any(
        option.option == BASE and option in current and value != current[option] and option not in wanted
        for option, value in goal.items()
    )
    width = wanted.get(SUBCOMPACTIONS, "")
    narrows = width == baseline.get(SUBCOMPACTIONS) and int(width) < int(current[SUBCOMPACTIONS])
    if not (is_held and narrows):
        return []
    return [f"{SUBCOMPACTIONS.option} goes to {wanted.pop(SUBCOMPACTIONS)} when the base level has gone back"]


def _held_by_files(cf: ColumnFamilySample, option: OptionName, value: str, below: int) -> str:
    when = f"level 0, now {cf.l0_files} files, has less than {below}"
    if cf.further_runs:
        when = f"there are less than {below} sorted runs, now {cf.l0_delay_trigger_count}"
    return f"{option.option} of {cf.name} goes to {value} when {when}"


def _hold_brake(
    wanted: dict[OptionName, str], goal: Values, sample: Sample, baseline: Values, may_rise_to: int | None
) -> list[str]:
    """Keep the delayed write rate that a change had to carry until the delay is over, unless another one is wanted.

    Meanwhile it rises towards the original in the steps in which RocksDB would have raised it.
    """
    if DELAYED_WRITE_RATE not in wanted or not sample.is_delayed:
        return []
    if goal[DELAYED_WRITE_RATE] != _original_rate(baseline):
        return []
    original, now = int(wanted.pop(DELAYED_WRITE_RATE)), int(sample.values[DELAYED_WRITE_RATE])
    if may_rise_to is not None and now < original:
        to = original if may_rise_to > original - original // _NEAR_SHARE else may_rise_to
        wanted[DELAYED_WRITE_RATE] = str(to)
        if to == original:
            return []
    return [f"delayed_write_rate goes back to {goal[DELAYED_WRITE_RATE]} when the delay is over"]


def _original_rate(baseline: Values) -> str:
    return restorable(DELAYED_WRITE_RATE, baseline.get(DELAYED_WRITE_RATE, ""))


def _with_brake(wanted: Mapping[OptionName, str], current: Values, sample: Sample) -> dict[OptionName, str]:
    rate = sample.delayed_write_rate_bytes_per_s
    carried = str(max(rate, DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S))
    if rate <= 0 or DELAYED_WRITE_RATE in wanted or current.get(DELAYED_WRITE_RATE, carried) == carried:
        return dict(wanted)
    return {**wanted, DELAYED_WRITE_RATE: carried}


def _postpone(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], merged: int
) -> list[RestoreStep]:
    """Move values that would stop writes from a restore's first steps into later steps with a condition.

    `reached` holds the options' present and next values, because the change may fail between the two. An option that is
    postponed and may be below its original is raised at once, because its neighbours return to their originals.
    `merged` is how many files a merge of all of level 0 would have now, with those of the base level.
    """
    switch, slowdown, stop, hard = (of_family(family, option) for option in (SWITCH, SLOWDOWN, STOP, HARD))
    may_be_off = back.get(switch) == "false" and any(values.get(switch) == "true" for values in reached)
    later = []
    bases = _postpone_base(family, back, baseline, reached, merged)
    if {slowdown, stop} <= baseline.keys() and (may_be_off or _may_exceed(stop, back, baseline, reached)):
        below = stop_may_be_lowered_below(int(baseline[slowdown]), int(baseline[stop]))
        later.append(_when(family, _L0_FILES, below, STOP, baseline[stop]))
        out_of_the_way = str(max(OUT_OF_THE_WAY, int(baseline[stop])))
        _raise(stop, back, baseline, reached, out_of_the_way if may_be_off else None)
    if baseline.get(hard, _OFF) != _OFF and (may_be_off or _may_exceed(hard, back, baseline, reached)):
        later.append(_when(family, _PENDING_BYTES, int(baseline[hard]), HARD, baseline[hard]))
        _raise(hard, back, baseline, reached, _OFF if may_be_off else None)
    # The agent takes one step after the other, so the one that more files allow comes first.
    return bases + later if 0 < _files(later) < _files(bases) else later + bases


def _files(steps: Sequence[RestoreStep]) -> int:
    """Return the number of L0 files below which the first step that waits for them is taken."""
    return next((step.when.below for step in steps if step.when and step.when.property == _L0_FILES), 0)


def _postpone_base(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], merged: int
) -> list[RestoreStep]:
    """Let a raised base level come back when level 0 is merged, and the trigger when few files are left.

    Until then the trigger is at that number of files (adocd.model.level0), and so is a raised slowdown whose original
    is lower. It comes back with the trigger. From then on writes are delayed, as they are while level 0 is merged,
    until level 1 has moved down and level 0 has fewer files than the original.
    """
    base, trigger, slowdown = (of_family(family, option) for option in (BASE, TRIGGER, SLOWDOWN))
    if not ({base, slowdown} <= baseline.keys() and _may_exceed(base, back, baseline, reached)):
        return []
    raised = max(int(values.get(trigger, 0)) for values in reached)  # a merge takes at least so many files
    original = int(baseline[slowdown])
    meanwhile = max(int(values.get(slowdown, original)) for values in reached) if slowdown in back else original
    few = _few_at(raised, int(baseline.get(trigger, 0)), meanwhile, max(raised, merged))
    later = [_when(family, _L0_FILES, max(few, original), BASE, baseline[base])]
    _raise(base, back, baseline, reached, None)
    if trigger in back and raised >= few:
        options = {TRIGGER: back[trigger]}
        back[trigger] = str(few)
        if slowdown in back and 0 < original < few:
            options[SLOWDOWN] = back[slowdown]
            back[slowdown] = str(few)
        later.append(RestoreStep(ColumnFamilyChange(family, options), Below(family, _L0_FILES, few)))
    return later


def _postpone_width(
    back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values], later: Sequence[RestoreStep]
) -> list[RestoreStep]:
    """Keep merges out of level 0 wide until the last raised base level comes back.

    RocksDB decides about a merge's width when it picks it. Until a flood's level 0 is merged the owner's limits delay
    writes, and one thread may not fill the device.
    """
    bases = [step.when for step in later if any(option.option == BASE for option in step.change.sets())]
    if not bases or not _may_exceed(SUBCOMPACTIONS, back, baseline, reached):
        return []
    options = {SUBCOMPACTIONS.option: back[SUBCOMPACTIONS]}
    if BYTES_PER_SYNC in back:  # see plan: each change of the database would switch it on
        options[BYTES_PER_SYNC.option] = back[BYTES_PER_SYNC]
    _raise(SUBCOMPACTIONS, back, baseline, reached, None)
    return [RestoreStep(DatabaseChange(options), bases[-1])]


def _postpone_memtables(
    family: str, back: dict[OptionName, str], baseline: Values, reached: tuple[Values, Values]
) -> list[RestoreStep]:
    """Let the number of memtables come down when fewer wait, and with it a size that may have to grow."""
    number, size = (of_family(family, option) for option in (_MEMTABLES, _MEMTABLE_SIZE))
    if not _may_exceed(number, back, baseline, reached):
        return []
    options = {_MEMTABLES: baseline[number]}
    if size in back and any(_height(size, values) < _height(size, baseline) for values in reached):
        options[_MEMTABLE_SIZE] = back.pop(size)
    _raise(number, back, baseline, reached, None)
    when = Below(family, _IMMUTABLE_MEMTABLES, int(baseline[number]))
    return [RestoreStep(ColumnFamilyChange(family, options), when)]


def _widens(wanted: Values, current: Values) -> bool:
    return any(option in wanted and int(wanted[option]) > int(current[option]) for option in _WIDTHS)


def _opens(wanted: Values, current: Values) -> bool:
    """Whether a change of a column family may make a compaction due at once, because level 0 or 1 may hold less."""
    return any(
        (option.option in (TRIGGER, BASE) and int(value) < int(current[option]))
        or (option.option == SWITCH and value == "false")
        for option, value in wanted.items()
    )


def _may_exceed(option: OptionName, back: Values, baseline: Values, reached: tuple[Values, Values]) -> bool:
    return option in back and any(_height(option, values) > _height(option, baseline) for values in reached)


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
    return float("nan") if value is None else float("inf") if (option.option, value) == (HARD, _OFF) else int(value)


def _when(family: str, prop: str, below: int, option: str, value: str) -> RestoreStep:
    return RestoreStep(ColumnFamilyChange(family, {option: value}), Below(family, prop, below))


def _calls(values: Values, *, limiter_first: bool = False, database_first: bool = False) -> tuple[Change, ...]:
    """Group values into calls in sending order, one per column family."""
    families: dict[str, dict[str, str]] = {}
    database: dict[str, str] = {}
    pools: list[Change] = []
    limiter: list[Change] = []
    for option in sorted(values, key=lambda o: (o.name or "", o.option)):
        value = values[option]
        match option.scope:
            case "column_family":
                families.setdefault(option.name or "", {})[option.option] = value
            case "database":
                database[option.option] = value
            case "thread_pool":
                pools.append(ThreadPoolChange(option.name or "", int(value)))
            case "rate_limiter":
                limiter.append(RateLimiterChange(int(value)))
    calls: list[Change] = [ColumnFamilyChange(name, options) for name, options in families.items()]
    whole: list[Change] = [DatabaseChange(database)] if database else []
    first, last = (limiter, []) if limiter_first else ([], limiter)
    return (*first, *whole, *calls, *pools, *last) if database_first else (*first, *calls, *pools, *last, *whole)
