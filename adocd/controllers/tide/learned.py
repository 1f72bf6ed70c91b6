"""What tide learns of the machine and of the clients from the samples."""

import math
from dataclasses import dataclass

from adocd.controllers.reads import reads_per_s
from adocd.model.knob import Knob
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import Sample

#: Time constants in seconds: of a rate, of the device where it is slower than known, of the clients' peak.
_SMOOTHING_S, _SLOWER_S, _PEAK_S = 3.0, 60.0, 300.0
#: A compaction that reports nothing for so long reports many bytes at once, in s; then the mean is over so long.
_SILENT_S, _LONG_S = 2.0, 30.0
#: Reads matter for so long after the last window with enough of them, in s, so that the law does not turn to and fro.
_READ_FOR_S = 60.0
#: A compaction that writes less of what it reads drops most of it.
_KEPT_LEAST = 0.5
#: Flushes and compactions that write this share of our lowest rate limit in the last seconds are held by it.
_LIMITED_FROM, _LIMITED_FOR_S = 0.7, 10.0
#: The device is known after so many seconds of compactions.
_KNOWN_AFTER_S = 5.0
#: What is known of reads stays known for so long without tickers, in s: one sample without them says nothing.
_KNOWN_FOR_S = 10.0


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


class Learned:
    """Rates in bytes/s, each None until it was seen.

    `device` is what flushes and compactions together get written: it rises to whatever is seen, and falls only while a
    compaction is at work, because otherwise nothing asks for more; and not while compactions drop most of what they
    read, because those write little on a device as fast as ever. RocksDB counts what a compaction writes once in a
    thousand records (compaction_job.cc, kRecordStatsEvery): with values of 100 kB that is 100 MB at once, written since
    the last count. So a rate is the bytes between two counts by the time between them.

    `clients` is the peak of what clients wrote, which fades within minutes; `writes` is what they write now, `flushes`
    what flushes write while memtables wait for them.

    `free_bytes` is the free space that was seen last: a look around that took too long is no reason to forget it.
    """

    def __init__(self) -> None:
        self.device: float | None = None
        self.clients: float | None = None
        self.flushes: float | None = None
        self.free_bytes: int | None = None
        #: Bytes and seconds since a compaction's bytes were counted last; and whether that takes long.
        self._uncounted_bytes = self._uncounted_s = 0.0
        self._counts_rarely = False
        #: Our rate limits of the last seconds, infinite for the owner's, with their age in s; and for how long
        #: compactions ran without being held by one.
        self._limits: list[tuple[float, float]] = []
        self._merged_s = 0.0
        #: What compactions read and write.
        self._merging, self._merged = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._background, self._writes, self._flushing = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._reads_per_s, self._writes_per_s = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        #: Since reads were last counted, in s.
        self._uncounted_reads_s = math.inf
        #: Since reads were last enough, in s.
        self._unread_s = math.inf

    @property
    def writes(self) -> float:
        """What clients write now, in bytes/s."""
        return self._writes.value or 0.0

    @property
    def knows_device(self) -> bool:
        """Whether compactions ran for long enough without being held by a rate limit of ours."""
        return self._merged_s >= _KNOWN_AFTER_S

    def observe(self, sample: Sample) -> None:
        """Take in a sample."""
        seconds = sample.interval_s
        self._unread_s += seconds
        if sample.surroundings is not None and sample.surroundings.free_bytes is not None:
            self.free_bytes = sample.surroundings.free_bytes
        self._learn_device(sample)
        self._learn_reads(sample)
        if sample.written_bytes_per_s is not None:
            now = self._writes.add(sample.written_bytes_per_s, seconds)
            self.clients = max(now, (self.clients or 0.0) * math.exp(-seconds / _PEAK_S))
        if sample.flush_written_bytes_per_s is not None and any(cf.memtables_wait for cf in sample.column_families):
            self.flushes = self._flushing.add(sample.flush_written_bytes_per_s, seconds)

    def reads_matter(self, share: float) -> bool:
        """Whether reads are at least this share of the writes; yes where nothing counts them."""
        if self._uncounted_reads_s > _KNOWN_FOR_S:
            return True
        if (self._reads_per_s.value or 0.0) > share * (self._writes_per_s.value or 0.0):
            self._unread_s = 0.0
        return self._unread_s < _READ_FOR_S

    def _learn_device(self, sample: Sample) -> None:
        rates = (sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s)
        if None in rates:
            return
        self._observe_limit(sample)
        self._uncounted_bytes += sum(rate or 0.0 for rate in rates) * sample.interval_s
        merging = self._merging.add(sample.compaction_read_bytes_per_s or 0.0, sample.interval_s)
        drops = self._merged.add(rates[1] or 0.0, sample.interval_s) < _KEPT_LEAST * merging
        self._uncounted_s += sample.interval_s
        if sample.running_compactions:
            counted = bool(sample.compaction_written_bytes_per_s)
            self._counts_rarely |= not counted and self._uncounted_s >= _SILENT_S
            if not counted or (self._counts_rarely and self._uncounted_s < _LONG_S):
                return
        seconds = self._uncounted_s
        now = self._background.add(self._uncounted_bytes / seconds, seconds)
        is_limited = now >= _LIMITED_FROM * self._least_limit()
        if sample.running_compactions and not is_limited:
            self._merged_s += seconds
        self._uncounted_bytes = self._uncounted_s = 0.0
        self._counts_rarely = False
        if self.device is None or now > self.device:
            self.device = now
        elif sample.running_compactions and not drops and not is_limited:
            self.device += (now - self.device) * -math.expm1(-seconds / _SLOWER_S)

    def _observe_limit(self, sample: Sample) -> None:
        limit, owners = value_now(Knob.RATE_LIMIT, sample), owners_value(Knob.RATE_LIMIT, sample)
        kept_s = _LIMITED_FOR_S + self._uncounted_s
        older = [(age_s + sample.interval_s, rate) for age_s, rate in self._limits]
        self._limits = [(age_s, rate) for age_s, rate in older if age_s <= kept_s]
        is_ours = limit is not None and owners is not None and limit < owners
        self._limits.append((0.0, float(limit or 0) if is_ours else math.inf))

    def _least_limit(self) -> float:
        """Return our lowest rate limit of the last seconds: it, and not the device, may hold what is written."""
        return min((rate for _, rate in self._limits), default=math.inf)

    def _learn_reads(self, sample: Sample) -> None:
        reads = reads_per_s(sample)
        self._uncounted_reads_s += sample.interval_s
        if reads is not None and sample.writes_per_s is not None:
            self._uncounted_reads_s = 0.0
            self._reads_per_s.add(reads, sample.interval_s)
            self._writes_per_s.add(sample.writes_per_s, sample.interval_s)
