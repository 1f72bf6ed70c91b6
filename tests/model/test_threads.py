"""Background threads: what turns them, how many there are, how they are divided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.snapshot import OptionValues
from adocd.model.threads import ThreadsBy, jobs_allowed, pool_sizes, threads_by, threads_now
from tests.builders import CAPABILITIES, POOLS_ONLY

UNSET = {"max_background_flushes": "-1", "max_background_compactions": "-1"}


def values(low: int = 1, high: int = 1, **database: int) -> OptionValues:
    written = {name: str(value) for name, value in database.items()}
    return OptionValues(UNSET | written, thread_pools={"low": low, "high": high, "bottom": 0})


def test_the_option_is_the_knob_where_it_can_be_changed() -> None:
    options = values(max_background_jobs=6)
    assert threads_by(options, CAPABILITIES) is ThreadsBy.OPTION
    assert threads_now(options, ThreadsBy.OPTION) == 6


@pytest.mark.parametrize("old", ["max_background_flushes", "max_background_compactions"])
def test_the_old_options_make_it_dead(old: str) -> None:
    assert threads_by(values(max_background_jobs=6, **{old: 3}), CAPABILITIES) is None


def test_the_pools_are_the_knob_where_the_option_cannot_be_changed() -> None:
    options = values(low=3, high=1, max_background_jobs=20)
    assert threads_by(options, POOLS_ONLY) is ThreadsBy.POOLS
    assert threads_now(options, ThreadsBy.POOLS) == 4


def test_pools_do_nothing_beyond_the_jobs_allowed() -> None:
    assert threads_by(values(max_background_jobs=2), POOLS_ONLY) is None
    assert threads_now(values(low=30, high=10, max_background_jobs=8), ThreadsBy.POOLS) == 8


def test_old_options_allow_their_sum() -> None:
    options = values(max_background_jobs=2, max_background_flushes=2, max_background_compactions=6)
    assert jobs_allowed(options) == 8
    assert threads_by(options, POOLS_ONLY) is ThreadsBy.POOLS
    assert jobs_allowed(values(max_background_compactions=6)) == 7


def test_nothing_turns_them_where_nothing_is_reported() -> None:
    assert threads_by(OptionValues(), CAPABILITIES) is None
    assert threads_by(OptionValues(), POOLS_ONLY) is None
    assert threads_now(OptionValues(), None) is None


@given(st.integers(2, 128))
def test_pools_are_divided_as_rocksdb_divides_jobs(jobs: int) -> None:
    """DBImpl::GetBGJobLimits: flushes max(1, jobs / 4), the rest compactions."""
    sizes = pool_sizes(jobs)
    assert sizes["high"] == max(1, jobs // 4)
    assert sum(sizes.values()) == jobs
    assert min(sizes.values()) >= 1
