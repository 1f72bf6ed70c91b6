"""Runs a policy over a recording: what its law would have decided on the recorded samples. Pure, and open loop.

The law runs as in the daemon's dry run: with the same windows, shaping and safety guards, except for the guards that
look at the machine's current state. Its decisions do not change what it sees next.
"""

from dataclasses import dataclass, replace

from adocd.controllers import registry
from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.guards.guard import Beside, GuardName
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.change.reach import why_not
from adocd.daemon.control.law import Law
from adocd.daemon.control.steering import Steering
from adocd.daemon.control.weighing import Weighed, weigh
from adocd.model.decision import Decision
from adocd.model.decision_record import DecisionRecord, OptionChange
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values, flat
from adocd.probes.statistics import StatisticsProbe
from adocd.recording.format import About, Gap, Look, NotReplayable, Rule
from adocd.recording.found import LISTED, Idle, ReplayedDecision, ReplayResult
from adocd.recording.reader import Entry, Recording


async def run(recording: Recording, policy: Policy) -> ReplayResult:
    """Replay a whole recording. Raises registry.PolicyError, and what Replay.take raises."""
    replay = Replay(policy)
    for entry in recording:
        await replay.take(entry)
    return replay.found


class Replay:
    """One policy on one recording. Raises registry.PolicyError for an invalid policy."""

    def __init__(self, policy: Policy) -> None:
        self.found = ReplayResult()
        self._policy = policy
        registry.create(policy)
        self._session: _Session | None = None
        self._last_s: float | None = None
        self._time_s = 0.0
        #: Whether looks before the next one are missing, and the events in them.
        self._misses = False

    async def take(self, entry: Entry) -> None:
        """Process one entry.

        Raises LawFailed if the law fails on it, and NotReplayable for a snapshot from which no sample can be made.
        """
        match entry:
            case Look():
                await self._look(entry)
            case Gap():
                self.found.gaps += 1
                self.found.missed += entry.missed or 0
                self._misses = True
            case Rule():
                name = entry.policy.controller
                if self.found.recorded_policies[-1:] != [name] and len(self.found.recorded_policies) < LISTED:
                    self.found.recorded_policies.append(name)
            case DecisionRecord():
                self.found.recorded_decisions.add(entry.sequence)

    async def _look(self, look: Look) -> None:
        snapshot = look.snapshot
        self._time_s += 0.0 if self._last_s is None else max(0.0, snapshot.monotonic_s - self._last_s)
        self._last_s = snapshot.monotonic_s
        session = self._session
        if session is None or session.about.session != look.about.session:
            session = self._session = _Session(self._policy, look.about)
            self.found.sessions += 1
            self.found.rocksdb_version = look.about.rocksdb_version
        elif session.about is not look.about:
            session.go_on_with(look.about)
        if self._misses:
            look = replace(look, snapshot=replace(look.snapshot, lost_events=max(1, look.snapshot.lost_events)))
        self._misses = False
        try:
            sample = session.measure(look)
            if sample is not None:
                self.found.samples += 1
                self.found.seconds += sample.interval_s
                await self._ask(session, look, sample)
        except (
            ValueError,
            ArithmeticError,
        ) as error:  # e.g. an option that is not a number; errors of a law are LawFailed
            raise NotReplayable(f"what was recorded at {self._time_s:.1f} s makes no sense: {error}") from None

    async def _ask(self, session: "_Session", look: Look, sample: Sample) -> None:
        law, steering, snapshot = session.law, session.steering, look.snapshot
        name, capabilities = law.controller.name, session.about.capabilities
        for knob in sorted(law.controller.optional_knobs):
            if (why := why_not(knob, sample, capabilities)) is not None:
                self.found.left_out.setdefault(knob, why)
        unreachable = law.reach.lack(law.controller, sample, capabilities)
        if unreachable is not None:
            steering.forget_wishes()
            self._idles(f"{name} cannot work here: {unreachable}")
            return
        asked = await law.step(snapshot, session.ledger.originals)
        steering.release(law.given_up, sample)
        if law.declined is not None:
            self._idles(law.declined)
        if asked is None:
            return
        beside = replace(session.beside, written=steering.written.families)
        weighed = weigh(law, steering, asked, {}, sample, snapshot.monotonic_s, beside)
        if weighed.decision.settings:
            steering.take(weighed.guarded, sample.values)
            self._would_set(session, look, weighed, sample)
        else:
            self._refused(look, asked[0], weighed)

    def _would_set(self, session: "_Session", look: Look, weighed: Weighed, sample: Sample) -> None:
        """Add a decision with the values that are neither in force nor decided before."""
        current, options = sample.values, weighed.guarded.options
        session.follow(current)
        there = {option: session.decided[option].value if option in session.decided else current.get(option)
                 for option in options}  # fmt: skip
        if all(there[option] == value for option, value in options.items()):
            before = [session.decided[option].by for option in options if option in session.decided]
            if before:
                max(before, key=lambda decided: decided.time_s).same_again += 1
            else:
                self.found.unchanged += 1
            return
        changes = tuple(
            OptionChange(option, current[option], value)
            for option, value in options.items()
            if option in current and there[option] != value
        )
        decided = self._decided(look, weighed.decision, weighed, changes)
        for option, value in options.items():
            session.decided[option] = _Wanted(value, current.get(option), decided)
        self._list(decided)

    def _refused(self, look: Look, asked: Decision, weighed: Weighed) -> None:
        """Add a decision of which the guards left nothing; repetitions count once."""
        decided = self._decided(look, asked, weighed, ())
        last = self.found.decisions[-1] if self.found.decisions else None
        if last is not None and last.outcome == "refused" and _is_like(last, decided):
            last.same_again += 1
        else:
            self._list(decided)

    def _decided(
        self, look: Look, decision: Decision, weighed: Weighed, changes: tuple[OptionChange, ...]
    ) -> ReplayedDecision:  # fmt: skip
        return ReplayedDecision(
            time_s=self._time_s,
            monotonic_s=look.snapshot.monotonic_s,
            unix_s=look.unix_s,
            rule=decision.rule,
            signal=decision.signal,
            reason=decision.reason,
            settings=decision.settings,
            changes=changes,
            guards=weighed.notes,
            outcome="would set" if weighed.decision.settings else "refused",
        )

    def _list(self, decided: ReplayedDecision) -> None:
        if len(self.found.decisions) < LISTED:
            self.found.decisions.append(decided)
        else:
            self.found.not_listed += 1

    def _idles(self, why: str) -> None:
        known = self.found.idle
        if len(known) < LISTED and (not known or known[-1].why != why):
            known.append(Idle(self._time_s, why))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An option's decided value, its recorded value at that time, and the decision."""

    value: str
    was: str | None
    by: ReplayedDecision


class _Session:
    """One open of the recorded database, like a session of the daemon but without a lease."""

    def __init__(self, policy: Policy, about: About) -> None:
        self.about = about
        self.law = Law(policy, about.capabilities)
        self.ledger = Ledger(flat(about.originals))
        self.steering = Steering(self.ledger, GUARDS, CompactionLimits())
        self.beside = _beside(about)
        #: Values decided so far; each is kept until the recorded value changes.
        self.decided: dict[OptionName, _Wanted] = {}
        self._probe = StatisticsProbe(about.capabilities)
        self._has_begun = False

    def go_on_with(self, about: About) -> None:
        """Take created and dropped column families, changed originals, and another memory budget."""
        self.about, self.beside = about, _beside(about)
        self.ledger.unheld(flat(about.originals), {})

    def measure(self, look: Look) -> Sample | None:
        """Make a sample; the first snapshot starts the windows, and one from the agent's cache gives no sample."""
        snapshot = look.snapshot
        if not self._has_begun:
            self._has_begun = True
            self.law.measure(snapshot)
        self.law.observe(snapshot)
        sample = self._probe.sample(snapshot)
        if sample is not None:
            self.steering.observe(sample)
        return sample

    def follow(self, current: Values) -> None:
        """Forget decided values of options whose recorded values have changed: the recorded ones count from now on."""
        for option in [o for o, wanted in self.decided.items() if current.get(o) != wanted.was]:
            del self.decided[option]


def _beside(about: About) -> Beside:
    """Return what the guards can know about a recorded machine, which does not include its free memory and space."""
    return Beside(budget_bytes=about.memory_budget_bytes, process_limit_bytes=about.memory_limit_bytes)


def _is_like(one: ReplayedDecision, other: ReplayedDecision) -> bool:
    """Whether the same guards refused the same decision, whatever figures they name."""
    return (one.rule, one.settings, _names(one)) == (other.rule, other.settings, _names(other))


def _names(decided: ReplayedDecision) -> list[GuardName]:
    return [note.guard for note in decided.guards]
