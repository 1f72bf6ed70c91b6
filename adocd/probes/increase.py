"""How much a cumulative counter grew."""


def increase(now: int | None, then: int | None) -> int | None:
    """Say how much; None where it was not read both times."""
    return None if now is None or then is None else grown(now, then)


def grown(now: int, then: int) -> int:
    """Say how much; one that was set back within the window grew by what it shows at least."""
    return now - then if now >= then else now


def rate(now: int | None, then: int | None, interval_s: float) -> float | None:
    """Say how much a second."""
    by = increase(now, then)
    return None if by is None else by / interval_s
