"""Spring and gear: delayed writes go as fast as level 0 drains (bLSM; performance-stability-vldb19 2.3, 4.2).

bLSM lets the in-memory write rate follow the progress of the merge, so that no level fills before the one below has
taken its own. From outside, with one gear (level 0) where bLSM has one a level:

    level0_slowdown_writes_trigger = level0_file_num_compaction_trigger        so that the delay is engaged at all
    delayed_write_rate = max(floor, mean of out)                               bytes/s, set anew each period
    out = flushed bytes/s - growth of level 0 in bytes/s                       over all column families

Level 0 shrinks in one step when a merge ends, so single windows swing between nothing and several times the truth. The
mean is the plain one of all windows until `smoothing_s` of them have been measured, and from then on exponential with
that time constant. It is ours, and long: in the simulator (cap-210, 6 MB/s) the rate turned round 45 times in 40
minutes with 30 s, in step with the merges, and not once with 300 s.
Windows in which level 0 has nothing to merge say nothing of how fast it drains and are left out; before the first that
does, the rate is the owner's. RocksDB scales the delay's rate by 0.6, 0.8 and 1.25 itself between two settings
(column_family.cc, SetupDelay), and each setting puts it back to the measured one: that is meant here, so the planner's
brake (docs/safety.md) does not hold this law back. The rate moves in MiB/s, and by at least a tenth: ours, against
dithering. The period of 10 s is ours, too; bLSM paces each write.

Expect bounded processing latency and worse latency with queueing: that is the paper's finding on bLSM (4.2), and the
reason to have this law is to see it. It does harm to every load that has bursts, which are slowed down from the first
file over the trigger on, and more so with compression, for a rate on disk is fewer bytes than writers bring.

Assumes level compaction. Not reachable: the gears between deeper levels, pacing by the progress within a merge, and
shares of bandwidth for merges.
"""

import math
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import not_there_yet
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.reading import value_now
from adocd.model.sample import Sample

#: The rate is not moved by less than this share: 1 / 10.
_LEAST_SHARE = 10


class SpringAndGearParameters(Parameters):
    """The spring's stiffness and its end."""

    floor_bytes_per_s: int = Field(default=4 * MIB, ge=MIB, le=1 << 40, description="writes are never held below it")
    smoothing_s: float = Field(default=300.0, ge=1, le=3600)


class SpringAndGear(Controller):
    """Delay writes from the first due merge on, at the rate at which level 0 drains."""

    name = "spring-and-gear"
    summary = "bLSM's spring and gear with one gear: delayed writes go at the rate at which level 0 drains"
    source = "bLSM, SIGMOD'12; Luo and Carey, VLDB'19, 2.3 and 4.2"
    period_s = 10.0
    knobs = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.DELAYED_WRITE_RATE})
    needs = Needs(level_bytes=True, background_rates=True, level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = SpringAndGearParameters

    def __init__(self, parameters: SpringAndGearParameters) -> None:
        self._parameters = parameters
        #: By column family: one that came or went says nothing of what merges did.
        self._level0_bytes: dict[str, int] = {}
        self._drain: float | None = None
        #: How long the windows were that the mean is of.
        self._measured_s = 0.0

    def step(self, sample: Sample) -> Decision | None:
        """Measure what left level 0, and set the spring to it."""
        self._measure(sample)
        settings = (*not_there_yet(self._triggers(sample), sample), *self._rate(sample))
        if not settings:
            return None
        drain = "not measured yet" if self._drain is None else f"{self._drain / MIB:.1f} MiB/s"
        return Decision(
            settings,
            signal=f"what leaves level 0: {drain}",
            rule="spring-and-gear.follow",
            reason="writes come in as fast as merges out of level 0 make room",
        )

    def _measure(self, sample: Sample) -> None:
        sizes = {cf.name: cf.level_bytes[0] for cf in sample.column_families if cf.level_bytes}
        before, self._level0_bytes = self._level0_bytes, sizes
        flushed = sample.flushed_bytes_per_s
        if not sizes or before.keys() != sizes.keys() or flushed is None:
            return
        out = max(0.0, flushed - (sum(sizes.values()) - sum(before.values())) / sample.interval_s)
        due = any(cf.l0_files >= max(1, cf.options.level0_file_num_compaction_trigger) for cf in sample.column_families)
        if out == 0.0 and not due:
            return
        self._measured_s += sample.interval_s
        of_all = sample.interval_s / self._measured_s  # one odd first window must not stand for minutes
        share = max(of_all, 1.0 - math.exp(-sample.interval_s / self._parameters.smoothing_s))
        before_it = 0.0 if self._drain is None else self._drain
        self._drain = before_it + (out - before_it) * share

    def _triggers(self, sample: Sample) -> Iterator[Setting]:
        for cf in sample.column_families:
            trigger = cf.options.level0_file_num_compaction_trigger
            if 1 <= trigger <= cf.options.level0_stop_writes_trigger:
                yield Setting(Knob.LEVEL0_SLOWDOWN, trigger, cf.name)

    def _rate(self, sample: Sample) -> tuple[Setting, ...]:
        now = value_now(Knob.DELAYED_WRITE_RATE, sample)
        if self._drain is None or now is None:
            return ()
        wanted = max(self._parameters.floor_bytes_per_s, int(self._drain) // MIB * MIB)
        moved = abs(wanted - now) * _LEAST_SHARE
        return (Setting(Knob.DELAYED_WRITE_RATE, wanted),) if moved >= max(now, 1) and wanted != now else ()
