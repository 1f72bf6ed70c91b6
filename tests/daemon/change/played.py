"""A session played as the daemon's loop plays it, with a look at every state there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.bounds import out_of_bounds
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.guards.guard import Beside
from adocd.daemon.change.guards.memory import worst_case_bytes
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.planner import ChangePlan
from adocd.daemon.change.way_back import BASE, DELAYED_WRITE_RATE, restorable
from adocd.daemon.control.steering import Scope, Steering, SteeringStep
from adocd.model.change import Change, DatabaseChange, RestoreStep, ThreadPoolChange
from adocd.model.knob import MIB
from adocd.model.options import DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values, flat, of_family
from tests.daemon.change.rocksdb_model import (
    HARD,
    SLOWDOWN,
    STOP,
    SWITCH,
    TRIGGER,
    RocksDB,
    named,
    out_of_order,
)
from tests.daemon.change.states import Moment, Pile
from tests.daemon.steered import next_step, want

BUDGET_BYTES = 2048 * MIB
BESIDE = Beside(budget_bytes=BUDGET_BYTES)
_TICK_S = 1.0


class Played:
    """One database under control, with what must hold at every moment asserted."""

    def __init__(self, originals: Values, compaction_off_s: float) -> None:
        self.originals = dict(originals)
        self.database = RocksDB(originals)
        self.ledger = Ledger(originals)
        self.limits = CompactionLimits(off_s=compaction_off_s)
        self.steering = Steering(self.ledger, GUARDS, self.limits)
        self.pins: Values = {}
        #: The last plan's way back, None until there is one.
        self.way_back: tuple[RestoreStep, ...] | None = None
        self.now_s = 100.0
        self._anything_rejected = False
        #: How often the rate that a change carried has risen again.
        self.rises = 0
        self._on_s = dict.fromkeys(self.database.families, self.now_s)

    def live(self, moment: Moment) -> None:
        """Live through one cycle."""
        self._pile_up(moment.pile)
        self.database.delay(moment.delayed_rate, moment.looks)
        self.pins = self.pins if moment.pins is None else moment.pins
        if moment.forgets:
            self.steering.forget_wishes()
        want(self.steering, moment.wishes)
        sample, step = self.look("back" if moment.journal_is_full else "all")
        if moment.journal_is_full:
            assert all(self._leads_back(option, value) for option, value in step.plan.sent.items())
        self.send(step.plan, sample, moment.calls)
        self._compaction_is_off_within_limits()

    def look(self, scope: Scope = "all") -> tuple[Sample, SteeringStep]:
        """Take a sample and say what is next."""
        self.now_s += _TICK_S
        sample = self.database.sample(self.now_s)
        current = flat(sample.options)
        assert current == self.database.values
        self.steering.observe(sample)
        self.ledger.watch(current)
        assert self.ledger.deviations(current) == ()
        return sample, next_step(self.steering, self.pins, sample, self.now_s, BESIDE, scope)

    def send(self, plan: ChangePlan, sample: Sample, calls: int | None = None) -> None:
        """Send a plan, of which `calls` are executed and the rest is rejected."""
        self._is_fit_to_send(plan)
        if not plan.changes:
            return
        before = dict(self.database.values)
        self.ledger.sending(plan.sent, before)
        self.way_back = plan.restore
        for number, change in enumerate(plan.changes[:calls]):
            self._execute(change, after=plan.changes[:number])
        assert self._growth(before) <= max(0, BUDGET_BYTES - worst_case_bytes(sample))
        self._still_brakes(sample, plan.changes[:calls])
        there = {option: value for option, value in plan.sent.items() if self.database.values[option] == value}
        self.ledger.seen(there)
        if calls is not None and calls < len(plan.changes):
            self._anything_rejected = True
            self.steering.rejected({o: v for o, v in plan.sent.items() if o not in there}, self.now_s)

    def settle(self, plans: int) -> None:
        """Let everything drain and nothing be rejected: within so many plans there is nothing left to do."""
        self.now_s += 61.0
        for _ in range(plans):
            self.database.drain()
            sample, step = self.look()
            self.send(step.plan, sample)
        self.database.drain()
        _, step = self.look()
        assert step.plan.changes == ()
        assert step.plan.held == ()
        refused = {option for refusal in step.refusals for option in refusal.options}
        for option in self.database.values.keys() - refused:
            assert self.database.values[option] == self._wished(option), option

    def lead_back(self, piles: list[Pile]) -> None:
        """Let the agent execute the last way back while nobody watches, and see where it leads."""
        if self.way_back is None:
            assert self.database.values == self.originals
            return
        names = {option for step in self.way_back for option in named(step.change)}
        assert {o for o in self._changed() if o.scope != "thread_pool"} <= names
        for number, step in enumerate(self.way_back):
            self._pile_up(piles[number % len(piles)])
            self._undo(step)
        ours = {o for o in self._changed() if o.scope != "thread_pool" or o in self.ledger.ours}
        expected = {option: self._original(option) for option in ours}
        assert {option: self.database.values[option] for option in ours} == expected

    # -- what must hold

    def _is_fit_to_send(self, plan: ChangePlan) -> None:
        values = self.database.values
        sent = [(option, value) for change in plan.changes for option, value in named(change).items()]
        assert dict(sent) == plan.sent
        assert len(sent) == len(plan.sent)
        assert all(values[option] != value for option, value in sent), "nothing is sent that changes nothing"
        places = [(option.scope, option.name) for change in plan.changes for option in list(named(change))[:1]]
        assert len(places) == len(set(places)), "all options of a family travel in one call"
        places = [place for place in places if place[0] != "rate_limiter"]  # it waits for nothing
        if ("database", None) in places:
            widens = any(
                int(value) > int(values[option])
                for option, value in plan.sent.items()
                if option.option in ("max_subcompactions", "max_background_jobs")
            )
            assert places[-1] == ("database", None) or (widens and places[0] == ("database", None))
        for option, value in sent:
            assert value == self._original(option) or out_of_bounds(option, value) is None

    def _leads_back(self, option: OptionName, value: str) -> bool:
        """Whether a value is an original, or keeps writes going until the original's turn comes.

        A trigger that waits for level 0 comes down with its slowdown, which it must not exceed, and a slowdown with it.
        """
        original, now = self._original(option), self.database.values[option]
        if option.option in (TRIGGER, SLOWDOWN) and int(original) <= int(value) <= int(now):
            return True
        return value == original or option.option in (STOP, HARD, BASE, DELAYED_WRITE_RATE.option)

    def _still_brakes(self, sample: Sample, changes: tuple[Change, ...]) -> None:
        """Any effective SetDBOptions puts the delayed rate to its maximum, so that must be the rate in force.

        Or a quarter more, where RocksDB has looked since and would have gone on.
        """
        rate = sample.delayed_write_rate_bytes_per_s
        if rate > 0 and any(change.scope == "database" for change in changes):
            wished = {**self.steering.wanted, **self.pins}.get(DELAYED_WRITE_RATE)
            floor = DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S
            now = self.database.values[DELAYED_WRITE_RATE]
            rises = self.database.looks > 0 and rate == int(sample.values[DELAYED_WRITE_RATE])
            self.rises += rises and int(now) > rate
            assert now == wished or int(now) <= max(rate * 5 // 4 if rises else rate, floor)

    def _compaction_is_off_within_limits(self) -> None:
        """What its owner has on is not off for too long, too deep or too large; what was rejected must wait."""
        for family in self.database.families:
            if self.database.is_on(family):
                self._on_s[family] = self.now_s
            elif self.originals[of_family(family, SWITCH)] == "false" and not self._anything_rejected:
                assert self.now_s - self._on_s[family] <= self.limits.off_s + _TICK_S
                assert self.database.l0[family] < self.limits.l0_files
                assert self.database.pending[family] < self.limits.pending_bytes

    def _execute(self, change: Change, after: Sequence[Change] = ()) -> None:
        stops, stopped = self._stops(), self.database.stopped()
        # A pool may have grown to what is wanted with the max_background_jobs of the same plan.
        may_have_grown = isinstance(change, ThreadPoolChange) and any(isinstance(c, DatabaseChange) for c in after)
        assert self.database.apply(change) or may_have_grown
        self._is_well(stops, stopped)

    def _undo(self, step: RestoreStep) -> None:
        if step.when is not None:
            switch = of_family(step.when.column_family, SWITCH)
            assert self.database.values[switch] == self.originals[switch], "nothing waits for what we keep off"
            self.database.wait_for(step.when)
        stops, stopped = self._stops(), self.database.stopped()
        self.database.apply(step.change)
        self._is_well(stops, stopped)

    def _is_well(self, stops: Mapping[str, int], stopped: set[tuple[str, str]]) -> None:
        """Every state in between is in order, and no call stops writes."""
        assert not out_of_order(self.database.values)
        assert self.database.stopped() <= stopped
        for family, stop in self._stops().items():
            assert stop >= stops[family] or stop > self.database.l0[family]

    # -- in here

    def _pile_up(self, pile: Pile) -> None:
        self.database.l0 |= pile.l0
        self.database.pending |= pile.pending
        self.database.immutable |= pile.immutable

    def _stops(self) -> dict[str, int]:
        return {family: self.database.option(family, STOP) for family in self.database.families}

    def _changed(self) -> set[OptionName]:
        return {option for option, value in self.database.values.items() if value != self.originals[option]}

    def _original(self, option: OptionName) -> str:
        """Say where an option goes back to; pools may have grown by themselves before they were ours."""
        originals = self.ledger.baseline if option.scope == "thread_pool" else self.originals
        return restorable(option, originals[option])

    def _wished(self, option: OptionName) -> str:
        wished = {**self.steering.wanted, **self.pins}.get(option)
        if wished is not None:
            return wished
        return self._original(option) if option in self.ledger.ours else self.database.values[option]

    def _growth(self, before: Values) -> int:
        """Sum up by how much memtables may grow, those left out that are at their originals again."""
        grown = 0
        for family in self.database.families:
            names = [of_family(family, option) for option in ("write_buffer_size", "max_write_buffer_number")]
            now, then = ([int(values[name]) for name in names] for values in (self.database.values, before))
            if any(self.database.values[name] != self.originals[name] for name in names):
                grown += max(0, now[0] * now[1] - then[0] * then[1])
        return grown
