"""What clients read from the disks, by what the process reads there. Pure."""

import math

from adocd.controllers.reads import read_bytes_per_s, reads_per_s
from adocd.controllers.tide.learned import Mean
from adocd.model.sample import Sample

#: The time constants of the rates, and of what compactions read, which is counted late, in s.
_SMOOTHING_S, _LATE_S = 3.0, 30.0
#: What is learned while no compaction runs is a mean over so long, and stays known for so long, in s.
_SHARE_S, _SHARE_FOR_S = 10.0, 600.0
#: Rates stay known for so long without being measured, in s.
_KNOWN_FOR_S = 10.0
#: Reads reach the disks where this share of the bytes that clients get comes from there, for so long afterwards, in s,
#: that late counts make nothing move to and fro; and where there are so many in a second.
_FROM_DISK_LEAST, _FROM_DISK_FOR_S, _LEAST_PER_S = 0.1, 10.0, 1.0
#: One lookup, or step of a scan, reads at most so many bytes more than it returns: a few blocks.
_BLOCKS_BYTES = 16 << 10


class DiskReads:
    """What clients read from the disks, as a share of the bytes that they get.

    The process is all of its databases, so what another one reads counts, too. While no compaction runs, all that the
    process reads is for clients. While one runs, that share stays, unless what the process reads less what compactions
    read is more. That difference alone would not do: a compaction that reads from the page cache hides as many of the
    clients' reads, and RocksDB counts what it reads rarely and then much at once (Learned). So of its rate over seconds
    and that over half a minute the larger one is taken off.
    """

    def __init__(self) -> None:
        self._process, self._returned, self._requests = Mean(_SMOOTHING_S), Mean(_SMOOTHING_S), Mean(_SMOOTHING_S)
        self._compactions, self._compactions_long = Mean(_SMOOTHING_S), Mean(_LATE_S)
        #: What was read and returned while no compaction ran, and how old that is, in s.
        self._alone_read, self._alone_returned = Mean(_SHARE_S), Mean(_SHARE_S)
        self._alone_age_s = math.inf
        self._was_merging = True
        self._unmeasured_s = self._uncounted_s = math.inf
        #: Since enough reads reached the disks, in s.
        self._few_s = math.inf

    def observe(self, sample: Sample) -> None:
        """Take in a sample."""
        seconds = sample.interval_s
        self._unmeasured_s += seconds
        self._uncounted_s += seconds
        self._alone_age_s += seconds
        process = None if sample.surroundings is None else sample.surroundings.process
        read = None if process is None else process.read_bytes_per_s
        if read is not None:
            self._unmeasured_s = 0.0
            self._process.add(read, seconds)
            self._compactions.add(sample.compaction_read_bytes_per_s or 0.0, seconds)
            self._compactions_long.add(sample.compaction_read_bytes_per_s or 0.0, seconds)
        returned, requests = read_bytes_per_s(sample), reads_per_s(sample) or 0.0
        if returned is not None:
            self._uncounted_s = 0.0
            self._returned.add(returned, seconds)
            self._requests.add(requests, seconds)
        is_merging = sample.running_compactions > 0
        is_alone = not is_merging and not self._was_merging
        if read is not None and returned is not None and is_alone and requests >= _LEAST_PER_S:
            self._alone_read.add(read, seconds)
            self._alone_returned.add(returned, seconds)
            self._alone_age_s = 0.0
        self._was_merging = is_merging
        is_enough = self.bytes_per_s > _FROM_DISK_LEAST * (self._returned.value or 0.0)
        self._few_s = 0.0 if is_enough and requests >= _LEAST_PER_S else self._few_s + seconds

    @property
    def bytes_per_s(self) -> float:
        """The rate; 0 where the process cannot be measured, or reads are not counted."""
        if max(self._unmeasured_s, self._uncounted_s) > _KNOWN_FOR_S:
            return 0.0
        returned = self._returned.value or 0.0
        merged = max(self._compactions.value or 0.0, self._compactions_long.value or 0.0)
        is_known = self._alone_age_s < _SHARE_FOR_S and self._alone_returned.value
        share = (self._alone_read.value or 0.0) / (self._alone_returned.value or 1.0) if is_known else 0.0
        most = returned + _BLOCKS_BYTES * (self._requests.value or 0.0)
        return min(max((self._process.value or 0.0) - merged, share * returned), most)

    @property
    def are_many(self) -> bool:
        """Whether reads reach the disks, and are not served by caches."""
        return self._few_s < _FROM_DISK_FOR_S
