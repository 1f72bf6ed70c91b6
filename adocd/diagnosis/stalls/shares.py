"""The share of an interval in which writes were held, by cause. Pure."""

from collections.abc import Iterable, Iterator
from itertools import islice

from adocd.diagnosis.stalls.seen import StallBook
from adocd.model.stall import Cause

#: Most of the newest finished stalls examined: more do not end in one tick, and a tick must stay short.
_NEWEST = 128


def shares(book: StallBook, begin_s: float, end_s: float) -> dict[Cause, float]:
    """Return the shares for these unix seconds, as known so far; column families held at once count once."""
    by_cause: dict[Cause, list[tuple[float, float]]] = {}
    for cause, since_s, until_s in _stalls(book, end_s):
        if until_s <= begin_s:
            continue  # nearly all of them: it was over before
        if max(begin_s, since_s) < min(end_s, until_s):
            by_cause.setdefault(cause, []).append((max(begin_s, since_s), min(end_s, until_s)))
    whole_s = end_s - begin_s
    return {cause: min(1.0, covered_s(spans) / whole_s) for cause, spans in by_cause.items()}


def covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of spans, in their own unit."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _stalls(book: StallBook, end_s: float) -> Iterator[tuple[Cause, float, float]]:
    for seen in book.open.values():
        yield seen.cause, seen.begin_s, end_s
    for over in islice(reversed(book.found), _NEWEST):
        yield over.cause, over.begin_unix_s, over.end_unix_s
