"""Tide among other databases on the same disks: it keeps to what the arbiter allots it."""

from __future__ import annotations

from dataclasses import replace

from adocd.model.allowance import Allowance
from adocd.model.device import Storage
from adocd.model.knob import MIB, Knob
from adocd.model.surroundings import Surroundings
from tests.controllers.laws import MB, all_settings
from tests.controllers.tide.families import scene_of
from tests.controllers.tide.test_law import GIB, MEMTABLE, READ, Scene, flood, overwhelm, relieve

WHOLE = Allowance(
    others=4,
    device_share=1.0,
    fair_share=0.2,
    device_bytes_per_s=200.0 * MB,
    memtables_bytes=GIB,
    space_bytes=None,
    is_scarce=False,
)
DISK = Storage("/db", "ext4", "sda", (), ())
AROUND = Surroundings(1.0, DISK, None, (), (), None, None, None, None, (), free_bytes=240 * GIB)
GATE = {Knob.LEVEL_BASE_SIZE, Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP}


def shared(scene: Scene, allowance: Allowance) -> Scene:
    """Let the arbiter allot this from now on, to a database that is written."""
    scene.plant.members["allowance"] = allowance
    scene.plant.memtables_bytes = MIB
    return scene


def test_with_all_of_the_disks_it_does_what_it_does_alone() -> None:
    assert shared(Scene(), WHOLE).flooded() == Scene().flooded()


def test_the_bound_is_what_its_share_of_the_disks_pays_back() -> None:
    """60 MB/s pay back 9 GB in 300 s, and as much of level 1: 67 memtables."""
    found = shared(Scene(), replace(WHOLE, device_share=0.3, device_bytes_per_s=60.0 * MB)).flooded()[1]
    assert (found[Knob.LEVEL0_TRIGGER], found[Knob.LEVEL0_STOP]) == (33, 67)


def test_the_bound_is_a_good_third_of_its_space() -> None:
    scene = shared(Scene(), replace(WHOLE, space_bytes=22 * GIB))
    scene.plant.members["surroundings"] = AROUND
    assert scene.flooded()[1][Knob.LEVEL0_STOP] == 65


def test_the_memory_is_no_more_than_it_was_allotted() -> None:
    found = shared(Scene(), replace(WHOLE, memtables_bytes=2 * MEMTABLE)).flooded()[1]
    assert Knob.MEMTABLE_SIZE not in found, "64 MiB, the owner's"
    assert found[Knob.MEMTABLE_NUMBER] == 4


def test_while_a_neighbour_waits_it_writes_with_fewer_threads() -> None:
    narrow = replace(WHOLE, is_scarce=True, width=1, waiting=1)
    found = shared(Scene(), narrow).flooded()[1]
    assert Knob.BACKGROUND_JOBS not in found, "2, the owner's: with 4 RocksDB would run three compactions"
    assert shared(Scene(), replace(narrow, width=2)).flooded()[1][Knob.BACKGROUND_JOBS] == 8
    assert Knob.SUBCOMPACTIONS not in found, "1, the owner's"


def test_while_others_want_more_it_puts_merges_off_and_turns_nothing_else() -> None:
    """Level 0 collects files of 64 MiB, the owner's size."""
    scene = shared(Scene(), replace(WHOLE, is_scarce=True))
    rule, found = scene.step()
    assert (rule, set(found)) == ("tide.yield", GATE)
    assert found[Knob.LEVEL0_TRIGGER] == 100
    assert found[Knob.LEVEL_BASE_SIZE] == 200 * 64 * MIB
    scene.level0(40)
    assert scene.step(60) == ("", {}), "these files are its own doing"


def test_what_it_puts_off_is_no_more_than_its_share_pays_back() -> None:
    """10 MB/s pay back 1.5 GB in 300 s, and as much of level 1: 22 files of 64 MiB."""
    part = replace(WHOLE, is_scarce=True, device_share=0.05, fair_share=0.05, device_bytes_per_s=10.0 * MB)
    scene = shared(Scene(), part)
    assert scene.step()[1][Knob.LEVEL0_TRIGGER] == 11


def test_a_light_weight_counts_on_little_of_what_the_law_has_seen_itself() -> None:
    """It has seen 200 MB/s; a tenth of them pays back 22 memtables, and a fifth would pay back 44."""
    light = replace(WHOLE, device_share=0.1, fair_share=0.1, device_bytes_per_s=1.0 * MB)
    assert shared(Scene(), light).flooded()[1][Knob.LEVEL0_TRIGGER] == 11
    equal = replace(light, fair_share=0.2)
    assert shared(Scene(), equal).flooded()[1][Knob.LEVEL0_TRIGGER] == 22


def test_the_bound_stays_when_nobody_looked_at_the_free_space_in_time() -> None:
    scene = Scene()
    scene.plant.members["surroundings"] = replace(AROUND, free_bytes=22 * GIB)
    assert scene.flooded()[1][Knob.LEVEL0_STOP] == 65
    scene.plant.members["surroundings"] = None
    assert Knob.LEVEL0_STOP not in scene.step(30)[1]


def test_a_bound_that_makes_way_for_others_does_not_follow_what_grows() -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True, space_bytes=82 * GIB // 10))
    scene.background(60, 140, running=0)
    scene.plant.members["surroundings"] = AROUND
    assert scene.step()[1][Knob.LEVEL0_TRIGGER] == 24
    shared(scene, replace(WHOLE, is_scarce=True, space_bytes=22 * GIB))
    assert scene.step(30) == ("", {})
    shared(scene, replace(WHOLE, is_scarce=True, space_bytes=55 * GIB // 10))
    assert scene.step(5) == ("", {})
    assert scene.step(10)[1][Knob.LEVEL0_TRIGGER] == 16


def test_a_small_bound_shuts_the_gate_and_leaves_the_owners_slope() -> None:
    """2.8 GiB of space are 16 files of 64 MiB in level 0: merged at 8, and slowed down at the owner's 20, not at 9."""
    scene = shared(Scene(), replace(WHOLE, is_scarce=True, space_bytes=28 * GIB // 10))
    scene.plant.members["surroundings"] = AROUND
    rule, found = scene.step()
    assert (rule, set(found)) == ("tide.yield", {Knob.LEVEL0_TRIGGER, Knob.LEVEL_BASE_SIZE})
    assert found[Knob.LEVEL0_TRIGGER] == 8


def test_when_nobody_wants_more_the_files_are_merged_and_then_all_is_given_back() -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True))
    scene.step()
    scene.level0(40)
    scene.background(0, 0, running=0)
    shared(scene, WHOLE)
    assert scene.step() == ("tide.ebb", {Knob.LEVEL0_TRIGGER: 8})
    scene.level0(0)
    assert scene.step() == ("tide.ebb", {Knob.LEVEL_BASE_SIZE: 256 * MIB, Knob.LEVEL0_TRIGGER: 4})
    rule, found = scene.step(2)
    assert (rule, set(found)) == ("tide.calm", {Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP})


def test_whoever_is_pressed_while_it_puts_merges_off_takes_the_flood_in() -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True))
    scene.step()
    scene.plant.immutable_memtables = 2
    rule, found = scene.step()
    assert rule == "tide.flood"
    assert found[Knob.MEMTABLE_SIZE] == MEMTABLE
    assert found[Knob.SUBCOMPACTIONS] == 4


def test_at_the_ebb_it_waits_for_others_that_want_more() -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True))
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.writes(0)
    assert "tide.ebb" not in {scene.step()[0] for _ in range(30)}
    memory_and_threads = ("write_buffer_size", "max_write_buffer_number", "max_background_jobs", "max_subcompactions")
    assert [scene.plant.now(option) for option in memory_and_threads] == [str(64 * MIB), "2", "2", "1"]
    assert scene.plant.now("level0_file_num_compaction_trigger") == "100"
    shared(scene, WHOLE)
    assert scene.step()[0] == "tide.ebb"


def test_where_somebody_reads_nothing_is_put_off() -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True))
    scene.plant.tickers = {READ: 50_000}
    assert scene.step(30) == ("", {})


def test_one_scarce_second_neither_touches_idle_column_families_nor_divides_the_bound_among_them() -> None:
    scene, plant = scene_of("idle", "emptied")
    shared(scene, WHOLE).flooded()
    scene.level0(60)
    before = plant.now("level0_stop_writes_trigger")
    shared(scene, replace(WHOLE, is_scarce=True))
    assert {each.column_family for each in all_settings(plant.step(scene.law))} <= {"default", None}
    shared(scene, WHOLE)
    scene.step(60)
    assert plant.now("level0_stop_writes_trigger") == before == "200"
    assert plant.now_in("idle", "level0_file_num_compaction_trigger") == "4"


def test_a_flood_that_ends_while_a_neighbour_wants_more_is_judged_as_the_laws() -> None:
    scene = shared(Scene(), WHOLE)
    assert flood(scene, 0.5) == (None, True)
    overwhelm(scene, 0.5)
    scene.step(40)
    relieve(scene)
    shared(scene, replace(WHOLE, is_scarce=True)).step(30)
    assert scene.law.declined is None, "it still holds the gate, so what comes now is no trial"
    shared(scene, WHOLE).step(60)
    said, acted = flood(scene, 0.5)
    assert said is not None
    assert not acted
