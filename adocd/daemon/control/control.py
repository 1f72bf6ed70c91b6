"""One cycle of control over one session: what is wanted, what may be, what is sent, and what became of it."""

import logging
from collections.abc import Callable

from adocd.daemon.book import overrides
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change import planner
from adocd.daemon.change.compaction import SWITCH
from adocd.daemon.change.reach import out_of_reach
from adocd.daemon.change.settled import settled
from adocd.daemon.control.decision_log import DecisionLog, settings_in_words
from adocd.daemon.control.dispatch import Dispatch, View, unasked
from adocd.daemon.control.law import Law
from adocd.daemon.control.session import Session, is_due
from adocd.daemon.control.steering import Step
from adocd.daemon.control.weighing import weigh
from adocd.model.decision import Decision
from adocd.model.sample import Sample
from adocd.model.snapshot import Restore, Snapshot
from adocd.model.values import RATE_LIMITER, OptionName
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
#: How long nothing is sent after somebody else has changed an option of ours.
STAND_BACK_S = 30.0
#: An agent answers within 2 s, or counts as silent: with a look that is older, this process has not run.
LOOK_IS_OLD_S = 3.0
_RESTORING = ("running", "waiting")
_REPEAT = Decision(
    (),
    "a flush or compaction that began before the last change has ended after it",
    "actuator.repeat",
    "RocksDB before 9.11 may have taken the change back without showing it (facebook/rocksdb#13294)",
)

_REARM = Decision(
    (),
    "somebody has changed an option again that adocd had left to him",
    "actuator.rearm",
    "the way back leads to the value its owner wants now",
)


class Control:
    """Keeps one target's options where law and operators want them."""

    def __init__(
        self,
        target_id: str,
        path: str,
        book: Book,
        decisions: DecisionLog,
        *,
        holder: str,
        lease_ttl_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._holder = holder
        self.lease_ttl_s = lease_ttl_s
        self._clock = clock
        self._dispatch = Dispatch(target_id, path, book, decisions, clock)
        #: Set when the daemon stops: nothing new is wanted, and what is ours goes back.
        self.ends = False

    async def act(self, session: Session, view: View) -> str:
        """Do what one cycle is there for; the sentence says what that was."""
        sample, law = view.sample, session.law
        session.steering.observe(sample)
        self._take_stock(session, view)

        pause = self._book.pause_of(self._id)
        unreachable = out_of_reach(law.controller, sample, session.detail.capabilities)
        acts = bool(law.controller.knobs) and not law.policy.dry_run and unreachable is None and pause is None
        acts = acts and not self.ends
        to_restore = self.ends or (pause is not None and pause.state == "restored")
        pins = {} if to_restore or law.policy.dry_run else self.pins(session, sample)
        law.pinned(pins.keys())
        keeps = pause is not None and not to_restore and bool(session.steering.wanted)
        if not acts and not keeps:
            session.steering.forget_wishes()
        idle = _idle(law, pause, unreachable) or _seen(law.controller.name, sample)
        if acts or keeps or pins or self.is_left_over(session, view.snapshot, view.sample):
            if self._restores_what_nobody_knows(session, view):
                return "the agent is restoring what an earlier lease has changed, of which the journal knows nothing"
            acquires = session.lease is None
            refused = await session.hold_lease(self._holder, self.lease_ttl_s, view.snapshot)
            if self._clock() - view.asked_s > LOOK_IS_OLD_S:
                if acquires:
                    await self.release_quietly(session)
                return "the daemon stood still since it looked: it looks again first"
            if self._book.pause_of(self._id) is not pause:
                return "paused or resumed just now"
            return refused or await self._drive(session, view, pins, asks_law=acts) or law.declined or idle
        await self.release_quietly(session)
        return await self._shadow(session, view) or law.declined or idle

    async def _drive(self, session: Session, view: View, pins: dict[OptionName, str], *, asks_law: bool) -> str | None:
        """Do what is to be done under the lease; None when there is nothing."""
        if (in_flight_s := session.actuator.in_flight_s) is not None:
            return f"a change has been in flight for {in_flight_s:.1f} s"
        if not session.actuator.is_seen_by(view.looked_s):
            return "waiting for a look at what was changed"
        if session.unsettled is not None:
            session.unsettled.all_seen()
        self._follow_owner(session, view)
        self._reconcile(session, view)
        stands_back = not self.ends and self._clock() < session.stands_back_until_s
        said = None
        if asks_law and not stands_back and self._book.problem is None:
            said = await self._ask_law(session, view, pins)
        if session.actuator.in_flight_s is not None:
            return said
        # What the law may not do keeps nobody else waiting: pins, and what has to go back.
        went_on = self._go_on(session, view, pins, stands_back=stands_back)
        return went_on if session.actuator.in_flight_s is not None else said or went_on

    def pins(self, session: Session, sample: Sample) -> dict[OptionName, str]:
        """Say what operators have pinned here."""
        families = [cf.name for cf in sample.column_families]
        pinned = (pin.override for pin in self._book.overrides_of(self._id))
        return overrides.pins(pinned, families, sample.values, session.detail.capabilities)

    async def release_quietly(self, session: Session) -> Restore | None:
        """Give the lease back; when that fails it expires."""
        try:
            return await session.release_lease()
        except TargetError as error:
            _log.warning("%s: the lease could not be given back, so it will expire: %s", self._path, error)
            return None

    def _take_stock(self, session: Session, view: View) -> None:
        """Find what is ours while nobody holds the lease, and let the journal forget what is not."""
        if not session.detail.capabilities.can_change:
            return  # a directory does not tell of pools and the limiter: the journal keeps them for an agent
        if session.lease is not None or view.snapshot.lease is not None:
            return
        current, left = view.sample.values, self._book.left(self._id)
        restoring = view.snapshot.restore.state in _RESTORING or is_due(view.snapshot)
        session.ledger.unheld(current, left)
        if left and not restoring and not view.snapshot.change_in_flight:
            unseen = set(session.detail.unseen_column_families)
            self._book.forget(self._id, settled(left, current, session.detail.session, unseen))

    def _restores_what_nobody_knows(self, session: Session, view: View) -> bool:
        """Whether the agent must be left to finish: its journal lost, nobody else could tell what is whose."""
        restoring = session.lease is None and view.snapshot.restore.state in _RESTORING
        known = self._book.left(self._id) or not session.ledger.knows_nothing
        return restoring and not known and session.ledger.differs(view.sample.values)

    def is_left_over(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether something of ours is to be put back that the agent has no plan for: from an earlier open, say."""
        if snapshot.restore.state in _RESTORING or session.has_way_back:
            return False
        current, ledger = sample.values, session.ledger
        return any(current.get(o) != planner.restorable(o, ledger.baseline[o]) for o in ledger.ours if o in current)

    def _follow_owner(self, session: Session, view: View) -> None:
        """Let the way back follow what the host itself changes of options that are not ours."""
        current, ledger = view.sample.values, session.ledger
        ledger.watch(current)
        for option, known in tuple(self._book.left(self._id).items()):
            value = current.get(option, known.original)
            if option not in ledger.ours and value != known.original and not known.is_ours(value):
                self._book.taken_over(self._id, option, value)

    def _reconcile(self, session: Session, view: View) -> None:
        """Stand back where somebody else has changed what we set, and begin anew from there."""
        ledger, foreign, limited = session.ledger, [], session.law.limited
        for deviation in ledger.deviations(view.sample.values):
            _log.warning("%s: %s", self._path, deviation)
            self._decisions.deviated(deviation)
            if deviation.outcome == "changed-by-someone-else":
                session.steering.wanted.pop(deviation.option, None)
                known = self._book.left(self._id).get(deviation.option)
                if known is not None and known.is_ours(deviation.found):
                    ledger.lose(deviation.option)
                else:
                    ledger.give_up(deviation.option, deviation.found)
                    self._book.taken_over(self._id, deviation.option, deviation.found)
                if deviation.option == RATE_LIMITER:
                    limited = str(deviation)
                else:
                    foreign.append(str(deviation))
        if foreign:
            session.take_policy(session.law.policy)
            session.stands_back_until_s = self._clock() + STAND_BACK_S
            session.why_back = "; ".join(foreign)
        # Last, for a law that begins anew would turn the limiter again: what moves it is still there.
        if limited is not None and limited != session.law.limited:
            session.law.stop_limiting(limited)

    async def _ask_law(self, session: Session, view: View, pins: dict[OptionName, str]) -> str | None:
        law, sample = session.law, view.sample
        asked = await law.step(view.snapshot, session.ledger.originals, session.probe.made)
        session.steering.release(law.given_up, sample)
        if asked is None:
            return None
        if self._book.pause_of(self._id) is not None:
            return "paused just now"
        weighed = weigh(law, session.steering, asked, pins, sample)
        decision, notes = weighed.decision, weighed.notes
        self._decisions.vitals.refused(notes)
        if not decision.settings:
            self._dispatch.note(session, weighed.shaped, view, notes, "refused")
            return f"{decision.rule}: {'; '.join(notes) or 'nothing of it exists here any more'}"
        taken = session.steering.take(weighed.wishes)
        step = session.steering.next_step(pins, sample, self._clock())
        if not step.plan.changes:
            self._dispatch.note(session, decision, view, (*notes, *step.plan.held), "unchanged")
            return f"{decision.rule}: {'; '.join(step.plan.held) or 'the values are there already'}"
        self._dispatch.send(session, view, step, decision, notes, taken)
        return f"{decision.rule}: setting {settings_in_words(decision.settings)}: {decision.signal}"

    def _go_on(self, session: Session, view: View, pins: dict[OptionName, str], *, stands_back: bool) -> str | None:
        """Send what differs without a word of the law's: pins, what has to go back, what had to wait."""
        step = session.steering.next_step(pins, view.sample, self._clock())
        self._decisions.vitals.refused(map(str, step.refusals))
        problem = self._book.problem
        if stands_back:
            step = session.steering.only_safety(step, view.sample)
        elif problem is not None:
            step = session.steering.only_back(step, view.sample)
        if step.plan.changes:
            decision = unasked(step, session.law.controller.name)
            self._dispatch.send(session, view, step, decision, tuple(str(refusal) for refusal in step.refusals))
            return f"{decision.rule}: {decision.signal}"
        if not stands_back and self._repeat(session, view):
            return f"{_REPEAT.rule}: {_REPEAT.signal}"
        if (plan := session.steering.rearmed(view.sample)) is not None:
            self._dispatch.send(session, view, Step(plan, {}, (), leads_back=True), _REARM, ())
            if not stands_back:
                return f"{_REARM.rule}: {_REARM.signal}"
        if stands_back:
            return f"standing back for {session.stands_back_until_s - self._clock():.0f} s: {session.why_back}"
        if problem is not None:
            return f"nothing new is changed: {problem}"
        return "; ".join((*(str(refusal) for refusal in step.refusals), *step.plan.held)) or None

    def _repeat(self, session: Session, view: View) -> bool:
        """Send once more what a job that began before the change may have taken back silently."""
        due = frozenset() if session.unsettled is None else session.unsettled.due()
        if session.unsettled is None or not due:
            return False
        plan = session.steering.repeated(due, view.sample)
        # Each change in a slowdown cuts the delayed rate further (HAZARDS 7), but a stop of ours must not wait.
        ours = {option.option for option in plan.sent}
        if planner.is_delayed(view.sample) and not ours & {SWITCH, planner.SLOWDOWN, planner.STOP}:
            return False
        session.unsettled.repeated(due)
        if plan.changes:
            self._dispatch.send(session, view, Step(plan, {}, ()), _REPEAT, ())
        return bool(plan.changes)

    async def _shadow(self, session: Session, view: View) -> str | None:
        """Ask the law what it would do, where it may not act."""
        law = session.law
        if not law.policy.dry_run:
            return None
        asked = await law.step(view.snapshot, session.ledger.originals, session.probe.made)
        if asked is None:
            return None
        weighed = weigh(law, session.steering, asked, {}, view.sample)
        decision = weighed.decision
        self._decisions.vitals.refused(weighed.notes)
        self._dispatch.note(session, decision, view, weighed.notes, "dry-run")
        return f"dry run: {decision.rule} would set {settings_in_words(decision.settings)}: {decision.signal}"


def _idle(law: Law, pause: Pause | None, unreachable: str | None) -> str | None:
    if pause is not None:
        return f"paused: {pause.reason}"
    return None if unreachable is None else f"{law.controller.name} cannot work here: {unreachable}"


def _seen(controller: str, sample: Sample) -> str:
    overflow = " and ".join(f"{o} overflow" for o in sample.overflow) or "no overflow"
    rate = "" if sample.writes_per_s is None else f"{sample.writes_per_s:,.0f} writes/s, "
    return f"{controller}: {rate}writes {sample.condition}, {overflow}"
