"""Merges out of level 0: which of them run, and how long each still takes. Pure."""

from dataclasses import dataclass

from adocd.controllers.tide.learned import Mean
from adocd.model.knob import Knob
from adocd.model.levels import levels_of
from adocd.model.options import LEVEL_COMPACTION
from adocd.model.reading import value_now
from adocd.model.sample import Sample
from adocd.model.snapshot import Event

#: What compactions read and write is a mean over so long, in s.
_MOVED_S = 10.0
#: A merge that has read what it should have may still run for so long, in s.
LEFT_LEAST_S = 2.0


@dataclass(slots=True)
class _Merge:
    """One merge out of level 0.

    Attributes:
        column_family: None if it was not told.
        threads: its subcompactions, at most.
        left_bytes: what it has still to read; None if unknown.
        age_s: since it began.

    """

    column_family: str | None
    threads: int
    left_bytes: float | None
    age_s: float = 0.0


class Merges:
    """Merges out of level 0 that run. The end of one that no event told is assumed after `most_s` seconds.

    The agents for Java and rocksdict tell of no compactions. There any that runs may be one, for as long.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        #: By job.
        self._running: dict[int, _Merge] = {}
        self._are_told = self._has_ended = False
        #: For how long compactions have been running, in s.
        self._busy_s = 0.0
        #: What compactions move through, in bytes/s; and since they were counted last, in s.
        self._moved = Mean(_MOVED_S)
        self._uncounted_s = 0.0

    def observe(self, sample: Sample) -> None:
        """Take in a window's events, and what compactions read and wrote in it."""
        if sample.running_compactions:
            self._move(sample)
        else:
            self._running.clear()  # one whose begin comes with this sample may have begun after that was read
        for job, merge in tuple(self._running.items()):
            merge.age_s += sample.interval_s
            if merge.age_s >= self._most_s and not merge.left_bytes:
                del self._running[job]
        self._has_ended = False
        for event in sample.events:
            self._are_told |= event.kind in ("compaction_begin", "compaction_end")
            if event.kind == "compaction_begin" and event.job is not None and _leaves_level0(event, sample):
                self._begin(event.job, event, sample)
            elif event.kind == "compaction_end" and event.job is not None:
                self._has_ended |= self._running.pop(event.job, None) is not None
        self._busy_s = self._busy_s + sample.interval_s if sample.running_compactions else 0.0

    def _begin(self, job: int, event: Event, sample: Sample) -> None:
        """RocksDB merges a column family's level 0 once at a time, so nothing is known to be left of an older merge."""
        for merge in self._running.values():
            if merge.column_family == event.column_family:
                merge.left_bytes = None
        threads = value_now(Knob.SUBCOMPACTIONS, sample) or 1
        self._running[job] = _Merge(event.column_family, threads, _merged_bytes(event, sample))

    def _move(self, sample: Sample) -> None:
        """Learn how fast compactions are, and count down what each merge has left.

        A merge that drops most of what it reads writes little. RocksDB counts rarely where values are large, and
        without Statistics not at all in a merge that is larger than those before: silence is no slowness.
        """
        self._uncounted_s += sample.interval_s
        moved = max(sample.compaction_written_bytes_per_s or 0.0, sample.compaction_read_bytes_per_s or 0.0)
        if moved:
            self._moved.add(moved * sample.interval_s / self._uncounted_s, self._uncounted_s)
            self._uncounted_s = 0.0
        for merge in self._running.values():
            if merge.left_bytes is not None:
                merge.left_bytes = max(0.0, merge.left_bytes - self._rate(merge, sample) * sample.interval_s)

    def _rate(self, merge: _Merge, sample: Sample) -> float:
        """Return a merge's part of what compactions move, in bytes/s: each has it by its threads."""
        merging = sum(each.threads for each in self._running.values())
        beside = max(0, (sample.running_compactions or 0) - len(self._running))
        return (self._moved.value or 0.0) * merge.threads / max(1, merging + beside)

    def left_s(self, column_family: str, sample: Sample) -> float | None:
        """Return how long this column family's merge will still run, in s; None if that is not known, or none runs."""
        for merge in self._running.values():
            rate = self._rate(merge, sample)
            if merge.column_family == column_family and merge.left_bytes is not None and rate:
                return max(LEFT_LEAST_S, merge.left_bytes / rate)
        return None

    @property
    def are_any(self) -> bool:
        """Whether one may be running in any column family."""
        return bool(self._running) if self._are_told else 0 < self._busy_s < self._most_s

    @property
    def go_on(self) -> bool:
        """Whether one may be running in any column family, and none ended in the last window."""
        return self.are_any and not self._has_ended

    def are_in(self, column_family: str) -> bool:
        """Whether one may be running in this column family."""
        if not self._are_told:
            return self.are_any
        return any(merge.column_family in (column_family, None) for merge in self._running.values())


def _leaves_level0(event: Event, sample: Sample) -> bool:
    """Whether a compaction merges level 0 down; under level compaction RocksDB also merges files within it."""
    is_level = event.column_family is None or sample.options.compaction_style(event.column_family) == LEVEL_COMPACTION
    return event.base_level == 0 and not (is_level and event.output_level == 0)


def _merged_bytes(event: Event, sample: Sample) -> float | None:
    """Return what a merge of all of level 0 that begins now reads, in bytes; None if the levels are not known."""
    for cf in sample.column_families:
        if cf.name == event.column_family:
            levels = levels_of(cf, sample, cf.options.max_bytes_for_level_base_bytes)
            return None if levels is None else levels.sizes[0] + levels.bytes_in(event.output_level or levels.base)
    return None
