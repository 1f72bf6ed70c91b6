"""The buffer of decisions not yet in the journal: bounded, never blocking, counting the losses."""

from collections.abc import Iterable

from adocd.daemon.book.journal.records import JournaledDecision

#: Identifies a decision, whatever its outcome.
Identity = tuple[str, str, int, float]


def identity(decision: JournaledDecision) -> Identity:
    """Return a decision's identity; it includes the time, because a forgotten target's sequence restarts at 1."""
    return decision.target, decision.run, decision.sequence, decision.unix_s


class DecisionBuffer:
    """The decisions that are not durable yet, oldest first; a later outcome replaces the earlier one."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: dict[Identity, JournaledDecision] = {}
        #: Number of decisions that never became durable.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, decision: JournaledDecision) -> None:
        """Add a decision; a full buffer drops its oldest."""
        self._waiting[identity(decision)] = decision
        if len(self._waiting) > self._capacity:
            del self._waiting[next(iter(self._waiting))]
            self.lost += 1

    def batch(self, size: int) -> tuple[JournaledDecision, ...]:
        """Return the oldest decisions; they stay until `written`, so that a failed write loses nothing."""
        return tuple(decision for decision, _ in zip(self._waiting.values(), range(size), strict=False))

    def written(self, batch: Iterable[JournaledDecision]) -> None:
        """Drop decisions that are now durable, unless their outcome has changed meanwhile."""
        for decision in batch:
            if self._waiting.get(identity(decision)) is decision:
                del self._waiting[identity(decision)]

    def give_up(self, batch: Iterable[JournaledDecision]) -> None:
        """Drop decisions that will never be durable, and count them as lost."""
        before = len(self._waiting)
        self.written(batch)
        self.lost += before - len(self._waiting)
