"""Tide: take a flood of writes into level 0, merge it there once and wide, and give everything back at the ebb.

Ours. Over a load and the compactions that it leaves behind, the device is busy under any law, so operations per second
come to the device's rate, divided by the write amplification. Few and large merges out of level 0 write least: a flush
and one merge, against four writes and more under RocksDB's defaults. So in a flood this law shuts level 0's gate, its
compaction trigger, until level 0 holds half of a bound; RocksDB then opens it by itself, for one large merge. The base
level is as large as the bound meanwhile, because level 0 is also due when it holds more than that (version_set.cc,
ComputeCompactionScore).

| regime | when | what |
|---|---|---|
| calm | none of the others | everything is the owner's |
| flood | memtables wait, a stall, level 0 presses, a peak | memory, flush slots, wide merges; a shut gate |
| brim | level 0 is at 0.6 of the bound | the same, and writes are delayed, from what clients do to what lasts |
| ebb | clients write little, or nothing has pressed for long | level 0 is merged, then base level and trigger |
| yield | others want more of the same disks than is left | the gate and the base level alone: merges are put off |

Level 0 presses with twice as many files as the owner's trigger, and at least 8, or one fewer than the owner's slowdown
trigger if that is less. In a flood the memory budget is taken at once, in memtables with a flush slot for each that
waits, and merges are four threads wide. Clients write little when it is a tenth of their peak or 1/8 of the device for
5 s, or 1/6 of the device for a minute. Where a flood comes after less than a minute of that, clients write in bursts,
and the 5 s double, up to a minute. Nothing has pressed for long where for five minutes nobody has waited and no
memtables have, and level 0 is not at its gate; where something presses again within that time, the next flood ends
after twice as long, up to four hours. Then all of level 0 becomes one merge. The base level returns after it, in steps
where more would be due than half of the soft limit, and the owner's trigger with it, or once level 1 has moved down,
where level 0 would make that much due. The rest returns when nothing is due, or what is due has not become less for a
minute.

What clients write reaches the device smaller where values are compressed: a is what flushes write for each byte that
clients write, at most 1, and 1 until it is known. Clients at w bytes/s count as a w there. Where values go to blob
files, of which agents count nothing in a flush, a is 1, and flushes are taken to write what clients write.

The bound of level 0, shared among the column families that were in a flood, is the smallest of

    device x pay_back_s / 2      level 1 may hold as much, and a merge out of level 0 writes both
    debt_max_bytes
    (free space - L1) / 2.7      a merge needs its inputs' space again, and RocksDB cancels one that has not got it;
                                 where all of level 0 is merged with all of L1, a quarter of that space stays free
    soft pending limit / 2       which counts it, and what level 1 holds
    hard pending limit / 2       what would be due in all levels if the owner's base level came back at once
    files_max files

A file is a memtable times a, or the mean of level 0's files if that is more, or if there are 40 of them; the memtable
is the one in force where a larger one has not come for 30 s. The free space is that from before the merge that runs,
because what the merge reads goes when it ends, and level 0 counts as free; of several column families in the flood,
level 0 and L1 are those of all of them. The gate opens below half of the bound where level 0, once it is due, would
make more pending than the soft limit.

It also opens below that where clients leave the device room. Once nobody has waited for half a minute, what they write,
w bytes/s, is what they want. A device that they do not fill would only collect debt behind a shut gate, so level 0 is
merged, by the owner's threads, as soon as the merge fits beside them:

    w a (2 + L1 / L0) <= 0.8 device      a flush, and a merge that writes L1 / L0 bytes of level 1 again

Where somebody waits, reads or has neighbours that want the device, this does not apply.

Where free space, debt and pending bytes have no room for as many files of that size as the owner's slowdown allows,
memtables are smaller and there are more of them: RocksDB delays writes at a number of files, whatever they hold.

The bound is RocksDB's stop trigger meanwhile, unless the owner's is higher. Where it falls below what level 0 holds,
the stop in force waits for the merge. The owner's slowdown and stop are never lowered, and a slowdown that is switched
off stays so. Where an operator has pinned one of level 0's limits below the gate, gate and base level are the owner's;
a slowdown or stop that is pinned higher bounds the bound. Rates in bytes/s, n in files per bound, g the room above the
gate in gates, c what clients do, at its peak, and at least r; while a merge runs whose begin was told, s the seconds
that it still needs, by what it has to read and what compactions read or write, and f the bytes of clients in a bound of
files:

    lasting    r = 0.95 device / a x g / (1 + L1 / L0 + g)   level 0 grows by g while one gate is merged with level 1
    slope      R = c + (r - c) x (n - 0.6) / 0.35            up to n = 0.95
               R = r - 3/4 r x (n - 0.95) / 0.05             beyond that; never below 1 MiB/s, the guard's bound
               R = 1.5 f x (1 - n) / s                       while a merge runs, because no file leaves before its end;
                                                             n with memtables to be flushed and one file; at most c

The rate is sent again where it is a tenth off. Each time writers wait while RocksDB writes its OPTIONS file, so where
level 0 has less than 0.8 of the files at which the slope begins, fewer memtables wait than all but two, and nothing
else delays writes, a rate of up to four times R stays.

The device's rate is learned: it is the most that flushes and compactions were seen to write together, and it comes down
within minutes while a compaction runs and less is written. So a device that slows down, or has lost its burst credits,
makes the bound and the lasting rate smaller. Where more is pending than the soft limit, RocksDB delays writes for that,
and lowers the rate at each flush until next to nothing is written. There the rate is the same, less a share that grows
from the soft limit up to three quarters of the way to the hard one, where RocksDB is near a stop.

Where anybody reads, level 0 keeps the owner's slowdown and stop, because a read looks into each file, and merges the
owner's threads, because they take the device from reads. Then the files get larger, up to the memory budget, the gate
opens at 0.6 of the owner's slowdown or three times the owner's trigger, whichever is less, and the base level is as
large as level 0 at that slowdown, so that deeper levels are merged later, too. The slope is between the owner's
slowdown and stop; it ends earlier where that stop is above the bound and twice that slowdown. What a flood has left in
level 0 when readers come is merged at once; until then the owner's slowdown and stop wait, because they would hold
writers meanwhile. Reads are counted by tickers, and matter for a minute after the last; without Statistics the law
takes them for granted.

With `limiter=true`, and a database that was opened with a rate limiter, flushes and compactions get what clients leave
of the disks in peaks of theirs, in which they take much of the disks and read from them; and each peak is a flood, too
(adocd.controllers.tide.limiter). It is not the default, because RocksDB does not say whether a limiter tunes itself,
and then adocd would not take its first change back; nor whether databases share it.

Asked once a second, and also at once when a stall begins or ends and when memtables wait, where the agent tells that.
After a time in which it was not asked it begins anew, with calm, or with the ebb where the base level is still above
the owner's: meanwhile its values may have been given back.

Other databases on the same disks: the daemon's arbiter allots each an allowance, and this law keeps to it.

- The memory budget is no more than its part of all memory; the free space and the debt are its part. The device's rate
  is its share of what all were seen to write, and at least its fair share, also for what it puts off: so what all of
  them owe together is at most twice what one alone would owe.
- While others want more than is left of the disks, it puts its own merges off, also those that are due: one merge of
  twenty files writes far less than five merges of four, and what it saves goes to them. For that it turns the gate and
  the base level, in one call, and leaves memory and threads alone. An ebb waits for the same reason, and gives
  memory and threads back meanwhile.
- While a neighbour waits that uses less than its share, it flushes and merges with no more threads than `width`: what
  it has under way, the neighbour's requests queue behind.

Under universal compaction, whose sorted runs have no base level to fill, only memory, flush slots, threads and, with
`limiter=true`, the rate limiter are the law's; other styles are left alone, and so are column families whose owner has
disabled compaction: their memtables keep no flood going. Where sorted runs delay writes, the rate is RocksDB's. Where
the owner has several memtables merged in one flush, so many do not count as waiting. A memtable budget is not all of
the memory: a wide merge reads ahead in each of its inputs. So where the owner has a compaction_readahead_size, it is
lowered until that takes a quarter of the budget.

The law judges itself by whole floods, and leaves some to the owner's options (adocd.controllers.tide.judged).

Does harm to readers that come when a flood has just been taken in: until it is merged they look into a large level 0,
for up to `pay_back_s`. What level 1 holds above the owner's base then moves down at leisure: that debt has no bound of
its own. Not reachable: pace within a running merge without a rate limiter, and priorities of flushes on the device.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from adocd.controllers.admitted import FLOOR_BYTES_PER_S, HeldRate, owners_rate, released
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import Wishes
from adocd.controllers.tide.backlog import NO_BOUND, Debt, DiskFacts, Level0Bounds, is_raised, opened_for
from adocd.controllers.tide.family import delays_by_runs, is_governed, is_held, is_pinned, level0_presses, pending_share
from adocd.controllers.tide.gate import Level0Flow, Level0Gate, ebbing
from adocd.controllers.tide.judged import JudgedFloods
from adocd.controllers.tide.learned import Demand, KnownSizes, Learned
from adocd.controllers.tide.limiter import COLLECTS, GIVES_BACK, LEAVES, LIMIT, Limiter
from adocd.controllers.tide.memory import flood_memtables, owners_memtables, spare_bytes
from adocd.controllers.tide.merges import Merges
from adocd.controllers.tide.parameters import TideParameters
from adocd.controllers.tide.quiet import Needless, Quiet, writes_little
from adocd.controllers.tide.regime import ADMITS, IN_FLOOD, MAY_END, REASONS, Regime
from adocd.controllers.tide.threads import THREADS, flood_threads, owners_threads
from adocd.model.decision import Decision, Setting
from adocd.model.in_words import exact_size
from adocd.model.knob import Knob
from adocd.model.memtables import is_written
from adocd.model.options import LEVEL_COMPACTION, OUT_OF_THE_WAY
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample

_OF_FAMILY = (
    Knob.MEMTABLE_SIZE,
    Knob.MEMTABLE_NUMBER,
    Knob.LEVEL_BASE_SIZE,
    Knob.LEVEL0_TRIGGER,
    Knob.LEVEL0_SLOWDOWN,
    Knob.LEVEL0_STOP,
)
_OF_DATABASE = frozenset({*THREADS, Knob.DELAYED_WRITE_RATE, Knob.RATE_LIMIT})
#: Of the slope's begin in files, from where on the rate is kept exact; before that it may be so many times as high.
_NEAR_SLOPE, _FAR_TIMES = 0.8, 4


class Tide(Controller):
    """Regimes by the state of level 0 and of the clients; each regime is a set of values."""

    name = "tide"
    summary = "adocd's own: a flood goes into level 0, is merged once and wide, and is paid back at the ebb"
    source = "adocd's own"
    period_s = 1.0
    knobs = frozenset(_OF_FAMILY) | _OF_DATABASE
    optional_knobs = _OF_DATABASE
    switches: ClassVar[Mapping[Knob, str]] = {Knob.RATE_LIMIT: "limiter=false"}
    wakes = frozenset({"stall", "memtables_wait"})
    reads = frozenset({Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT})
    needs = Needs(level_bytes=True, background_rates=True)
    parameters_model: ClassVar[type[Parameters]] = TideParameters

    def __init__(self, parameters: TideParameters) -> None:
        self._parameters = parameters
        self._learned, self._sizes = Learned(), KnownSizes()
        self._judged, self._needless = JudgedFloods(), Needless()
        #: When the last window ended, of those that this law was given.
        self._seen_s: float | None = None
        self._wishes, self._rate = Wishes(), HeldRate()
        self._limiter = Limiter(turns=parameters.limiter)
        if not parameters.limiter:
            withheld = {Knob.RATE_LIMIT}
            self.knobs, self.optional_knobs = type(self).knobs - withheld, type(self).optional_knobs - withheld
        self._regime = Regime.CALM
        #: What level 0 may hold, by the column families that were in a flood.
        self._bounds = Level0Bounds(parameters)
        #: Those that were pressed themselves; the others only leave the disks to their neighbours.
        self._pressed: set[str] = set()
        #: Those, of all column families, that were written in this flood.
        self._written: set[str] = set()
        #: Whether anything but a peak of clients has pressed in this flood.
        self._is_needed = False
        self._quiet, self._debt, self._demand = Quiet(), Debt(), Demand()
        self._is_read = False
        #: Of the memory budget, what each of them may take beyond the owner's, in bytes.
        self._spare_bytes = 0
        self._merges = Merges(2 * parameters.pay_back_s)

    def step(self, sample: Sample) -> Decision | None:
        """Learn, choose the regime, and set what it needs."""
        if not sample.follows(self._seen_s):
            self._begin_anew(sample)
        self._seen_s = sample.monotonic_s
        if not sample.column_families:
            return None
        sample = self._sizes.filled(sample)
        self._limiter.observe(sample)
        self._learned.observe(sample, is_limited=self._limiter.holds)
        self._demand.observe(sample)
        self._merges.observe(sample)
        self._limiter.follow(sample, self._learned)
        self._is_read = self._learned.reads_matter(self._parameters.reads_share)
        was, self._regime = self._regime, self._next(sample)
        # A flood's first window is the one in which it was noticed, so nothing in it is the law's doing.
        # A peak alone is not judged: nothing has waited in it.
        is_ours = was in (*IN_FLOOD, Regime.YIELD) and self._regime is not Regime.CALM and self._is_needed
        is_left, presses = self._is_left(sample), was in ADMITS and self._is_needed
        self._judged.observe(sample, is_flood=is_ours or is_left, presses=presses or is_left)
        self.declined = self._judged.rests if self._regime is Regime.CALM else None
        settings = self._wishes.not_there_yet(self._wanted(sample), sample) + self._rates(sample)
        limit = self._limiter.rate(sample, self._learned, is_at_work=self._is_read and self.declined is None)
        if not settings and limit is None:
            return None
        rule, reasons = (str(self._regime), [self._reason]) if settings else (LIMIT, [])
        if limit is not None:
            settings += (Setting(Knob.RATE_LIMIT, limit),)
            reasons.append(GIVES_BACK if limit == owners_value(Knob.RATE_LIMIT, sample) else LEAVES)
        return Decision(settings, self._signal(sample), f"tide.{rule}", "; ".join(reasons))

    def _begin_anew(self, sample: Sample) -> None:
        """Forget a flood from before a pause: an operator's, a restore, a lease that lapsed.

        What is still the law's goes as at an ebb: level 1 may hold more than can be due at once.
        """
        self._wishes, self._rate = Wishes(), HeldRate()
        self._merges = Merges(2 * self._parameters.pay_back_s)
        self._limiter = Limiter(turns=self._parameters.limiter)
        self._quiet, self._needless = Quiet(), Needless()
        self._learned.interrupted()
        self._judged.interrupted()
        self._forget_flood()
        left = [cf.name for cf in sample.column_families if is_governed(cf, sample) and is_raised(cf, sample)]
        self._bounds.of.update(dict.fromkeys(left, NO_BOUND))
        self._regime = Regime.EBB if left else Regime.CALM

    def _forget_flood(self) -> None:
        self._bounds.clear()
        self._pressed.clear()
        self._written.clear()
        self._is_needed = False
        self._quiet.flood_is_over()
        self._debt, self._demand = Debt(), Demand()

    # -- regimes

    def _next(self, sample: Sample) -> Regime:
        if self._regime is Regime.CALM:
            self._forget_flood()
        families = {cf.name for cf in sample.column_families if is_governed(cf, sample)}
        pressed = {cf.name for cf in sample.column_families if cf.name in families and self._is_pressed(cf, sample)}
        self._is_needed = self._is_needed or bool(pressed)
        pressed |= families & self._in_peak(sample)
        self._pressed = (self._pressed | pressed) & families
        yields = sample.allowance is not None and sample.allowance.is_scarce and not self._is_read
        self._written |= {cf.name for cf in sample.column_families if is_written(cf)}
        # Idle ones have nothing to put off.
        merging = {cf.name for cf in sample.column_families if cf.l0_files or cf.name in self._written}
        for name in pressed | (families & merging if yields else set()):
            self._bounds.of.setdefault(name, NO_BOUND)
        self._bounds.keep(families)
        self._spare_bytes = spare_bytes(sample, self._pressed, self._parameters, self._written)
        comes_back = self._regime is Regime.EBB and not self._needless.has_ended
        self._needless.observe(sample, begins=bool(pressed) and (self._regime is Regime.CALM or comes_back))
        in_flood = self._regime is not Regime.CALM
        presses = bool(pressed) and (in_flood or self._judged.rests is None)
        is_quiet = self._quiet.observe(sample, self._learned, in_flood=in_flood, presses=presses)
        if self._regime is Regime.CALM:
            if self._judged.rests:
                self._forget_flood()
            if not self._bounds.of:
                return Regime.CALM
        is_quiet = is_quiet or self._is_needless(sample)
        is_past = self._limiter.peak.is_past and not self._is_needed and not pressed
        if (is_quiet or is_past or (self._regime in MAY_END and not pressed)) and not yields:
            if not self._merges.go_on:
                self._bounds.forget_space()
            return Regime.CALM if self._is_paid(sample) else Regime.EBB
        if is_quiet:
            self._pressed.clear()  # its merges wait for the neighbours; memory and threads it does not need
        self._debt = Debt()
        self._bound(sample)
        if not self._pressed:
            return Regime.YIELD
        gates = [(cf, self._gate(cf, sample)) for cf in self._flooded(sample)]
        return Regime.BRIM if any(cf.l0_files >= gate.slowdown for cf, gate in gates) else Regime.FLOOD

    def _is_needless(self, sample: Sample) -> bool:
        """Whether nothing has pressed for long, and level 0 waits for no merge; until something presses again."""
        is_long = self._regime in ADMITS and self._needless.is_long
        # Under universal compaction level 0 may rest at the owner's trigger.
        levelled = self._levelled(sample)
        if is_long and all(cf.l0_files < self._gate(cf, sample).trigger for cf in levelled):
            self._needless.ends()
        return self._regime is not Regime.CALM and self._needless.has_ended

    def _is_left(self, sample: Sample) -> bool:
        """Whether a flood has come that is left to the owner's options."""
        return self._judged.rests is not None and any(
            is_governed(cf, sample) and self._is_pressed(cf, sample) for cf in sample.column_families
        )

    def _is_pressed(self, cf: ColumnFamilySample, sample: Sample) -> bool:
        # Then its files are our doing.
        collects = cf.name in self._bounds.of and (cf.name not in self._pressed or not self._is_needed)
        return is_held(cf) or (level0_presses(cf, sample) and not collects)

    def _in_peak(self, sample: Sample) -> set[str]:
        """Name the column families that are written in a peak of clients; none where they write little.

        Little is what would end the flood at once.
        """
        if not (self._is_read and self._limiter.peak.presses) or writes_little(self._learned):
            return set()
        return {cf.name for cf in sample.column_families if is_written(cf) or cf.name in self._written}

    def _is_paid(self, sample: Sample) -> bool:
        """Whether nothing is due with the owner's trigger and base in force, or what is due does not become less.

        Under a raised base level nothing is due, which says nothing of what will be.
        """
        flooded = self._flooded(sample)
        if any(is_raised(cf, sample) and not is_pinned(Knob.LEVEL_BASE_SIZE, cf, sample) for cf in flooded):
            self._debt = Debt()
        self._debt.observe(sum(cf.pending_compaction_bytes for cf in flooded), sample.interval_s)
        if not all(self._is_back(cf, sample) for cf in flooded):
            return False
        return self._debt.is_constant or all(
            cf.pending_compaction_bytes <= cf.options.max_bytes_for_level_base_bytes for cf in flooded
        )

    def _is_back(self, cf: ColumnFamilySample, sample: Sample) -> bool:
        """Whether level 0 is merged and the base level the owner's, as far as no operator holds them."""
        trigger, base = (
            owners_value(knob, sample, cf.name) or 0 for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL_BASE_SIZE)
        )
        if is_pinned(Knob.LEVEL0_TRIGGER, cf, sample):
            trigger = max(trigger, cf.options.level0_file_num_compaction_trigger)
        is_base = cf.options.max_bytes_for_level_base_bytes == base or is_pinned(Knob.LEVEL_BASE_SIZE, cf, sample)
        return is_base and cf.l0_files <= max(1, trigger)

    def _flooded(self, sample: Sample) -> list[ColumnFamilySample]:
        return [cf for cf in sample.column_families if cf.name in self._bounds.of]

    def _levelled(self, sample: Sample) -> list[ColumnFamilySample]:
        """Return those in the flood that have levels, which the law gives a gate."""
        styles = sample.options.compaction_style
        return [cf for cf in self._flooded(sample) if styles(cf.name) == LEVEL_COMPACTION]

    # -- the bound of level 0

    def _bound(self, sample: Sample) -> None:
        """Follow the largest backlog that the device, the disk and the owner allow."""
        learned = self._learned
        active = self._pressed | self._written
        # The others' gates are the owner's, and they may have no level below level 0.
        levelled = self._levelled(sample)
        sharing = [cf for cf in levelled if cf.name in active]
        room = self._bounds.room(sharing, sample, learned.free, is_merging=self._merges.go_on)
        disk = DiskFacts(self._device(sample), room, learned.kept, max(1, len(sharing)))
        for cf in levelled:
            wanted = flood_memtables(cf, sample, self._spare_bytes, self._parameters)[0]
            self._bounds.fit_files(cf, sample, wanted, disk)
            memtable_bytes, may_grow = self._memtables(cf, sample)[0], cf.name in self._pressed
            self._bounds.follow(cf, sample, memtable_bytes, disk, may_grow=may_grow)

    def _device(self, sample: Sample) -> float | None:
        """Return what flushes and compactions may count on, in bytes/s: what was seen, or the share of it.

        Before anything was seen, it is the limit that the owner gives as the device's bandwidth. In its first seconds
        the arbiter has seen less than the law that is in a flood.
        """
        seen, allowance = self._learned.device or self._limiter.bandwidth(sample), sample.allowance
        if allowance is None or allowance.device_bytes_per_s is None:
            return seen
        return max(allowance.device_bytes_per_s, (seen or 0.0) * max(allowance.device_share, allowance.fair_share))

    def _gate(self, cf: ColumnFamilySample, sample: Sample) -> Level0Gate:
        bound = self._bounds.of.get(cf.name, NO_BOUND)
        if cf.name not in self._pressed and not self._is_read:
            return Level0Gate.put_off(cf, sample, bound)
        if room := self._room(sample):
            bound = opened_for(room, cf, sample, bound, is_merging=self._merges.are_in(cf.name))
        return Level0Gate.in_flood(cf, sample, bound, is_read=self._is_read)

    def _room(self, sample: Sample) -> float:
        """Return the bytes of the base level that a merge may write for each of level 0, to fit beside the clients.

        0 where that does not fit, is not known, or is left to whoever reads or to neighbours, and outside a flood.
        """
        if not self._merges_early(sample):
            return 0.0
        return self._demand.room(self._clients_device(sample), self._learned.writes)

    def _merges_early(self, sample: Sample) -> bool:
        is_scarce = sample.allowance is not None and sample.allowance.is_scarce
        return self._regime in ADMITS and not self._is_read and not is_scarce

    def _clients_device(self, sample: Sample) -> float:
        """Return what the device may be counted on for, in bytes/s as clients write them; 0 if it is not known."""
        return (self._device(sample) or 0.0) / self._learned.kept

    # -- values

    def _wanted(self, sample: Sample) -> Iterator[Setting]:
        if self._regime is Regime.CALM:
            yield from self._owners(sample)
            return
        yield from self._threads(sample) if self._pressed else owners_threads(sample)
        is_constant = self._debt.is_constant
        for cf in sample.column_families:
            if cf.name not in self._bounds.of:  # or not any more, because its owner has disabled compaction
                yield from released(_OF_FAMILY, cf, sample)
            elif self._regime is Regime.EBB:
                yield from ebbing(cf, sample, is_merging=self._merges.are_in(cf.name), is_constant=is_constant)
            else:
                yield from self._flooding(cf, sample)

    def _threads(self, sample: Sample) -> Iterator[Setting]:
        """Take flush slots and wide merges, unless that would take the device from reads or from a neighbour."""
        p, allowed = self._parameters, None if sample.allowance is None else sample.allowance.width
        slots, width = 1, 1
        if not self._is_read:
            slots = 1 if self._regime is Regime.EBB else min(p.flush_slots, allowed or p.flush_slots)
            # Where merges fit beside the clients, wide ones would only take the device from their flushes.
            width = 1 if self._is_narrow(sample) else min(p.subcompactions, allowed or p.subcompactions)
        files = max((self._gate(cf, sample).stop for cf in self._flooded(sample)), default=1)
        is_owners = self._is_read or allowed == 1
        return flood_threads(sample, p, slots=slots, width=width, files=files, is_owners=is_owners)

    def _is_narrow(self, sample: Sample) -> bool:
        now, owners = value_now(Knob.SUBCOMPACTIONS, sample) or 1, owners_value(Knob.SUBCOMPACTIONS, sample) or 1
        return self._merges_early(sample) and self._demand.leaves_room(
            self._clients_device(sample), self._learned.writes, already=now <= owners
        )

    def _owners(self, sample: Sample) -> Iterator[Setting]:
        """Give everything back."""
        yield from owners_threads(sample)
        for cf in sample.column_families:
            yield from released(_OF_FAMILY, cf, sample)

    def _flooding(self, cf: ColumnFamilySample, sample: Sample) -> Iterator[Setting]:
        gate, (size, number) = self._gate(cf, sample), self._memtables(cf, sample)
        owners = owners_value(Knob.LEVEL0_SLOWDOWN, sample, cf.name) or 0
        values = {
            Knob.MEMTABLE_SIZE: size,
            Knob.MEMTABLE_NUMBER: number,
            Knob.LEVEL_BASE_SIZE: gate.base_bytes,
            Knob.LEVEL0_TRIGGER: gate.trigger,
            Knob.LEVEL0_SLOWDOWN: owners if gate.slowdown == OUT_OF_THE_WAY else gate.slowdown,
            Knob.LEVEL0_STOP: gate.stop,
        }
        yield from (Setting(knob, value, cf.name) for knob, value in values.items())

    def _memtables(self, cf: ColumnFamilySample, sample: Sample) -> tuple[int, int]:
        """Return the size in bytes and the number of memtables."""
        if cf.name not in self._pressed:
            return owners_memtables(cf, sample)
        largest = self._bounds.largest.get(cf.name)
        return flood_memtables(cf, sample, self._spare_bytes, self._parameters, largest=largest)

    # -- admission

    def _rates(self, sample: Sample) -> tuple[Setting, ...]:
        """Hold the rate in a flood, and otherwise give the owner's back."""
        is_held = self._regime in ADMITS and self._is_needed
        times = _FAR_TIMES if is_held and not self._delays_soon(sample) else 1
        return self._rate.settings(sample, self._admitted(sample) if is_held else None, times=times)

    def _delays_soon(self, sample: Sample) -> bool:
        """Whether RocksDB delays writes, or will soon: by level 0, pending bytes, or the last memtable but one."""
        return sample.condition != "normal" or any(
            cf.l0_files + cf.immutable_memtables >= _NEAR_SLOPE * self._gate(cf, sample).slowdown
            or cf.immutable_memtables >= cf.options.max_write_buffer_number - 2
            or pending_share(cf) < 1
            for cf in self._flooded(sample)
        )

    def _admitted(self, sample: Sample) -> int | None:
        """Return the rate at which RocksDB delays writes, in bytes/s, set before it does; None for the owner's.

        Where sorted runs of universal compaction delay writes, RocksDB's own rate is their only brake before a stop.
        """
        flooded = self._levelled(sample)
        clients = self._learned.clients
        if clients is None or not flooded or delays_by_runs(sample):
            return None
        rate = min(self._allowed(cf, sample, clients) for cf in flooded)
        share = min(map(pending_share, sample.column_families))
        if share < 1:  # a rate that nobody writes at, as an owner's may be, slows nobody down
            rate = min(rate, max(clients, self._clients_device(sample)))
        return max(FLOOR_BYTES_PER_S, int(share * rate))

    def _allowed(self, cf: ColumnFamilySample, sample: Sample, clients: float) -> float:
        """Return what this column family's level 0 allows all writers, in bytes/s."""
        slope = None
        if device := self._clients_device(sample):
            flow = Level0Flow(device, clients, self._file_bytes(cf), self._merges.left_s(cf.name, sample))
            slope = self._gate(cf, sample).slope(cf, sample, flow)
        if slope is not None:
            return slope
        # Before the slope RocksDB delays only when the last memtable fills: then flushes say what lasts.
        flushes = (self._learned.flushes or 0.0) / self._learned.kept
        return max(clients / 2, flushes or clients, owners_rate(sample) or 0)

    def _file_bytes(self, cf: ColumnFamilySample) -> float:
        """Return what all clients write until another file comes into this column family's level 0, in bytes."""
        size = cf.level_bytes[0] / max(1, cf.l0_files) / self._learned.kept if cf.level_bytes else 0.0
        if self._learned.has_blobs:
            size = max(size, cf.options.write_buffer_size_bytes)
        return size / self._learned.flushed.of(cf.name)

    @property
    def _reason(self) -> str:
        return COLLECTS if self._regime is Regime.FLOOD and not self._is_needed else REASONS[self._regime]

    def _signal(self, sample: Sample) -> str:
        flooded = self._flooded(sample) or list(sample.column_families)
        worst = max(flooded, key=lambda cf: (cf.l0_files, cf.immutable_memtables))
        device = "not learned yet" if self._learned.device is None else f"{exact_size(int(self._learned.device))}/s"
        reads = "reads matter" if self._is_read else "nobody reads"
        if self._room(sample):
            reads += ", merges fit beside the clients"
        if self._parameters.limiter:
            reads += f", clients read {exact_size(int(self._limiter.disk_reads))}/s from the disks"
        return (
            f"column family {worst.name}: {worst.l0_files} L0 files, {worst.immutable_memtables} immutable memtables; "
            f"device {device}, clients write {exact_size(int(self._learned.writes))}/s, {reads}"
        )
