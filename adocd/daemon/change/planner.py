"""Turns current and wanted values into ordered calls and a restore plan. Pure: values in, values out.

All options of a column family go into one call, which RocksDB applies at once, so intermediate states exist only
between calls. A change that must wait, such as lowering a stop trigger below the present number of level-0 files, is
left out and explained in `held`; a later plan makes it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from adocd.daemon.change.calls import grouped
from adocd.daemon.change.guards.compaction import SWITCH
from adocd.daemon.change.way_back import (
    BASE,
    BYTES_PER_SYNC,
    DELAYED_WRITE_RATE,
    HARD,
    MEMTABLE_SIZE,
    MEMTABLES,
    OFF,
    SLOWDOWN,
    STOP,
    SUBCOMPACTIONS,
    TRIGGER,
    holds,
    restorable,
    stop_may_be_lowered_below,
    up_to_slowdown,
    way_back,
)
from adocd.model.change import Change, RestoreStep
from adocd.model.level0 import few_files, files_when_merged
from adocd.model.options import BYTES_PER_SYNC_OFF, DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S, OUT_OF_THE_WAY
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family

#: Options that make later compactions wider. RocksDB reads them when it picks a compaction, and not again.
_WIDTHS = (SUBCOMPACTIONS, of_database("max_background_jobs"))
#: A rising rate within 1/100 of the original goes there at once: steps of 0.8 and 1.25 miss it by a byte or so.
_NEAR_SHARE = 100


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
    if wanted.get(BYTES_PER_SYNC) == OFF:
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
        if current.get(BYTES_PER_SYNC) == OFF:
            wanted.setdefault(BYTES_PER_SYNC, str(BYTES_PER_SYNC_OFF))
    return ChangePlan(
        changes=grouped(
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
    return ChangePlan(grouped(values), values, restore, held=(), repeat=True)


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

    number = of_family(cf.name, MEMTABLES)
    if number in wanted and cf.immutable_memtables >= int(wanted[number]):
        held.append(
            f"{MEMTABLES} of {cf.name} goes to {wanted.pop(number)} when there are fewer immutable memtables than "
            f"that, now {cf.immutable_memtables}"
        )
        size = of_family(cf.name, MEMTABLE_SIZE)
        if int(wanted.get(size, 0)) > int(current[size]):
            # The guards have allowed the larger size with the smaller number.
            held.append(f"{MEMTABLE_SIZE} of {cf.name} goes to {wanted.pop(size)} with it")

    hard_after = wanted.get(hard, current.get(hard, OFF))
    if hard_after != OFF and cf.pending_compaction_bytes >= int(hard_after):
        lower = current[hard] == OFF or int(hard_after) < int(current[hard])
        if going_on or lower:
            wanted.pop(hard, None)
            if going_on and current[hard] != OFF:
                wanted[hard] = OFF
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
    of `silk` could then not end at its bound. The agent waits in either case. Both wait for a flush (see way_back).
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
    in_force = int(current[trigger])
    few = min(few_files(*originals, files_when_merged(cf, sample)), max(few_files(*originals), in_force))
    if wanted.get(trigger) == baseline.get(trigger, "") and in_force >= few <= cf.l0_files:
        # While a merge runs, a lower trigger would have what comes meanwhile merged within level 0.
        in_force = up_to_slowdown(in_force, int(meanwhile[slowdown]))
        least = in_force if cf.l0_files >= in_force else few
        # RocksDB asserts that no trigger is above its slowdown. Such a pair would delay writes and merge nothing.
        for option in (trigger, slowdown):
            if option in wanted and 0 < int(wanted[option]) < least:
                held.append(_held_by_files(cf, option, wanted.pop(option), few))
                if int(current[option]) != least:
                    wanted[option] = str(least)
    below = max(few, int(baseline[slowdown]))
    if cf.l0_files >= below:
        held.append(_held_by_files(cf, base, wanted.pop(base), below))
    elif cf.immutable_memtables >= cf.memtables_of_flush and holds(int(baseline[slowdown])):
        held += _hold_for_flush(cf, wanted, current, baseline)
    return held


def _hold_for_flush(
    cf: ColumnFamilySample, wanted: dict[OptionName, str], current: Values, baseline: Values
) -> list[str]:
    """Hold the base level, and with it a trigger that goes back, and what would be below that trigger."""
    base, trigger, *above = (of_family(cf.name, option) for option in (BASE, TRIGGER, SLOWDOWN, STOP))
    waiting = [base]
    if trigger in wanted and wanted[trigger] == baseline.get(trigger):
        waiting += [trigger, *(o for o in above if o in wanted and 0 < int(wanted[o]) < int(current[trigger]))]
    when = "when none of its memtables is being flushed"
    return [f"{option.option} of {cf.name} goes to {wanted.pop(option)} {when}" for option in waiting]


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


def _widens(wanted: Values, current: Values) -> bool:
    return any(option in wanted and int(wanted[option]) > int(current[option]) for option in _WIDTHS)


def _opens(wanted: Values, current: Values) -> bool:
    """Whether a change of a column family may make a compaction due at once, because level 0 or 1 may hold less."""
    return any(
        (option.option in (TRIGGER, BASE) and int(value) < int(current[option]))
        or (option.option == SWITCH and value == "false")
        for option, value in wanted.items()
    )
