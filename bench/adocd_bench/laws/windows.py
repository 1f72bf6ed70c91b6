"""The windows that a law saw: the daemon's samples, merged over the law's period."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adocd.model.sample import ColumnFamilySample, Sample
from adocd_bench.run.observe import Tick

#: Outcomes of cycles that do not ask the law, because a change is in flight.
_NOT_ASKED = ("a change has been in flight", "waiting for a snapshot")
_RATES = (
    "writes_per_s",
    "written_bytes_per_s",
    "flush_written_bytes_per_s",
    "compaction_read_bytes_per_s",
    "compaction_written_bytes_per_s",
    "flushed_bytes_per_s",
)


def gaps(ticks: Sequence[Tick]) -> int:
    """Count the missing samples: each sample should begin where the one before it ended."""
    pairs = itertools.pairwise(ticks)
    return sum(
        after.sample.monotonic_s - after.sample.interval_s > tick.sample.monotonic_s + 1e-3 for tick, after in pairs
    )


def windows(ticks: Sequence[Tick], period_s: float) -> Iterator[Sample]:
    """Put samples together to the windows at whose ends a law with this period was asked."""
    gathered: list[Sample] = []
    for tick in ticks:
        gathered.append(tick.sample)
        # The daemon asks a little early rather than a tick late.
        is_due = sum(sample.interval_s for sample in gathered) >= period_s - min(0.1 * period_s, 0.1)
        if is_due and not tick.sentence.startswith(_NOT_ASKED):
            yield joined(gathered)
            gathered = []


def joined(samples: Sequence[Sample]) -> Sample:
    """Merge consecutive samples into one; instantaneous values come from the last one."""
    last, total_s = samples[-1], sum(sample.interval_s for sample in samples)
    rates = {name: _mean(samples, name, total_s) for name in _RATES}
    tickers: Counter[str] = Counter()
    for sample in samples:
        tickers.update(sample.ticker_increases or {})
    return replace(
        last,
        interval_s=total_s,
        column_families=tuple(_counted(cf, samples) for cf in last.column_families),
        events=tuple(event for sample in samples for event in sample.events),
        ticker_increases=None if last.ticker_increases is None else dict(tickers),
        **rates,  # type: ignore[arg-type]
    )


def _mean(samples: Sequence[Sample], name: str, total_s: float) -> float | None:
    values = [getattr(sample, name) for sample in samples]
    if None in values:
        return None
    return float(sum(value * sample.interval_s for value, sample in zip(values, samples, strict=True)) / total_s)


def _counted(cf: ColumnFamilySample, samples: Sequence[Sample]) -> ColumnFamilySample:
    counts: Counter[str] = Counter()
    for sample in samples:
        for each in sample.column_families:
            if each.name == cf.name:
                counts.update(each.stall_counts)
    return replace(cf, stall_counts=dict(counts))
