"""How many files of level 0 a large merge leaves alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.level0 import few_files, files_when_merged
from tests.builders import column_family, option_values, sample


@pytest.mark.parametrize(
    ("trigger", "slowdown", "few"),
    [(4, 20, 8), (4, 6, 6), (20, 20, 20), (1, 20, 2), (0, 20, 1)],
)
def test_few_files_are_two_triggers_and_no_more_than_slow_writes_down(trigger: int, slowdown: int, few: int) -> None:
    assert few_files(trigger, slowdown) == few


@pytest.mark.parametrize(("beside", "few"), [(8, 8), (44, 8), (50, 10), (100, 20), (300, 60), (5000, 60)])
def test_few_files_are_a_fifth_of_those_beside_them_up_to_the_slowdown(beside: int, few: int) -> None:
    assert few_files(4, 60, beside) == few
    assert few_files(4, 12, beside) == min(few, 12)


@pytest.mark.parametrize(
    ("level_bytes", "files"),
    [((10, 90), 200), ((10, 0), 20), ((0, 90), 20), ((), 20), (None, 20), ((10,), 20), ((10, 0, 90, 0), 20)],
)
def test_files_when_merged_are_of_the_size_of_those_in_level_0(level_bytes: tuple[int, ...] | None, files: int) -> None:
    cf = replace(column_family(l0_files=20), level_bytes=level_bytes)
    assert files_when_merged(cf, sample(cf)) == files


def test_files_when_merged_are_in_the_base_level_where_that_follows_from_the_size_of_the_data() -> None:
    cf = replace(column_family(l0_files=20), level_bytes=(10, 0, 90, 0))
    options = option_values()
    dynamic = {**options.column_families["default"], "level_compaction_dynamic_level_bytes": "true"}
    whole = sample(cf, options=replace(options, column_families={"default": dynamic}))
    assert files_when_merged(cf, whole) == 200


@pytest.mark.parametrize("slowdown", [0, -1])
def test_a_slowdown_that_is_off_is_no_limit(slowdown: int) -> None:
    assert few_files(4, slowdown) == 8


def test_they_are_never_fewer_than_the_owners_trigger() -> None:
    """RocksDB takes a slowdown below the trigger while it is open: each file would be merged alone."""
    assert few_files(4, 2) == 4
