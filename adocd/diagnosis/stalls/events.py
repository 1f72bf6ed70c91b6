"""Turns the agent's stall events into spans of time in which a column family's writes were held.

RocksDB notifies its listeners after the fact, on the thread that installed the superversion. For a flush or compaction
that is at once. A stop or delay by memtables is installed by the very writer that then waits, so its event comes when
the wait is over, and often after the flush has reported its end: `stopped -> normal`, then `normal -> stopped`
(db/db_impl/db_impl_write.cc, PreprocessWrite). So changes are added up, as in the agent, and an end without a start
closes a span whose start comes late. The sums start from the condition before the first event seen here: the agent
reports it for all column families together, and `previous` gives it for the column family of the event.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from adocd.model.snapshot import Condition, Event
from adocd.model.stall import Held

RANK: dict[Condition, int] = {"normal": 0, "delayed": 1, "stopped": 2}


@dataclass(frozen=True, slots=True)
class Span:
    """The span of a condition in unix seconds; `begin_s` is None if its event came late, `end_s` while it lasts."""

    held: Held
    begin_s: float | None
    end_s: float | None


class StallEvents:
    """Adds up the changes of condition of each column family.

    `told` is the condition by the agent's events, of the worst column family, when listening began at `since_s` (unix
    seconds).
    """

    def __init__(self, told: Condition = "normal", since_s: float = 0.0) -> None:
        self._told, self._told_since_s = told, since_s
        self._entered: dict[str, Counter[Condition]] = {}
        self._since_s: dict[str, float] = {}

    def current(self, family: str) -> Condition:
        """Return the column family's condition by its events."""
        entered = self._entered.get(family)
        if entered is None:
            return "normal"
        return "stopped" if entered["stopped"] > 0 else "delayed" if entered["delayed"] > 0 else "normal"

    def since_s(self, family: str) -> float | None:
        """Return when the current condition began, in unix seconds; None if it is normal."""
        return self._since_s.get(family)

    def take(self, events: Iterable[Event], unix_s: Callable[[float], float]) -> dict[str, list[Span]]:
        """Take the events since the last call; return the spans that ended, by column family."""
        ended: dict[str, list[Span]] = {}
        for event in events:
            if event.kind == "stall" and event.condition is not None and event.previous is not None:
                family = event.column_family or ""
                ended.setdefault(family, []).extend(
                    self._changed(family, event.previous, event.condition, unix_s(event.monotonic_s))
                )
        return ended

    def keep(self, families: Collection[str], worst: Condition) -> None:
        """Forget dropped column families, and conditions that contradict `worst`, the agent's word for all of them."""
        for family in [name for name in self._entered if name not in families]:
            self._forget(family)
        for family in list(self._entered):
            if RANK[self.current(family)] > RANK[worst]:
                self._forget(family)
        self._told = min(self._told, worst, key=RANK.__getitem__)
        if worst == "normal":
            self._entered.clear()
            self._since_s.clear()

    def _forget(self, family: str) -> None:
        self._entered.pop(family, None)
        self._since_s.pop(family, None)

    def _first(self, family: str, previous: Condition) -> Counter[Condition]:
        """Start from the condition when listening began, unless `previous` belongs to a span reported late."""
        if previous == "normal" or RANK[previous] > RANK[self._told]:
            return Counter()
        self._since_s[family] = self._told_since_s
        return Counter([previous])

    def _changed(self, family: str, previous: Condition, condition: Condition, at_s: float) -> list[Span]:
        if family not in self._entered:
            self._entered[family] = self._first(family, previous)
        before, entered = self.current(family), self._entered[family]
        entered[previous] -= 1
        entered[condition] += 1
        after = self.current(family)
        ended = []
        if previous != before and previous != "normal":  # noqa: PLR1714  (mypy narrows by comparison alone)
            ended.append(Span(previous, None, at_s))
        if after != before:
            if before != "normal":
                ended.append(Span(before, self._since_s.get(family, at_s), at_s))
            if after == "normal":
                self._since_s.pop(family, None)
            else:
                self._since_s[family] = at_s
        return ended
