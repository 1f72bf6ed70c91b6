"""A reading is taken once for all who come soon after, and never twice for the same one."""

from __future__ import annotations

from itertools import count

from adocd.probes.shared import Shared, SharedReading


def test_who_comes_soon_gets_the_same() -> None:
    shared, numbers = Shared(), count()

    def read(now_s: float, before_s: float | None = None) -> SharedReading[int]:
        return shared.read("disks", now_s, lambda: next(numbers), before_s=before_s)

    first = read(100.0)
    assert read(100.4) is first
    assert read(100.6).value == 1
    assert shared.read("other", 100.6, lambda: "its own").value == "its own"
    assert read(99.0).value == 2, "a clock that went back"


def test_a_callers_own_two_are_never_the_same() -> None:
    """However short its tick is: over no time there is no rate."""
    shared, numbers = Shared(), count()
    before_s = None
    values = []
    for tick in range(20):
        taken = shared.read("disks", 100 + tick * 0.05, lambda: next(numbers), before_s=before_s)
        before_s = taken.monotonic_s
        values.append(taken.value)
    assert values == list(range(20))


def test_what_nobody_asks_for_is_forgotten() -> None:
    shared = Shared()
    for number in range(100):
        shared.read(("process", number), 100.0, object)
    shared.read("disks", 200.0, object)
    assert shared.known == 1
