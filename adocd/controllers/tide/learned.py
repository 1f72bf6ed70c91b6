"""What tide learns of the machine and of the clients from the samples."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from adocd.controllers.reads import reads_per_s
from adocd.model.levels import base_level_bytes
from adocd.model.sample import ColumnFamilySample, Sample

#: Time constants in seconds: of a rate, of the device where it is slower than known, of what is written at the peak.
_SMOOTHING_S, _SLOWER_S, _PEAK_S = 3.0, 60.0, 300.0
#: A compaction that reports nothing for so long reports many bytes at once, in s; then the mean is over so long.
_SILENT_S, _LONG_S = 2.0, 30.0
#: Reads matter for so long after the last window with enough of them, in s, so that the law does not turn to and fro.
_READ_FOR_S = 60.0
#: A compaction that writes less of what it reads drops most of it.
_KEPT_LEAST = 0.5
#: What is known of reads stays known for so long without tickers, in s: one sample without them says nothing.
_KNOWN_FOR_S = 10.0
#: What flushes keep is taken over so many written bytes, at whose end memtables hold nearly as much as at the begin,
#: to this share of them; each such span is half of the mean, as in `cockroach`. The least that is believed.
_SPAN_BYTES, _SPAN_HELD, _SPAN_SHARE, _KEPT_FLUSHED_LEAST = 1 << 30, 1 / 16, 1 / 2, 1 / 100
#: What was flushed fades over so long, in s; and the least share of it that a column family is taken to have.
_FLUSHED_S, _FLUSHED_LEAST = 60.0, 1 / 100
#: The option with which values go to blob files; an agent counts only the other bytes of a flush.
_BLOB_FILES = "enable_blob_files"
#: Files that have more than this share of what was written are not compressed: blocks and keys account for the rest.
NEARLY_ALL = 0.9
#: Sizes of levels that are not reported stay known for so long, in s.
_SIZES_FOR_S = 60.0
#: What clients write is what they want when nobody has waited for so long, in s; and it is a mean over as long.
_UNHELD_S = 30.0
#: Of the device, what clients and merges beside them may take together; the rest is for peaks. And how much less than
#: nothing may be left, in bytes for each byte of the clients, before a merge that fitted fits no more.
_DEMAND_SHARE, _DITHER = 0.8, 0.3


@dataclass(slots=True)
class Mean:
    """A mean over time with exponential weights; None before the first value."""

    constant_s: float
    value: float | None = None

    def add(self, value: float, seconds: float) -> float:
        """Take in a value that held for these seconds; return the new mean."""
        share = 1.0 if self.value is None else -math.expm1(-seconds / self.constant_s)
        self.value = value if self.value is None else self.value + (value - self.value) * share
        return self.value


class KeptShare:
    """What flushes write to files for each byte that clients write: less where values are compressed or overwritten.

    The device's rate is of bytes in files, the clients' of bytes as they write them.
    """

    def __init__(self) -> None:
        #: At most 1; 1 until it is known.
        self.share = 1.0
        self._is_known = False
        self._written = self._flushed = 0.0
        #: What memtables held when the span began, in bytes; None before.
        self._held: int | None = None

    def begin_anew(self) -> None:
        """Begin another span."""
        self._written, self._flushed, self._held = 0.0, 0.0, None

    def observe(self, sample: Sample) -> None:
        """Take in a window."""
        written, flushed = sample.written_bytes_per_s, sample.flushed_bytes_per_s
        held = sum(cf.memtables_bytes for cf in sample.column_families)
        if written is None or flushed is None:
            self.begin_anew()
            return
        if self._held is None:
            self._held = held  # what came before this window's end is in neither
            return
        self._written += written * sample.interval_s
        self._flushed += flushed * sample.interval_s
        more = held - self._held  # in memtables, so not flushed yet
        came = self._written - more
        if came < _SPAN_BYTES or abs(more) > _SPAN_HELD * came:
            return
        now = min(1.0, max(_KEPT_FLUSHED_LEAST, self._flushed / came))
        self.share = self.share + (now - self.share) * _SPAN_SHARE if self._is_known else now
        self._is_known = True
        self._written, self._flushed, self._held = 0.0, 0.0, held


class FlushedShares:
    """Which share of all that is flushed goes to each column family, of what was flushed in the last minute or so."""

    def __init__(self) -> None:
        self._bytes: dict[str, float] = {}

    def observe(self, sample: Sample) -> None:
        """Take in a window's flushes, as far as events tell them."""
        fades = math.exp(-sample.interval_s / _FLUSHED_S)
        names = {cf.name for cf in sample.column_families}
        self._bytes = {name: bytes_ * fades for name, bytes_ in self._bytes.items() if name in names}
        for event in sample.events:
            if event.kind == "flush_end" and event.column_family is not None and event.bytes:
                self._bytes[event.column_family] = self._bytes.get(event.column_family, 0.0) + event.bytes

    def of(self, column_family: str) -> float:
        """Return a column family's share, at least a hundredth; 1 if no flush was told."""
        whole = sum(self._bytes.values())
        return max(_FLUSHED_LEAST, self._bytes.get(column_family, 0.0) / whole) if whole else 1.0


class Demand:
    """What clients want to write in a flood: that is known while nobody waits."""

    def __init__(self) -> None:
        self._writes = Mean(_UNHELD_S)
        #: Since somebody waited, in s.
        self._unheld_s = 0.0

    def room(self, device: float, writes: float) -> float:
        """Return the bytes that a merge may write beyond each byte that clients write, and that is flushed and merged.

        `device` and `writes`, what clients write just now, are in bytes/s as clients write them. 0 if there is no room,
        before the flood is half a minute old, and if somebody waited in the last half minute.
        """
        return max(0.0, self._left(device, writes))

    def leaves_room(self, device: float, writes: float, *, already: bool) -> bool:
        """Whether there is room; a little less is enough where there was `already`, so that it does not turn often."""
        return self._left(device, writes) > (-_DITHER if already else 0.0)

    def _left(self, device: float, writes: float) -> float:
        if self._unheld_s < _UNHELD_S:
            return -math.inf
        return _DEMAND_SHARE * device / max(1.0, self._writes.value or 0.0, writes) - 2

    def observe(self, sample: Sample) -> None:
        """Take in a window."""
        stalls = any(any(cf.stall_counts.values()) for cf in sample.column_families)
        if stalls or sample.condition != "normal" or sample.stalled_fraction:
            self._writes, self._unheld_s = Mean(_UNHELD_S), 0.0
        elif sample.written_bytes_per_s is not None:
            self._writes.add(sample.written_bytes_per_s, sample.interval_s)
            self._unheld_s += sample.interval_s


class KnownSizes:
    """The sizes of levels as they were known last: rocksdict's agent reports none while there are many files."""

    def __init__(self) -> None:
        #: By column family: the last sample of it that had them, and when that was.
        self._known: dict[str, tuple[ColumnFamilySample, float]] = {}

    def filled(self, sample: Sample) -> Sample:
        """Return the sample with the sizes that it lacks, if they were known a moment ago."""
        reported = {cf.name: (cf, sample.monotonic_s) for cf in sample.column_families if cf.level_bytes is not None}
        names = {cf.name for cf in sample.column_families}
        self._known = {name: known for name, known in self._known.items() if name in names} | reported
        if len(reported) == len(names):
            return sample
        families = tuple(self._filled(cf, sample.monotonic_s) for cf in sample.column_families)
        return replace(sample, column_families=families)

    def _filled(self, cf: ColumnFamilySample, now_s: float) -> ColumnFamilySample:
        known, known_s = self._known.get(cf.name, (cf, now_s))
        if cf.level_bytes is not None or known.level_bytes is None or now_s - known_s > _SIZES_FOR_S:
            return cf
        size = known.level_bytes[0] // known.l0_files if known.l0_files else cf.options.write_buffer_size_bytes
        return replace(cf, level_bytes=(size * cf.l0_files, *known.level_bytes[1:]))


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """The free space of a look around, and the sizes then: what was taken since is free no more.

    Attributes:
        bytes: the free space.
        sizes: the bytes of level 0 and of the base level, by column family.

    """

    bytes: int
    sizes: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, sample: Sample, free_bytes: int) -> Self:
        """Return it with the sizes of this sample."""
        known = [cf for cf in sample.column_families if cf.level_bytes]
        return cls(free_bytes, {cf.name: ((cf.level_bytes or (0,))[0], base_level_bytes(cf, sample)) for cf in known})

    def without_level0(self, sharing: Iterable[ColumnFamilySample], sample: Sample) -> int:
        """Return the space in bytes that there would be if these column families had nothing in level 0.

        What merges have moved to the base level since the look is there still.
        """
        space = self.bytes
        for cf in sharing:
            level0, base = self.sizes.get(cf.name, (0, 0))
            space += level0 - max(0, base_level_bytes(cf, sample) - base)
        return space


class Learned:
    """Rates in bytes/s, each None until it was seen.

    `device` is what flushes and compactions together get written: it rises to whatever is seen, and falls only while a
    compaction is at work, because otherwise nothing asks for more; and not while compactions drop most of what they
    read, because those write little on a device as fast as ever; and not while a rate limit of the law's holds what is
    written. RocksDB counts what a compaction writes once in a thousand records (compaction_job.cc, kRecordStatsEvery):
    with values of 100 kB that is 100 MB at once, written since the last count. So a rate is the bytes between two
    counts by the time between them.

    `clients` is the peak of what clients wrote, which fades within minutes; `writes` is what they write now, `flushes`
    what flushes write while memtables wait for them.

    `free` is the free space that was seen last: a look around that took too long is no reason to forget it.
    """

    def __init__(self) -> None:
        self.device: float | None = None
        self.clients: float | None = None
        self.flushes: float | None = None
        self.free: FreeSpace | None = None
        self._kept = KeptShare()
        self.flushed = FlushedShares()
        #: Whether values go to blob files.
        self.has_blobs = False
        #: Bytes and seconds since a compaction's bytes were counted last; and whether that takes long.
        self._uncounted_bytes = self._uncounted_s = 0.0
        self._counts_rarely = False
        #: What compactions read and write.
        self._merging, self._merged = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._background, self._writes, self._flushing = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._reads_per_s, self._writes_per_s = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._peak_writes_per_s = 0.0
        #: Since reads were last counted, in s.
        self._uncounted_reads_s = math.inf
        #: Since reads were last enough, in s.
        self._unread_s = math.inf

    @property
    def writes(self) -> float:
        """What clients write now, in bytes/s."""
        return self._writes.value or 0.0

    @property
    def kept(self) -> float:
        """What flushes write for each byte that clients write, at most 1; 1 until it is known, and with blob files.

        There flushes write the values, too, and only what is merged is less.
        """
        return 1.0 if self.has_blobs or self._kept.share > NEARLY_ALL else self._kept.share

    def interrupted(self) -> None:
        """Begin anew what must not span a pause."""
        self._kept.begin_anew()

    def observe(self, sample: Sample, *, is_limited: bool = False) -> None:
        """Take in a sample; `is_limited`: a rate limit of the law's may be why no more is written."""
        seconds = sample.interval_s
        families = (sample.options.column_families.get(cf.name, {}) for cf in sample.column_families)
        self.has_blobs = any(options.get(_BLOB_FILES) == "true" for options in families)
        self._kept.observe(sample)
        self.flushed.observe(sample)
        self._unread_s += seconds
        if sample.surroundings is not None and sample.surroundings.free_bytes is not None:
            self.free = FreeSpace.of(sample, sample.surroundings.free_bytes)
        self._learn_device(sample, is_limited=is_limited)
        self._learn_reads(sample)
        if sample.written_bytes_per_s is not None:
            now = self._writes.add(sample.written_bytes_per_s, seconds)
            self.clients = max(now, (self.clients or 0.0) * math.exp(-seconds / _PEAK_S))
        waits = any(cf.memtables_wait for cf in sample.column_families)
        if sample.flush_written_bytes_per_s is not None and waits and not is_limited:
            self.flushes = self._flushing.add(sample.flush_written_bytes_per_s, seconds)

    def reads_matter(self, share: float) -> bool:
        """Whether reads are at least this share of the writes; yes where nothing counts them.

        Of the writes at their peak: in a stall few reads would seem to be many.
        """
        if self._uncounted_reads_s > _KNOWN_FOR_S:
            return True
        if (self._reads_per_s.value or 0.0) > share * self._peak_writes_per_s:
            self._unread_s = 0.0
        return self._unread_s < _READ_FOR_S

    def _learn_device(self, sample: Sample, *, is_limited: bool) -> None:
        flushed, merged = sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s
        if flushed is None or merged is None:
            return
        if self.has_blobs:
            flushed = max(flushed, self.writes)  # what clients write, for want of what goes to blob files
        self._uncounted_bytes += (flushed + merged) * sample.interval_s
        merging = self._merging.add(sample.compaction_read_bytes_per_s or 0.0, sample.interval_s)
        drops = self._merged.add(merged, sample.interval_s) < _KEPT_LEAST * merging
        self._uncounted_s += sample.interval_s
        if sample.running_compactions:
            counted = bool(sample.compaction_written_bytes_per_s)
            self._counts_rarely |= not counted and self._uncounted_s >= _SILENT_S
            if not counted or (self._counts_rarely and self._uncounted_s < _LONG_S):
                return
        seconds = self._uncounted_s
        now = self._background.add(self._uncounted_bytes / seconds, seconds)
        self._uncounted_bytes = self._uncounted_s = 0.0
        self._counts_rarely = False
        if self.device is None or now > self.device:
            self.device = now
        elif sample.running_compactions and not drops and not is_limited:
            self.device += (now - self.device) * -math.expm1(-seconds / _SLOWER_S)

    def _learn_reads(self, sample: Sample) -> None:
        reads = reads_per_s(sample)
        self._uncounted_reads_s += sample.interval_s
        if reads is not None and sample.writes_per_s is not None:
            self._uncounted_reads_s = 0.0
            self._reads_per_s.add(reads, sample.interval_s)
            now = self._writes_per_s.add(sample.writes_per_s, sample.interval_s)
            self._peak_writes_per_s = max(now, self._peak_writes_per_s * math.exp(-sample.interval_s / _PEAK_S))
