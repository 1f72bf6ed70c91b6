"""The rate limiter while somebody reads: flushes and compactions get the bandwidth that clients leave. Pure.

SILK's allocation (silk-atc19, 5.2.1), with what is learned in place of its parameters. While a compaction runs, in
bytes/s,

    I = max(D - C, 1.25 W + u D)        never above the owner's limit

D is what flushes and compactions were seen to write, C what clients write and what they read from the disks. W is what
clients write: flushes have to keep up with that, and RocksDB serves them before compactions. u is how urgent merges
are. It rises from 0, where level 0 has as many files as begin a merge (or half of the owner's slowdown, if that is
less), to 1 at nine tenths of the owner's slowdown, or from half to nine tenths of the soft limit of pending compaction
bytes. So what waits for a valley does not come to delay writes.

The owner's limit holds while memtables wait for their flush, and while clients take less than a quarter of D: then D is
learned, which a limit would keep from rising.
"""

import math

from adocd.controllers.tide.learned import Learned
from adocd.model.knob import MIB, Knob
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import RATE_LIMITER

#: The rule and the reason of a decision that turns nothing else.
LEAVES = "limit"
LEAVES_REASON = "while somebody reads, flushes and compactions get the bandwidth that clients leave"
#: Clients that take less of the device than this are in a valley.
_VALLEY = 1 / 4
#: Flushes get so much more than clients write.
_FLUSH_MARGIN = 1.25
#: Shares of a limit from which on merges become urgent, and at which they are.
_WAITS, _URGENT = 0.5, 0.9
#: The limit moves by at least this share of the one in force.
_STEP = 1 / 5
#: The guard's bound.
_LEAST_BYTES_PER_S = MIB


def limit(sample: Sample, learned: Learned, device: float | None, *, leaves_to_clients: bool) -> int | None:
    """Return the limit to set, in bytes/s; None where there is none, or the one in force is near enough.

    `device` is what flushes and compactions may count on in bytes/s, None if unknown.
    """
    now, owners = value_now(Knob.RATE_LIMIT, sample), owners_value(Knob.RATE_LIMIT, sample)
    if now is None or owners is None or RATE_LIMITER in sample.pinned:
        return None
    wanted = owners
    waits = any(cf.memtables_wait for cf in sample.column_families)
    if leaves_to_clients and sample.running_compactions and not waits:
        wanted = int(min(owners, max(_LEAST_BYTES_PER_S, _left(sample, learned, device or 0.0))))
    is_near = wanted != owners and abs(wanted - now) < _STEP * now
    return None if is_near or wanted == now else wanted


def _left(sample: Sample, learned: Learned, device: float) -> float:
    """Return what clients leave, in bytes/s; infinite in a valley."""
    writes = max(learned.writes, sample.written_bytes_per_s or 0.0)
    taken = writes + learned.reads
    if taken < _VALLEY * device:
        return math.inf
    urgency = max(_urgency(cf, sample) for cf in sample.column_families)
    return max(device - taken, _FLUSH_MARGIN * writes + urgency * device)


def _urgency(cf: ColumnFamilySample, sample: Sample) -> float:
    """Return 0 to 1: how near what waits for its merge is to what delays writes."""
    slowdown = owners_value(Knob.LEVEL0_SLOWDOWN, sample, cf.name) or 0
    soft = owners_value(Knob.SOFT_PENDING_LIMIT, sample, cf.name) or 0
    begins = min(cf.options.level0_file_num_compaction_trigger, _WAITS * slowdown)
    files = _risen(cf.l0_files, begins, _URGENT * slowdown)
    return max(files, _risen(cf.pending_compaction_bytes, _WAITS * soft, _URGENT * soft) if soft > 0 else 0.0)


def _risen(value: float, begins: float, ends: float) -> float:
    return min(1.0, max(0.0, (value - begins) / (ends - begins))) if begins < ends else 1.0
