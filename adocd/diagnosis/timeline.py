"""Seconds over time in at most 60 buckets of equal width; the length of a LOG need not be known beforehand."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

BUCKETS_MOST = 60
_WIDTH_FIRST_S = 1.0


class Timeline:
    """Adds up seconds by name and bucket. Buckets begin at `begin_s`; their width doubles when they get too many."""

    def __init__(self) -> None:
        self.begin_s: float | None = None
        self.width_s = _WIDTH_FIRST_S
        self.total_s: dict[str, float] = defaultdict(float)
        self._buckets: list[dict[str, float]] = []

    def begin(self, time_s: float) -> None:
        """Set the time at which the first bucket begins."""
        if self.begin_s is None:
            self.begin_s = time_s

    def add(self, begin_s: float, end_s: float, names: Iterable[str], seconds: float | None = None) -> None:
        """Add the time from `begin_s` to `end_s` to each of the names, or `seconds` spread evenly over it."""
        self.begin(begin_s)
        first_s = self.begin_s or 0.0
        share = 1.0 if seconds is None else seconds / (end_s - begin_s) if end_s > begin_s else 0.0
        names = tuple(names)
        for name in names:
            self.total_s[name] += (end_s - begin_s) * share
        begin_s = max(begin_s, first_s)
        while begin_s < end_s:
            while end_s - first_s > BUCKETS_MOST * self.width_s:
                self._fold()
            at = int((begin_s - first_s) // self.width_s)
            until_s = min(end_s, first_s + (at + 1) * self.width_s)
            while len(self._buckets) <= at:
                self._buckets.append(defaultdict(float))
            for name in names:
                self._buckets[at][name] += (until_s - begin_s) * share
            if until_s <= begin_s:
                return  # the rest is below a float's precision
            begin_s = until_s

    def buckets(self, end_s: float) -> list[tuple[float, float, Mapping[str, float]]]:
        """Return the buckets until `end_s`: beginning and end in unix seconds, and seconds by name."""
        if self.begin_s is None:
            return []
        while end_s - self.begin_s > BUCKETS_MOST * self.width_s:
            self._fold()
        found: list[tuple[float, float, Mapping[str, float]]] = []
        begin_s = self.begin_s
        while begin_s < end_s and len(found) < BUCKETS_MOST:
            at = len(found)
            until_s = min(end_s, self.begin_s + (at + 1) * self.width_s)
            found.append((begin_s, until_s, self._buckets[at] if at < len(self._buckets) else {}))
            begin_s = until_s
        return found

    def _fold(self) -> None:
        self.width_s *= 2
        folded: list[dict[str, float]] = []
        for at, bucket in enumerate(self._buckets):
            if at % 2 == 0:
                folded.append(bucket)
                continue
            for name, seconds in bucket.items():
                folded[-1][name] += seconds
        self._buckets = folded
