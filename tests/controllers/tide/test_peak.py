"""Peaks of clients who read from the disks: when they are a flood, and when that is over."""

from __future__ import annotations

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.values import RATE_LIMITER, of_family
from tests.controllers.laws import MB, make
from tests.controllers.tide.families import scene_of
from tests.controllers.tide.test_law import MEMTABLE, READ
from tests.controllers.tide.test_limiter import OWNERS, RETURNED, limited_to, read_from, reads_from_disks


def test_a_peak_is_a_flood_before_anything_waits() -> None:
    """Level 0 collects files as beside readers, and in the valley everything is given back."""
    scene = read_from()
    before = {**scene.plant.values}
    rule, settings = scene.step(5)
    assert rule == "tide.flood"
    assert (settings[Knob.MEMTABLE_SIZE], settings[Knob.LEVEL0_TRIGGER]) == (MEMTABLE, 12)
    assert Knob.DELAYED_WRITE_RATE not in settings
    scene.level0(9)
    assert scene.step(60)[1].keys().isdisjoint({Knob.MEMTABLE_SIZE, Knob.LEVEL0_TRIGGER})
    scene.ebbs(files=3)
    reads_from_disks(scene, 1)
    assert scene.step(90)[0] == "tide.calm"
    assert scene.plant.values == before


@pytest.mark.parametrize(("writes", "disk"), [(0, 130), (5, 90)], ids=["reads alone", "few writes"])
def test_where_clients_hardly_write_a_peak_is_no_flood(writes: float, disk: float) -> None:
    """It would end at once, and begin anew: each time the options would be written."""
    scene = read_from(writes=writes, disk=disk)
    scene.plant.tickers = {READ: 50_000, RETURNED: 150 * MB}
    found = scene.step(300)[1]
    assert set(found) <= {Knob.RATE_LIMIT}


def test_a_flood_that_is_a_peak_alone_ends_with_it_although_clients_write_on() -> None:
    scene = read_from()
    before = {**scene.plant.values}
    assert scene.step(60)[0] == "tide.flood"
    reads_from_disks(scene, 0)
    scene.writes(45)
    assert scene.step(20)[0] != "tide.ebb", "a valley of ten seconds does not end it"
    scene.step(60)
    assert scene.plant.values == before


def test_a_flood_in_a_peak_in_which_memtables_wait_is_one_like_others() -> None:
    scene = read_from()
    scene.step(10)
    scene.plant.immutable_memtables = 2
    scene.step()
    scene.plant.immutable_memtables = 0
    reads_from_disks(scene, 0)
    scene.step(50)
    assert int(scene.plant.values[of_family("default", "level0_file_num_compaction_trigger")]) == 12


def test_what_lasts_is_no_peak_and_only_the_limit_stays() -> None:
    """Merges that are put off for long would only become larger."""
    scene = read_from()
    scene.step(230)
    assert int(scene.plant.values[of_family("default", "level0_file_num_compaction_trigger")]) == 12
    scene.step(60)
    assert int(scene.plant.values[of_family("default", "level0_file_num_compaction_trigger")]) == 4
    assert scene.plant.values[of_family("default", "write_buffer_size")] == str(64 * MIB)
    assert scene.step(600)[1].keys() <= {Knob.RATE_LIMIT}
    assert limited_to(scene) == 130


def test_a_peak_takes_memory_for_the_column_families_that_are_written() -> None:
    """Idle ones would leave the one that is written nothing of the budget."""
    scene, plant = scene_of("idle", "empty", "unused")
    scene.law = make("tide", limiter=True)
    plant.tickers = {READ: 50_000, RETURNED: 50 * MB}
    plant.memtables_bytes = 32 * MIB
    scene.opened_with(RATE_LIMITER, str(OWNERS * MB))
    scene.writes(40)
    scene.background(40, 140)
    reads_from_disks(scene, 30)
    assert scene.step(10)[0] == "tide.flood"
    assert int(plant.now_in("default", "write_buffer_size")) > 64 * MIB
    for name in ("idle", "empty", "unused"):
        assert plant.now_in(name, "write_buffer_size") == str(64 * MIB)
        assert plant.now_in(name, "level0_file_num_compaction_trigger") == "4"


def test_before_the_device_is_learned_the_owners_limit_says_what_it_can_do() -> None:
    """The gate is shut before the first merge: 20 MB/s pay back 3 GB, 23 files of a memtable, half of them to open."""
    scene = read_from(owners=20, writes=4, disk=4)
    scene.plant.tickers = {READ: 50_000, RETURNED: 5 * MB}
    scene.background(0, 0, running=0)
    settings = scene.step(6)[1]
    assert settings[Knob.LEVEL0_TRIGGER] == 11


def test_a_second_of_many_reads_is_no_peak() -> None:
    scene = read_from(writes=45, disk=5)
    assert scene.step(60) == ("", {})
    reads_from_disks(scene, 120)
    scene.step()
    reads_from_disks(scene, 5)
    assert scene.step(60) == ("", {})
