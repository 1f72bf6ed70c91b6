"""Changes to a tuned database that adocd did not make: by its owner, an operator, RocksDB or a restoring agent."""

import logging
from collections.abc import Callable

from adocd.daemon.book.book import Book
from adocd.daemon.change.settled import settled
from adocd.daemon.change.way_back import restorable
from adocd.daemon.control.held_lease import is_due
from adocd.daemon.control.session import Session, StandBack
from adocd.daemon.watch.decision_log import DecisionLog
from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.model.values import RATE_LIMITER, OptionName

_log = logging.getLogger(__name__)
#: How long to send nothing after somebody else has changed an option that we had set.
STAND_BACK_S = 30.0
_RESTORING = ("running", "waiting")


class Owner:
    """Keeps ledger and journal right about which option values are ours and which are the owner's."""

    def __init__(
        self, target_id: str, path: str, book: Book, decisions: DecisionLog, clock: Callable[[], float]
    ) -> None:
        self._id = target_id
        self._path = path
        self._book = book
        self._decisions = decisions
        self._clock = clock

    def take_stock(self, session: Session, snapshot: Snapshot, sample: Sample) -> None:
        """While nobody holds the lease, find which values are ours, and delete the others from the journal."""
        if not session.detail.capabilities.can_change:
            return  # a directory shows neither pools nor the limiter: the journal keeps those for an agent
        if session.held.current is not None or snapshot.lease is not None:
            return
        current, left = sample.values, self._book.left(self._id)
        restoring = snapshot.restore.state in _RESTORING or is_due(snapshot)
        session.ledger.unheld(current, left)
        if left and not restoring and not snapshot.change_in_flight and not _may_be_unwritten(snapshot):
            unseen = set(session.detail.unseen_column_families)
            self._book.forget(self._id, settled(left, current, session.detail.session, unseen))

    def restores_what_nobody_knows(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether to let the agent finish its restore: without the journal nobody can tell whose values these are."""
        if session.held.current is not None or snapshot.restore.state not in _RESTORING:
            return False
        known = self._book.left(self._id) or not session.ledger.knows_nothing
        return not known and session.ledger.differs(sample.values)

    def is_left_over(self, session: Session, snapshot: Snapshot, sample: Sample) -> bool:
        """Whether the agent has no restore plan for some of our changes, such as those from an earlier open."""
        if snapshot.restore.state in _RESTORING or session.held.has_way_back:
            return False
        current, ledger = sample.values, session.ledger
        return any(current.get(o) != restorable(o, ledger.baseline[o]) for o in ledger.ours if o in current)

    def reconcile(self, session: Session, sample: Sample) -> None:
        """Take over the host's changes to its own options, and stand back if somebody changed an option that we set."""
        session.ledger.settle(sample.values)
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
            session.begin_law_anew()
            session.stand_back = StandBack(self._clock() + STAND_BACK_S, "; ".join(foreign))
        # Last, because a law that begins anew would turn the limiter again although something else does.
        if limited is not None and limited != session.law.limited:
            session.law.stop_limiting(limited)

    def _follow(self, session: Session, sample: Sample) -> None:
        """When the host changes an option that is not ours, make its new value the original to restore.

        What the law had set back to the former original stays the host's: a wish for that value is none any more. The
        host may choose a value that we once sent: it is its own, unless RocksDB may have reverted to ours.
        """
        current, ledger = sample.values, session.ledger
        changed = ledger.watch(current)
        for option, former in changed.items():
            session.steering.leave_to_owner(option, former)
        for option, known in tuple(self._book.left(self._id).items()):
            value = current.get(option, known.original)
            if option in ledger.ours or value == known.original:
                continue
            if not known.is_ours(value) or (option in changed and not session.may_revert(option)):
                self._book.taken_over(self._id, option, value)

    def _leave(self, session: Session, option: OptionName, found: str) -> None:
        """Stop controlling an option that somebody else has set."""
        session.steering.wanted.pop(option, None)
        known = self._book.left(self._id).get(option)
        if known is not None and known.is_ours(found):
            session.ledger.lose(option)
        else:
            session.ledger.give_up(option, found)
            self._book.taken_over(self._id, option, found)


def _may_be_unwritten(snapshot: Snapshot) -> bool:
    """Whether what a restore has set may be in no OPTIONS file: the next open would come up tuned, as its owner's.

    So after an error of RocksDB's own; not where the agent called nothing, because there was nothing to call or it must
    not be called.
    """
    errors = snapshot.restore.errors
    return any(not error.endswith("is gone.") and not error.startswith("Not executed:") for error in errors)
