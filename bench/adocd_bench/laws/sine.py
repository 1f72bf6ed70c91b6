"""Warlo's sine (section 4.3) on a real db_bench: off on the rising edge, on again after the peak, level 0 drained.

The thesis: 75 sin(pi/175 x + 3 pi/2) + 125 MB/s for 350 s, its limiter at 190 MB/s, 6 memtables, 4 flush and 2
compaction threads, values of 100 kB. Here all rates are a quarter of that and the period is shorter, so that the peak
fits into the bounds on level 0 which the law has and the thesis has not, and into a small machine. Stock db_bench
cannot go on at 10 MB/s after the period, so it waits for compactions instead.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from adocd.model.sample import Sample
from adocd_bench.laws.measure import Flags, LawPlan, MeasuredLaw
from adocd_bench.laws.windows import windows

_MB = 1_000_000
_SCALE = 0.25
_LOW, _SWING, _CAP = 50 * _MB * _SCALE, 75 * _MB * _SCALE, round(190 * _MB * _SCALE)
_ROW_S = 10.0
#: RocksDB's own slowdown trigger, which the owner has: below it level 0 is as it should be.
_DRAINED_FILES = 20
DEFAULT_PERIOD_S = 120


@dataclass(frozen=True, slots=True)
class SineVerdict:
    """What the toggle did; times are seconds since the first write, None if it never happened."""

    off_s: float | None
    on_s: float | None
    peak_s: float
    l0_most: int
    l0_end: int

    @property
    def holds(self) -> bool:
        """Whether it is off on the rising edge, on after the peak, and level 0 is drained in the end."""
        if self.off_s is None or self.on_s is None:
            return False
        return self.off_s < self.peak_s < self.on_s and self.l0_end < _DRAINED_FILES < self.l0_most


def plan(law: str, period_s: int) -> LawPlan:
    """Return the plan of a law's run: one period, and then until nothing is left to compact."""
    flags: Flags = {
        "benchmarks": "fillrandom,waitforcompaction",
        "value_size": 100_000,
        "sine_write_rate": 1,
        "sine_write_rate_interval_milliseconds": 1000,
        "sine_a": _SWING,
        "sine_b": 2 * math.pi / period_s,
        "sine_c": 3 * math.pi / 2,
        "sine_d": _LOW + _SWING,
        "max_write_buffer_number": 6,
        "max_background_flushes": 4,
        "max_background_compactions": 2,
        "rate_limiter_bytes_per_sec": _CAP,
    }
    parameters = {"cap_bytes_per_s": _CAP} if law == "toggle" else {}
    return LawPlan(law, period_s, "cap-210", parameters, flags, tail=True)


def verdict(measured: MeasuredLaw) -> SineVerdict:
    """Find in the samples what was switched when."""
    ticks = list(_timed(measured))
    off = [at_s for at_s, sample in ticks if sample.column_families[0].options.disable_auto_compactions]
    on = [at_s for at_s, _ in ticks if off and at_s > off[-1]]
    files = [sample.column_families[0].l0_files for _, sample in ticks]
    return SineVerdict(
        off_s=off[0] if off else None,
        on_s=on[0] if on else None,
        peak_s=measured.plan.seconds / 2,
        l0_most=max(files),
        l0_end=files[-1],
    )


def table(measured: MeasuredLaw) -> str:
    """Write how it went, a line for every ten seconds, which is how often the toggle looks."""
    lines = [
        "| s | sine | written | flushes of the cap | with compactions | compaction | level-0 files |",
        "|---|---|---|---|---|---|---|",
    ]
    begin_s, period_s = _begin_s(measured), measured.plan.seconds
    for sample in windows(measured.ticks, _ROW_S):
        at_s = sample.monotonic_s - begin_s
        (cf,) = sample.column_families
        flush, compaction = sample.flush_written_bytes_per_s or 0.0, sample.compaction_written_bytes_per_s or 0.0
        wave = _LOW + _SWING - _SWING * math.cos(2 * math.pi * (at_s - _ROW_S / 2) / period_s)
        wanted = f"{wave / _MB:.0f} MB/s" if at_s <= period_s + 1 else "over"
        lines.append(
            f"| {at_s:.0f} | {wanted} | {(sample.written_bytes_per_s or 0.0) / _MB:.0f} MB/s | {flush / _CAP:.0%} "
            f"| {(flush + compaction) / _CAP:.0%} | {'off' if cf.options.disable_auto_compactions else 'on'} "
            f"| {cf.l0_files} |"
        )
    return "\n".join([*lines, ""])


def summary(measured: MeasuredLaw) -> str:
    """Say in a line what came of it."""
    found, report = verdict(measured), measured.report
    switched = "compaction was never off"
    if found.off_s is not None:
        switched = f"compaction off at {found.off_s:.0f} s"
        switched += ", and not on again" if found.on_s is None else f" and on at {found.on_s:.0f} s"
    return (
        f"{measured.plan.law}: {report.writes} writes of 100 kB in {report.seconds:.0f} s, {switched}, the peak at "
        f"{found.peak_s:.0f} s; level 0 had {found.l0_most} files at most and {found.l0_end} in the end"
    )


def _begin_s(measured: MeasuredLaw) -> float:
    first = measured.ticks[0].sample
    return first.monotonic_s - first.interval_s


def _timed(measured: MeasuredLaw) -> Iterator[tuple[float, Sample]]:
    begin_s = _begin_s(measured)
    for tick in measured.ticks:
        yield tick.sample.monotonic_s - begin_s, tick.sample
