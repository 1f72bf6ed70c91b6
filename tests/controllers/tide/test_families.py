"""Tide with several column families: one that is idle, is behind or leaves, and what each is given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.daemon.change.guards.guard import Beside
from adocd.daemon.change.guards.memory import memory_budget
from adocd.daemon.change.translate import options_of
from adocd.model.knob import MIB, Knob
from adocd.model.snapshot import Event
from adocd.model.values import OptionName, Values, of_family
from tests.controllers.laws import MB, all_settings
from tests.controllers.tide.families import Families, scene_of
from tests.controllers.tide.test_law import GIB, MEMTABLE, Scene
from tests.controllers.tide.test_shared_disks import AROUND

SOFT = 64 * GIB


def of(name: str, values: Values) -> dict[OptionName, str]:
    """The options of one column family."""
    return {o: value for o, value in values.items() if o.scope == "column_family" and o.name == name}


def disable(plant: Families, name: str) -> None:
    """Let the owner disable compaction in a column family."""
    switch = of_family(name, "disable_auto_compactions")
    plant.originals = {**plant.originals, switch: "true"}
    plant.values[switch] = "true"


# -- memory


def test_column_families_that_nobody_writes_take_nothing_from_the_memory_budget() -> None:
    scene, _ = scene_of("one", "two", "three")
    found = scene.flooded()[1]
    assert (found[Knob.MEMTABLE_SIZE], found[Knob.MEMTABLE_NUMBER]) == (MEMTABLE, 4)


def test_the_guard_of_the_memory_counts_in_the_same_way() -> None:
    scene, plant = scene_of("one", "two", "three")
    scene.step(30)
    plant.immutable_memtables = 2
    sample = plant.sample()
    first, *others = sample.column_families
    sample = replace(sample, column_families=(replace(first, memtables_bytes=96 * MIB), *others))
    asked: dict[OptionName, str] = {}
    for setting in all_settings(scene.law.step(sample)):
        asked |= options_of(setting, sample, plant.originals)
    assert asked[of_family("default", "write_buffer_size")] == str(MEMTABLE)
    assert memory_budget(asked, sample, Beside(budget_bytes=512 * MIB, originals=plant.originals)) == ()
    assert memory_budget(asked, sample, Beside(budget_bytes=512 * MIB - 1, originals=plant.originals)) != ()


def test_a_column_family_that_was_written_in_this_flood_counts_until_the_flood_is_over() -> None:
    """Right after a flush its memtables are as small as those of an idle one."""
    scene, plant = scene_of("other")
    scene.flooded()
    plant.figures["other"]["memtables_bytes"] = 32 * MIB
    assert scene.step()[1][Knob.MEMTABLE_SIZE] == 96 * MIB, "512 MiB without the other's 128"
    plant.figures["other"]["memtables_bytes"] = 2048
    assert Knob.MEMTABLE_SIZE not in scene.step(10)[1]


# -- the space


def test_all_column_families_in_a_flood_have_room_for_their_merges_at_the_same_time() -> None:
    def bounds(level0_gib: int, base_gib: int, free_gib: int) -> list[int]:
        scene, plant = scene_of("other")
        plant.members["surroundings"] = replace(AROUND, free_bytes=free_gib * GIB)
        plant.figures["other"] = {
            "immutable_memtables": 2,
            "memtables_bytes": 96 * MIB,
            "level_bytes": (level0_gib * GIB, base_gib * GIB, 0, 0, 0, 0, 0),
        }
        scene.flooded()
        return [int(plant.now_in(name, "level0_stop_writes_trigger")) for name in ("default", "other")]

    assert bounds(0, 0, free_gib=54) == [160, 160], "10 GiB each, in files of 64 MiB"
    assert bounds(10, 0, free_gib=44) == [160, 160], "what level 0 holds is theirs already"
    assert bounds(0, 27, free_gib=54) == [80, 80], "the other's merge writes its level 1 again"


# -- the rate


def test_a_column_family_whose_owner_has_disabled_compaction_delays_nobody() -> None:
    scene, plant = scene_of("other")
    disable(plant, "other")
    scene.flooded()
    plant.figures["other"]["pending_compaction_bytes"] = SOFT
    scene.level0(200, above=30 * MEMTABLE)
    assert scene.step()[1][Knob.DELAYED_WRITE_RATE] == pytest.approx(20.9 * MB, rel=0.01)
    scene.ebbs(0)
    scene.step(30)
    assert plant.values == plant.originals


def test_a_flood_that_ends_while_much_is_pending_gives_the_rate_back() -> None:
    scene = Scene()
    scene.flooded()
    scene.level0(190, above=30 * MEMTABLE)
    scene.step()
    scene.ebbs(0)
    scene.plant.pending_bytes = SOFT
    scene.step(120)
    assert scene.plant.values == scene.plant.originals


def test_the_rate_is_rocksdbs_while_sorted_runs_of_another_column_family_delay_writes() -> None:
    """A held rate would take RocksDB's brake from them: it lowers the rate at each flush, down to a stop at 36."""
    scene, plant = scene_of("runs")
    style = of_family("runs", "compaction_style")
    plant.originals = {**plant.originals, style: "kCompactionStyleUniversal"}
    plant.values[style] = "kCompactionStyleUniversal"
    scene.flooded()
    scene.level0(190, above=30 * MEMTABLE)
    plant.figures["runs"]["l0_files"] = 19
    assert scene.step()[1][Knob.DELAYED_WRITE_RATE] != 16 * MIB
    plant.figures["runs"]["l0_files"] = 20
    scene.step()
    assert plant.now("delayed_write_rate") == str(16 * MIB)


# -- one that leaves


def test_a_column_family_whose_owner_disables_compaction_in_the_middle_of_a_flood_gets_its_options_back() -> None:
    scene, plant = scene_of("other")
    plant.figures["other"] |= {"immutable_memtables": 2, "memtables_bytes": 32 * MIB}
    scene.flooded()
    assert plant.now_in("other", "level0_file_num_compaction_trigger") != "4"
    disable(plant, "other")
    plant.figures["other"]["immutable_memtables"] = 0
    scene.step()
    assert of("other", plant.values) == of("other", plant.originals)
    assert plant.now_in("default", "level0_file_num_compaction_trigger") != "4", "the flood goes on"


@pytest.mark.parametrize("is_disabled", [True, False])
def test_a_column_family_that_is_left_alone_keeps_no_flood_going(is_disabled: bool) -> None:
    scene, plant = scene_of("other")
    if is_disabled:
        disable(plant, "other")
    plant.figures["other"]["immutable_memtables"] = 2
    scene.flooded()
    plant.immutable_memtables = 0
    scene.step(320)
    assert (plant.now("level0_file_num_compaction_trigger") == "4") is is_disabled


# -- merges


def merges(scene: Scene, name: str) -> None:
    """Let a merge out of this column family's level 0 have begun."""
    scene.plant.members["events"] = (Event(9, 100.0, "compaction_begin", name, job=7, base_level=0),)
    scene.plant.members["running_compactions"] = 1


@pytest.mark.parametrize(("merging", "opened"), [("default", ["other"]), ("other", ["default"])])
def test_a_merge_keeps_the_gate_of_its_own_column_family_alone(merging: str, opened: list[str]) -> None:
    scene, plant = scene_of("other")
    full: dict[str, Any] = {"l0_files": 60, "level_bytes": (60 * MEMTABLE, 0, 0, 0, 0, 0, 0)}
    plant.figures["other"] |= {"immutable_memtables": 2, "memtables_bytes": 32 * MIB}
    scene.flooded()
    plant.figures["other"] |= full | {"immutable_memtables": 0}
    scene.ebbs(60)
    merges(scene, merging)
    decisions = [decision for _ in range(15) if (decision := plant.step(scene.law)) is not None]
    assert "tide.ebb" in {decision.rule for decision in decisions}
    found = [setting for decision in decisions for setting in decision.settings]
    assert [setting.column_family for setting in found if setting.knob is Knob.LEVEL0_TRIGGER] == opened
