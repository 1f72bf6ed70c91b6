"""The sizes that RocksDB wants levels to have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.levels import LevelTargets, levels_of
from tests.builders import column_family, option_values, sample

SIZES = (0,) * 5


def test_each_level_has_ten_times_the_one_above_and_an_owners_additional_multiplier() -> None:
    assert LevelTargets.of(SIZES, 256, 10).targets == (256, 256, 2560, 25600, 256000)
    assert LevelTargets.of(SIZES, 256, 10, additional=(9, 1, 4)).targets == (256, 256, 2560, 102400, 1024000)
    # RocksDB takes it for static levels alone (version_set.cc, CalculateBaseBytes).
    dynamic = LevelTargets.of((0, 0, 0, 0, 10**6), 256, 10, is_dynamic=True)
    assert LevelTargets.of((0, 0, 0, 0, 10**6), 256, 10, additional=(9, 9, 9), is_dynamic=True) == dynamic


@pytest.mark.parametrize(("text", "third"), [("1:1:4:1", 102400), ("1:1:1:1", 25600), ("", 25600), ("{1;4}", 25600)])
def test_it_is_read_as_rocksdb_writes_it(text: str, third: int) -> None:
    options = option_values()
    family = {**options.column_families["default"], "max_bytes_for_level_multiplier_additional": text}
    cf = replace(column_family(), level_bytes=SIZES)
    found = levels_of(cf, sample(cf, options=replace(options, column_families={"default": family})), 256)
    assert found is not None
    assert found.targets[3] == third
