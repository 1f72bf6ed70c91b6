"""Spring and gear: delayed writes go as fast as level 0 drains (bLSM; performance-stability-vldb19 2.3, 4.2).

bLSM couples the in-memory write rate to the progress of the merges, so that no level fills before the next one has
merged its share. From outside, with one gear (level 0) instead of bLSM's one per level:

    level0_slowdown_writes_trigger = level0_file_num_compaction_trigger        so that RocksDB delays writes at all
    delayed_write_rate = max(floor, mean of out)                               bytes/s, held each period
    out = flushed bytes/s - growth of level 0 in bytes/s                       over all column families

Level 0 shrinks in one step when a compaction ends, so single windows swing between zero and several times the true
rate. The mean is a plain one over all windows until `smoothing_s` seconds have been measured, and exponential with that
time constant from then on. The constant is ours, and long on purpose: in the simulator (cap-210, 6 MB/s) the rate
changed direction 45 times in 40 minutes with 30 s, in step with the compactions, and not once with 300 s.
Windows in which level 0 has nothing to compact do not show how fast it drains, so they are left out; nor does the
first one after a pause, as nobody knows what level 0 held when it began. A level 0 whose owner has disabled compaction
is not compacted, however many files it has. Before the first useful window the rate is the owner's.

Between two settings RocksDB itself scales the delayed write rate by 0.6, 0.8 and 1.25 (column_family.cc, SetupDelay).
Where that leaves less than 0.8 of the measured rate, it is set anew in the next period, also during a delay; it moves
by at least a tenth, which is ours, against dithering (adocd.controllers.admitted). The period of 10 s is ours too; bLSM
paces each write.

Expect bounded processing latency and worse latency with queueing: that is the paper's finding on bLSM (4.2), and this
law exists to show it. It harms every load with bursts, because it slows them down from the first file over the trigger
on. Compression makes that worse, because the rate is measured in bytes on disk, which are fewer than writers bring.

Assumes level compaction. Not reachable: the gears between deeper levels, pacing by the progress within a merge, and
shares of bandwidth for merges.
"""

import math
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from adocd.controllers.admitted import HeldRate
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample


class SpringAndGearParameters(Parameters):
    """The lowest write rate, and the time constant of the mean."""

    floor_bytes_per_s: int = Field(default=4 * MIB, ge=MIB, le=1 << 40, description="writes are never held below it")
    smoothing_s: float = Field(default=300.0, ge=1, le=3600)


class SpringAndGear(Controller):
    """Delay writes from the first due compaction on, at the rate at which level 0 drains."""

    name = "spring-and-gear"
    summary = "bLSM's spring and gear with one gear: delayed writes go at the rate at which level 0 drains"
    source = "bLSM, SIGMOD'12; Luo and Carey, VLDB'19, 2.3 and 4.2"
    period_s = 10.0
    knobs = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.DELAYED_WRITE_RATE})
    needs = Needs(level_bytes=True, background_rates=True, level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = SpringAndGearParameters

    def __init__(self, parameters: SpringAndGearParameters) -> None:
        self._parameters = parameters
        self._wishes = Wishes()
        self._rate = HeldRate()
        #: By column family, because one that was created or dropped says nothing about compaction progress; and when.
        self._level0_bytes: dict[str, int] = {}
        self._seen_s: float | None = None
        self._drain: float | None = None
        #: Total length of the windows in the mean (s).
        self._measured_s = 0.0

    def step(self, sample: Sample) -> Decision | None:
        """Measure the rate at which level 0 drains, and hold the delayed write rate at it."""
        self._measure(sample)
        settings = self._wishes.not_there_yet(self._triggers(sample), sample)
        drain = "not measured yet"
        if self._drain is not None:
            drain = f"{self._drain / MIB:.1f} MiB/s"
            wanted = max(self._parameters.floor_bytes_per_s, int(self._drain))
            settings += self._rate.settings(sample, wanted)
        if not settings:
            return None
        return Decision(
            settings,
            signal=f"what leaves level 0: {drain}",
            rule="spring-and-gear.follow",
            reason="writes come in as fast as merges out of level 0 make room",
        )

    def _measure(self, sample: Sample) -> None:
        sizes = {cf.name: cf.level_bytes[0] for cf in sample.column_families if cf.level_bytes}
        before, self._level0_bytes = self._level0_bytes, sizes
        follows, self._seen_s = sample.follows(self._seen_s), sample.monotonic_s
        flushed = sample.flushed_bytes_per_s
        if not follows or not sizes or before.keys() != sizes.keys() or flushed is None:
            return
        out = max(0.0, flushed - (sum(sizes.values()) - sum(before.values())) / sample.interval_s)
        due = any(
            cf.options.compaction_holds_writes and cf.l0_files >= max(1, cf.options.level0_file_num_compaction_trigger)
            for cf in sample.column_families
        )
        if out == 0.0 and not due:
            return
        self._measured_s += sample.interval_s
        of_all = sample.interval_s / self._measured_s  # one odd first window must not last for minutes
        share = max(of_all, 1.0 - math.exp(-sample.interval_s / self._parameters.smoothing_s))
        before_it = 0.0 if self._drain is None else self._drain
        self._drain = before_it + (out - before_it) * share

    def _triggers(self, sample: Sample) -> Iterator[Setting]:
        for cf in sample.column_families:
            trigger = cf.options.level0_file_num_compaction_trigger
            if 1 <= trigger <= cf.options.level0_stop_writes_trigger:
                yield Setting(Knob.LEVEL0_SLOWDOWN, trigger, cf.name)
