"""The bound of level 0 and the slope below it, where levels below it, merges, crawls and far limits come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.levels import LevelTargets
from adocd.model.snapshot import Event
from adocd.model.values import of_family
from tests.controllers.laws import MB
from tests.controllers.tide.test_law import GIB, MEMTABLE, READ, Scene
from tests.controllers.tide.test_shared_disks import AROUND, WHOLE, shared

SOFT = 64 * GIB
SLOWDOWN, STOP = (of_family("default", f"level0_{name}_writes_trigger") for name in ("slowdown", "stop"))


def rate(scene: Scene) -> float:
    """The rate at which RocksDB would delay writes, in MB/s."""
    return int(scene.plant.now("delayed_write_rate")) / MB


# -- the slope


def test_a_crawl_does_not_hold_itself() -> None:
    """What was stopped has written 4 MB/s; flushes and merges can keep up with 0.95 x 200 x 0.9 / 3.44 = 49.7."""
    scene = Scene()
    scene.level0(130, above=200 * MEMTABLE)
    scene.writes(4)
    scene.plant.immutable_memtables = 2
    scene.step(3)
    assert rate(scene) == pytest.approx(49.7, rel=0.01)


def test_whoever_writes_less_than_what_lasts_is_not_held_before_that() -> None:
    scene = Scene()
    scene.writes(4)
    scene.flooded()
    for files in (120, 150, 190):
        scene.level0(files, above=30 * MEMTABLE)
        scene.step()
        assert rate(scene) > 75
    scene.level0(200, above=30 * MEMTABLE)
    scene.step()
    assert rate(scene) == pytest.approx(20.9, rel=0.01)


# -- the soft limit


def flooded_over(levels: tuple[int, ...]) -> tuple[Scene, int, int]:
    """Let a flood come over these levels; the gate in files, and the base level."""
    scene = Scene()
    scene.plant.level_bytes = levels
    scene.flooded()
    trigger, base = (scene.plant.now(n) for n in ("level0_file_num_compaction_trigger", "max_bytes_for_level_base"))
    return scene, int(trigger), int(base)


def test_the_gate_opens_before_more_than_the_soft_limit_would_be_pending() -> None:
    """What level 0 and a full level 1 hand down is due in the level below, which is large."""
    levels = (0, 25 * GIB, 60 * GIB, 0, 0, 0, 0)
    scene, trigger, base = flooded_over(levels)
    due = LevelTargets.of((trigger * MEMTABLE, *levels[1:]), base, 10)
    assert due.pending_bytes(is_l0_due=True) <= SOFT
    assert 80 < trigger < 100
    assert scene.plant.now("level0_stop_writes_trigger") == "200", "the bound is what the device pays back"


def test_the_gate_follows_the_levels_below_it() -> None:
    scene, trigger, _ = flooded_over((0,) * 7)
    assert trigger == 100
    scene.plant.level_bytes = (0, 25 * GIB, 60 * GIB, 0, 0, 0, 0)
    assert scene.step(5) == ("", {})
    assert scene.step(10)[1][Knob.LEVEL0_TRIGGER] < 90
    scene.plant.level_bytes = (0, 25 * GIB, 75 * GIB, 0, 0, 0, 0)
    assert scene.step(15)[1][Knob.LEVEL0_TRIGGER] < 80
    scene.plant.level_bytes = (0, GIB, 75 * GIB, 0, 0, 0, 0)
    assert scene.step()[1][Knob.LEVEL0_TRIGGER] == 100, "up at once"


def test_a_gate_that_cannot_keep_below_the_soft_limit_stays() -> None:
    assert flooded_over((0, 70 * GIB, 0, 0, 0, 0, 0))[1] == 100


# -- the free space


def merging(before: Mapping[str, Any], now: Mapping[str, Any], above: int = 0) -> Scene:
    """A flood, a merge out of level 0 that has begun in it, and what is known of the space before the merge and now.

    It reads what is in level 0, and what that is `above`, in bytes.
    """
    scene = Scene()
    if above:
        scene.level0(24, above=above)
    scene.plant.members |= before
    scene.flooded()
    scene.plant.members["events"] = (Event(9, 100.0, "compaction_begin", "default", job=7, base_level=0),)
    scene.plant.members |= now
    return scene


def free(space_gib: int) -> dict[str, Any]:
    return {"surroundings": replace(AROUND, free_bytes=space_gib * GIB)}


def test_what_a_merge_has_written_does_not_lower_the_bound_while_it_runs() -> None:
    scene = merging(free(68), free(36))
    scene.level0(120, above=4 * GIB)
    assert scene.step(15)[0] == "tide.brim"
    assert scene.plant.now("level0_slowdown_writes_trigger") == "120"


def test_space_that_is_still_taken_when_the_merge_has_ended_counts() -> None:
    scene = merging(free(68), free(44), above=24 * GIB)
    assert scene.step(30) == ("", {})
    scene.plant.members |= {"events": (), "running_compactions": 0}
    assert scene.step(15)[1][Knob.LEVEL0_STOP] == 68


@pytest.mark.parametrize("told", [True, False], ids=["a long merge", "no agent tells of merges"])
def test_what_a_merge_cannot_have_written_lowers_the_bound_while_it_runs(told: bool) -> None:
    """A merge writes no more than it reads: 27 GiB here. Without events any compaction that runs may be a merge."""
    scene = merging(free(68), free(20), above=24 * GIB)
    scene.plant.members |= {"running_compactions": 1} | ({} if told else {"events": ()})
    before = int(scene.plant.now("level0_stop_writes_trigger"))
    scene.step(30)
    assert int(scene.plant.now("level0_stop_writes_trigger")) < 0.7 * before


def test_nor_does_it_when_clients_pause_while_it_runs() -> None:
    scene = merging(free(68), free(36))
    scene.level0(120, above=4 * GIB)
    scene.step()
    scene.plant.members["events"] = ()
    scene.plant.immutable_memtables = 0
    scene.writes(1)
    assert scene.step(15)[0] == "tide.ebb"
    scene.writes(100)
    scene.plant.immutable_memtables = 2
    assert scene.step(15)[0] == "tide.brim"
    assert scene.plant.now("level0_slowdown_writes_trigger") == "120"


def test_nor_does_the_part_of_the_space_that_the_arbiter_allots() -> None:
    """It is of the same free space."""
    before, now = ({"allowance": replace(WHOLE, space_bytes=space_gib * GIB)} for space_gib in (68, 36))
    assert merging({"surroundings": AROUND, **before}, now, above=36 * GIB).step(30) == ("", {})


def test_the_bound_does_not_rise_with_level_0_while_nobody_looks_at_the_free_space() -> None:
    """What level 0 has taken since the last look is free no more."""
    scene = Scene()
    scene.plant.members |= free(27)
    assert scene.flooded()[1][Knob.LEVEL0_STOP] == 80
    scene.plant.members["surroundings"] = None
    for files in range(0, 80, 4):
        scene.level0(files)
        scene.step()
    assert scene.plant.now("level0_stop_writes_trigger") == "80"
    scene.level0(0, above=80 * MEMTABLE)
    scene.plant.members["running_compactions"] = 0
    scene.step(30)
    assert scene.plant.now("level0_file_num_compaction_trigger") == "10", "level 1 has 10 of the 27 GiB"


def test_files_grow_only_where_the_disk_has_room_for_as_many_as_the_owner_allows() -> None:
    """RocksDB slows writes down at 20 files: with 128 MiB each and their merge that is 6.75 GiB."""
    scene = Scene()
    scene.plant.members |= free(6)
    found = scene.flooded()[1]
    assert Knob.MEMTABLE_SIZE not in found
    assert found[Knob.MEMTABLE_NUMBER] == 8, "the budget is taken in memtables of 64 MiB"
    assert scene.plant.now("level0_slowdown_writes_trigger") == "21"
    scene.plant.members |= free(8)
    assert Knob.MEMTABLE_SIZE not in scene.step(15)[1], "not to and fro"
    scene.plant.members |= free(9)
    assert scene.step(15)[1][Knob.MEMTABLE_SIZE] == MEMTABLE


def test_where_no_level_is_below_level_0_the_free_space_bounds_nothing() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleUniversal")
    scene.plant.level_bytes = (0,)
    scene.plant.members |= free(1)
    found = scene.flooded()[1]
    assert found[Knob.MEMTABLE_SIZE] == MEMTABLE
    assert Knob.LEVEL0_STOP not in found


# -- far limits


@pytest.mark.parametrize("slowdown", [60, 200, 1 << 30])
def test_where_somebody_reads_a_far_slowdown_does_not_let_level_0_grow(slowdown: int) -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.opened_with(SLOWDOWN, str(slowdown))
    scene.opened_with(STOP, str(1 << 30))
    scene.flooded()
    assert int(scene.plant.now("level0_file_num_compaction_trigger")) <= 12


def test_where_somebody_reads_the_slope_ends_at_the_bound_if_the_stop_is_never_reached() -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.opened_with(STOP, str(1 << 30))
    assert scene.flooded()[1][Knob.LEVEL0_TRIGGER] == 12
    scene.level0(200, above=30 * MEMTABLE)
    scene.step()
    assert rate(scene) < 50
    assert scene.plant.now("level0_stop_writes_trigger") == str(1 << 30)
    assert int(scene.plant.now("max_bytes_for_level_base")) == 20 * 128 * MIB


# -- memtables that a guard refuses


def test_where_memtables_do_not_grow_the_base_level_is_for_the_files_that_come() -> None:
    """A merge would write a base level for large files again for each few small ones."""
    scene = Scene()
    size = of_family("default", "write_buffer_size")
    scene.opened_with(size, str(16 * MIB))
    scene.background(20, 30)
    scene.writes(35)
    scene.step(30)
    scene.plant.immutable_memtables = 2
    for second in range(120):
        scene.step()
        scene.plant.values[size] = str(16 * MIB)
        files = second % int(scene.plant.now("level0_file_num_compaction_trigger"))
        scene.plant.l0_files, scene.plant.level_bytes = files, (files * 16 * MIB, 2 * GIB, 0, 0, 0, 0, 0)
    opens = int(scene.plant.now("level0_file_num_compaction_trigger")) * 16 * MIB
    assert int(scene.plant.now("max_bytes_for_level_base")) == pytest.approx(2 * opens, rel=0.05)


# -- an owner without a slowdown


@pytest.mark.parametrize("owners", ["-1", str(1 << 30)])
def test_a_slowdown_that_is_switched_off_stays_so(owners: str) -> None:
    scene = Scene()
    scene.opened_with(SLOWDOWN, owners)
    scene.flooded()
    assert scene.plant.now("level0_file_num_compaction_trigger") == "100"
    assert scene.plant.values[SLOWDOWN] == owners
    scene.level0(180)
    scene.step(5)
    assert scene.plant.values[SLOWDOWN] == owners
    assert int(scene.plant.values[STOP]) == 200


@pytest.mark.parametrize("space_gib", [0.5, 1, 3])
def test_whoever_makes_way_never_merges_at_fewer_files_than_the_owner(space_gib: float) -> None:
    scene = shared(Scene(), replace(WHOLE, is_scarce=True, space_bytes=int(space_gib * GIB)))
    scene.opened_with(SLOWDOWN, "-1")
    scene.plant.members["surroundings"] = AROUND
    scene.step(2)
    assert int(scene.plant.now("level0_file_num_compaction_trigger")) >= 4
    assert scene.plant.values[SLOWDOWN] == "-1"
