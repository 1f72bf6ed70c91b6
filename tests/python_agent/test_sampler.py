"""The thread that notices that a database was let go."""

from __future__ import annotations

import threading

from adocd_agent.sampler import Sampler
from adocd_agent.session import DatabaseSession

from tests.support.waiting import PATIENCE_S


class Closed(DatabaseSession):
    """A session whose database is closed."""

    def __init__(self) -> None:
        self._closed = threading.Event()
        self._closed.set()


def test_a_shortage_of_memory_does_not_end_it() -> None:
    asked: list[int] = []
    told = threading.Event()

    def sessions() -> list[DatabaseSession]:
        asked.append(1)
        if len(asked) == 1:
            raise MemoryError
        return [Closed()]

    sampler = Sampler(sessions, lambda _session: told.set())
    assert told.wait(PATIENCE_S)
    sampler.stop()
