"""Sends what was decided, and keeps account of it: journal before, ledger and decisions after."""

from collections.abc import Callable
from dataclasses import dataclass

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.change import planner
from adocd.daemon.change.actuator import Result
from adocd.daemon.control.decision_log import DecisionLog
from adocd.daemon.control.session import Session
from adocd.daemon.control.steering import Step, Taken
from adocd.model.decision import Decision
from adocd.model.decision_record import DecisionRecord, OptionChange, Outcome
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class View:
    """What one cycle sees: `asked_s` is when the snapshot was asked for, by the loop's clock."""

    sample: Sample
    snapshot: Snapshot
    asked_s: float

    @property
    def looked_s(self) -> float:
        """When the agent began to read what the snapshot says; it reads options first."""
        return self.asked_s - self.snapshot.age_s - self.snapshot.collect_s


class Dispatch:
    """The way out of one target's control."""

    def __init__(
        self, target_id: str, path: str, book: Book, decisions: DecisionLog, clock: Callable[[], float]
    ) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._clock = clock

    def send(
        self,
        session: Session,
        view: View,
        step: Step,
        decision: Decision,
        notes: tuple[str, ...],
        taken: Taken | None = None,
    ) -> None:
        """Send a step; `taken` are the wishes that this decision made, and that are taken back when nothing is sent."""
        if session.lease is None:
            raise RuntimeError("nothing is sent without a lease")  # a mistake of the loop's
        epoch = session.lease.epoch
        plan, ledger, current = step.plan, session.ledger, view.sample.values
        changes = tuple(OptionChange(option, current[option], value) for option, value in plan.sent.items())
        record = self._decisions.add(
            session.law.controller.name, decision, view.sample.monotonic_s, (*notes, *plan.held), "in-flight", changes
        )
        # The way back has values of its own, a stop trigger out of the way, and the host may come up with those, too.
        values = [
            pair for change in (*plan.changes, *(s.change for s in plan.restore)) for pair in change.sets().items()
        ]
        baseline = {o: planner.restorable(o, ledger.baseline.get(o, value)) for o, value in values}
        if not plan.repeat:
            ledger.sending(plan.sent, current)
            if session.unsettled is not None:
                session.unsettled.sending(o.name or "" for o in plan.sent if o.scope == "column_family")
        ledger.arming(frozenset(option for way in plan.restore for option in way.change.sets()))

        async def announce() -> None:
            try:
                await self._book.intend(self._id, self._path, session.detail.session, values, baseline)
            except JournalError:
                if not step.leads_back:
                    raise

        def take_back() -> None:
            if taken is not None:
                session.steering.take_back(taken)
            if plan.repeat and session.unsettled is not None:
                session.unsettled.not_repeated(option.name or "" for option in plan.sent)

        def done(result: Result) -> None:
            self._decisions.finish(record, result)
            if session.lease is None or session.lease.epoch != epoch:
                return  # the lease that it was sent under has ended: the agent leads back what came of it
            ledger.seen(result.there)
            tried = {option: value for option, value in plan.sent.items() if option not in result.untried}
            missing = {option: value for option, value in tried.items() if option not in result.there}
            if result.code == "plan_incomplete":
                ledger.names_all = True
            if result.code == "plan_incomplete" or result.outcome in ("refused", "failed"):
                take_back()
            elif result.outcome == "rejected":
                session.steering.rejected(missing, self._clock())
            else:
                session.has_way_back = True

        session.actuator.start(session.target, session.lease, plan, announce, done)

    def note(
        self, session: Session, decision: Decision, view: View, notes: tuple[str, ...], outcome: Outcome
    ) -> None:  # fmt: skip
        """Keep a decision that nothing was sent for; the same one again and again only once."""
        last, law = self._decisions.last, session.law.controller.name
        if outcome != "dry-run" and last is not None and _is_like(last, decision, notes, outcome):
            return
        self._decisions.add(law, decision, view.sample.monotonic_s, notes, outcome)


def _is_like(record: DecisionRecord, decision: Decision, notes: tuple[str, ...], outcome: Outcome) -> bool:
    return (record.rule, record.settings, record.guards, record.outcome) == (
        decision.rule,
        decision.settings,
        notes,
        outcome,
    )


def unasked(step: Step, controller: str) -> Decision:
    """Put into words why something is sent that the law has not just asked for."""
    sent, origins = step.plan.sent, step.origins
    for refusal in step.refusals:
        if set(refusal.instead) & sent.keys():
            return Decision((), refusal.reason, f"safety.{refusal.guard}", "a safety guard beats law and operator")
    by = {origin: [str(option) for option in sent if origins[option] == origin] for origin in origins.values()}
    if pinned := by.get("override"):
        words = ", ".join(pinned)
        return Decision((), f"pinned: {words}", "operator.override", "an operator's pin beats the law")
    if wanted := by.get("law"):
        words = ", ".join(wanted)
        return Decision((), f"not there yet, or not any more: {words}", f"{controller}.again", "the law still wants it")
    if sent.keys() == {planner.DELAYED_WRITE_RATE}:
        reason = "a change made during the delay carried the rate then in force"
        signal = "RocksDB lets delayed writes go as fast as it may" if step.is_delayed else "the write delay is over"
        return Decision((), signal, "actuator.delayed_write_rate", reason)
    words = ", ".join(str(option) for option in sent)
    return Decision((), f"nobody wants it otherwise any more: {words}", "actuator.put_back", "back to the originals")
