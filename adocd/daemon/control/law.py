"""A policy running on one session: its laws, each law's window, and the shaping of their decisions."""

import logging
from collections.abc import Set
from dataclasses import replace

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.controllers.beside import as_if_alone, others_turn
from adocd.controllers.composite import joined, parts_of
from adocd.controllers.plugins import in_words
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.judge import Judge
from adocd.daemon.change.reach import Reach, why_not
from adocd.daemon.change.shaping import Shaper
from adocd.daemon.change.sound import what_is_wrong
from adocd.daemon.control import bounded
from adocd.model.capabilities import Capabilities
from adocd.model.decision import Decision, Setting
from adocd.model.knob import Knob
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues, Snapshot
from adocd.model.values import OptionName, Values
from adocd.probes.statistics import Made, StatisticsProbe

_log = logging.getLogger(__name__)
#: A law may be called this much before its period has passed, so that jitter does not cost it a whole tick: a tenth of
#: the period, but at most 0.1 s, because a long period spans many ticks.
_EARLY_SHARE, _EARLY_S = 0.1, 0.1
#: Longest time that a law may take to decide. It normally needs microseconds; one that takes this long never returns,
#: or its load slows down every target.
STEP_LIMIT_S = 2.0


class LawFailed(Exception):
    """A law raised, took too long or returned no valid decision; the message is one sentence with its name."""


class Law:
    """A policy's controllers with fresh state; raises registry.PolicyError when the policy is invalid.

    `step_limit_s` limits how long each may take to decide; None sets no limit (adocd.daemon.control.bounded).
    """

    def __init__(self, policy: Policy, capabilities: Capabilities, step_limit_s: float | None = None) -> None:
        self.policy = policy
        self.controller = registry.create(policy)
        self.shaper = Shaper(policy.shaping)
        self.judge = Judge(policy.shaping.judge_s)
        self.reach = Reach()
        #: Why the laws that turn the rate limiter no longer decide; None while they may.
        self.limited: str | None = None
        laws = parts_of(self.controller)
        self._pins: Values | None = None
        self._parts = tuple(_Part(part, capabilities, step_limit_s, others_turn(part, laws)) for part in laws)

    @property
    def declined(self) -> str | None:
        """Why the policy deliberately decides nothing, in one sentence; None while it may decide."""
        whys = [f"{part.controller.name} decides nothing: {why}" for part in self._parts if (why := part.declined)]
        return "; ".join(whys) or None

    @property
    def given_up(self) -> frozenset[Knob]:
        """The knobs of the laws that deliberately decide nothing; these knobs are restored."""
        return frozenset(knob for part in self._parts if part.declined for knob in part.controller.knobs)

    @property
    def wakes(self) -> frozenset[str]:
        """The kinds of events at which a law is asked at once."""
        return frozenset(kind for part in self._parts if self._is_asked(part) for kind in part.wakes)

    def observe(self, snapshot: Snapshot) -> None:
        """Collect the events of every snapshot, because a law's window can span several snapshots."""
        for part in self._parts:
            if self._is_asked(part):
                part.observe(snapshot)

    def _is_asked(self, part: "_Part") -> bool:
        return not part.is_stopped and bool(part.controller.knobs or self.policy.dry_run)

    def pinned(self, pins: Values) -> None:
        """Take in the operators' current pins; each law is told that it does not control those options."""
        if self._pins not in (None, pins):
            self.judge.begin_anew()  # what follows may be the pin's doing
        self._pins = dict(pins)
        for part in self._parts:
            part.pinned(pins.keys())

    async def step(
        self, snapshot: Snapshot, originals: OptionValues, made: Made | None = None, seen: Sample | None = None
    ) -> tuple[Decision, Sample] | None:
        """Ask each law whose period has passed, with a sample that covers the time since it was last asked.

        The loop may tick faster than a law's period, yet the law must see its whole window; only events that the law
        wakes at give it a shorter one. Returns the decision and the sample behind it; None if there is none. `made` is
        the loop's own sample of this snapshot, which a law that is asked in every tick reuses. `seen` is that sample
        with what the daemon knows beside the snapshot: the surroundings and the allowance, which a law sees as they are
        now. Raises LawFailed.
        """
        decisions, last = [], None
        for part in self._parts:
            sample = None if part.is_stopped else part.measure(snapshot, originals, made)
            if sample is None:
                continue
            if seen is not None:
                sample = replace(sample, surroundings=seen.surroundings, allowance=seen.allowance)
            decision = await part.step(sample)
            if decision is not None:
                decisions.append(decision)
                last = sample
        decision = joined(decisions)
        return None if decision is None or last is None else (decision, last)

    def shape(self, settings: tuple[Setting, ...], window: Sample) -> tuple[tuple[Setting, ...], tuple[Note, ...]]:
        """Return what the judge and shaping leave of a decision's settings, and their notes."""
        kept, rests = self.judge.rest(settings, window)
        shaped, notes = self.shaper.shape(kept, window)
        return shaped, (*rests, *notes)

    def stop_limiting(self, why: str) -> None:
        """Stop asking the laws that turn the rate limiter, because something else changed it.

        Those that can do without it go on, and leave it alone.

        RocksDB has no getter for auto_tuned. If it is on, the law and RocksDB would undo each other's changes for ever.
        """
        self.limited = why
        for part in self._parts:
            if Knob.RATE_LIMIT in part.controller.optional_knobs:
                part.leaves_limiter = True
            elif Knob.RATE_LIMIT in part.controller.knobs:
                part.is_stopped = True
                part.declined = (
                    f"{why}, or the limiter's auto_tuned is on; open the database without it, and set the policy again"
                )

    def interrupt(self) -> None:
        """Note that no law can be asked now: once one can, its next window begins afresh."""
        for part in self._parts:
            part.is_interrupted = True

    def measure(self, snapshot: Snapshot) -> None:
        """Start the windows that have not started yet at this snapshot."""
        for part in self._parts:
            part.measure(snapshot)


class _Part:
    """One law and its window."""

    def __init__(
        self,
        controller: Controller,
        capabilities: Capabilities,
        step_limit_s: float | None,
        others_turn: frozenset[Knob],
    ) -> None:
        self.controller = controller
        #: Options that this law reads and another law of the policy turns.
        self._others_turn = others_turn
        #: Converted to text, because a third-party law may put anything there.
        self.declined: str | None = None
        self.is_stopped = False
        #: Whether something else turns the rate limiter, which this law can do without.
        self.leaves_limiter = False
        #: Whether it could not be asked since its last window: the next one does not span that time.
        self.is_interrupted = False
        #: Of the events that it wants to be asked at, those that the agent can wait for.
        self.wakes = self.controller.wakes & frozenset(capabilities.waits_for)
        self._capabilities = capabilities
        self._step_limit_s = step_limit_s
        self._window = StatisticsProbe(capabilities)
        self._period_began_s: float | None = None
        #: Whether an event has come, since the law was last asked, at which it is asked at once.
        self._is_woken = False
        #: Whether it was given a whole period, so that means have a first value to begin with.
        self._has_measured = False
        self._pinned: set[OptionName] = set()

    def observe(self, snapshot: Snapshot) -> None:
        if self.is_interrupted:
            return
        self._window.observe(snapshot)
        if not self._is_woken and self.wakes:
            self._is_woken = any(event.kind in self.wakes for event in snapshot.events)

    def pinned(self, options: Set[OptionName]) -> None:
        self._pinned = set(options) if self.is_interrupted else self._pinned | options

    def measure(
        self, snapshot: Snapshot, originals: OptionValues | None = None, made: Made | None = None
    ) -> Sample | None:
        """Return the window's sample when the window is over; the first call starts the window.

        So does the first call after a time in which the law could not be asked: what the database did then, without
        the law, says nothing of what it does now.

        An event that wakes the law ends its window early, but its first one. The period goes on as if nothing had come.
        """
        if self.is_interrupted:
            self.is_interrupted, self._period_began_s = False, None
            self._window = StatisticsProbe(self._capabilities)
        began_s, period_s = self._period_began_s, self.controller.period_s
        early_s = min(_EARLY_SHARE * period_s, _EARLY_S)
        is_over = began_s is None or snapshot.monotonic_s - began_s >= period_s - early_s
        if not is_over and not (self._is_woken and self._has_measured):
            return None
        if is_over:
            self._period_began_s, self._has_measured = snapshot.monotonic_s, began_s is not None
        self._is_woken = False
        sample = self._window.sample(snapshot, originals, made)
        if sample is None:
            return None
        pinned, self._pinned = frozenset(self._pinned), set()
        return replace(sample, pinned=pinned) if pinned else sample

    async def step(self, sample: Sample) -> Decision | None:
        name = self.controller.name
        try:
            decided, wrong, self.declined = await bounded.call(lambda: self._ask(sample), self._step_limit_s)
        except bounded.TookTooLong as error:
            raise LawFailed(f"{name} failed: {error} to decide") from None
        except bounded.NotStarted as error:
            _log.warning("%s is not asked: %s", name, error)
            return None
        except bounded.Raised as raised:
            _log.error("%s raised", name, exc_info=raised.error)
            raise LawFailed(f"{name} failed: it raised {in_words(raised.error)}") from raised.error
        if wrong is not None:
            raise LawFailed(f"{name} failed: {wrong}")
        return None if decided is None else self._possible(decided, sample)

    def _ask(self, sample: Sample) -> tuple[Decision | None, str | None, str | None]:
        """Ask the law, in its thread: returns its decision, what is wrong with it, and why it declined."""
        decided: Decision | None = self.controller.step(as_if_alone(sample, self._others_turn))
        declined: object = self.controller.declined
        wrong = what_is_wrong(decided, self.controller, sample)
        return decided, wrong, declined if isinstance(declined, str) else None

    def _possible(self, decision: Decision, sample: Sample) -> Decision | None:
        """Drop settings of optional knobs that cannot be turned here."""
        settings = tuple(setting for setting in decision.settings if self._is_possible(setting.knob, sample))
        return replace(decision, settings=settings) if settings or not decision.settings else None

    def _is_possible(self, knob: Knob, sample: Sample) -> bool:
        if knob not in self.controller.optional_knobs:
            return True
        is_left = knob is Knob.RATE_LIMIT and self.leaves_limiter
        return not is_left and why_not(knob, sample, self._capabilities) is None
