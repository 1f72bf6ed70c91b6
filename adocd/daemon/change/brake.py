"""When the delayed write rate that a change had to carry may rise again. Pure.

Any effective SetDBOptions resets the adapted delayed write rate to delayed_write_rate, so during a delay such a
change carries the rate in force (adocd.daemon.change.planner). Until the delay ends, that value is also the ceiling of
the rate: each time RocksDB recalculates the stall condition and finds fewer pending compaction bytes, it multiplies
the rate by 1.25, up to the ceiling (column_family.cc, SetupDelay). So if the rate is still at the ceiling after a
recalculation, RocksDB would have raised it further, and the ceiling may rise by that one step.

RocksDB recalculates at each memtable switch, at the end of each flush and compaction, and at each SetOptions, and
counts one more slowdown of the column family each time it finds one. If it does not find fewer pending bytes, it
multiplies the rate by 0.8 or 0.6, which puts it below the ceiling, and we raise nothing. Raising the ceiling also sets
the rate and costs one SetDBOptions per step; we take at most one step per snapshot.
"""

from adocd.daemon.change.way_back import DELAYED_WRITE_RATE
from adocd.model.sample import Sample
from adocd.model.stall import COUNTS

#: The factor by which RocksDB raises the rate at a time: 5 / 4.
_STEP_NUMERATOR, _STEP_DENOMINATOR = 5, 4
#: Events after which RocksDB has recalculated the stall condition, for agents that do not count slowdowns.
_ENDS = frozenset({"flush_end", "compaction_end"})


class Brake:
    """Remembers the ceiling under which our last snapshot found writes delayed."""

    def __init__(self) -> None:
        #: The ceilings, in bytes/s, about which the next sample is conclusive: the last one, and what it may rise to.
        self._known: tuple[int | None, ...] = ()
        #: What the ceiling may rise to now, in bytes/s; None while it must stay.
        self.may_rise_to: int | None = None

    def observe(self, sample: Sample) -> None:
        """Take in a sample.

        The first sample under a new ceiling that is not our own step is not conclusive: the change that carried the
        ceiling may also have had SetOptions calls for column families, and RocksDB recalculates at each of those.
        """
        rate = sample.delayed_write_rate_bytes_per_s
        ceiling = int(sample.values.get(DELAYED_WRITE_RATE, 0))
        if rate <= 0 or ceiling <= 0:
            self._known, self.may_rise_to = (), None
            return
        may_rise = ceiling in self._known and rate >= ceiling and _has_looked(sample)
        self.may_rise_to = ceiling * _STEP_NUMERATOR // _STEP_DENOMINATOR if may_rise else None
        self._known = (ceiling, self.may_rise_to)


def _has_looked(sample: Sample) -> bool:
    """Whether RocksDB has found a slowdown within the window."""
    counts = [cf.stall_counts for cf in sample.column_families if cf.stall_counts]
    if counts:
        return any(its.get(name, 0) > 0 for its in counts for name, (_, held) in COUNTS.items() if held == "delayed")
    return any(event.kind in _ENDS for event in sample.events)
