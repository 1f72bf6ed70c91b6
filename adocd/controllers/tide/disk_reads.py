"""What clients read from the disks, by what the process reads there. Pure."""

import math

from adocd.controllers.reads import read_bytes_per_s, reads_per_s
from adocd.controllers.tide.learned import Mean
from adocd.model.sample import Sample

#: The time constant of the rates, and how long they stay known without being measured, in s.
_SMOOTHING_S, _KNOWN_FOR_S = 3.0, 10.0
#: Reads reach the disks where this share of the bytes that clients get comes from there, for so long afterwards, in s,
#: that late counts make nothing move to and fro; and where there are so many in a second.
_FROM_DISK_LEAST, _FROM_DISK_FOR_S, _LEAST_PER_S = 0.1, 10.0, 1.0
#: One lookup, or step of a scan, reads at most so many bytes more than it returns: a few blocks.
_BLOCKS_BYTES = 16 << 10


class DiskReads:
    """What clients read from the disks: what the process reads there, less what compactions read.

    The process is all of its databases. A compaction that reads from the page cache hides as many of the clients'
    reads. RocksDB counts what a compaction reads rarely and then much at once (Learned), so the rate is at most what
    the reads that are counted can have needed.
    """

    def __init__(self) -> None:
        self._process, self._compactions = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._returned, self._requests = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._unmeasured_s = self._uncounted_s = math.inf
        #: Since enough reads reached the disks, in s.
        self._few_s = math.inf

    def observe(self, sample: Sample) -> None:
        """Take in a sample."""
        seconds = sample.interval_s
        self._unmeasured_s += seconds
        self._uncounted_s += seconds
        process = None if sample.surroundings is None else sample.surroundings.process
        if process is not None and process.read_bytes_per_s is not None:
            self._unmeasured_s = 0.0
            self._process.add(process.read_bytes_per_s, seconds)
            self._compactions.add(sample.compaction_read_bytes_per_s or 0.0, seconds)
        returned, requests = read_bytes_per_s(sample), reads_per_s(sample) or 0.0
        if returned is not None:
            self._uncounted_s = 0.0
            self._returned.add(returned, seconds)
            self._requests.add(requests, seconds)
        is_enough = self.bytes_per_s > _FROM_DISK_LEAST * (self._returned.value or 0.0)
        self._few_s = 0.0 if is_enough and requests >= _LEAST_PER_S else self._few_s + seconds

    @property
    def bytes_per_s(self) -> float:
        """The rate; 0 where the process cannot be measured, or reads are not counted."""
        if max(self._unmeasured_s, self._uncounted_s) > _KNOWN_FOR_S:
            return 0.0
        process, compactions, returned, requests = (
            mean.value or 0.0 for mean in (self._process, self._compactions, self._returned, self._requests)
        )
        return min(max(0.0, process - compactions), returned + _BLOCKS_BYTES * requests)

    @property
    def are_many(self) -> bool:
        """Whether reads reach the disks, and are not served by caches."""
        return self._few_s < _FROM_DISK_FOR_S
