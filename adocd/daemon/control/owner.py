"""What others do to a database that adocd tunes: its owner, an operator, RocksDB itself, an agent that restores."""

import logging
from collections.abc import Callable

from adocd.daemon.book.book import Book
from adocd.daemon.change import planner
from adocd.daemon.change.settled import settled
from adocd.daemon.control.held_lease import is_due
from adocd.daemon.control.session import Session, StandBack
from adocd.daemon.watch.decision_log import DecisionLog
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.model.values import RATE_LIMITER, OptionName

_log = logging.getLogger(__name__)
#: How long nothing is sent after somebody else has changed an option of ours.
STAND_BACK_S = 30.0
_RESTORING = ("running", "waiting")


class Owner:
    """Keeps ledger and journal right about what is ours and what is its owner's."""

    def __init__(
        self, target_id: str, path: str, book: Book, decisions: DecisionLog, clock: Callable[[], float]
    ) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._clock = clock

    def take_stock(self, session: Session, snapshot: Snapshot, sample: Sample) -> None:
        """Find what is ours while nobody holds the lease, and let the journal forget what is not."""
        if not session.detail.capabilities.can_change:
            return  # a directory does not tell of pools and the limiter: the journal keeps them for an agent
        if session.held.current is not None or snapshot.lease is not None:
            return
        current, left = sample.values, self._book.left(self._id)
        restoring = snapshot.restore.state in _RESTORING or is_due(snapshot)
        session.ledger.unheld(current, left)
        if left and not restoring and not snapshot.change_in_flight:
            unseen = set(session.detail.unseen_column_families)
            self._book.forget(self._id, settled(left, current, session.detail.session, unseen))

    def restores_what_nobody_knows(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether the agent must be left to finish: its journal lost, nobody else could tell what is whose."""
        restoring = session.held.current is None and snapshot.restore.state in _RESTORING
        known = self._book.left(self._id) or not session.ledger.knows_nothing
        return restoring and not known and session.ledger.differs(sample.values)

    def is_left_over(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether something of ours is to be put back that the agent has no plan for: from an earlier open, say."""
        if snapshot.restore.state in _RESTORING or session.held.has_way_back:
            return False
        current, ledger = sample.values, session.ledger
        return any(current.get(o) != planner.restorable(o, ledger.baseline[o]) for o in ledger.ours if o in current)

    def reconcile(self, session: Session, sample: Sample) -> None:
        """Follow what the host changes of its own, and stand back where somebody has changed what we set."""
        self._follow(session, sample)
        foreign, limited = [], session.law.limited
        for deviation in session.ledger.deviations(sample.values):
            _log.warning("%s: %s", self._path, deviation)
            self._decisions.deviated(deviation)
            if deviation.outcome == "changed-by-someone-else":
                self._leave(session, deviation.option, deviation.found)
                if deviation.option == RATE_LIMITER:
                    limited = str(deviation)
                else:
                    foreign.append(str(deviation))
        if foreign:
            session.take_policy(session.law.policy)
            session.stand_back = StandBack(self._clock() + STAND_BACK_S, "; ".join(foreign))
        # Last, for a law that begins anew would turn the limiter again: what moves it is still there.
        if limited is not None and limited != session.law.limited:
            session.law.stop_limiting(limited)

    def _follow(self, session: Session, sample: Sample) -> None:
        """Let the way back follow what the host itself changes of options that are not ours."""
        current, ledger = sample.values, session.ledger
        ledger.watch(current)
        for option, known in tuple(self._book.left(self._id).items()):
            value = current.get(option, known.original)
            if option not in ledger.ours and value != known.original and not known.is_ours(value):
                self._book.taken_over(self._id, option, value)

    def _leave(self, session: Session, option: OptionName, found: str) -> None:
        """Want no more of an option that somebody else has set."""
        session.steering.wanted.pop(option, None)
        known = self._book.left(self._id).get(option)
        if known is not None and known.is_ours(found):
            session.ledger.lose(option)
        else:
            session.ledger.give_up(option, found)
            self._book.taken_over(self._id, option, found)
