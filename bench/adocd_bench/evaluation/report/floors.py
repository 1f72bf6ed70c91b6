"""What SILK presumes of its load: that its floor flushes what clients write in a peak.

"The minimum flushing bandwidth is chosen to be sufficient to be able to flush the immutable memory component before the
active one fills up" (silk-atc19, 5.2.2). Its floor is 50 MB/s, which L0-L1 compactions share (6.1); in its peaks
clients write 20.6 MB/s (figure 8B: 40,000 operations/s, half of them writes of 8 and 1024 bytes; 6.4). Where a floor is
below what clients write, memtables fill before they are flushed: such a run shows the load, and not the law.

- A second is of a peak if more operations arrive in it than in the mean.
- What clients write in the peaks is what arrives there, because a stall makes them write less: the operations that
  arrive in a second of a peak, times the bytes of users by RocksDB's counter for each operation done.
- The limiter is at its floor in the samples of a peak's seconds that have it there.
"""

import statistics

from adocd.controllers.silk import FLOOR_OF_BANDWIDTH
from adocd_bench.evaluation.raw import RawRun, SchemeUsed
from adocd_bench.evaluation.report import words

#: At the floor for less of the peaks' time, the limiter hardly counts: it takes seconds to fill a memtable.
_LEAST = 0.1

#: The rule, as the report says it.
RULE = (
    f"its floor flushes what arrives to be written in the peaks, where the limiter is at it for {words.share(_LEAST)} "
    "of their time or more"
)


def unmet(run: RawRun) -> str | None:
    """Say that a run's floor does not flush what its load writes; None where it does, or where that is not known."""
    floor, written = _floor_bytes_per_s(run.scheme), run.at_end.user_written_bytes
    mean, done = run.workload.offered_per_s, sum(each.count for each in run.operations)
    if floor is None or written is None or mean is None or not done:
        return None
    peaks = {second.at_s: second.offered for second in run.seconds if second.offered and second.offered > mean}
    limits = [each.rate_limit_bytes_per_s for each in run.samples if each.at_s >= 0 and int(each.at_s) in peaks]
    known = [limit for limit in limits if limit is not None]
    if not known or sum(limit <= floor for limit in known) < _LEAST * len(known):
        return None
    wanted = statistics.fmean(peaks.values()) * written / done
    if wanted <= floor:
        return None
    # To 0.1 MB/s, so that all runs of a block say the same.
    return f"its floor of {words.rate(floor)} does not flush the {words.rate(round(wanted, -5))} written in the peaks"


def _floor_bytes_per_s(scheme: SchemeUsed) -> int | None:
    floor, bandwidth = (scheme.parameters.get(name) for name in ("floor_bytes_per_s", "bandwidth_bytes_per_s"))
    if floor is not None:
        return int(floor)
    return None if bandwidth is None else int(bandwidth) // FLOOR_OF_BANDWIDTH
