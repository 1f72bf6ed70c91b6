"""The rate limiter in peaks of clients who read: flushes and compactions get the bandwidth that they leave. Pure.

In a peak that is not too long (Peak) the law is in a flood, too: a merge out of level 0 replaces the files that caches
hold, and clients wait until they are read again. SILK's allocation (silk-atc19, 5.2.1), with the owner's limit as its
bandwidth T. In bytes/s,

    I = max(T - C, T / 4, F + u T)        never above the owner's limit, nor below the guard's bound

C is what clients write and what they read from the disks, and T / 4 SILK's floor (6.1). F is what flushes need to keep
up: 1.25 times what they write, or what clients write as it reaches the files, if that is more. u is how urgent merges
are. It rises from 0 at half of the owner's slowdown trigger (or 2.5 times the owner's trigger) to 1 at nine tenths of
it (or 4.5 times), and likewise with the pending compaction bytes, from half of the soft limit to nine tenths. So what
waits for a valley does not come to delay writes.

RocksDB serves flushes first only where requests wait: until a refill of 0.1 s is used up, whoever asks gets its
request of up to 1 MiB (rate_limiter.cc, GenericRateLimiter::Request). So where flushes need more than one request in
each refill, F counts once more for each thread of a running compaction.

A peak is when reads reach the disks, because flushes and merges take nothing from those that a cache serves, and C has
been a third of T or more for some seconds; it ends when C is less than a quarter, so a limit far above what the device
can do is left alone. Where C is more than twice T, that is no bandwidth of the device, for a minute. I is in force in a
peak, but not while memtables wait or writers do, because flushes need the owner's limit then, nor for some seconds
after, twice as long each time that this comes under a limit of ours.

Does not see clients who want more than a merge at the owner's limit leaves them, where that is less than a third of T:
they look like a valley. Does harm where clients' own requests pass the limiter (rate_limiter_priority in WriteOptions).
"""

import math

from adocd.controllers.tide.disk_reads import DiskReads
from adocd.controllers.tide.family import is_governed, is_held
from adocd.controllers.tide.learned import Learned, Mean
from adocd.controllers.tide.peak import Peak
from adocd.model.knob import MIB, Knob
from adocd.model.options import RATE_LIMIT_FLOOR_BYTES_PER_S
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import RATE_LIMITER

#: The rule of a decision that turns nothing else, and its reasons.
LIMIT = "limit"
COLLECTS = "clients take the disks and read from them, so level 0 collects files for a later merge"
LEAVES = "reads reach the disks, so flushes and compactions get the bandwidth that clients leave"
GIVES_BACK = "clients leave the disks alone, or flushes need more, so the rate limit is the owner's again"
#: The least of the owner's limit that flushes and compactions get.
_FLOOR = 1 / 4
#: Flushes get so much more than clients write.
_FLUSH_MARGIN = 1.25
#: What one request asks for at most, in bytes (writable_file_max_buffer_size), and the refills of a second.
_REQUEST_BYTES, _REFILLS_PER_S = MIB, 10
#: Shares of a limit from which on merges become urgent, and at which they are; and a slowdown in triggers, at most.
_WAITS, _URGENT, _SLOWDOWN_TRIGGERS = 0.5, 0.9, 5
#: The limit moves by at least this share of the one in force.
_STEP = 1 / 5
#: The owner's limit stays for so long after flushes needed it, at least and at most, in s; and it is the least again
#: when they have not for so long.
_NEEDED_FOR_S, _NEEDED_FOR_MOST_S, _FORGOTTEN_S = 10.0, 160.0, 600.0
#: What flushes write is a mean over so long, in s: each takes a moment.
_FLUSHES_S = 10.0
#: What is written in the last seconds may be held by a limit of those seconds.
_HELD_FOR_S = 10.0


class Limiter:
    """The limit, from sample to sample."""

    def __init__(self, *, turns: bool) -> None:
        self._turns = turns
        self.peak = Peak()
        #: Since flushes needed all, and since the limit was below the owner's, in s.
        self._unneeded_s = self._unheld_s = math.inf
        self._needed_for_s = _NEEDED_FOR_S
        self._flushes, self._reads = Mean(_FLUSHES_S), DiskReads()

    def observe(self, sample: Sample) -> None:
        """Take in a sample."""
        if not self._turns:
            return
        seconds = sample.interval_s
        self._reads.observe(sample)
        self._flushes.add(sample.flush_written_bytes_per_s or 0.0, seconds)
        now, owners = value_now(Knob.RATE_LIMIT, sample), owners_value(Knob.RATE_LIMIT, sample)
        is_ours = now is not None and owners is not None and now < owners and RATE_LIMITER not in sample.pinned
        self._unheld_s = 0.0 if is_ours else self._unheld_s + seconds
        self._observe_need(sample)

    def _observe_need(self, sample: Sample) -> None:
        """Note whether flushes need the owner's limit. If they do under one of ours, the next one comes later."""
        waits = sample.condition != "normal" or bool(sample.stalled_fraction)
        if not (waits or any(map(is_held, sample.column_families))):
            self._unneeded_s += sample.interval_s
            return
        if self._unneeded_s > _FORGOTTEN_S:
            self._needed_for_s = _NEEDED_FOR_S
        elif self._unneeded_s and self._unheld_s == 0.0:
            self._needed_for_s = min(_NEEDED_FOR_MOST_S, 2 * self._needed_for_s)
        self._unneeded_s = 0.0

    @property
    def holds(self) -> bool:
        """Whether a limit of ours, and not the device, may be why no more is written."""
        return self._unheld_s < _HELD_FOR_S

    @property
    def disk_reads(self) -> float:
        """What clients read from the disks, in bytes/s."""
        return self._reads.bytes_per_s

    def bandwidth(self, sample: Sample) -> int | None:
        """Return the owner's limit, in bytes/s; None where the limiter is not the law's to turn."""
        return owners_value(Knob.RATE_LIMIT, sample) if self._turns and RATE_LIMITER not in sample.pinned else None

    def follow(self, sample: Sample, learned: Learned) -> None:
        """Follow the clients' peaks."""
        bandwidth, are_many = self.bandwidth(sample), self._reads.are_many
        self.peak.observe(self._taken(learned), bandwidth, sample.interval_s, reads_reach_disks=are_many)

    def _taken(self, learned: Learned) -> float:
        return learned.writes + self.disk_reads

    def rate(self, sample: Sample, learned: Learned, *, is_at_work: bool) -> int | None:
        """Return the limit to set, in bytes/s; None where it is not ours to turn, or the one in force is near enough.

        While the law is not at work, the limit is the owner's.
        """
        now, owners = value_now(Knob.RATE_LIMIT, sample), self.bandwidth(sample)
        if now is None or owners is None:
            return None
        families = [cf for cf in sample.column_families if is_governed(cf, sample)]
        needs_all = self._unneeded_s < self._needed_for_s
        if not (is_at_work and families and self.peak.is_on) or needs_all:
            return None if now == owners else owners
        flushes = self._flushes_need(sample, learned)
        urgency = max(_urgency(cf, sample) for cf in families)
        left = max(
            owners - self._taken(learned), _FLOOR * owners, flushes + urgency * owners, RATE_LIMIT_FLOOR_BYTES_PER_S
        )
        wanted = int(min(owners, left))
        is_near = flushes <= now and wanted != owners and abs(wanted - now) < _STEP * now
        return None if is_near or wanted == now else wanted

    def _flushes_need(self, sample: Sample, learned: Learned) -> float:
        """Return the limit with which flushes keep up, whatever the compactions beside them ask for."""
        writes = max(learned.writes, sample.written_bytes_per_s or 0.0) * learned.kept
        needed = _FLUSH_MARGIN * max(writes, self._flushes.value or 0.0)
        if needed <= _REQUEST_BYTES * _REFILLS_PER_S:
            return needed
        width = max(value_now(Knob.SUBCOMPACTIONS, sample) or 1, owners_value(Knob.SUBCOMPACTIONS, sample) or 1)
        return needed * (1 + max(1, sample.running_compactions) * width)


def _urgency(cf: ColumnFamilySample, sample: Sample) -> float:
    """Return 0 to 1: how near what waits for its merge is to what delays writes."""
    trigger, slowdown, soft = (
        owners_value(knob, sample, cf.name) or 0
        for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT)
    )
    # An owner's slowdown out of the way is no leave to let level 0 grow without end.
    most = _SLOWDOWN_TRIGGERS * trigger if slowdown < 0 else min(slowdown, _SLOWDOWN_TRIGGERS * trigger)
    files = _risen(cf.l0_delay_trigger_count, most)
    return max(files, _risen(cf.pending_compaction_bytes, soft) if soft > 0 else 0.0)


def _risen(value: float, limit: float) -> float:
    """Return how far a value has come from half of a limit to nine tenths of it: 0 to 1."""
    begins, ends = _WAITS * limit, _URGENT * limit
    return min(1.0, max(0.0, (value - begins) / (ends - begins))) if begins < ends else 1.0
