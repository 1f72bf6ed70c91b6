"""One cycle of one target: sense, decide, guard, plan, act, remember."""

import logging
from dataclasses import dataclass, replace

from adocd.daemon.book.book import Book
from adocd.daemon.change.guards.compaction import SWITCH
from adocd.daemon.change.guards.guard import Beside, Note
from adocd.daemon.change.guards.shared import is_shared
from adocd.daemon.change.way_back import SLOWDOWN, STOP
from adocd.daemon.control.delivery import Delivery, Sending
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.mandate import Mandate, mandate_of
from adocd.daemon.control.neighbours import HostProcess, Share
from adocd.daemon.control.owner import Owner
from adocd.daemon.control.session import Session
from adocd.daemon.control.steering import Scope, SteeringStep, TakenWishes
from adocd.daemon.control.unasked import REARM, REPEAT, unasked
from adocd.daemon.control.weighing import Weighed, weigh
from adocd.daemon.watch.decision_log import DecisionLog, settings_in_words
from adocd.model.decision import Decision
from adocd.model.decision_record import Outcome
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
#: An agent that has not answered within 2 s counts as silent, so an older snapshot means that the daemon stood still.
LOOK_IS_OLD_S = 3.0


@dataclass(frozen=True, slots=True)
class CycleView:
    """What one cycle sees: `asked_s` is when the snapshot was requested, by the loop's clock."""

    sample: Sample
    snapshot: Snapshot
    asked_s: float

    @property
    def looked_s(self) -> float:
        """When the agent began to collect the snapshot, by the loop's clock; it reads options first."""
        return self.asked_s - self.snapshot.age_s - self.snapshot.collect_s


class Cycle:
    """Keeps one target's options at the values that the law and the operators want."""

    def __init__(self, target_id: str, path: str, book: Book, decisions: DecisionLog, settings: LoopSettings) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._delivery = Delivery(target_id, path, book, decisions, settings.clock)
        self._owner = Owner(target_id, path, book, decisions, settings.clock)
        self.settings = settings
        #: Set when the daemon stops: the law is no longer asked, and our changes are undone.
        self.ends = False

    async def run(self, session: Session, process: HostProcess, view: CycleView) -> str:
        """Run one cycle and return a sentence on what it did."""
        sample, law, steering = view.sample, session.law, session.steering
        mandate = self._sense(session, view)
        self._share(session, process, sample)
        if not mandate.holds_lease:
            await self.release_quietly(session)
            return await self._shadow(session, process, view) or law.declined or mandate.idle
        waits = await self._acquire(session, view, mandate) or _awaits(session, view)
        if waits is not None:
            if session.held.current is None:
                law.interrupt()
            return waits
        self._owner.reconcile(session, sample)

        scope = self._scope(session)
        asks = mandate.asks_law and scope == "all"
        if not asks:
            law.interrupt()
        asked = await self._decide(session, view) if asks else None
        now_s, beside = self.settings.clock(), self._beside(session, process)
        weighed = None if asked is None else weigh(law, steering, asked, mandate.pins, sample, now_s, beside)
        guarded = steering.guard((), mandate.pins, sample, now_s, beside, scope) if weighed is None else weighed.guarded
        taken = steering.take(guarded, sample.values)
        step = steering.plan(guarded, sample)
        self._count(weighed, step)
        said = None if weighed is None else self._note(session, view, weighed, step)
        of_law = _of_law(weighed, step, taken)
        sending = of_law or _of_others(session, sample, step, scope)
        if sending is not None:
            self._delivery.send(session, sample, sending, mandate.pins)
            self._share(session, process, sample)
            if of_law is None and not (scope == "safety" and sending.decision is REARM):
                said = f"{sending.decision.rule}: {sending.decision.signal}"
        return said or self._stands(session, step, scope) or law.declined or mandate.idle

    async def release_quietly(self, session: Session) -> None:
        """Release the lease; when that fails, log it and let the lease expire."""
        try:
            await session.release_lease()
        except TargetError as error:
            _log.warning("%s: the lease could not be given back, so it will expire: %s", self._path, error)

    def is_left_over(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether the agent has no restore plan for some of our changes, such as those from an earlier open."""
        return self._owner.is_left_over(session, snapshot, sample)

    # -- sense

    def _sense(self, session: Session, view: CycleView) -> Mandate:
        """Take in the snapshot and the sample, and work out what this cycle may do."""
        session.steering.observe(view.sample)
        session.law.judge.observe(view.sample)
        self._owner.take_stock(session, view.snapshot, view.sample)
        mandate = mandate_of(
            session,
            view.sample,
            self._book.pauses.of(self._id),
            tuple(pinned.override for pinned in self._book.overrides_of(self._id)),
            ends=self.ends,
            is_left_over=lambda: self.is_left_over(session, view.snapshot, view.sample),
        )
        session.law.pinned(mandate.pins)
        if not mandate.asks_law and not mandate.keeps_wishes:
            session.forget_wishes()
        return mandate

    async def _acquire(self, session: Session, view: CycleView, mandate: Mandate) -> str | None:
        """Acquire the lease if needed; return why nothing can be done under it now, or None."""
        if self._owner.restores_what_nobody_knows(session, view.snapshot, view.sample):
            return "the agent is restoring the changes of an earlier lease, which the journal does not know"
        acquires, settings = session.held.current is None, self.settings
        refused = await session.acquire_lease(settings.holder, settings.lease_ttl_s, view.snapshot)
        if settings.clock() - view.asked_s > LOOK_IS_OLD_S:
            if acquires:
                await self.release_quietly(session)
            return "the daemon stood still since its last snapshot: it takes a new one first"
        if self._book.pauses.of(self._id) is not mandate.pause:
            return "paused or resumed just now"
        return refused

    def _scope(self, session: Session) -> Scope:
        """Return how much may be sent. A stopping daemon undoes its changes even while it is standing back."""
        stands_back = session.stand_back is not None and self.settings.clock() < session.stand_back.until_s
        if stands_back and not self.ends:
            return "safety"
        return "all" if self._book.problem is None else "back"

    # -- decide and guard

    async def _decide(self, session: Session, view: CycleView) -> tuple[Decision, Sample] | None:
        """Ask the law, and release the knobs it gives up; None if it decides nothing or was paused meanwhile.

        If its earlier changes have made things worse, they are taken back instead, beside what it gives back itself.
        """
        asked = await session.law.step(view.snapshot, session.ledger.originals, session.made, view.sample)
        session.steering.release(session.law.given_up, view.sample)
        sample = replace(view.sample, originals=session.ledger.originals)
        if (back := session.law.judge.verdict(sample, None if asked is None else asked[0])) is not None:
            asked = back, sample
        return asked if self._book.pauses.of(self._id) is None else None

    async def _shadow(self, session: Session, process: HostProcess, view: CycleView) -> str | None:
        """In a dry run, ask the law what it would do, and record that; None otherwise."""
        law = session.law
        if not law.policy.dry_run:
            law.interrupt()
            return None
        asked = await law.step(view.snapshot, session.ledger.originals, session.made, view.sample)
        if asked is None:
            return None
        beside = self._beside(session, process)
        weighed = weigh(law, session.steering, asked, {}, view.sample, self.settings.clock(), beside)
        decision = weighed.decision
        self._decisions.vitals.refused(weighed.notes)
        self._keep(session, decision, view, weighed.notes, "dry-run")
        return f"dry run: {decision.rule} would set {settings_in_words(decision.settings)}: {decision.signal}"

    def _beside(self, session: Session, process: HostProcess) -> Beside:
        return self.settings.neighbours.beside(self._id, process, session.steering.written.families)

    def _share(self, session: Session, process: HostProcess, sample: Sample) -> None:
        """Publish what this target uses of memory and pools. No await precedes the send, so no other target decides."""
        turns_shared = any(is_shared(option) for option in session.ledger.sent) or self._left_shared(sample)
        share = Share(
            self._path, process, session.memtables_bytes(sample), turns_shared, session.promised_bytes(sample)
        )
        self.settings.neighbours.put(self._id, share)

    def _left_shared(self, sample: Sample) -> bool:
        """Whether a pool or the limiter still has what an earlier lease set: to a neighbour, that is no original."""
        left = self._book.left(self._id)
        return any(is_shared(o) and known.is_ours(sample.values.get(o, known.original)) for o, known in left.items())

    # -- remember

    def _count(self, weighed: Weighed | None, step: SteeringStep) -> None:
        """Count the guards that refused something."""
        notes = () if weighed is None else weighed.notes
        self._decisions.vitals.refused(dict.fromkeys((*notes, *(refusal.note for refusal in step.refusals))))

    def _note(self, session: Session, view: CycleView, weighed: Weighed, step: SteeringStep) -> str | None:
        """Return what became of the law's decision; record it when nothing is sent for it."""
        decision = weighed.decision
        if not decision.settings:
            self._keep(session, weighed.shaped, view, weighed.notes, "refused")
            words = "; ".join(map(str, weighed.notes))
            return f"{decision.rule}: {words or 'its column families no longer exist'}"
        if not step.plan.changes:
            self._keep(session, decision, view, weighed.notes, "unchanged", step.plan.held)
            return f"{decision.rule}: {'; '.join(step.plan.held) or 'the values are there already'}"
        return f"{decision.rule}: setting {settings_in_words(decision.settings)}: {decision.signal}"

    def _keep(
        self,
        session: Session,
        decision: Decision,
        view: CycleView,
        notes: tuple[Note, ...],
        outcome: Outcome,
        held: tuple[str, ...] = (),
    ) -> None:
        """Record a decision for which nothing was sent."""
        words = (*map(str, notes), *held)
        self._decisions.add(session.law.controller.name, decision, view.sample.monotonic_s, words, outcome)

    def _stands(self, session: Session, step: SteeringStep, scope: Scope) -> str | None:
        """Return why nothing is sent; None if nothing prevents it."""
        if scope == "safety" and session.stand_back is not None:
            for_s = session.stand_back.until_s - self.settings.clock()
            return f"standing back for {for_s:.0f} s: {session.stand_back.why}"
        if scope == "back":
            return f"nothing new is changed: {self._book.problem}"
        return "; ".join((*(str(refusal.note) for refusal in step.refusals), *step.plan.held)) or None


def _awaits(session: Session, view: CycleView) -> str | None:
    """Return what to wait for: the change in flight, or a snapshot taken after the last change; None if neither."""
    if (in_flight_s := session.flight.in_flight_s) is not None:
        return f"a change has been in flight for {in_flight_s:.1f} s"
    if not session.flight.is_seen_by(view.looked_s):
        return "waiting for a snapshot taken after the last change"
    if session.flight.goes_on(in_agent=view.snapshot.change_in_flight):
        return "the agent may still be executing a change whose answer was lost"
    if session.unsettled is not None:
        session.unsettled.all_seen()
    return None


def _of_law(weighed: Weighed | None, step: SteeringStep, taken: TakenWishes) -> Sending | None:
    """Return the step as the law's decision of this cycle; None if there is no such decision or no change."""
    if weighed is None or not weighed.decision.settings or not step.plan.changes:
        return None
    return Sending(step, weighed.decision, weighed.notes, taken)


def _of_others(session: Session, sample: Sample, step: SteeringStep, scope: Scope) -> Sending | None:
    """Return what to send without a new decision: pins, values to restore, and changes that had to wait."""
    if step.plan.changes:
        notes = tuple(refusal.note for refusal in step.refusals)
        return Sending(step, unasked(step, session.law.controller.name), notes)
    if scope != "safety" and (repeat := _repeat(session, sample)) is not None:
        return repeat
    rearmed = session.steering.rearmed(sample)
    return None if rearmed is None else Sending(SteeringStep(rearmed, {}, (), leads_back=True), REARM)


def _repeat(session: Session, sample: Sample) -> Sending | None:
    """Resend changes that a flush or compaction begun before them may have silently reverted (HAZARDS 2)."""
    due = frozenset() if session.unsettled is None else session.unsettled.due()
    if session.unsettled is None or not due:
        return None
    plan = session.steering.repeated(due, sample)
    # Each change during a slowdown cuts the delayed write rate further (HAZARDS 7), but a stop that we caused must not
    # wait.
    ours = {option.option for option in plan.sent}
    if sample.is_delayed and not ours & {SWITCH, SLOWDOWN, STOP}:
        return None
    session.unsettled.repeated(due)
    return Sending(SteeringStep(plan, {}, ()), REPEAT) if plan.changes else None
