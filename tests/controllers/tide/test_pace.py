"""How fast tide lets clients write while a merge out of level 0 runs, and where much is pending."""

from __future__ import annotations

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.snapshot import Event
from adocd.model.values import of_database, of_family
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
    """300 memtables at 140 MB/s take 288 s. After 60 s 227 s are left, in which 49 files may come."""
    scene = merges(Scene())
    scene.step(60)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(1.5 * 49 * MEMTABLE / MB / 227, rel=0.02)
    scene.step(30)
    before = rate(scene)
    scene.background(60, 70)
    scene.step(60)
    assert rate(scene) < before, "a slower merge takes longer"


def test_where_a_merge_takes_longer_than_reckoned_the_room_is_never_used_up() -> None:
    scene = merges(Scene())
    scene.level0(190, above=200 * MEMTABLE)
    scene.step(400)
    assert rate(scene) == pytest.approx(57.9, rel=0.01), "as if no merge ran"
    scene.level0(198, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(23.5, rel=0.01)
    scene.level0(199, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(MIB / MB)


def test_near_the_end_of_a_merge_nobody_writes_more_than_at_his_peak() -> None:
    scene = merges(Scene())
    scene.level0(125, above=200 * MEMTABLE)
    scene.step(280)
    assert rate(scene) == pytest.approx(100, rel=0.1)


def test_memtables_that_wait_for_their_flush_count_as_files_to_come() -> None:
    scene = merges(Scene())
    scene.level0(139, above=200 * MEMTABLE)
    scene.step()
    before = rate(scene)
    scene.plant.immutable_memtables = 30
    scene.step()
    assert rate(scene) == pytest.approx(before / 2, rel=0.02)


@pytest.mark.parametrize(("output_level", "memtables"), [(1, 300), (None, 300), (4, 100)])
def test_a_merge_reads_level_0_and_the_level_that_it_goes_to(output_level: int | None, memtables: int) -> None:
    """With dynamic levels that is another one than level 1; the plant has nothing in level 4."""
    scene = merges(Scene(), output_level)
    scene.level0(175, above=200 * MEMTABLE)
    scene.step()
    left_s = memtables * MEMTABLE / MB / 140 - 1
    assert rate(scene) == pytest.approx(1.5 * 24 * MEMTABLE / MB / left_s, rel=0.02)


def test_files_that_rocksdb_merges_within_level_0_do_not() -> None:
    """They stay in level 0, and the merge out of it has not begun."""
    scene, idle = merges(Scene(), 0), Scene()
    idle.flooded()
    idle.plant.immutable_memtables = 0
    for each in (scene, idle):
        each.level0(150, above=200 * MEMTABLE)
        each.step()
    assert rate(scene) == pytest.approx(rate(idle), rel=0.05)


def test_where_the_bound_falls_below_what_level_0_holds_writers_are_not_held_at_the_least() -> None:
    """Level 0 is far below its stop, which waits for the merge."""
    scene = merges(Scene())
    scene.level0(130, above=100 * MEMTABLE)
    scene.step()
    scene.background(15, 30)
    scene.step(120)
    assert scene.plant.now("level0_stop_writes_trigger") == "200"
    assert 3 < rate(scene) < 10


def test_a_merge_that_drops_most_of_what_it_reads_is_as_fast_as_it_reads() -> None:
    scene = Scene()
    scene.plant.members["compaction_read_bytes_per_s"] = 140.0 * MB
    scene = merges(scene)
    scene.plant.members["compaction_written_bytes_per_s"] = 14.0 * MB
    scene.step(60)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(1.5 * 49 * MEMTABLE / MB / 227, rel=0.02)


def test_silence_is_no_slowness() -> None:
    """RocksDB counts once in a thousand records, and without Statistics the agent not at all in the largest merge."""
    scene = merges(Scene())
    scene.background(60, 0)
    scene.step(100)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    silent = rate(scene)
    assert silent == pytest.approx(1.5 * 49 * MEMTABLE / MB / 187, rel=0.02)
    scene.background(60, 140 * 102)
    scene.step()
    scene.background(60, 140)
    scene.step()
    assert rate(scene) == pytest.approx(silent, rel=0.03), "what was counted at once was written meanwhile"


def test_beside_other_compactions_a_merge_has_its_threads_part() -> None:
    """Four of nine threads: 140 MB/s are 62 for it."""
    scene = merges(Scene())
    assert scene.plant.now("max_subcompactions") == "4"
    scene.background(60, 140, running=6)
    scene.level0(150, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(1.5 * 49 * MEMTABLE / MB / ((300 * MEMTABLE / MB - 62) / 62.2), rel=0.02)


def test_a_merge_that_goes_on_is_not_forgotten() -> None:
    """After 700 s at 40 MB/s it has 280 s left; what no event tells the end of is forgotten after 600."""
    scene = merges(Scene())
    scene.background(60, 40)
    scene.level0(90, above=200 * MEMTABLE)
    scene.step(700)
    assert rate(scene) == pytest.approx(1.5 * 20 * MEMTABLE / MB / 281, rel=0.02)


def test_a_begin_that_comes_with_an_older_look_at_what_runs_counts() -> None:
    """The agent reads the number of running compactions first."""
    scene = Scene()
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.level0(130, above=200 * MEMTABLE)
    scene.background(60, 0, running=0)
    begin = Event(9, 100.0, "compaction_begin", "default", job=7, base_level=0, output_level=1)
    scene.plant.members["events"] = (begin,)
    scene.step()
    scene.plant.members["events"] = ()
    scene.background(60, 140)
    scene.step()
    assert rate(scene) < 45


@pytest.mark.parametrize(("share", "times"), [(1.0, 1), (0.5, 2), (0.25, 4)])
def test_with_several_column_families_all_writers_together_fill_a_level_0(share: float, times: int) -> None:
    scene, plant = scene_of("other")
    merges(scene)
    flushes = {"default": int(share * 100 * MB), "other": int((1 - share) * 100 * MB)}
    plant.members["events"] = tuple(
        Event(20, 100.0, "flush_end", name, bytes=size, elapsed_s=1.0) for name, size in flushes.items()
    )
    scene.step(10)
    scene.level0(185, above=200 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(1.5 * times * 14 * MEMTABLE / MB / 276, rel=0.03)


def test_with_blob_files_a_file_is_a_memtable_of_what_clients_write() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "enable_blob_files"), "true")
    scene = merges(scene)
    scene.plant.l0_files, scene.plant.level_bytes = 150, (150 * 13 * MIB, 200 * 13 * MIB, 0, 0, 0, 0, 0)
    scene.step()
    assert rate(scene) == pytest.approx(1.5 * 49 * MEMTABLE / MB / 286, rel=0.02)


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


def test_beyond_the_soft_limit_an_owners_rate_that_nobody_writes_at_is_none() -> None:
    scene = Scene()
    scene.opened_with(of_database("delayed_write_rate"), str(1000 * MB))
    scene.flooded()
    scene.level0(50)
    scene.plant.pending_bytes = 136 * GIB
    scene.step()
    assert rate(scene) == pytest.approx(100, rel=0.05), "half of the device's 200 MB/s"
