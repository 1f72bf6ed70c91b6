"""The rate limiter while somebody reads: flushes and compactions get the bandwidth that clients leave. Pure.

SILK's allocation (silk-atc19, 5.2.1), with what is learned in place of its bandwidth and margin. In bytes/s,

    I = max(D - C, D / 4, 1.25 W + u D)        never above the owner's limit, nor below the guard's bound

D is what flushes and compactions were seen to write while no limit of ours held them; until that was seen for some
seconds, it is the owner's limit. C is what clients write and what they read from the disks, and D / 4 SILK's floor
(6.1). W is what clients write: flushes have to keep up with that, and RocksDB serves them before compactions. u is how
urgent merges are. It rises from 0, where level 0 has as many files as begin a merge (or half of the owner's slowdown,
if that is less), to 1 at nine tenths of the owner's slowdown (or five times the owner's trigger), or from half to nine
tenths of the soft limit of pending compaction bytes. So what waits for a valley does not come to delay writes.

D was seen beside clients, so D - C counts them twice: what they leave is at least that, and u makes up for the rest.

I is set while a compaction runs and for some seconds after, and only where reads reach the disks: merges take nothing
from those that a cache serves. The owner's limit holds while memtables wait or writes are delayed, because flushes need
it then, and while clients take less than a quarter of D.
"""

from adocd.controllers.tide.disk_reads import DiskReads
from adocd.controllers.tide.family import is_governed
from adocd.controllers.tide.learned import Learned
from adocd.model.knob import Knob
from adocd.model.options import RATE_LIMIT_FLOOR_BYTES_PER_S
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import RATE_LIMITER

#: The rule of a decision that turns nothing else, and its reasons.
RULE = "limit"
LEAVES = "reads reach the disks, so flushes and compactions get the bandwidth that clients leave"
GIVES_BACK = "merges take nothing from clients now, or flushes need more, so the rate limit is the owner's again"
#: Clients that take less of the device than the first are in a valley, which ends with the second.
_VALLEY, _VALLEY_ENDS = 1 / 4, 1 / 3
#: The least of the device that flushes and compactions get.
_FLOOR = 1 / 4
#: Flushes get so much more than clients write.
_FLUSH_MARGIN = 1.25
#: Shares of a limit from which on merges become urgent, and at which they are; the latter also in owner's triggers.
_WAITS, _URGENT, _URGENT_TRIGGERS = 0.5, 0.9, 5
#: The limit moves by at least this share of the one in force.
_STEP = 1 / 5
#: The limit stays for so long after a compaction, in s: the next one begins with it.
_STAYS_S = 5.0


class Limiter:
    """The limit, from sample to sample."""

    def __init__(self) -> None:
        #: Since a compaction ran, in s.
        self._idle_s = _STAYS_S
        self._reads = DiskReads()

    def rate(self, sample: Sample, learned: Learned, device: float | None, *, is_at_work: bool) -> int | None:
        """Return the limit to set, in bytes/s; None where there is none, or the one in force is near enough.

        `device` is what flushes and compactions may count on in bytes/s, None if unknown. While the law is not at work,
        the limit is the owner's.
        """
        self._reads.observe(sample)
        self._idle_s = 0.0 if sample.running_compactions else self._idle_s + sample.interval_s
        now, owners = value_now(Knob.RATE_LIMIT, sample), owners_value(Knob.RATE_LIMIT, sample)
        if now is None or owners is None or RATE_LIMITER in sample.pinned:
            return None
        families = [cf for cf in sample.column_families if is_governed(cf, sample)]
        needs_all = sample.condition != "normal" or any(cf.memtables_wait for cf in sample.column_families)
        wanted = owners
        if is_at_work and families and self._reads.are_many and not needs_all:
            device = device if device is not None and learned.knows_device else float(owners)
            taken = learned.writes + self._reads.bytes_per_s
            is_valley = taken < device * (_VALLEY_ENDS if now == owners else _VALLEY)
            if self._idle_s < _STAYS_S and not is_valley:
                writes = max(learned.writes, sample.written_bytes_per_s or 0.0)
                urgency = max(_urgency(cf, sample) for cf in families)
                left = max(device - taken, _FLOOR * device, _FLUSH_MARGIN * writes + urgency * device)
                wanted = int(min(owners, max(RATE_LIMIT_FLOOR_BYTES_PER_S, left)))
        is_near = wanted != owners and abs(wanted - now) < _STEP * now
        return None if is_near or wanted == now else wanted


def _urgency(cf: ColumnFamilySample, sample: Sample) -> float:
    """Return 0 to 1: how near what waits for its merge is to what delays writes."""
    trigger, slowdown, soft = (
        owners_value(knob, sample, cf.name) or 0
        for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT)
    )
    begins = min(cf.options.level0_file_num_compaction_trigger, _WAITS * slowdown)
    files = _risen(cf.l0_files, begins, min(_URGENT * slowdown, _URGENT_TRIGGERS * trigger))
    return max(files, _risen(cf.pending_compaction_bytes, _WAITS * soft, _URGENT * soft) if soft > 0 else 0.0)


def _risen(value: float, begins: float, ends: float) -> float:
    return min(1.0, max(0.0, (value - begins) / (ends - begins))) if begins < ends else 1.0
