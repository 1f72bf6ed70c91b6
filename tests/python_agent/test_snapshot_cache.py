"""The snapshot of one session, for all its clients: how often the database is measured for them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from adocd_agent import snapshot
from adocd_agent.snapshot import SnapshotCache

from tests.support.waiting import PATIENCE_S, eventually


class Measurement:
    """Counts how often it is taken; ends when it may."""

    def __init__(self) -> None:
        self.taken = 0
        self.begun, self.may_end = threading.Event(), threading.Event()

    def take(self) -> dict[str, Any]:
        """Return an empty sample."""
        self.taken += 1
        self.begun.set()
        assert self.may_end.wait(PATIENCE_S)
        return {}


@pytest.mark.parametrize(("aged_s", "taken"), [(0.0, 1), (1.0, 2)])
def test_a_request_that_came_while_a_sample_was_taken_gets_that_sample(
    aged_s: float, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless that one, too, has become old by then."""
    monkeypatch.setattr(snapshot, "FIRST_WAIT_S", PATIENCE_S)
    now_s = 100.0
    measurement = Measurement()
    cache = SnapshotCache(measurement.take, lambda: now_s)
    answers: list[int] = []

    def ask() -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.append(cache.get()["sequence"]))
        thread.start()
        return thread

    first = ask()
    assert eventually(cache.wanted.is_set, what="the first request")
    sampling = threading.Thread(target=cache.refresh)
    sampling.start()
    assert measurement.begun.wait(PATIENCE_S)
    second = ask()
    assert eventually(cache.wanted.is_set, what="the second request")
    measurement.may_end.set()
    sampling.join()
    for thread in (first, second):
        thread.join()
    now_s += aged_s
    cache.refresh()
    assert measurement.taken == taken
    assert answers == [1, 1]
