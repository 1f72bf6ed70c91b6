"""What a run measured, for people: `-s` shows it at the end."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from tests.chaos.profile import FULL, SEED


class Figures:
    """Lines that the tests leave, in the order they ran."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, title: str, *lines: str) -> None:
        """Leave some under a title."""
        self._lines += [f"{title}", *(f"    {line}" for line in lines)]

    def text(self) -> str:
        """Return all of them."""
        profile = "full" if FULL else "short"
        return "\n".join([f"chaos, {profile} profile, ADOCD_CHAOS_SEED={SEED}", *self._lines])


def spread(values: Iterable[float], unit: str = "s") -> str:
    """Say median and worst."""
    known = list(values)
    if not known:
        return "nothing to measure"
    return f"median {statistics.median(known):.2f} {unit}, worst {max(known):.2f} {unit} (of {len(known)})"
