"""What an operator means by an option."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.daemon.book.journal.records import Override
from adocd.daemon.book.overrides import NoSuchOption, options_meant, pins, unreachable
from adocd.model.values import RATE_LIMITER, OptionName, of_database, of_family, of_pool
from tests.builders import CAPABILITIES, POOLS_ONLY
from tests.daemon.change.rocksdb_model import STOP, database, defaults, family

FAMILIES = ("default", "index")
VALUES = defaults(FAMILIES)


def override(option: str, value: str, column_family: str | None = None) -> Override:
    return Override("0123456789abcdef", "/db", option, column_family, value, None, "a test", "uid 0", 0.0)


@pytest.mark.parametrize(
    ("option", "column_family", "meant"),
    [
        (STOP, None, (of_family("default", STOP), of_family("index", STOP))),
        (STOP, "index", (of_family("index", STOP),)),
        ("max_background_jobs", None, (of_database("max_background_jobs"),)),
        ("rate_limiter_bytes_per_s", None, (RATE_LIMITER,)),
        ("thread_pool_low", None, (of_pool("low"),)),
    ],
)
def test_what_is_meant(option: str, column_family: str | None, meant: tuple[OptionName, ...]) -> None:
    assert options_meant(option, column_family, FAMILIES) == meant


@pytest.mark.parametrize(
    ("option", "column_family", "reason"),
    [
        (STOP, "gone", "there is no column family 'gone' here; there are default, index"),
        (STOP, "Default", "there is no column family 'Default' here; did you mean default?"),
        (
            "max_background_jobs",
            "index",
            "max_background_jobs belongs to the whole database: leave the column family out",
        ),
        ("thread_pool_low", "index", "thread_pool_low belongs to the whole database: leave the column family out"),
        (
            "max_open_files",
            None,
            "adocd cannot pin 'max_open_files': it does not know its bounds; docs/safety.md lists what it can",
        ),
    ],
)
def test_what_cannot_be_meant(option: str, column_family: str | None, reason: str) -> None:
    with pytest.raises(NoSuchOption) as refused:
        options_meant(option, column_family, FAMILIES)
    assert str(refused.value) == reason


def test_what_an_agent_cannot_change_is_out_of_reach() -> None:
    jobs = of_database("max_background_jobs")
    assert unreachable(jobs, VALUES, CAPABILITIES) is None
    assert unreachable(jobs, VALUES, POOLS_ONLY) == "this agent cannot change max_background_jobs"
    assert unreachable(of_pool("huge"), VALUES, CAPABILITIES) == "this agent cannot change thread_pool_huge"
    bottom = of_pool("bottom")
    assert unreachable(bottom, {**VALUES, bottom: "1"}, CAPABILITIES) is None
    assert unreachable(bottom, {**VALUES, bottom: "0"}, CAPABILITIES) == (
        "thread_pool_bottom cannot be pinned: this pool has no threads, and no restore could take them away again"
    )
    without = {option: value for option, value in VALUES.items() if option not in (RATE_LIMITER, jobs)}
    assert unreachable(RATE_LIMITER, without, CAPABILITIES) == (
        "rate_limiter_bytes_per_s cannot be pinned: the database was opened without one"
    )
    assert unreachable(jobs, without, CAPABILITIES) == (
        "max_background_jobs cannot be pinned: the agent does not report it"
    )


def test_later_overrides_beat_earlier_ones_and_what_is_not_here_is_left_out() -> None:
    """Those for all targets come first, and name what a single target need not have."""
    overrides = [
        override(STOP, "40"),
        override(STOP, "50", "index"),
        override(STOP, "60", "gone"),
        override("max_background_jobs", "3"),
        override("max_background_jobs", "4"),
        override("thread_pool_bottom", "2"),
        override("an_option_of_a_newer_adocd", "1"),
    ]
    found = pins(overrides, FAMILIES, VALUES, CAPABILITIES)
    assert found == family({STOP: 40}) | family({STOP: 50}, of="index") | database(max_background_jobs=4)
    reduced = replace(CAPABILITIES, column_family_options=())
    assert pins(overrides, FAMILIES, VALUES, reduced) == database(max_background_jobs=4)
