"""The agent's stall events, put in order: spans of time in which a column family's writes were held.

RocksDB tells its listeners after the fact, on the thread that installed the superversion. For a flush or compaction
that is at once. A stop or delay by memtables is installed by the very writer that then waits, so it is told when the
wait is over, and often after the flush has told the end of it: `stopped -> normal`, then `normal -> stopped`
(db/db_impl/db_impl_write.cc, PreprocessWrite). So changes are added up, as the agent does, and an end without a
beginning is the end of a span that was told late. What had been told before the first event that came here is where
the sums begin: the agent says it of all column families together, and `previous` of the one whose event it is.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from adocd.model.snapshot import Condition, Event
from adocd.model.stall import Held

RANK: dict[Condition, int] = {"normal": 0, "delayed": 1, "stopped": 2}


@dataclass(frozen=True, slots=True)
class Span:
    """A condition's time in unix seconds; `begin_s` is None where it was told late, `end_s` while it lasts."""

    held: Held
    begin_s: float | None
    end_s: float | None


class StallEvents:
    """Adds up the changes of each column family.

    `told` is what the agent's events had come to, the worst column family counting, when one began to listen at
    `since_s`, in unix seconds.
    """

    def __init__(self, told: Condition = "normal", since_s: float = 0.0) -> None:
        self._told, self._told_since_s = told, since_s
        self._entered: dict[str, Counter[Condition]] = {}
        self._since_s: dict[str, float] = {}

    def current(self, family: str) -> Condition:
        """Say what the column family is subject to by its events."""
        entered = self._entered.get(family)
        if entered is None:
            return "normal"
        return "stopped" if entered["stopped"] > 0 else "delayed" if entered["delayed"] > 0 else "normal"

    def since_s(self, family: str) -> float | None:
        """Say since when, in unix seconds; None where its condition is normal."""
        return self._since_s.get(family)

    def take(self, events: Iterable[Event], unix_s: Callable[[float], float]) -> dict[str, list[Span]]:
        """Take what happened since the last time; return the spans that ended in it, by column family."""
        ended: dict[str, list[Span]] = {}
        for event in events:
            if event.kind == "stall" and event.condition is not None and event.previous is not None:
                family = event.column_family or ""
                ended.setdefault(family, []).extend(
                    self._changed(family, event.previous, event.condition, unix_s(event.monotonic_s))
                )
        return ended

    def keep(self, families: Collection[str], worst: Condition) -> None:
        """Forget column families that are gone, and what contradicts `worst`, the agent's word on all together."""
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
        """Begin with what held when one began to listen, unless `previous` is of a span that is told late."""
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
