"""Thread pools: set through rocksdict's Env, counted by the names of threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import rocksdict
from adocd_agent.thread_pools import POOLS, ThreadPools, count_threads

from tests.support.waiting import eventually


def test_the_env_is_the_one_of_every_database_and_its_threads_are_the_pools(tmp_path: Path) -> None:
    """The real engine: growing shows at once, a shrink of idle threads in milliseconds."""
    db = rocksdict.Rdict(str(tmp_path / "db"))
    pools = ThreadPools(rocksdict.Env)
    before = pools.sizes()
    assert before["low"] >= 1
    assert before["high"] >= 1
    try:
        for pool in POOLS:
            pools.set(pool, before[pool] + 3)
            assert count_threads()[pool] == before[pool] + 3
            pools.set(pool, before[pool] + 1)
            eventually(functools.partial(has_threads, pool, before[pool] + 1), what="the idle ones have ended")
            assert pools.originals()[pool] == before[pool]
    finally:
        for pool in POOLS:
            pools.set(pool, before[pool])
        db.close()
    assert pools.sizes(fresh=True) == pools.originals() == before


def has_threads(pool: str, number: int) -> bool:
    return count_threads()[pool] == number


class SlowPools:
    """Pools whose threads end only when told to, as those that run a job."""

    def __init__(self) -> None:
        self.counts = {"low": 4, "high": 1, "bottom": 0}
        self.limits = dict(self.counts)

    def count(self) -> dict[str, int]:
        """Count the threads."""
        return dict(self.counts)

    def __call__(self) -> SlowPools:
        """Stand in for rocksdict.Env."""
        return self

    def set_low_priority_background_threads(self, threads: int) -> None:
        """Grow at once, and do not shrink yet."""
        self.limits["low"] = threads
        self.counts["low"] = max(self.counts["low"], threads)


def test_a_shrink_of_busy_threads_reads_as_what_was_set() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 2)
    assert slow.counts["low"] == 4
    assert pools.sizes(fresh=True)["low"] == 2
    slow.counts["low"] = 2
    assert pools.sizes(fresh=True)["low"] == 2
    slow.counts["low"] = 6  # another database was opened: RocksDB raises the pool for it
    assert pools.sizes(fresh=True)["low"] == 6
    assert pools.originals()["low"] == 4


def test_the_original_is_what_was_before_the_first_lease() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 6)
    pools.set("low", 8)
    assert pools.originals() == {"low": 4, "high": 1, "bottom": 0}
    slow.counts["low"] = 4
    pools.set("low", 4)
    slow.counts["low"] = 5
    assert pools.originals()["low"] == 5, "put back: what comes now is the host's doing"


def test_a_pool_that_is_set_to_what_it_has_is_adopted() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 2)
    assert pools.originals()["low"] == 4
    pools.set("low", 2)
    assert pools.originals()["low"] == 2
    assert slow.counts["low"] == 4
    assert pools.sizes(fresh=True)["low"] == 2, "its threads still run their jobs"


def test_a_pool_is_given_back_where_it_is_as_it_was_left() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 6)
    pools.give_back("low", 6, 4)
    assert slow.limits["low"] == 4
    assert pools.originals()["low"] == 4


def test_a_pool_that_the_host_has_set_is_its_own() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 6)
    slow.set_low_priority_background_threads(8)
    pools.give_back("low", 6, 4)
    assert slow.limits["low"] == 8
    assert pools.originals()["low"] == 8, "the next lease leads back to that"


def test_a_pool_that_another_lease_has_set_is_given_back_by_that() -> None:
    slow = SlowPools()
    pools = ThreadPools(slow, slow.count)
    pools.set("low", 6)
    pools.set("low", 8)
    pools.give_back("low", 6, 4)
    assert slow.limits["low"] == 8
    assert pools.originals()["low"] == 4
    pools.give_back("low", 8, 4)
    assert slow.limits["low"] == 4


@pytest.mark.parametrize("text", ["rocksdb:low\n", "python\n"])
def test_threads_are_counted_by_their_names(tmp_path: Path, text: str) -> None:
    for number in range(3):
        task = tmp_path / "task" / str(number)
        task.mkdir(parents=True)
        (task / "comm").write_text(text)
    (tmp_path / "task" / "ended").mkdir()
    assert count_threads(tmp_path) == {"low": 3 if "low" in text else 0, "high": 0, "bottom": 0}


def test_a_signal_handler_may_set_a_pool_in_the_middle_of_a_count() -> None:
    """It interrupts an attach, which counts, and detaches, which sets back what a lease changed."""
    slow = SlowPools()
    counted: list[dict[str, int]] = []
    interrupts: list[Callable[[], None]] = []

    def count() -> dict[str, int]:
        while interrupts:
            interrupts.pop()()
        return slow.count()

    pools = ThreadPools(slow, count)
    pools.set("low", 6)
    interrupts.append(lambda: pools.set("low", 4))
    threading.Thread(target=lambda: counted.append(pools.originals()), daemon=True).start()
    eventually(lambda: counted, what="the end of the count")
    assert counted == [{"low": 4, "high": 1, "bottom": 0}], "though its thread still runs"
