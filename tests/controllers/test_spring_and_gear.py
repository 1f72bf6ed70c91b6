"""Spring and gear: the drain rate is what was flushed less what level 0 grew by."""

from __future__ import annotations

from dataclasses import replace

from adocd.controllers.base import Controller
from adocd.model.knob import MIB, Knob
from tests.controllers.laws import Plant, make, settings


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


def test_the_delay_is_engaged_at_the_trigger() -> None:
    scene = Scene()
    assert scene.window(0, 0) == {Knob.LEVEL0_SLOWDOWN: 4}, "and the rate stays the owner's until a drain is measured"


def test_the_rate_is_what_leaves_level_0() -> None:
    """40 MiB/s come in and level 0 grows by 100 MiB in 10 s, so 30 MiB/s leave it."""
    scene = Scene()
    scene.window(40, 0)
    assert scene.window(40, 100) == {Knob.DELAYED_WRITE_RATE: 30 * MIB}
    assert scene.window(40, 100) == {}


def test_it_is_a_mean_over_time() -> None:
    """A time constant of 30 s and a window of 10: the share of the new one is 1 - exp(-1/3) = 0.283."""
    scene = Scene(smoothing_s=30.0)
    scene.window(40, 0)
    for _ in range(4):
        scene.window(40, 100)
    assert scene.window(40, 400) == {Knob.DELAYED_WRITE_RATE: 21 * MIB}  # 30 - 30 x 0.283 = 21.5


def test_until_then_it_is_the_mean_of_all_windows() -> None:
    """30, 0 and 30 MiB/s: a first window that is far off does not stand for minutes."""
    scene = Scene()
    scene.window(40, 0)
    scene.window(40, 100)
    assert scene.window(40, 400) == {Knob.DELAYED_WRITE_RATE: 15 * MIB}
    assert scene.window(40, 100) == {Knob.DELAYED_WRITE_RATE: 20 * MIB}


def test_it_never_goes_below_the_floor() -> None:
    scene = Scene(floor_bytes_per_s=4 * MIB)
    scene.window(10, 0)
    assert scene.window(10, 100) == {Knob.DELAYED_WRITE_RATE: 4 * MIB}


def test_a_level_0_with_nothing_to_merge_says_nothing() -> None:
    scene = Scene()
    scene.window(40, 0)
    scene.window(40, 100)
    for _ in range(20):
        assert scene.window(0, 0, l0_files=1) == {}


def test_a_column_family_that_goes_is_no_merge() -> None:
    """Level 0 of one is 1000 MiB, and gone in the next window: nothing was merged at 140 MiB/s."""
    scene = Scene()
    scene.window(40, 1000)
    sample = scene.plant.sample(10.0)
    (family,) = sample.column_families
    both = replace(sample, column_families=(family, replace(family, name="dropped")))
    scene.law.step(both)
    assert Knob.DELAYED_WRITE_RATE not in scene.window(40, 0)
    assert scene.window(40, 100) == {Knob.DELAYED_WRITE_RATE: 30 * MIB}


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
    assert scene.window(100, 0) == {Knob.DELAYED_WRITE_RATE: 100 * MIB}
    assert scene.window(109, 0) == {}
    assert scene.window(112, 0) == {Knob.DELAYED_WRITE_RATE: 111 * MIB}


def test_a_faster_merge_never_means_slower_writes() -> None:
    def rate(grown_mib: int) -> int:
        scene = Scene()
        scene.window(100, 0)
        scene.window(100, grown_mib)
        return int(scene.plant.now("delayed_write_rate"))

    rates = [rate(grown) for grown in (0, 100, 300, 500, 900)]
    assert rates == sorted(rates, reverse=True)
