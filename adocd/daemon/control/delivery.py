"""Sends a step and records it: in the journal before sending, in the ledger and the decision log after."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change import actuator
from adocd.daemon.change.account import OptionAccount
from adocd.daemon.change.actuator import Result
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.way_back import restorable
from adocd.daemon.control.session import Session
from adocd.daemon.control.steering import SteeringStep, TakenWishes
from adocd.daemon.watch.decision_log import DecisionLog
from adocd.model.decision import Decision
from adocd.model.decision_record import DecisionRecord, OptionChange
from adocd.model.sample import Sample
from adocd.model.snapshot import Lease
from adocd.model.values import RATE_LIMITER, OptionName, Values


@dataclass(frozen=True, slots=True)
class Sending:
    """What to send, the decision behind it, and the wishes that the law gained by it, None if it gained none."""

    step: SteeringStep
    decision: Decision
    notes: tuple[Note, ...] = ()
    taken: TakenWishes | None = None


@dataclass(frozen=True, slots=True)
class _InFlight:
    """A step that was sent, and its lease."""

    sending: Sending
    lease: Lease
    record: DecisionRecord
    #: Whether an operator had paused the target when the change was decided.
    pause: Pause | None
    #: What the journal must hold before the send: each value that may be found later, and each option's original.
    values: tuple[tuple[OptionName, str], ...]
    originals: Values
    #: What the agent's last restore plan holds for options that are not ours.
    armed: Mapping[OptionName, str | None]
    #: What the ledger knew of the options before.
    former: Mapping[OptionName, OptionAccount]
    #: Whether a rate limit that we have lowered is its owner's while a call waits.
    lift_rate_limit: bool


class Delivery:
    """Sends one target's changes."""

    def __init__(
        self, target_id: str, path: str, book: Book, decisions: DecisionLog, clock: Callable[[], float]
    ) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._clock = clock

    def send(self, session: Session, sample: Sample, sending: Sending, pins: Values) -> None:
        """Record the change in the ledger, and start sending it.

        A stop of writes that overtakes a call holds it up, and we send nothing meanwhile. So a rate limit that we have
        lowered must not hold up what ends the stop: under `silk` that took up to 55 s. A pinned one stays where it is.
        """
        lease = session.held.current
        if lease is None:
            raise RuntimeError("nothing is sent without a lease")  # a bug in the loop
        plan, ledger, current = sending.step.plan, session.ledger, sample.values
        record = self._decisions.add(
            session.law.controller.name,
            sending.decision,
            sample.monotonic_s,
            (*map(str, sending.notes), *plan.held),
            "in-flight",
            tuple(OptionChange(option, current[option], value) for option, value in plan.sent.items()),
        )
        # A restore plan also sets temporary values, such as a raised stop trigger, and the host may reopen with those.
        ways = (*plan.changes, *(step.change for step in plan.restore))
        values = tuple(pair for change in ways for pair in change.sets().items())
        originals = {o: restorable(o, ledger.baseline.get(o, value)) for o, value in values}
        former: Mapping[OptionName, OptionAccount] = {}
        if not plan.repeat:
            former = ledger.sending(plan.sent, current)
            if session.unsettled is not None:
                session.unsettled.sending(o.name or "" for o in plan.sent if o.scope == "column_family")
        armed = ledger.arming(frozenset(option for way in plan.restore for option in way.change.sets()))
        pause = self._book.pauses.of(self._id)
        lift = session.detail.capabilities.lifts_rate_limit and RATE_LIMITER not in pins
        in_flight = _InFlight(sending, lease, record, pause, values, originals, armed, former, lift)
        session.flight.start(lambda: self._carry_out(session, in_flight))

    async def _carry_out(self, session: Session, sent: _InFlight) -> None:
        began_s = self._clock()
        result = Result("failed", actuator.ABANDONED)
        try:
            refused = await self._announce(session, sent)
            plan, lift = sent.sending.step.plan, sent.lift_rate_limit
            result = refused or await actuator.send(session.target, sent.lease, plan, lift_rate_limit=lift)
        finally:
            self._remember(session, sent, replace(result, elapsed_s=self._clock() - began_s))

    async def _announce(self, session: Session, sent: _InFlight) -> Result | None:
        """Write the change to the journal before sending it; if that fails, only a restore is sent.

        The journal may take seconds, in which an operator may have paused the target.
        """
        refused = None
        try:
            await self._book.intend(self._id, self._path, session.detail.session, sent.values, sent.originals)
        except JournalError as error:
            refused = str(error)
        if self._book.pauses.of(self._id) is not sent.pause:
            refused = "paused or resumed just now"
        if refused is None or sent.sending.step.leads_back:
            return None
        return Result("refused", f"nothing was sent: {refused}")

    def _remember(self, session: Session, sent: _InFlight, result: Result) -> None:
        """Record the result in the ledger and the decision log."""
        self._decisions.finish(sent.record, result)
        if result.outcome == "failed" and result.code is None:
            session.flight.answer_lost()
        held, plan = session.held.current, sent.sending.step.plan
        if held is None or held.epoch != sent.lease.epoch:
            return  # its lease has ended, so the agent restores whatever it changed
        if result.code is not None or result.outcome in ("refused", "failed"):
            session.ledger.not_armed(sent.armed)
        if result.outcome == "refused":
            session.ledger.not_sent(plan.sent, sent.former)
        session.ledger.seen(result.there)
        if result.code == "plan_incomplete":
            session.ledger.names_all = True
        if result.code == "plan_incomplete" or result.outcome in ("refused", "failed"):
            if sent.sending.taken is not None:
                session.steering.take_back(sent.sending.taken)
            if plan.repeat and session.unsettled is not None:
                session.unsettled.not_repeated(option.name or "" for option in plan.sent)
        elif result.outcome == "rejected":
            tried = {option: value for option, value in plan.sent.items() if option not in result.untried}
            missing = {option: value for option, value in tried.items() if option not in result.there}
            session.steering.rejected(missing, self._clock())
        else:
            session.held.has_way_back = True
