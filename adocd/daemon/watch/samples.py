"""A target's recent samples, packed: as objects, those of a thousand targets would take gigabytes.

A packed sample of one column family takes 0.4 KB instead of 3.6 KB, and costs the garbage collector nothing. Options,
events and the database's surroundings are not kept.
"""

import itertools
import marshal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from adocd.model.latency import WriteLatency
from adocd.model.overflow import Overflow
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample, Sample
from adocd.model.snapshot import Counters, OptionValues
from adocd.model.threads import ThreadsBy

#: Large fields, kept only in the target's newest sample.
_LEFT_OUT: dict[str, Any] = {
    "options": OptionValues(),
    "events": (),
    "ticker_increases": None,
    "histogram_increases": None,
    "surroundings": None,
    "allowance": None,
    "originals": None,
}
#: Fields packed in their own way, or not packed because many samples share them.
_OTHERS = ("target", "session", "counters", "column_families", "overflow", "threads_by", "write_latency")
_PLAIN = tuple(field.name for field in fields(Sample) if field.name not in (*_LEFT_OUT, *_OTHERS))
_COUNTERS = tuple(field.name for field in fields(Counters))
#: Figures of a write latency; its other fields are shared by many samples.
_LATENCY = tuple(field.name for field in fields(WriteLatency) if field.name not in ("source", "one_in", "why"))
_FAMILY = tuple(
    field.name
    for field in fields(ColumnFamilySample)
    if field.name not in ("name", "options", "overflow", "stall_counts")
)


@dataclass(frozen=True, slots=True)
class _Common:
    """What a sample usually shares with the one before."""

    target: str
    session: str
    threads_by: ThreadsBy | None
    #: Without its figures.
    write_latency: WriteLatency | None
    #: Per column family: name, options and the names of its stall counts.
    families: tuple[tuple[str, ColumnFamilyOptions, tuple[str, ...]], ...]


class Samples:
    """The last `most` samples, oldest first."""

    def __init__(self, most: int) -> None:
        #: Most samples kept.
        self.most = most
        self._packed: deque[bytes] = deque(maxlen=most)
        self._common: deque[_Common] = deque(maxlen=most)
        self._sequences: deque[int] = deque(maxlen=most)

    def keep(self, most: int) -> None:
        """Keep the last `most` samples from now on, of those that there are, too."""
        if most == self.most:
            return
        self.most = most
        # As they are: to pack those of hundreds of targets anew would take longer than their leases last.
        self._packed = deque(self._packed, most)
        self._common = deque(self._common, most)
        self._sequences = deque(self._sequences, most)

    def add(self, sample: Sample) -> None:
        """Add a sample; drops the oldest if there are too many."""
        families = tuple((cf.name, cf.options, tuple(cf.stall_counts)) for cf in sample.column_families)
        latency = sample.write_latency
        if latency is not None:
            latency = WriteLatency(latency.source, one_in=latency.one_in, why=latency.why)
        common = _Common(sample.target, sample.session, sample.threads_by, latency, families)
        if self._common and self._common[-1] == common:
            common = self._common[-1]
        self._packed.append(marshal.dumps(_pack(sample)))
        self._common.append(common)
        self._sequences.append(sample.sequence)

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[Sample]:
        return map(_unpacked, self._packed, self._common)

    def newer(self, sequence: int, most: int) -> Iterator[Sample]:
        """Return the first `most` samples after one with this sequence number, oldest first, unpacked one at a time.

        Numbers begin anew with each session, so after a larger number than the newest all of the last session are
        newer. Samples that are added or dropped meanwhile change nothing of it.
        """
        numbers = self._sequences
        later = sum(1 for _ in itertools.takewhile(lambda number: number > sequence, reversed(numbers)))
        if numbers and sequence > numbers[-1]:
            pairs = itertools.pairwise(reversed(numbers))
            later = 1 + sum(1 for _ in itertools.takewhile(lambda pair: pair[0] > pair[1], pairs))
        first = len(numbers) - later
        packed = list(itertools.islice(self._packed, first, first + most))
        return map(_unpacked, packed, list(itertools.islice(self._common, first, first + most)))

    def clear(self) -> None:
        """Drop all samples."""
        self._packed.clear()
        self._common.clear()
        self._sequences.clear()


def _pack(sample: Sample) -> tuple[Any, ...]:
    return (
        [getattr(sample, name) for name in _PLAIN],
        [getattr(sample.counters, name) for name in _COUNTERS],
        [overflow.value for overflow in sample.overflow],
        None if sample.write_latency is None else [getattr(sample.write_latency, name) for name in _LATENCY],
        [
            (
                [getattr(cf, name) for name in _FAMILY],
                [overflow.value for overflow in cf.overflow],
                list(cf.stall_counts.values()),
            )
            for cf in sample.column_families
        ],
    )


def _unpacked(packed: bytes, common: _Common) -> Sample:
    plain, counters, overflow, latency, families = marshal.loads(packed)  # noqa: S302 - packed by ourselves
    return Sample(
        target=common.target,
        session=common.session,
        threads_by=common.threads_by,
        counters=Counters(*counters),
        write_latency=None
        if common.write_latency is None
        else replace(common.write_latency, **dict(zip(_LATENCY, latency, strict=True))),
        overflow=tuple(map(Overflow, overflow)),
        column_families=tuple(
            ColumnFamilySample(
                name=name,
                options=options,
                overflow=tuple(map(Overflow, its)),
                stall_counts=dict(zip(counts, stalls, strict=True)),
                **dict(zip(_FAMILY, values, strict=True)),
            )
            for (name, options, counts), (values, its, stalls) in zip(common.families, families, strict=True)
        ),
        **dict(zip(_PLAIN, plain, strict=True)),
        **_LEFT_OUT,
    )
