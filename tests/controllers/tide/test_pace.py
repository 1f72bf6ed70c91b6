"""How fast tide lets clients write while a merge out of level 0 runs, and where much is pending."""

from __future__ import annotations

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.snapshot import Event
from adocd.model.values import of_family
from tests.controllers.laws import MB
from tests.controllers.tide.families import scene_of
from tests.controllers.tide.test_bound import rate
from tests.controllers.tide.test_law import GIB, MEMTABLE, Scene

HARD = of_family("default", "hard_pending_compaction_bytes_limit")

# -- a merge


def merges(scene: Scene, output_level: int | None = 1) -> Scene:
    """A flood at whose gate of 100 files a compaction of level 0 begins, above 25 GiB, and nobody waits for a flush."""
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.level0(100, above=200 * MEMTABLE)
    begin = Event(9, 100.0, "compaction_begin", "default", job=7, base_level=0, output_level=output_level)
    scene.plant.members["events"] = (begin,)
    scene.step()
    scene.plant.members["events"] = ()
    return scene


def test_while_a_merge_runs_writers_get_what_fills_level_0_by_its_end() -> None:
    """300 memtables at 140 MB/s take 288 s: after 60 s 228 are left, and 40 files in that time are 23.6 MB/s."""
    scene = merges(Scene())
    scene.step(60)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(40 * MEMTABLE / MB / 227, rel=0.02)
    scene.step(30)
    before = rate(scene)
    scene.background(60, 70)
    scene.step(60)
    assert rate(scene) < before, "a slower merge takes longer"


def test_a_merge_that_takes_longer_than_reckoned_does_not_stop_writes() -> None:
    scene = merges(Scene())
    scene.level0(189, above=200 * MEMTABLE)
    scene.step(600)
    fast = rate(scene)
    scene.level0(199, above=200 * MEMTABLE)
    scene.step()
    assert 1 < rate(scene) < fast


def test_near_the_end_of_a_merge_nobody_writes_more_than_at_his_peak() -> None:
    scene = merges(Scene())
    scene.level0(125, above=200 * MEMTABLE)
    scene.step(280)
    assert rate(scene) == pytest.approx(100, rel=0.1)


def test_memtables_that_wait_for_their_flush_count_as_files_to_come() -> None:
    scene = merges(Scene())
    scene.level0(130, above=200 * MEMTABLE)
    scene.step()
    before = rate(scene)
    scene.plant.immutable_memtables = 30
    scene.step()
    assert rate(scene) == pytest.approx(before / 2, rel=0.02)


@pytest.mark.parametrize("output_level", [1, 4, None])
def test_a_merge_out_of_level_0_paces_writers(output_level: int | None) -> None:
    scene = merges(Scene(), output_level)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(40 * MEMTABLE / MB / 286, rel=0.02)


def test_files_that_rocksdb_merges_within_level_0_do_not() -> None:
    """They stay in level 0, and the merge out of it has not begun."""
    scene, idle = merges(Scene(), 0), Scene()
    idle.flooded()
    idle.plant.immutable_memtables = 0
    for each in (scene, idle):
        each.level0(150, above=200 * MEMTABLE)
        each.step()
    assert rate(scene) == pytest.approx(rate(idle), rel=0.05)


# -- more pending than the soft limit


def behind(pending_gib: float, hard_gib: int = 256) -> Scene:
    """A flood in which so much is pending, with a soft limit of 64 GiB, and level 0 is far from its slope."""
    scene = Scene()
    scene.opened_with(HARD, str(hard_gib * GIB))
    scene.flooded()
    scene.level0(50)
    scene.plant.pending_bytes = int(pending_gib * GIB)
    scene.plant.members["delayed_write_rate_bytes_per_s"] = int(scene.plant.now("delayed_write_rate"))
    scene.step()
    return scene


def test_up_to_the_soft_limit_the_rate_is_what_flushes_can_do() -> None:
    assert rate(behind(63)) == rate(behind(64)) == pytest.approx(60, rel=0.05)


def test_beyond_it_the_rate_falls_with_what_is_pending_until_rocksdb_is_near_a_stop() -> None:
    assert rate(behind(64 + 72)) == pytest.approx(30, rel=0.05)
    assert rate(behind(64 + 144)) == pytest.approx(MIB / MB)
    assert rate(behind(250)) == pytest.approx(MIB / MB)


def test_without_a_hard_limit_it_falls_as_with_rocksdbs_own() -> None:
    assert rate(behind(64 + 72, hard_gib=0)) == pytest.approx(30, rel=0.05)


def test_what_rocksdb_lowers_for_pending_bytes_is_set_again() -> None:
    """It lowers the rate by a fifth at each flush, because nothing is paid before the merge has ended."""
    scene = behind(100)
    held = rate(scene)
    scene.plant.members["delayed_write_rate_bytes_per_s"] = 2 * MIB
    assert scene.step()[1][Knob.DELAYED_WRITE_RATE] / MB == pytest.approx(held, rel=0.01)


def test_what_is_pending_in_a_column_family_without_a_flood_counts_too() -> None:
    """The rate is the database's, so it is the other's debt that would grow."""
    scene, plant = scene_of("other")
    scene.flooded()
    scene.level0(50)
    scene.step()
    before = rate(scene)
    plant.figures["other"] = {"pending_compaction_bytes": 136 * GIB}
    scene.step()
    assert rate(scene) == pytest.approx(before / 2, rel=0.05)
