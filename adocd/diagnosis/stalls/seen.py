"""Stalls as adocd sees them: values for the one in progress and for finished ones, and the book that keeps them."""

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from adocd.model.stall import Cause, Held

Evidence = Literal["stall events", "properties", "counts", "LOG", "silence"]
Kind = tuple[Cause, Held]

#: Most finished stalls remembered.
FOUND_MOST = 1000
#: Most stalls with guessed times remembered after the LOG has replaced them by exact ones.
_GUESSED_MOST = 100
#: Most of the newest stalls compared with those of the LOG, which is some seconds late.
_COMPARED_MOST = 256


@dataclass(frozen=True, slots=True)
class Named:
    """A cause, its column family (None where unknown), and how it holds writes."""

    cause: Cause
    column_family: str | None
    condition: Held


@dataclass(frozen=True, slots=True)
class StallNow:
    """The stall in progress; times are unix seconds.

    The condition `possibly` means: the agent, which cannot answer during a stall, is silent, and nothing else is known.
    `causes` has those of `condition` first, then those of a milder one.
    """

    condition: Literal["delayed", "stopped", "possibly"]
    causes: tuple[Named, ...]
    since_unix_s: float
    noticed_unix_s: float
    evidence: Evidence
    why: str


@dataclass(frozen=True, slots=True)
class StallSeen:
    """A finished stall; times are unix seconds, and `noticed` may be after its end.

    `evidence` is the source of its times. By counts, one stall or more lie somewhere between them.
    """

    begin_unix_s: float
    end_unix_s: float
    noticed_unix_s: float
    cause: Cause
    condition: Held
    column_family: str | None
    evidence: Evidence

    def is_about(self, family: str | None, kind: Kind, begin_s: float, end_s: float) -> bool:
        """Whether it is of this kind and overlaps this time."""
        same = self.column_family == family and (self.cause, self.condition) == kind
        return same and self.begin_unix_s <= end_s and begin_s <= self.end_unix_s


@dataclass(frozen=True, slots=True)
class LastingStall:
    """A stall in progress; `unsure_s` is how far off `begin_s` may be, `words` its figures in words."""

    cause: Cause
    held: Held
    begin_s: float
    noticed_s: float
    evidence: Evidence
    words: str = ""
    unsure_s: float = 0.0

    @property
    def kind(self) -> Kind:
        """Its kind: its cause and how writes are held."""
        return self.cause, self.held


class StallBook:
    """At most one open stall per column family, as in RocksDB, and the last `FOUND_MOST` finished ones."""

    def __init__(self) -> None:
        self.open: dict[str | None, LastingStall] = {}
        self.found: deque[StallSeen] = deque(maxlen=FOUND_MOST)
        #: Number of finished stalls ever entered.
        self.over = 0
        self._guessed: deque[StallSeen] = deque(maxlen=_GUESSED_MOST)

    def begin(self, family: str | None, seen: LastingStall) -> None:
        """Open a stall; an open one of the same column family ends where this one begins."""
        if family in self.open:
            self.end(family, seen.begin_s)
        self.open[family] = replace(seen, begin_s=min(seen.begin_s, seen.noticed_s))

    def end(self, family: str | None, at_s: float) -> None:
        """Close the column family's open stall."""
        self.add(family, self.open.pop(family), at_s)

    def add(self, family: str | None, seen: LastingStall, end_s: float) -> None:
        """Enter a finished stall."""
        begin_s = min(seen.begin_s, seen.noticed_s)
        end_s = max(begin_s, end_s)
        self.over += 1
        self.found.append(StallSeen(begin_s, end_s, seen.noticed_s, seen.cause, seen.held, family, seen.evidence))

    def has_logged(self, family: str, kind: Kind, begin_s: float, end_s: float) -> bool:
        """Whether the LOG has already reported a stall of this kind in this time."""
        newest = islice(reversed(self.found), _COMPARED_MOST)
        return any(seen.evidence == "LOG" and seen.is_about(family, kind, begin_s, end_s) for seen in newest)

    def learn_open(self, family: str, kind: Kind, begin_s: float) -> bool:
        """Take the beginning of the open stall from the LOG; False if no stall of this kind is open."""
        seen = self.open.get(family)
        if seen is None or seen.kind != kind:
            return False
        if abs(begin_s - seen.begin_s) <= seen.unsure_s:
            self.open[family] = replace(seen, begin_s=min(begin_s, seen.noticed_s), unsure_s=0.0)
        return True

    def confirm(self, family: str, words: str) -> None:
        """Use the LOG as evidence of the open stall while the agent does not answer."""
        self.open[family] = replace(self.open[family], evidence="LOG", words=words)

    def learn_ended(self, family: str, kind: Kind, begin_s: float, end_s: float, now_s: float) -> None:
        """Take a stall that the LOG reports as finished: it replaces guessed times, or the stall is new."""
        seen = self.open.get(family)
        if seen is not None and seen.kind == kind and end_s > seen.begin_s + seen.unsure_s:
            if seen.evidence != "stall events":  # it ended between two samples, and another began
                self.open[family] = replace(
                    seen, begin_s=end_s, noticed_s=max(end_s, seen.noticed_s), unsure_s=max(0.0, now_s - end_s)
                )
                self.add(
                    family,
                    replace(seen, begin_s=begin_s, noticed_s=max(begin_s, seen.noticed_s), evidence="LOG"),
                    end_s,
                )
            return
        noticed_s = now_s
        for at in range(len(self.found) - 1, max(-1, len(self.found) - 1 - _COMPARED_MOST), -1):
            known = self.found[at]
            if known.evidence != "LOG" and known.is_about(family, kind, begin_s, end_s):
                if known.evidence == "stall events":
                    return
                self._guessed.append(known)
                del self.found[at]
                break
        for known in self._guessed:
            if known.is_about(family, kind, begin_s, end_s):
                noticed_s = min(noticed_s, max(begin_s, known.noticed_unix_s))
        if not self.has_logged(family, kind, begin_s, end_s):
            self.add(family, LastingStall(*kind, begin_s, noticed_s, "LOG"), end_s)
