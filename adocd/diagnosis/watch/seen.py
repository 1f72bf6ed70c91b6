"""Stalls as they are seen: what is said of the one in progress, and of those before; values, and the book of them."""

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from adocd.model.stall import Cause, Held

Evidence = Literal["stall events", "properties", "counts", "LOG", "silence"]
Kind = tuple[Cause, Held]

#: So many stalls are remembered.
FOUND_MOST = 1000
#: So many whose times were guesses are remembered beside those that the LOG made of them.
_GUESSED_MOST = 100
#: So many of the newest are compared with what the LOG tells; it is some seconds late.
_COMPARED_MOST = 256


@dataclass(frozen=True, slots=True)
class Named:
    """A cause, and the column family whose it is; None where nothing tells."""

    cause: Cause
    column_family: str | None


@dataclass(frozen=True, slots=True)
class StallNow:
    """The stall in progress; times are unix seconds.

    `possibly` is what silence means of an agent that cannot answer during a stall, while nothing else is known.
    `causes` are those of `condition` first, and then those that hold writes less.
    """

    condition: Literal["delayed", "stopped", "possibly"]
    causes: tuple[Named, ...]
    since_unix_s: float
    noticed_unix_s: float
    evidence: Evidence
    why: str


@dataclass(frozen=True, slots=True)
class StallSeen:
    """A stall that is over; times are unix seconds, and `noticed` may be after its end.

    `evidence` is what its times are from. By counts it was within them, once or more often.
    """

    begin_unix_s: float
    end_unix_s: float
    noticed_unix_s: float
    cause: Cause
    condition: Held
    column_family: str | None
    evidence: Evidence

    def is_about(self, family: str | None, kind: Kind, begin_s: float, end_s: float) -> bool:
        """Say whether it is of this kind and overlaps this time."""
        same = self.column_family == family and (self.cause, self.condition) == kind
        return same and self.begin_unix_s <= end_s and begin_s <= self.end_unix_s


@dataclass(frozen=True, slots=True)
class Seen:
    """A stall that lasts; `unsure_s` is how far off `begin_s` may be, `words` what stands for it in figures."""

    cause: Cause
    held: Held
    begin_s: float
    noticed_s: float
    evidence: Evidence
    words: str = ""
    unsure_s: float = 0.0

    @property
    def kind(self) -> Kind:
        """What it is: its cause, and how writes are held."""
        return self.cause, self.held


class Book:
    """One open stall a column family at most, as RocksDB has it, and the last `FOUND_MOST` that are over."""

    def __init__(self) -> None:
        self.open: dict[str | None, Seen] = {}
        self.found: deque[StallSeen] = deque(maxlen=FOUND_MOST)
        #: How many were ever found over, each time it was told.
        self.over = 0
        self._guessed: deque[StallSeen] = deque(maxlen=_GUESSED_MOST)

    def begin(self, family: str | None, seen: Seen) -> None:
        """Open a stall; one that is open there ends where this one begins."""
        if family in self.open:
            self.end(family, seen.begin_s)
        self.open[family] = replace(seen, begin_s=min(seen.begin_s, seen.noticed_s))

    def end(self, family: str | None, at_s: float) -> None:
        """Close the one that is open there."""
        self.add(family, self.open.pop(family), at_s)

    def add(self, family: str | None, seen: Seen, end_s: float) -> None:
        """Enter a stall that is over."""
        begin_s = min(seen.begin_s, seen.noticed_s)
        end_s = max(begin_s, end_s)
        self.over += 1
        self.found.append(StallSeen(begin_s, end_s, seen.noticed_s, seen.cause, seen.held, family, seen.evidence))

    def has_logged(self, family: str, kind: Kind, begin_s: float, end_s: float) -> bool:
        """Say whether the LOG has told one of this kind in this time already."""
        newest = islice(reversed(self.found), _COMPARED_MOST)
        return any(seen.evidence == "LOG" and seen.is_about(family, kind, begin_s, end_s) for seen in newest)

    def learn_open(self, family: str, kind: Kind, begin_s: float) -> bool:
        """Take the LOG's word on when the open stall began; False where none of this kind is open."""
        seen = self.open.get(family)
        if seen is None or seen.kind != kind:
            return False
        if abs(begin_s - seen.begin_s) <= seen.unsure_s:
            self.open[family] = replace(seen, begin_s=min(begin_s, seen.noticed_s), unsure_s=0.0)
        return True

    def confirm(self, family: str, words: str) -> None:
        """Take the LOG for the evidence of the open stall, while the agent does not answer."""
        self.open[family] = replace(self.open[family], evidence="LOG", words=words)

    def learn_ended(self, family: str, kind: Kind, begin_s: float, end_s: float, now_s: float) -> None:
        """Take a stall that the LOG has told to its end: it makes times exact that were guesses, or is news."""
        seen = self.open.get(family)
        if seen is not None and seen.kind == kind and end_s > seen.begin_s + seen.unsure_s:
            if seen.evidence != "stall events":  # between two samples it ended, and another began
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
            self.add(family, Seen(*kind, begin_s, noticed_s, "LOG"), end_s)
