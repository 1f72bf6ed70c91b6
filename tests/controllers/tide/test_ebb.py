"""The ebb where level 0 has a few files, and where no agent tells of compactions."""

from __future__ import annotations

from adocd.model.knob import MIB, Knob
from adocd.model.values import of_family
from tests.controllers.tide.test_law import GIB, MEMTABLE, Scene

SOFT = of_family("default", "soft_pending_compaction_bytes_limit")
SLOWDOWN = of_family("default", "level0_slowdown_writes_trigger")
BASE, TRIGGER = "max_bytes_for_level_base", "level0_file_num_compaction_trigger"


def above_a_large_level_1() -> Scene:
    """Five files at the ebb; with level 1 they are more than half of a soft limit of 8 GiB."""
    scene = Scene()
    scene.opened_with(SOFT, str(8 * GIB))
    scene.flooded()
    scene.ebbs(5, above=4 * GIB - 64 * MIB)
    return scene


def burst(scene: Scene, pause_s: int) -> int:
    """Let clients write a memtable more than flushes take, and then nothing; return how many decisions that took."""
    decisions = 0
    for second in range(2 + pause_s):
        scene.writes(100 if second < 2 else 0)
        scene.background(60 if second < 2 else 0, 0, running=0)
        scene.plant.immutable_memtables = 2 if second < 2 else 0
        decisions += scene.plant.step(scene.law) is not None
    return decisions


def test_bursts_of_the_same_clients_are_one_flood() -> None:
    """Two seconds in each twenty; before, all options were taken and given back 180 times an hour."""
    scene = Scene()
    scene.step(30)
    assert burst(scene, 18) > 1, "the first burst is a flood of its own"
    for _ in range(5):
        burst(scene, 18)
    assert sum(burst(scene, 18) for _ in range(30)) <= 1
    assert scene.plant.values != scene.plant.originals
    scene.step(60)
    assert scene.plant.values == scene.plant.originals, "the bursts are over"


def test_floods_that_are_far_apart_end_as_soon_as_the_first() -> None:
    scene = Scene()
    scene.step(30)
    for _ in range(5):
        burst(scene, 18)
    scene.step(120)
    burst(scene, 18)
    assert scene.plant.values == scene.plant.originals


def test_a_few_files_above_a_large_level_1_do_not_keep_the_base_level_for_ever() -> None:
    """Five files are not due at a trigger of 8; with the owner's 4, level 0 and 1 would be due: more than 4 GiB."""
    scene = above_a_large_level_1()
    scene.writes(0)
    scene.step(600)
    assert scene.plant.now(BASE) == str(256 * MIB)
    assert scene.plant.now(TRIGGER) == "4", "nothing is pending, so level 0 is merged"
    scene.level0(0, above=256 * MIB)
    scene.step(5)
    assert scene.plant.values == scene.plant.originals


def test_the_owners_trigger_waits_until_level_1_has_moved_down() -> None:
    scene = above_a_large_level_1()
    scene.plant.pending_bytes = 3 * GIB
    scene.step(30)
    assert (scene.plant.now(BASE), scene.plant.now(TRIGGER)) == (str(256 * MIB), "8")
    scene.level0(5, above=2 * GIB)
    scene.plant.pending_bytes = 2 * GIB
    assert scene.step()[1] == {Knob.LEVEL0_TRIGGER: 4}, "the two together are less than 4 GiB now"


def test_what_was_held_back_at_the_ebb_is_wanted_no_more_when_the_flood_comes_back() -> None:
    """The daemon holds the base level back while a memtable is flushed, and what was asked for last stands until then.

    So the flood says that it wants what is in force; else the owner's base level came back in the middle of it.
    """
    scene = Scene()
    scene.flooded()
    scene.ebbs(5, above=8 * GIB)
    scene.plant.held = {BASE, TRIGGER}
    rule, found = scene.step(15)
    assert rule == "tide.ebb"
    assert found[Knob.LEVEL_BASE_SIZE] < int(scene.plant.now(BASE))
    scene.writes(100)
    scene.plant.immutable_memtables = 2
    rule, found = scene.step()
    assert rule == "tide.flood"
    assert (found[Knob.LEVEL_BASE_SIZE], found[Knob.LEVEL0_TRIGGER]) == (
        int(scene.plant.now(BASE)),
        int(scene.plant.now(TRIGGER)),
    )
    assert Knob.LEVEL_BASE_SIZE not in scene.step()[1], "once is enough"


def test_what_is_pending_and_does_not_become_less_keeps_no_trigger() -> None:
    scene = above_a_large_level_1()
    scene.plant.pending_bytes = 3 * GIB
    scene.step(120)
    assert scene.plant.now(TRIGGER) == "4"


def test_few_files_are_few_beside_the_level_into_which_level_0_is_merged() -> None:
    """18 files above 256 in level 5, where RocksDB has dynamic levels. Under the owner's base size it uses level 3."""
    scene = Scene()
    scene.opened_with(of_family("default", "level_compaction_dynamic_level_bytes"), "true")
    scene.flooded()
    scene.ebbs(18)
    scene.plant.level_bytes = (18 * MEMTABLE, 0, 0, 0, 0, 256 * MEMTABLE, 0)
    scene.step(10)
    assert (scene.plant.now(BASE), scene.plant.now(TRIGGER)) == (str(256 * MIB), "4")


def test_where_no_compactions_are_told_of_any_that_runs_may_be_a_merge() -> None:
    scene = Scene()
    scene.flooded()
    scene.ebbs(60)
    scene.background(60, 140)
    rule, found = scene.step(60)
    assert rule == "tide.ebb"
    assert Knob.LEVEL0_TRIGGER not in found
    scene.background(0, 0, running=0)
    assert scene.step()[1] == {Knob.LEVEL0_TRIGGER: 12}


def test_where_no_compactions_are_told_of_they_keep_the_gate_for_ten_minutes() -> None:
    scene = Scene()
    scene.flooded()
    scene.ebbs(60)
    scene.background(60, 140)
    scene.step(500)
    assert scene.plant.now(TRIGGER) == "100"
    scene.step(150)
    assert scene.plant.now(TRIGGER) == "12"


def test_the_base_level_of_a_small_flood_comes_back_with_the_trigger() -> None:
    """As ever: what level 1 holds is far below half of the soft limit."""
    scene = Scene()
    scene.flooded()
    scene.ebbs(7, above=20 * MEMTABLE)
    scene.step(15)
    assert (scene.plant.now(BASE), scene.plant.now(TRIGGER)) == (str(256 * MIB), "4")


def test_a_slowdown_that_the_owner_has_switched_off_leaves_no_trigger_below_the_owners() -> None:
    """With a trigger of 1 each file would be merged alone, with all that level 1 holds."""
    scene = above_a_large_level_1()
    scene.opened_with(SLOWDOWN, "-1")
    scene.plant.pending_bytes = 3 * GIB
    scene.step(30)
    assert (scene.plant.now(BASE), scene.plant.now(TRIGGER)) == (str(256 * MIB), "8")


def test_what_is_due_under_a_raised_base_level_says_nothing_of_what_will_be() -> None:
    """Nothing is due for two minutes, then the owner's base level makes 3 GiB due, which take a minute and more."""
    scene = above_a_large_level_1()
    base = of_family("default", BASE)
    for _ in range(120):
        scene.step()
        scene.plant.values[base] = str(8 * GIB)
    left = 3 * GIB
    for _ in range(90):
        scene.plant.pending_bytes = left
        scene.step()
        left -= 30 * MIB
        assert (scene.plant.now(BASE), scene.plant.now(TRIGGER)) == (str(256 * MIB), "8")


def test_levels_that_their_owner_has_made_larger_are_not_due() -> None:
    """90 GiB in level 3 are at rest where it may have four times what follows from the level above."""
    scene = Scene()
    scene.opened_with(of_family("default", "max_bytes_for_level_multiplier_additional"), "1:1:4:1:1:1:1")
    scene.flooded()
    scene.ebbs(0)
    scene.plant.level_bytes = (0, 256 * MIB, 2 * GIB, 90 * GIB, 400 * GIB, 0, 0)
    scene.writes(0)
    scene.step(600)
    assert scene.plant.values == scene.plant.originals
