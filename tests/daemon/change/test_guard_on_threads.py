"""The guard on threads: what a change can start, and how many of the cgroup's tasks stay free."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.daemon.change.guards.guard import Beside, TasksInUse, check
from adocd.daemon.change.guards.threads import thread_shortage
from adocd.model.sample import Sample
from adocd.model.values import Values, of_pool
from tests.builders import sample
from tests.daemon.change.rocksdb_model import database
from tests.daemon.change.test_guards import said, size


def with_tasks(used: int, limit: int = 100) -> Beside:
    return Beside(read_tasks=lambda: TasksInUse(used, limit))


def with_threads(low: int = 1, high: int = 1, **options: int) -> Sample:
    """Make a sample of a database with pools of these sizes."""
    now = sample()
    known = {**now.options.database, "max_background_jobs": "2", "max_subcompactions": "1"}
    known |= {option: str(value) for option, value in options.items()}
    return replace(now, options=replace(now.options, database=known, thread_pools={"low": low, "high": high}))


@pytest.mark.parametrize(
    ("wanted", "more"),
    [
        (database(max_background_jobs=8), 6),
        ({of_pool("low"): "20", of_pool("high"): "5"}, 23),
        (database(max_background_jobs=8) | {of_pool("low"): "6", of_pool("high"): "2"}, 6),
        (database(max_subcompactions=4), 3),
        (database(max_background_flushes=3), 2),
        (database(max_background_compactions=4), 3),
    ],
)
def test_no_thread_is_added_when_the_cgroup_has_few_tasks_left(wanted: Values, more: int) -> None:
    """A twentieth stays free, for the program itself."""
    now = with_threads()
    assert said(thread_shortage, wanted, now, with_tasks(95 - more)) == []
    (told,) = said(thread_shortage, wanted, now, with_tasks(96 - more))
    words = " and ".join(sorted(f"{option} {value}" for option, value in wanted.items()))
    assert told == (
        f"thread shortage: {words} can start {more} more threads; "
        f"of the 100 that its cgroup allows {4 + more} are left, and 5 stay free"
    )
    assert said(thread_shortage, wanted, now) == [], "no limit, or nobody knows it"


def test_threads_that_the_pools_have_already_are_no_new_ones() -> None:
    """Pools are shared, and never shrink for one database's options."""
    assert said(thread_shortage, database(max_background_jobs=20), with_threads(15, 5), with_tasks(99)) == []
    assert said(thread_shortage, database(max_background_jobs=24), with_threads(15, 5), with_tasks(99)) != []


def test_each_further_compaction_brings_its_subcompactions() -> None:
    now = with_threads(15, 5, max_subcompactions=16)
    (told,) = said(thread_shortage, database(max_background_jobs=20), now, with_tasks(50, 200))
    assert "can start 210 more threads" in told, "14 more compactions with 15 each"


def test_too_many_subcompactions_keep_no_job_from_running() -> None:
    wanted = database(max_background_jobs=4, max_subcompactions=64)
    verdict = check((thread_shortage,), wanted, with_threads(), with_tasks(50))
    assert verdict.values == database(max_background_jobs=4)


def test_subcompactions_that_were_granted_count_before_they_run() -> None:
    now, originals = with_threads(4, 1, max_subcompactions=11), database(max_subcompactions=1)
    wanted = {of_pool("low"): "20"}
    (told,) = said(thread_shortage, wanted, now, with_tasks(70), exempt=originals)
    assert "of the 100 that its cgroup allows 20 are left" in told
    assert said(thread_shortage, wanted, now, with_tasks(70), exempt=database(max_subcompactions=11)) == []


def test_some_threads_stay_free_under_any_limit() -> None:
    """Few of a small limit, and no more than 64 of a large one."""
    jobs = database(max_background_jobs=4)
    for limit, spare in ((16, 2), (4000, 64)):
        assert said(thread_shortage, jobs, with_threads(), with_tasks(limit - spare - 2, limit)) == []
        assert said(thread_shortage, jobs, with_threads(), with_tasks(limit - spare - 1, limit)) != []


def test_fewer_threads_and_the_way_back_are_let_through() -> None:
    none_left, now = with_tasks(100), with_threads(6, 2, max_background_jobs=8)
    assert said(thread_shortage, database(max_background_jobs=2) | size(128), now, none_left) == []
    back = database(max_background_jobs=16)
    assert said(thread_shortage, back, now, none_left, exempt=back) == []
    assert said(thread_shortage, back | {of_pool("bottom"): "9"}, now, none_left, exempt=back) != []
