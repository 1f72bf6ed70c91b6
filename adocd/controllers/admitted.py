"""Puts an admitted rate on RocksDB 7.8, which has no admission control but a delay (db/column_family.cc, SetupDelay).

RocksDB delays writes while a column family has at least level0_slowdown_writes_trigger files in level 0, at least its
soft limit of pending compaction bytes, or the last of more than 3 memtables is being filled. It looks at that at each
memtable switch, each end of a flush or compaction, and each SetOptions. So

- "more than T files" is a slowdown trigger of T + 1 that is set beforehand: RocksDB then begins the delay at that very
  flush, not at our next tick. It also ends it, and that wakes writers at once; a higher rate does not.
- Triggers are set once, and then the rate alone changes: each SetOptions is one more look (HAZARDS 7).
- A delay begins at the rate as it was set. Each later look multiplies it by 0.8 if the debt did not shrink, by 1.25 if
  it did, and by 0.6 with stop - 2 files or more: one memtable, filled and flushed, costs x 0.64. To hold a rate R, it
  is sent again when the rate in force is below 0.8 R; any effective SetDBOptions resets it (HAZARDS 6). SetDBOptions
  skips a value that is set already, so R and R + 1 take turns.
- After a delay RocksDB multiplies its rate by 1.4 and begins the next delay there: if that is below 0.8 R, R is sent
  again meanwhile.

Being delayed also lets compactions run in parallel (write_controller.h, NeedSpeedupCompaction): a law that delays
writes early turns that on early. The rate is one per database. It is never below 1 MiB/s, the guard's bound (HAZARDS
5), which also bounds how long SetDBOptions waits for a delayed group of writes (0.25 s for 1 MiB at 4 MiB/s). Where
memtables fill within a second or two, holding a rate costs a SetDBOptions every second. All but 1 ms of that
is RocksDB's own call (docs/cost.md), which writes an OPTIONS file of all column families; it has no other for the rate.
"""

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S, DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import of_database

#: No rate is lower, but the owner's own.
FLOOR_BYTES_PER_S = DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S
#: A delay at this rate is none (1 TiB/s).
UNLIMITED_BYTES_PER_S = 1 << 40
#: An unlimited rate that RocksDB has lowered is sent again below this: from there on it might hold somebody.
_HOLDS_NOBODY_BYTES_PER_S = 1 << 30
#: RocksDB lowers the rate from stop - 2 files on; up to stop - 3 it can be held.
ROOM_FILES = 3
#: The rate moves by at least this share: 1 / 10.
_LEAST_SHARE = 10
_RATE = of_database(KNOBS[Knob.DELAYED_WRITE_RATE].options[0])


@dataclass(frozen=True, slots=True)
class DelayLimits:
    """When RocksDB delays and stops the writes of a column family; None leaves the owner's value.

    Attributes:
        l0_files: level-0 files; with more of them writes are delayed.
        held_to_l0_files: the most level-0 files up to which a rate can be held. The stop trigger is at least 3 more.
        l0_trigger_most: the highest level0_file_num_compaction_trigger, which is never above the slowdown trigger.
        soft_pending_bytes: pending compaction bytes from which on writes are delayed.
        hard_pending_bytes: pending compaction bytes from which on writes are stopped; 0 for never.

    """

    l0_files: int
    held_to_l0_files: int
    l0_trigger_most: int | None = None
    soft_pending_bytes: int | None = None
    hard_pending_bytes: int | None = None

    def settings(self, cf: ColumnFamilySample, sample: Sample) -> Iterator[Setting]:
        """Return the settings for a column family, those in force included."""
        trigger = cf.options.level0_file_num_compaction_trigger
        if self.l0_trigger_most is not None:
            trigger = max(1, min(self.l0_trigger_most, owners_value(Knob.LEVEL0_TRIGGER, sample, cf.name) or trigger))
            yield Setting(Knob.LEVEL0_TRIGGER, trigger, cf.name)
        slowdown = max(self.l0_files + 1, trigger)
        yield Setting(Knob.LEVEL0_SLOWDOWN, slowdown, cf.name)
        stop = owners_value(Knob.LEVEL0_STOP, sample, cf.name) or 0
        yield Setting(Knob.LEVEL0_STOP, max(stop, slowdown, self.held_to_l0_files + ROOM_FILES), cf.name)
        if self.soft_pending_bytes is not None:
            yield Setting(Knob.SOFT_PENDING_LIMIT, self.soft_pending_bytes, cf.name)
        if self.hard_pending_bytes is not None:
            yield Setting(Knob.HARD_PENDING_LIMIT, self.hard_pending_bytes, cf.name)


def released(knobs: Collection[Knob], cf: ColumnFamilySample, sample: Sample) -> Iterator[Setting]:
    """Return the owner's values of these knobs of a column family, those in force included."""
    for knob in knobs:
        owners = owners_value(knob, sample, cf.name)
        if owners is not None:
            yield Setting(knob, owners, cf.name)


def owners_rate(sample: Sample) -> int | None:
    """Return the owner's delayed_write_rate in bytes/s; None if it is not reported. 0 means RocksDB's default."""
    owners = owners_value(Knob.DELAYED_WRITE_RATE, sample)
    return DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S if owners == 0 else owners


class HeldRate:
    """The delayed write rate, held at what a law wants whatever RocksDB makes of it between two steps."""

    def __init__(self) -> None:
        #: The rate that was last seen in force, in bytes/s; None if one has been sent since.
        self._in_force: int | None = None

    def settings(self, sample: Sample, wanted: int | None, *, times: int = 1) -> tuple[Setting, ...]:
        """Return the setting that puts this rate (bytes/s) in force; nothing if it is in force, or nearly.

        None gives the owner's rate back, by its value once writes are no longer delayed, and does not hold it: what
        RocksDB makes of it is left to RocksDB. Nothing is returned while an operator has pinned the option. A rate of
        up to so many `times` the wanted one may stay, for a law that will delay nothing soon: writers wait while
        RocksDB writes its OPTIONS file.
        """
        now, owners = value_now(Knob.DELAYED_WRITE_RATE, sample), owners_rate(sample)
        if now is None or owners is None or _RATE in sample.pinned:
            return ()
        is_owners = wanted is None or wanted == owners
        rate = owners if wanted is None or is_owners else max(FLOOR_BYTES_PER_S, wanted)
        comes_back = is_owners and now != owners and not sample.is_delayed
        is_held = self._has_fallen(sample, rate) and wanted is not None
        if not (is_held or comes_back or _has_moved(now, rate, times)):
            return ()
        self._in_force = None
        value = _sendable(rate, now, owners, is_delayed=sample.is_delayed)
        # An owner's rate below the floor can be given back, but nothing near it can be sent.
        return (Setting(Knob.DELAYED_WRITE_RATE, value),) if value >= FLOOR_BYTES_PER_S or value == owners else ()

    def _has_fallen(self, sample: Sample, rate: int) -> bool:
        """Whether RocksDB has lowered the rate in force, or will begin the next delay with a lower one."""
        in_force = sample.delayed_write_rate_bytes_per_s
        if in_force > 0:
            self._in_force = in_force
        elif sample.condition == "stopped" or self._in_force is None:
            return False
        else:
            in_force, self._in_force = self._in_force * 14 // 10, None
        # RocksDB truncates: one step of 0.8 is not yet below 0.8.
        least = rate * 8 if rate < UNLIMITED_BYTES_PER_S else _HOLDS_NOBODY_BYTES_PER_S * 10
        return (in_force + 1) * 10 <= least


def _has_moved(now: int, rate: int, times: int) -> bool:
    return rate != now and abs(rate - now) * _LEAST_SHARE >= now and not rate < now <= times * rate


def _sendable(rate: int, now: int, owners: int, *, is_delayed: bool) -> int:
    """Return the rate, or one a byte or two higher that is really sent.

    RocksDB skips what is set already. During a delay the daemon's planner holds the owner's exact value back, because
    as a restore it would release the brake (adocd.daemon.change.planner).
    """
    skipped = {now, owners} if is_delayed else {now}
    return next(value for value in itertools.count(rate) if value not in skipped)
