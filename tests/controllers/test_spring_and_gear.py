"""Spring and gear: the drain rate is what was flushed less what level 0 grew by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.controllers.base import Controller
from adocd.model.knob import MIB, Knob
from tests.controllers.laws import Plant, make, settings

RATE = Knob.DELAYED_WRITE_RATE
#: Of the owner, in RocksDB's defaults.
OWNERS = 16 * MIB


def rate(mib_per_s: float) -> dict[Knob, Any]:
    """The one setting that is expected."""
    return {RATE: pytest.approx(mib_per_s * MIB, abs=1)}


class Scene:
    """A database with the law at work."""

    def __init__(self, **parameters: float) -> None:
        self.law: Controller = make("spring-and-gear", **parameters)
        self.plant = Plant()
        self.bytes = 0

    def window(self, flushed_mib_per_s: float, grown_mib: int, l0_files: int = 8) -> dict[Knob, int]:
        """Live through a window of 10 s in which level 0 grows by so much."""
        self.bytes += grown_mib * MIB
        self.plant.level_bytes = (self.bytes, *[0] * 6)
        self.plant.l0_files = l0_files
        self.plant.members["flushed_bytes_per_s"] = flushed_mib_per_s * MIB
        return settings(self.plant.step(self.law))

    def delayed(self, in_force: int) -> None:
        """Let writes be delayed from now on, at this rate in bytes/s; 0 ends the delay."""
        self.plant.members["delayed_write_rate_bytes_per_s"] = in_force
        self.plant.members["condition"] = "delayed" if in_force else "normal"


def test_the_delay_is_engaged_at_the_trigger() -> None:
    scene = Scene()
    assert scene.window(0, 0) == {Knob.LEVEL0_SLOWDOWN: 4}, "and the rate stays the owner's until a drain is measured"


def test_before_a_drain_is_measured_the_rate_is_left_alone() -> None:
    scene = Scene()
    scene.delayed(2 * MIB)
    assert RATE not in scene.window(0, 0)
    assert scene.window(0, 0, l0_files=1) == {}


def test_the_rate_is_what_leaves_level_0() -> None:
    """40 MiB/s come in and level 0 grows by 100 MiB in 10 s, so 30 MiB/s leave it."""
    scene = Scene()
    scene.window(40, 0)
    assert scene.window(40, 100) == rate(30)
    assert scene.window(40, 100) == {}


def test_a_slow_device_is_measured_in_bytes_too() -> None:
    """1.6 MiB/s leave level 0: in whole MiB writes would have a third less."""
    scene = Scene(floor_bytes_per_s=MIB)
    scene.window(4, 0)
    assert scene.window(4, 24) == rate(1.6)


def test_it_is_a_mean_over_time() -> None:
    """A time constant of 30 s and a window of 10: the share of the new one is 1 - exp(-1/3) = 0.2835."""
    scene = Scene(smoothing_s=30.0)
    scene.window(40, 0)
    for _ in range(4):
        scene.window(40, 100)
    assert scene.window(40, 400)[RATE] == pytest.approx((30 - 30 * 0.2835) * MIB, rel=0.001)


def test_until_then_it_is_the_mean_of_all_windows() -> None:
    """30, 0 and 30 MiB/s: a first window that is far off does not stand for minutes."""
    scene = Scene()
    scene.window(40, 0)
    scene.window(40, 100)
    assert scene.window(40, 400) == rate(15)
    assert scene.window(40, 100) == rate(20)


def test_it_never_goes_below_the_floor() -> None:
    scene = Scene(floor_bytes_per_s=4 * MIB)
    scene.window(10, 0)
    assert scene.window(10, 100) == {RATE: 4 * MIB}


def test_what_rocksdb_has_made_of_it_is_set_anew() -> None:
    """In each period, also where the measured rate has not moved. RocksDB skips a value that is set already."""
    scene = Scene()
    scene.window(40, 0)
    assert scene.window(40, 100) == rate(30)
    held = int(scene.plant.now("delayed_write_rate"))
    scene.delayed(24 * MIB)
    assert scene.window(40, 100) == {}, "0.8 of it"
    scene.delayed(19 * MIB)
    assert scene.window(40, 100) == {RATE: held + 1}
    assert scene.window(40, 100) == {RATE: held}


def test_the_floor_is_held_too() -> None:
    scene = Scene(floor_bytes_per_s=4 * MIB)
    scene.window(10, 0)
    scene.window(10, 100)
    scene.delayed(MIB)
    assert scene.window(10, 100) == {RATE: 4 * MIB + 1}


def test_during_a_delay_a_rate_that_is_the_owners_is_no_restore() -> None:
    """The planner keeps the owner's exact value back until the delay is over."""
    scene = Scene()
    scene.window(40, 0)
    assert scene.window(40, 360) == {RATE: 4 * MIB}
    scene.delayed(4 * MIB)
    assert scene.window(40, 120)[RATE] == OWNERS + 1, "28 and 4 MiB/s leave level 0, which is 16 on average"


def test_a_level_0_with_nothing_to_merge_says_nothing() -> None:
    scene = Scene()
    scene.window(40, 0)
    scene.window(40, 100)
    for _ in range(20):
        assert scene.window(0, 0, l0_files=1) == {}


def test_a_level_0_whose_owner_has_disabled_compaction_says_nothing() -> None:
    """However many files a bulk load leaves there, nothing is to merge them: that is no slow merge."""
    scene = Scene()
    scene.window(40, 0)
    scene.window(40, 100)
    (switch,) = (option for option in scene.plant.values if option.option == "disable_auto_compactions")
    scene.plant.values[switch] = "true"
    for _ in range(20):
        assert scene.window(40, 400, l0_files=300) == {}
    scene.plant.values[switch] = "false"
    assert scene.window(40, 400)[RATE] == pytest.approx(15 * MIB, abs=1)


def test_a_pause_is_no_merge() -> None:
    """Level 0 held 1000 MiB before it: nobody knows when they were merged, and it was not in this window."""
    scene = Scene()
    scene.window(40, 1000)
    scene.plant.now_s += 3600.0
    assert scene.window(40, -1000) == {}
    assert scene.window(40, 100) == rate(30)


def test_a_column_family_that_goes_is_no_merge() -> None:
    """Level 0 of one is 1000 MiB, and gone in the next window: nothing was merged at 140 MiB/s."""
    scene = Scene()
    scene.window(40, 1000)
    sample = scene.plant.sample(10.0)
    (family,) = sample.column_families
    both = replace(sample, column_families=(family, replace(family, name="dropped")))
    scene.law.step(both)
    assert RATE not in scene.window(40, 0)
    assert scene.window(40, 100) == rate(30)


def test_a_merge_that_does_not_move_says_that_it_is_slow() -> None:
    scene = Scene(smoothing_s=30.0)
    scene.window(40, 0)
    scene.window(40, 100)
    for _ in range(30):
        scene.window(10, 100, l0_files=9)
    assert scene.plant.now("delayed_write_rate") == str(4 * MIB)


def test_small_differences_are_left_alone() -> None:
    """Less than a tenth."""
    scene = Scene(smoothing_s=1.0)
    scene.window(100, 0)
    assert scene.window(100, 0) == {RATE: 100 * MIB}
    assert scene.window(109, 0) == {}
    assert scene.window(112, 0)[RATE] == pytest.approx(112 * MIB, rel=0.001)


def test_a_faster_merge_never_means_slower_writes() -> None:
    def after(grown_mib: int) -> int:
        scene = Scene()
        scene.window(100, 0)
        scene.window(100, grown_mib)
        return int(scene.plant.now("delayed_write_rate"))

    rates = [after(grown) for grown in (0, 100, 300, 500, 900)]
    assert rates == sorted(rates, reverse=True)
