"""Decisions on their way to the journal: bounded, never blocking, and what is lost is counted."""

from collections.abc import Iterable

from adocd.daemon.book.journal.records import JournaledDecision

#: What makes a decision the same one, with another outcome.
Identity = tuple[str, str, int, float]


def identity(decision: JournaledDecision) -> Identity:
    """Tell decisions apart; the time too, for a target that was forgotten counts from 1 again."""
    return decision.target, decision.run, decision.sequence, decision.unix_s


class DecisionBuffer:
    """The decisions that are not durable yet, oldest first, a later outcome in place of the earlier."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: dict[Identity, JournaledDecision] = {}
        #: How many decisions never became durable.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, decision: JournaledDecision) -> None:
        """Take one in; a full buffer loses its oldest."""
        self._waiting[identity(decision)] = decision
        if len(self._waiting) > self._capacity:
            del self._waiting[next(iter(self._waiting))]
            self.lost += 1

    def batch(self, size: int) -> tuple[JournaledDecision, ...]:
        """Return the oldest; they stay until `written`, so that a failed write loses nothing."""
        return tuple(decision for decision, _ in zip(self._waiting.values(), range(size), strict=False))

    def written(self, batch: Iterable[JournaledDecision]) -> None:
        """Forget what is durable, unless its outcome has changed meanwhile."""
        for decision in batch:
            if self._waiting.get(identity(decision)) is decision:
                del self._waiting[identity(decision)]

    def give_up(self, batch: Iterable[JournaledDecision]) -> None:
        """Forget, and count, what will never be durable."""
        before = len(self._waiting)
        self.written(batch)
        self.lost += before - len(self._waiting)
