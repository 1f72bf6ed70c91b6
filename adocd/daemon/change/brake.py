"""When the rate that a change had to carry during a delay may rise again. Pure.

Any effective SetDBOptions puts the adapted rate of delayed writes to delayed_write_rate, so during a delay such a
change carries the rate in force (adocd.daemon.change.planner). That is then the most that RocksDB lets the rate recover
to for as long as the delay goes on: each time it looks again and finds less to compact it makes the rate 1.25 times as
high, up to that ceiling (column_family.cc, SetupDelay). So once it has looked again under the ceiling, and the rate is
still at it, it would have gone on, and the ceiling may rise by the one step that RocksDB would have taken.

RocksDB looks at each memtable switch, at each flush and compaction that ends, and at each SetOptions; each time that
it finds a slowdown it counts one more of the column family's. A look that finds no less to compact makes the rate 0.8
or 0.6 times as high, so that it is below the ceiling and nothing is raised. Setting the ceiling sets the rate, too, and
so costs one SetDBOptions a step; at most one is taken a look of ours.
"""

from adocd.daemon.change.planner import DELAYED_WRITE_RATE
from adocd.model.sample import Sample
from adocd.model.stall import COUNTS

#: By how much RocksDB lets the rate recover at once: 5 / 4.
_STEP_NUMERATOR, _STEP_DENOMINATOR = 5, 4
#: What ends with a look of RocksDB's, where the agent does not count slowdowns.
_ENDS = frozenset({"flush_end", "compaction_end"})


class Brake:
    """Remembers under which ceiling the last look of ours found writes delayed."""

    def __init__(self) -> None:
        #: The ceilings, in bytes/s, of which the next look tells: the one that was there, and what it may rise to.
        self._known: tuple[int | None, ...] = ()
        #: What the ceiling may rise to now, in bytes/s; None while it has to stay.
        self.may_rise_to: int | None = None

    def observe(self, sample: Sample) -> None:
        """Take in a sample.

        Of a ceiling that was not there before, and that is no step of ours, the first look tells nothing: the change
        that carried it may have had calls for column families, and RocksDB looks at each of those.
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
