"""What the options are to be: the law's wishes, then the operator's pins, then the safety guards, then a plan. Pure."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal

from adocd.daemon.change import planner, safety
from adocd.daemon.change.brake import Brake
from adocd.daemon.change.compaction import CompactionGuard, CompactionLimits
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.planner import Plan
from adocd.daemon.change.safety import Guard, Refusal
from adocd.daemon.change.translate import options_of
from adocd.model.decision import Decision, Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values

#: What was rejected is not sent again before this; a value that leads back sooner.
_REJECTED_FOR_S = 60.0
_REJECTED_BACK_FOR_S = 10.0

Origin = Literal["law", "override", "baseline"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is left of a decision: its settings, their options, and what the guards said."""

    settings: tuple[Setting, ...]
    options: Values
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """Wishes that have just become the law's, and what it wanted of the same options before; None: nothing."""

    wishes: Values
    before: Mapping[OptionName, str | None]
    #: Which law's they are: see Steering.forget_wishes.
    era: int


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be sent next, where each value comes from, and what a safety guard did not let through."""

    plan: Plan
    origins: Mapping[OptionName, Origin]
    refusals: tuple[Refusal, ...]
    #: Whether it is a restore, or a guard's doing: it is sent whatever the journal says.
    leads_back: bool = False
    #: Whether writes were delayed when it was made.
    is_delayed: bool = False


class Steering:
    """One session's wishes."""

    def __init__(self, ledger: Ledger, guards: tuple[Guard, ...], limits: CompactionLimits) -> None:
        self.ledger = ledger
        #: What the law wants, of everything it has wanted so far.
        self.wanted: dict[OptionName, str] = {}
        #: Counts how often all wishes were forgotten.
        self._era = 0
        self._compaction = CompactionGuard(limits)
        self._guards: tuple[Guard, ...] = (*guards, self._compaction)
        self._brake = Brake()
        self._rejected: dict[OptionName, tuple[str, float]] = {}

    def limit_compaction(self, limits: CompactionLimits) -> None:
        """Set other limits for how long compaction may stay off; what was seen so far counts."""
        self._compaction.limits = limits

    @property
    def guards(self) -> tuple[Guard, ...]:
        """All safety guards of this session."""
        return self._guards

    def observe(self, sample: Sample) -> None:
        """Take in a sample, whatever will be done about it."""
        self._compaction.observe(sample)
        self._brake.observe(sample)

    def weigh(self, decision: Decision, pins: Values, sample: Sample) -> Wishes:
        """Say what of a decision may be done; changes nothing.

        A pin takes a whole knob from the law: the other options that carry it have no meaning alone.
        """
        groups = [options_of(setting, sample, self.ledger.baseline) for setting in decision.settings]
        wishes = {option: value for group in groups for option, value in group.items()}
        originals = self._originals()
        goal = self._goal({**self.wanted, **wishes}, pins, originals)
        verdict = safety.check(self._guards, goal, sample, groups, originals)
        refusals = [refusal for refusal in verdict.refusals if refusal.options & wishes.keys()]
        refused = {option for refusal in refusals for option in refusal.options}
        refused |= pins.keys()
        kept = [(s, g) for s, g in zip(decision.settings, groups, strict=True) if g and not refused & g.keys()]
        options = {option: value for _, group in kept for option, value in group.items()}
        pinned = sorted({f"override: {o} is pinned to {pins[o]}" for o in wishes if o in pins})
        return Wishes(
            tuple(setting for setting, _ in kept), options, (*pinned, *(str(refusal) for refusal in refusals))
        )

    def take(self, wishes: Wishes) -> Taken:
        """Want what is left of a decision from now on."""
        before = {option: self.wanted.get(option) for option in wishes.options}
        self.wanted |= wishes.options
        return Taken(wishes.options, before, self._era)

    def take_back(self, taken: Taken) -> None:
        """Want what was wanted before a decision that could not be sent.

        What has been forgotten since stays forgotten: the answer to a change can come after its law has gone.
        """
        if taken.era != self._era:
            return
        for option, value in taken.before.items():
            if self.wanted.get(option) != taken.wishes[option]:
                continue
            if value is None:
                self.wanted.pop(option, None)
            else:
                self.wanted[option] = value

    def next_step(self, pins: Values, sample: Sample, now_s: float) -> Step:
        """Say what to send now; what a guard refuses is no longer wanted by the law."""
        current, originals = sample.values, self._originals()
        goal = self._not_rejected(self._goal(self.wanted, pins, originals), now_s)
        verdict = safety.check(self._guards, goal, sample, exempt=originals)
        for refusal in verdict.refusals:
            for option in refusal.options:
                self.wanted.pop(option, None)
        values = self._not_rejected(verdict.values, now_s)  # what a guard has put in a place, too
        ledger = self.ledger
        # Most cycles end here, and a way back of hundreds of options that nobody sends is the dearest part of a plan.
        is_there = all(current.get(option, value) == value for option, value in values.items())
        plan = planner.NOTHING
        if not is_there:
            rise = self._brake.may_rise_to
            plan = planner.plan(values, sample, ledger.baseline, ledger.to_name(current), rise)
        origins: dict[OptionName, Origin] = {
            option: "override" if option in pins else "law" if option in self.wanted else "baseline"
            for option in plan.sent
        }
        return Step(plan, origins, verdict.refusals, is_delayed=planner.is_delayed(sample))

    def refusal_of(self, option: OptionName, value: str, pins: Values, sample: Sample) -> str | None:
        """Say which safety guard would refuse a pin now, and why; None when none would."""
        originals = self._originals()
        goal = self._goal(self.wanted, {**pins, option: value}, originals)
        verdict = safety.check(self._guards, goal, sample, exempt=originals)
        return next((str(refusal) for refusal in verdict.refusals if option in refusal.options), None)

    def rejected(self, sent: Values, now_s: float) -> None:
        """Remember what the database did not take: the law forgets it, and nobody sends it again for a while."""
        back = self._originals()
        for option, value in sent.items():
            self.wanted.pop(option, None)
            for_s = _REJECTED_BACK_FOR_S if back.get(option) == value else _REJECTED_FOR_S
            self._rejected[option] = (value, now_s + for_s)

    def only_back(self, step: Step, sample: Sample) -> Step:
        """Leave of a step what leads back to the originals."""
        back = self._back(self._originals())
        return self._only({o for o, value in step.plan.sent.items() if back.get(o) == value}, step, sample)

    def only_safety(self, step: Step, sample: Sample) -> Step:
        """Leave of a step what a safety guard has put in the place of something else."""
        return self._only({option for refusal in step.refusals for option in refusal.instead}, step, sample)

    def repeated(self, families: Iterable[str], sample: Sample) -> Plan:
        """Plan to send once more what we have set of these column families."""
        values = {o: v for family in families for o, v in self.ledger.set_of(family, sample.values).items()}
        ledger = self.ledger
        return planner.again(values, sample, ledger.baseline, ledger.to_name(sample.values))

    def rearmed(self, sample: Sample) -> Plan | None:
        """Plan to tell the agent what the host now wants of options that are not ours any more; None when it knows."""
        outdated = self.ledger.outdated(sample.values)
        if not outdated:
            return None
        ledger = self.ledger
        # What it sets is there already: nothing is executed, and the way back is taken over.
        named = ledger.to_name(sample.values) | outdated.keys()
        return replace(planner.again(outdated, sample, ledger.baseline, named), repeat=False, sent={})

    def _only(self, options: Set[OptionName], step: Step, sample: Sample) -> Step:
        goal = {option: value for option, value in step.plan.sent.items() if option in options}
        verdict = safety.check(self._guards, goal, sample, exempt=self._originals())
        ledger = self.ledger
        ours = ledger.to_name(sample.values)
        plan = planner.plan(verdict.values, sample, ledger.baseline, ours)
        origins: dict[OptionName, Origin] = dict.fromkeys(plan.sent, "baseline")
        return Step(plan, origins, (*step.refusals, *verdict.refusals), leads_back=True)

    def forget_wishes(self) -> None:
        """Want nothing any more, so that what is ours goes back."""
        self.wanted.clear()
        self._era += 1

    def forget_families(self, names: Set[str]) -> None:
        """Want nothing any more of column families that are gone: what has their names now is another."""
        for option in [o for o in self.wanted if o.scope == "column_family" and o.name in names]:
            del self.wanted[option]

    def release(self, knobs: Set[Knob], sample: Sample) -> None:
        """Want nothing of these knobs any more, so that what is ours of them goes back."""
        families = [cf.name for cf in sample.column_families]
        for knob in knobs:
            for family in families if KNOBS[knob].scope == "column_family" else [None]:
                for option in options_of(Setting(knob, 0, family), sample, self.ledger.baseline):
                    self.wanted.pop(option, None)

    def _back(self, originals: Values) -> dict[OptionName, str]:
        """Name what is ours with the values that lead back."""
        ours = self.ledger.ours
        return {option: value for option, value in originals.items() if option in ours} if ours else {}

    def _originals(self) -> Values:
        """Name all values that lead back, or leave an option to its owner: no guard stands in the way of those."""
        return self.ledger.way_back

    def _goal(self, wanted: Values, pins: Values, originals: Values) -> dict[OptionName, str]:
        return {**self._back(originals), **wanted, **pins}

    def _not_rejected(self, values: Values, now_s: float) -> dict[OptionName, str]:
        """Leave out what the database has not taken lately; before the guards, so that they see what remains."""
        rejected = {option for option, (value, until_s) in self._rejected.items() if now_s < until_s}
        return {o: value for o, value in values.items() if o not in rejected or self._rejected[o][0] != value}
