"""Tide after a time in which it was not asked, and through windows that lack what it needs."""

from __future__ import annotations

from adocd.model.knob import Knob
from adocd.model.values import of_family
from tests.controllers.tide.test_law import GIB, MEMTABLE, Scene

BASE = "max_bytes_for_level_base"


def paused(scene: Scene, seconds: float = 3600.0) -> None:
    """Let nobody ask the law for so long."""
    scene.plant.now_s += seconds


def restored(scene: Scene) -> None:
    """Let the owner's values have come back meanwhile."""
    scene.plant.values = dict(scene.plant.originals)


def test_a_flood_from_before_a_pause_is_forgotten() -> None:
    scene = Scene()
    scene.flooded()
    restored(scene)
    paused(scene)
    scene.plant.immutable_memtables = 0
    scene.writes(40)
    assert scene.step(60) == ("", {})


def test_a_flood_that_presses_after_a_pause_is_met() -> None:
    scene = Scene()
    scene.flooded()
    restored(scene)
    paused(scene)
    assert scene.step()[0] == "tide.flood"
    assert scene.plant.now("level0_file_num_compaction_trigger") == "100"


def test_what_is_still_the_laws_after_a_pause_is_given_back_as_at_an_ebb() -> None:
    """Level 1 holds what the flood has left: all at once, more would be due than the soft limit."""
    scene = Scene()
    scene.flooded()
    paused(scene)
    scene.plant.immutable_memtables = 0
    scene.writes(40)
    scene.plant.l0_files, scene.plant.level_bytes = 2, (2 * MEMTABLE, 25 * GIB, 60 * GIB, 0, 0, 0, 0)
    bases: list[int] = []
    while int(scene.plant.now(BASE)) > GIB // 4 and len(bases) < 600:
        rule, found = scene.step()
        if Knob.LEVEL_BASE_SIZE in found:
            assert rule == "tide.ebb"
            bases.append(found[Knob.LEVEL_BASE_SIZE])
            moved = 25 * GIB - found[Knob.LEVEL_BASE_SIZE]
            scene.plant.level_bytes = (2 * MEMTABLE, 25 * GIB - moved, 60 * GIB + moved, 0, 0, 0, 0)
    assert bases == sorted(bases, reverse=True)
    assert len(bases) > 1, "in steps"
    scene.step(5)
    assert scene.plant.values == scene.plant.originals


def test_a_law_that_begins_where_another_has_left_a_flood_gives_it_back_in_steps_too() -> None:
    scene = Scene()
    scene.plant.values[of_family("default", BASE)] = str(25 * GIB)
    scene.plant.level_bytes = (0, 25 * GIB, 60 * GIB, 0, 0, 0, 0)
    rule, found = scene.step()
    assert rule == "tide.ebb"
    assert GIB < found[Knob.LEVEL_BASE_SIZE] < 25 * GIB


def test_a_flood_that_was_interrupted_is_not_judged() -> None:
    scene = Scene()
    for _ in range(2):
        scene.plant.members["waited_fraction"] = 0.5
        scene.flooded()
        scene.step(40)
        restored(scene)
        paused(scene)
        scene.plant.immutable_memtables = 0
        scene.plant.members["waited_fraction"] = 0.0
        scene.writes(1)
        scene.step(40)
        scene.writes(100)
    assert scene.law.declined is None


def test_sizes_that_are_not_reported_for_a_moment_stay_known() -> None:
    """The agent for rocksdict reports none while a column family has more than a thousand files."""
    scene = Scene()
    scene.flooded()
    scene.level0(190, above=30 * MEMTABLE)
    scene.step()
    scene.plant.level_bytes = None
    assert scene.step(50) == ("", {})
    scene.plant.l0_files = 200
    assert scene.step()[1][Knob.DELAYED_WRITE_RATE] < 25_000_000
    assert scene.step(60)[1][Knob.DELAYED_WRITE_RATE] > 25_000_000, "but not for ever"
