"""The agent's own thread: it polls every database ten times a second, and takes the requested snapshots."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from adocd_agent.problems import DatabaseClosed
from adocd_agent.running_clock import TICK_S
from adocd_agent.session import DatabaseSession


class Sampler:
    """Samples the sessions that `sessions` lists; calls `on_closed` for one whose database the host has let go."""

    def __init__(
        self,
        sessions: Callable[[], list[DatabaseSession]],
        on_closed: Callable[[DatabaseSession], None],
        tick: Callable[[], object] = lambda: None,
    ) -> None:
        self._sessions = sessions
        self._on_closed = on_closed
        self._tick = tick
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="adocd-sample", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread to sample now."""
        self._wake.set()

    def stop(self, join_s: float = 2.0) -> None:
        """Stop the thread; its current work is finished, unless that takes longer than `join_s`."""
        self._stopped = True
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._thread.join(join_s)

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._wake.wait(TICK_S)
                self._wake.clear()
                self._tick()
                for session in self._sessions():
                    self._sample(session)
            except Exception:  # memory may be short now: nothing else notices that a database was let go
                time.sleep(TICK_S)

    def _sample(self, session: DatabaseSession) -> None:
        with contextlib.suppress(Exception):  # a snapshot that fails shows in the age of the one before
            try:
                if session.closed:
                    raise DatabaseClosed
                session.database.look()
                session.snapshots.refresh()
            except DatabaseClosed:
                self._on_closed(session)
