"""How much a cumulative counter grew."""


def increase(now: int | None, then: int | None) -> int | None:
    """Return the increase; None if the counter was not read both times."""
    return None if now is None or then is None else grown(now, then)


def grown(now: int, then: int) -> int:
    """Return the increase; a counter reset within the window grew at least by its current value."""
    return now - then if now >= then else now


def rate(now: int | None, then: int | None, interval_s: float) -> float | None:
    """Return the increase per second."""
    by = increase(now, then)
    return None if by is None else by / interval_s
