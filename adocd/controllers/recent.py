"""The last values of a signal: TiKV's window (tikv components/tikv_util/src/smoother.rs, 0da25216)."""

from collections import deque

#: No value in a window is older.
_STALE_S = 300.0
#: By how much the mean of the newer half exceeds that of the older one where a signal rises.
_RISE = 2.0
_PERCENTILE = 0.9


class Recent:
    """At most `most` values, none of them more than 300 s older than the time that was given last."""

    def __init__(self, most: int) -> None:
        self._values: deque[tuple[float, float]] = deque(maxlen=most)

    def add(self, now_s: float, value: float) -> None:
        """Add the newest value, and forget those that are too old."""
        self._values.append((now_s, value))
        self.forget(now_s)

    def forget(self, now_s: float) -> None:
        """Forget those that are too old, also where nothing is added any more."""
        while self._values and self._values[0][0] < now_s - _STALE_S:
            self._values.popleft()

    @property
    def mean(self) -> float:
        """The mean; 0 without values."""
        return sum(value for _, value in self._values) / len(self._values) if self._values else 0.0

    @property
    def highest(self) -> float:
        """The highest value; 0 without values."""
        return max((value for _, value in self._values), default=0.0)

    @property
    def high(self) -> float:
        """The 90th percentile: of n values in order the one with index 0.9 n, rounded down; 0 without values."""
        ordered = sorted(value for _, value in self._values)
        return ordered[int(len(ordered) * _PERCENTILE)] if ordered else 0.0

    def rises(self, span_s: float = 0.0) -> bool:
        """Whether the newer half's mean is more than 2 above the older half's, and the values span so much time."""
        half = len(self._values) // 2
        if not half or self._values[-1][0] - self._values[0][0] < span_s:
            return False
        values = [value for _, value in self._values]
        older, newer = values[:half], values[half:]
        return sum(newer) / len(newer) > sum(older) / len(older) + _RISE
