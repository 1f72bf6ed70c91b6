"""RocksDB's thread pools. They belong to the process, not to a database, and rocksdict can set but not read them.

A pool's size is counted by the names of its threads. Growth shows at once. After a shrink, a busy thread ends only with
its job: until the count has come down, the agent reports the number set, which is also what RocksDB uses.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

POOLS: tuple[str, ...] = ("low", "high", "bottom")
_SETTERS = {
    "low": "set_low_priority_background_threads",
    "high": "set_high_priority_background_threads",
    "bottom": "set_bottom_priority_background_threads",
}
MAX_AGE_S = 1.0
"""Greatest age of a count, which costs some 2 µs per thread of the process."""
SETTLE_S = 0.05
"""Time that idle threads have to end after a shrink."""


def count_threads(proc: Path = Path("/proc/self")) -> dict[str, int]:
    """Count this process's RocksDB threads by pool (util/threadpool_imp.cc names them)."""
    counts = dict.fromkeys(POOLS, 0)
    names = {f"rocksdb:{pool}": pool for pool in POOLS}
    for task in (proc / "task").iterdir():
        try:
            pool = names.get((task / "comm").read_text(errors="replace").strip())
        except OSError:  # it has ended
            continue
        if pool is not None:
            counts[pool] += 1
    return counts


class ThreadPools:
    """The pools of this process, shared by all its databases. `env` makes rocksdict's Env, the default one."""

    def __init__(self, env: Callable[[], Any], count: Callable[[], dict[str, int]] = count_threads) -> None:
        self._env = env
        self._count = count
        self._lock = threading.RLock()  # a signal handler may detach while an attach counts
        self._counted: dict[str, int] = {}
        self._counted_s = 0.0
        self._shrinking: dict[str, int] = {}
        self._before_leases: dict[str, int] = {}
        self._set: dict[str, int] = {}
        """What was set last, by whichever session."""

    def sizes(self, *, fresh: bool = False) -> dict[str, int]:
        """Return the number of threads of each pool, or its number after a shrink in progress."""
        with self._lock:
            return dict(self._sizes(fresh=fresh))

    def originals(self) -> dict[str, int]:
        """Return the sizes as they were before any lease of this process changed them."""
        with self._lock:
            return {**self._sizes(fresh=True), **self._before_leases}

    def set(self, pool: str, threads: int) -> None:
        """Set a pool's size. Setting its current size makes that the original; a session adopts it that way."""
        with self._lock:
            self._call(pool, threads)
        self._settle(pool)

    def give_back(self, pool: str, written: int, original: int) -> None:
        """Set a pool to its original that a session left at `written`, unless it is somebody else's by now."""
        with self._lock:
            size = self._sizes(fresh=True)[pool]
            if size == written:
                self._call(pool, original)
            elif size != self._set.get(pool):  # the host has set it: a later lease leads back to that
                self._before_leases.pop(pool, None)
        self._settle(pool)

    def _call(self, pool: str, threads: int) -> None:
        before = self._sizes(fresh=True)[pool]
        original = self._before_leases.setdefault(pool, before)
        getattr(self._env(), _SETTERS[pool])(threads)
        self._set[pool] = threads
        if threads in (original, before):
            self._before_leases.pop(pool, None)
        if threads < self._counted[pool]:
            self._shrinking[pool] = threads
        else:
            self._shrinking.pop(pool, None)

    def _settle(self, pool: str) -> None:
        """Give idle threads the time to end."""
        deadline_s = time.monotonic() + SETTLE_S
        while self._unsettled(pool) and time.monotonic() < deadline_s:
            time.sleep(0.001)

    def _unsettled(self, pool: str) -> bool:
        with self._lock:
            self._sizes(fresh=True)
            return pool in self._shrinking

    def _sizes(self, *, fresh: bool) -> dict[str, int]:
        now_s = time.monotonic()
        if fresh or not self._counted or now_s - self._counted_s > MAX_AGE_S:
            self._counted, self._counted_s = self._count(), now_s
        for pool, target in list(self._shrinking.items()):
            if self._counted[pool] <= target:
                self._shrinking.pop(pool, None)
        return {**self._counted, **self._shrinking}
