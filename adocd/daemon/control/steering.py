"""Which values the options should have: the law's wishes, operators' pins, safety guards, and the plan. Pure."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from adocd.daemon.change import planner
from adocd.daemon.change.brake import Brake
from adocd.daemon.change.guards.compaction import CompactionGuard, CompactionLimits
from adocd.daemon.change.guards.guard import ALONE, Beside, Guard, GuardRefusal, Note, check
from adocd.daemon.change.guards.memory import LatelyWritten
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.planner import ChangePlan
from adocd.daemon.change.translate import may_carry, options_of
from adocd.daemon.change.way_back import restorable
from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values

#: A rejected value is not sent again before this; a value that restores an original may be.
_REJECTED_FOR_S = 60.0
_REJECTED_BACK_FOR_S = 10.0

Origin = Literal["law", "override", "baseline"]
#: How much may be sent: everything wanted; only what restores originals; only what a safety guard substitutes.
Scope = Literal["all", "back", "safety"]


@dataclass(frozen=True, slots=True)
class Guarded:
    """What the guards let through.

    `settings` and `options` are what remains of the given decision, and `notes` what pins and guards said about it.
    `values` holds every option that should have a value, and `refused` those that are no longer wanted.
    """

    settings: tuple[Setting, ...]
    options: Values
    notes: tuple[Note, ...]
    values: Values
    refused: frozenset[OptionName]
    refusals: tuple[GuardRefusal, ...]
    pins: Values
    scope: Scope = "all"


@dataclass(frozen=True, slots=True)
class TakenWishes:
    """The law's new wishes, and its former wishes for those that are not in force yet, None if it had none."""

    wishes: Values
    before: Mapping[OptionName, str | None]
    #: Tells one law's wishes from the next one's: see Steering.forget_wishes.
    era: int


@dataclass(frozen=True, slots=True)
class SteeringStep:
    """What to send next, the origin of each value, and what the safety guards refused."""

    plan: ChangePlan
    origins: Mapping[OptionName, Origin]
    refusals: tuple[GuardRefusal, ...]
    #: Whether it is a restore or a guard's substitute: it is sent even if the journal cannot be written.
    leads_back: bool = False
    #: Whether writes were delayed when the step was planned.
    is_delayed: bool = False


class Steering:
    """One session's wishes."""

    def __init__(self, ledger: Ledger, guards: tuple[Guard, ...], limits: CompactionLimits) -> None:
        self.ledger = ledger
        #: Every value that the law still wants, of this and earlier decisions.
        self.wanted: dict[OptionName, str] = {}
        #: Number of times that all wishes were forgotten.
        self._era = 0
        self._compaction = CompactionGuard(limits)
        self._guards: tuple[Guard, ...] = (*guards, self._compaction)
        self._brake = Brake()
        self.written = LatelyWritten()
        self._rejected: dict[OptionName, tuple[str, float]] = {}
        #: The owner's new values that the agent's restore plan did not have at the last look.
        self._outdated: Values = {}

    def limit_compaction(self, limits: CompactionLimits) -> None:
        """Apply new limits on how long compaction may stay off; the time it has been off so far counts."""
        self._compaction.limits = limits

    def observe(self, sample: Sample) -> None:
        """Take in a sample; called in every cycle, even if nothing is decided."""
        self._compaction.observe(sample, self.ledger.way_back)
        self._brake.observe(sample)
        self.written.observe(sample)

    def guard(
        self,
        settings: Sequence[Setting],
        pins: Values,
        sample: Sample,
        now_s: float,
        beside: Beside = ALONE,
        scope: Scope = "all",
    ) -> Guarded:
        """Ask the guards about everything wanted: a decision's settings, earlier decisions' wishes, and the pins.

        A pin takes a whole knob from the law, because the knob's other options have no meaning alone. A refused setting
        is replaced by what the law wanted before. Changes no state.
        """
        ledger, originals = self.ledger, self.ledger.way_back
        asked = [(s, group) for s in settings if (group := options_of(s, sample, ledger.baseline))]
        pinned = sorted({Note("override", f"{o} is pinned to {pins[o]}") for _, g in asked for o in g if o in pins})
        free = [(setting, group) for setting, group in asked if not pins.keys() & group.keys()]
        standing = self._standing(pins, originals, scope)
        goal = self._not_rejected({**standing, **{o: v for _, group in free for o, v in group.items()}}, now_s)
        groups = [group for _, group in free]
        verdict = check(self._guards, goal, sample, beside, groups=groups, exempt=originals)
        kept = [(setting, group) for setting, group in free if not verdict.refused & group.keys()]
        refusals = verdict.refusals
        if len(kept) < len(free):  # What stays wanted without the refused settings is another goal.
            left = {option: value for _, group in kept for option, value in group.items()}
            verdict = check(self._guards, self._not_rejected(standing | left, now_s), sample, beside, exempt=originals)
            kept = [(setting, group) for setting, group in kept if not verdict.refused & group.keys()]
            refusals += verdict.refusals
        asked_of = {option for group in groups for option in group}
        said = dict.fromkeys(refusal.note for refusal in refusals if refusal.options & asked_of)
        return Guarded(
            settings=tuple(setting for setting, _ in kept),
            options={option: value for _, group in kept for option, value in group.items()},
            notes=(*pinned, *said),
            # A guard's substitute may have been rejected, too.
            values=self._not_rejected(verdict.values, now_s),
            refused=verdict.refused,
            refusals=verdict.refusals,
            pins=pins,
            scope=scope,
        )

    def take(self, guarded: Guarded, current: Values) -> TakenWishes:
        """Make what the guards left of a decision the law's wishes, and drop the wishes that they refused.

        `current` has the values in force. A wish for one of those needs no sending, so it stands however that ends.
        """
        moves = [option for option, value in guarded.options.items() if current.get(option) != value]
        before = {option: self.wanted.get(option) for option in moves}
        for option in guarded.refused:
            self.wanted.pop(option, None)
        self.wanted |= guarded.options
        return TakenWishes(guarded.options, before, self._era)

    def plan(self, guarded: Guarded, sample: Sample) -> SteeringStep:
        """Plan what to send now."""
        ledger, current = self.ledger, sample.values
        # Most cycles end here, before the costliest part of a plan: restore steps for up to hundreds of options.
        is_there = all(current.get(option, value) == value for option, value in guarded.values.items())
        plan = planner.NOTHING
        if not is_there:
            rise = self._brake.may_rise_to if guarded.scope == "all" else None
            plan = planner.plan(guarded.values, sample, ledger.baseline, ledger.to_name(current), rise)
        origins: dict[OptionName, Origin] = {
            option: "override" if option in guarded.pins else "law" if option in self.wanted else "baseline"
            for option in plan.sent
        }
        if guarded.scope != "all":
            origins = dict.fromkeys(plan.sent, "baseline")
        leads_back = guarded.scope != "all"
        return SteeringStep(plan, origins, guarded.refusals, leads_back, is_delayed=sample.is_delayed)

    def take_back(self, taken: TakenWishes) -> None:
        """Return to the wishes from before a decision that could not be sent.

        Wishes forgotten since stay forgotten, because a change's answer can come after its law is gone.
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

    def refusal_of(self, wanted: Values, pins: Values, sample: Sample, beside: Beside = ALONE) -> Note | None:
        """Return which safety guard would refuse one of these values of a pin now, and why; None if none would."""
        originals = self.ledger.way_back
        goal = self._standing({**pins, **wanted}, originals, "all")
        verdict = check(self._guards, goal, sample, beside, exempt=originals)
        return next((refusal.note for refusal in verdict.refusals if refusal.options & wanted.keys()), None)

    def rejected(self, sent: Values, now_s: float) -> None:
        """Remember values that the database rejected: drop them from the wishes and do not resend them for a while."""
        back = self.ledger.way_back
        for option, value in sent.items():
            self.wanted.pop(option, None)
            for_s = _REJECTED_BACK_FOR_S if back.get(option) == value else _REJECTED_FOR_S
            self._rejected[option] = (value, now_s + for_s)

    def repeated(self, families: Iterable[str], sample: Sample) -> ChangePlan:
        """Plan to resend everything that we have set in these column families."""
        values = {o: v for family in families for o, v in self.ledger.set_of(family, sample.values).items()}
        ledger = self.ledger
        return planner.again(values, sample, ledger.baseline, ledger.to_name(sample.values))

    def rearmed(self, sample: Sample) -> ChangePlan | None:
        """Plan to update the agent's restore plan with the owner's new values; None if it has them already."""
        # Its owner may change an option twice in a row, and the agent would set what was read between the two. So only
        # a value that was there at two looks is named.
        before, self._outdated = self._outdated, self.ledger.outdated(sample.values)
        outdated = {option: value for option, value in self._outdated.items() if before.get(option) == value}
        if not outdated:
            return None
        ledger = self.ledger
        # The values are set already, so the agent executes nothing and only takes over the restore plan.
        named = ledger.to_name(sample.values) | outdated.keys()
        return replace(planner.again(outdated, sample, ledger.baseline, named), repeat=False, sent={})

    def forget_wishes(self) -> None:
        """Drop all wishes, so that our changes are undone."""
        self.wanted.clear()
        self._era += 1

    def keep_knobs(self, knobs: Set[Knob]) -> None:
        """Drop the wishes for all other knobs, so that our changes to them are undone."""
        for option in [o for o in self.wanted if not any(may_carry(o, knob) for knob in knobs)]:
            del self.wanted[option]

    def leave_to_owner(self, option: OptionName, former: str) -> None:
        """Drop a wish for the owner's former value: it said no more than that the option is the owner's."""
        if self.wanted.get(option) == restorable(option, former):
            del self.wanted[option]

    def keep_families(self, names: Set[str]) -> None:
        """Drop the wishes for all other column families, which are gone, even if new ones have their names now."""

        def stays(option: OptionName) -> bool:
            return option.scope != "column_family" or option.name in names

        self.wanted = {option: value for option, value in self.wanted.items() if stays(option)}
        self._rejected = {option: value for option, value in self._rejected.items() if stays(option)}

    def release(self, knobs: Set[Knob], sample: Sample) -> None:
        """Drop the wishes for these knobs, so that our changes to them are undone."""
        families = [cf.name for cf in sample.column_families]
        for knob in knobs:
            for family in families if KNOBS[knob].scope == "column_family" else [None]:
                for option in options_of(Setting(knob, 0, family), sample, self.ledger.baseline):
                    self.wanted.pop(option, None)

    def _standing(self, pins: Values, originals: Values, scope: Scope) -> dict[OptionName, str]:
        """Return all values wanted without a new decision, and the originals of our other changes."""
        if scope == "safety":
            return {}
        ours = self.ledger.ours
        back = {option: value for option, value in originals.items() if option in ours} if ours else {}
        standing = {**back, **self.wanted, **pins}
        if scope == "back":
            return {option: value for option, value in standing.items() if back.get(option) == value}
        return standing

    def _not_rejected(self, values: Values, now_s: float) -> dict[OptionName, str]:
        """Leave out recently rejected values; done before the guards, so that they see what is really sent."""
        rejected = {option for option, (value, until_s) in self._rejected.items() if now_s < until_s}
        return {o: value for o, value in values.items() if o not in rejected or self._rejected[o][0] != value}
