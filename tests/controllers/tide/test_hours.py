"""What tide does over hours: no trial, no flood and no figure from long ago lasts for ever."""

from __future__ import annotations

from dataclasses import replace

from adocd.model.knob import MIB, Knob
from adocd.model.snapshot import Event
from tests.controllers.tide.families import scene_of
from tests.controllers.tide.test_law import GIB, READ, Scene, flood, overwhelm
from tests.controllers.tide.test_shared_disks import AROUND

HELD = {
    "write_buffer_size", "max_write_buffer_number", "max_background_jobs", "max_bytes_for_level_base",
    "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger",
}  # fmt: skip


def owners(scene: Scene) -> dict[str, str]:
    return {name: scene.plant.now(name) for name in HELD}


def test_an_outage_is_left_to_the_owners_options_only_until_it_has_cost_as_much() -> None:
    """0.1 of 100 MB/s cost 1.07 s for each GiB; 0.9 of 20 MB/s cost 48 s, which shows once a flood's 40 s are over."""
    scene = Scene()
    assert [flood(scene, 0.1) for _ in range(2)] == [(None, True), (None, True)]
    assert scene.law.declined is not None
    overwhelm(scene, 0.9, mb_per_s=20)
    assert not scene.step(30)[1], "it is the trial"
    rule, found = scene.step(30)
    assert (rule, Knob.LEVEL0_TRIGGER in found) == ("tide.flood", True)
    assert scene.law.declined is None


def test_a_trial_in_which_nothing_can_be_written_ends_too() -> None:
    scene = Scene()
    for _ in range(2):
        flood(scene, 0.1)
    overwhelm(scene, 1.0, mb_per_s=0)
    assert scene.step(60)[0] == "tide.flood"


def test_a_trial_that_costs_less_goes_on() -> None:
    scene = Scene()
    for _ in range(2):
        flood(scene, 0.5)
    overwhelm(scene, 0.05, mb_per_s=20)
    assert not scene.step(600)[1]
    assert scene.law.declined is not None


def test_a_flood_in_which_nothing_has_pressed_for_long_is_given_up() -> None:
    scene = Scene()
    before = owners(scene)
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.background(50, 60)
    scene.step(290)
    assert owners(scene) != before
    assert scene.step(15)[0] in ("tide.ebb", "tide.calm")
    assert owners(scene) == before
    scene.plant.immutable_memtables = 2
    assert scene.step()[0] == "tide.flood", "and met again as soon as something presses"
    scene.plant.immutable_memtables = 0
    scene.step(400)
    assert owners(scene) != before, "it came back soon, so the next one takes twice as long"
    scene.step(300)
    assert owners(scene) == before


def test_what_level_0_holds_then_is_no_new_flood() -> None:
    scene = Scene()
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.background(50, 60)
    scene.level0(60)
    scene.step(310)
    rules = []
    for files in range(60, 0, -1):
        scene.level0(files)
        rules.append(scene.step()[0])
    assert set(rules) == {"", "tide.ebb", "tide.calm"}
    assert rules[-1] in ("", "tide.calm")
    scene.level0(9)
    scene.plant.immutable_memtables = 2
    assert scene.step()[0] == "tide.flood"


def test_clients_that_come_back_in_a_long_ebb_are_met_once() -> None:
    scene = Scene()
    scene.flooded()
    scene.ebbs(60)
    scene.step(600)
    scene.writes(100)
    scene.background(60, 140)
    rules = [scene.step()[0] for _ in range(60)]
    assert "tide.flood" in rules
    assert "tide.ebb" not in rules


def test_where_somebody_waits_now_and_then_the_flood_goes_on() -> None:
    scene = Scene()
    scene.flooded()
    held = owners(scene)
    for _ in range(8):
        scene.plant.immutable_memtables = 0
        scene.step(200)
        scene.plant.immutable_memtables = 2
        scene.step(2)
    assert owners(scene) == held


def test_readers_do_not_look_into_more_files_for_hours_after_one_second_of_waiting() -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.flooded()
    scene.writes(50)
    scene.plant.immutable_memtables = 0
    assert scene.plant.now("level0_file_num_compaction_trigger") == "12"
    scene.level0(3)
    scene.step(400)
    assert scene.plant.now("level0_file_num_compaction_trigger") == "4"


def test_the_bound_falls_with_the_free_space_while_merges_overlap() -> None:
    """A merge of 60 s begins every 40 s, by turns in two column families, so that one always runs."""
    scene, plant = scene_of("other")
    scene.step(30)
    sizes = (120 * 64 * MIB, 8 * GIB, 0, 0, 0, 0, 0)
    plant.immutable_memtables, plant.l0_files, plant.level_bytes = 2, 120, sizes
    plant.figures["other"] = {
        "l0_files": 120, "immutable_memtables": 2, "memtables_bytes": 256 * MIB, "level_bytes": sizes,
    }  # fmt: skip
    gates = []
    for second in range(1800):
        job, family = second // 40, ("default", "other")[second // 40 % 2]
        begins = [Event(second, plant.now_s, "compaction_begin", family, job=job, base_level=0)] * (second % 40 == 0)
        ends = [Event(second, plant.now_s, "compaction_end", family, job=job - 2)] * (second % 40 == 20 and job > 1)
        plant.members["events"] = (*begins, *ends)
        plant.members["surroundings"] = replace(AROUND, free_bytes=max(GIB, 90 * GIB - second * 50 * MIB))
        plant.step(scene.law)
        gates.append(int(plant.now("level0_file_num_compaction_trigger")))
    assert gates[0] == 100
    assert gates[-1] == 4, "the owner's: what is free and in level 0 is little more than both level 1 hold"
