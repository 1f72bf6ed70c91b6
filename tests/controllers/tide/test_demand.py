"""Tide where clients leave the device room in a flood: level 0 is merged as soon as that fits beside them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from adocd.model.knob import Knob
from adocd.model.snapshot import Event
from adocd.model.values import of_family
from tests.controllers.tide.test_law import MEMTABLE, READ, Scene
from tests.controllers.tide.test_shared_disks import WHOLE, shared

#: Clients that write 40 MB/s on a device of 200: 0.8 x 200 / 40 - 2 = 2, so level 0 needs half of what level 1 has.
WRITES, BASE_FILES, GATE = 40, 100, 50
SHUT = 100
SLOWDOWN = of_family("default", "level0_slowdown_writes_trigger")


def flooded(writes: float = WRITES, base_files: int = BASE_FILES) -> Scene:
    """A flood in which nobody waits; no compaction runs."""
    scene = Scene()
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.background(60, 0, running=0)
    scene.writes(writes)
    scene.level0(20, above=base_files * MEMTABLE)
    return scene


def trigger(scene: Scene) -> int:
    return int(scene.plant.now("level0_file_num_compaction_trigger"))


def width(scene: Scene) -> int:
    return int(scene.plant.now("max_subcompactions"))


def test_after_half_a_minute_without_waiting_the_gate_opens_earlier_and_merges_get_narrow() -> None:
    scene = flooded()
    scene.step(28)
    assert (trigger(scene), width(scene)) == (SHUT, 4)
    scene.step(3)
    assert trigger(scene) == pytest.approx(GATE, abs=1)
    assert width(scene) == 1
    assert int(scene.plant.now("max_bytes_for_level_base")) == 200 * MEMTABLE


@pytest.mark.parametrize(
    ("writes", "base_files", "gate"),
    [
        pytest.param(40, 0, 8, id="twice the owner's trigger is the least"),
        pytest.param(60, 100, 100, id="never later than half of the bound"),
        pytest.param(80, 10, 100, id="no room for any merge beside the clients"),
    ],
)
def test_how_early_the_gate_opens(writes: float, base_files: int, gate: int) -> None:
    scene = flooded(writes, base_files)
    scene.step(40)
    assert trigger(scene) == gate


def test_a_slowdown_that_the_owner_has_switched_off_opens_no_gate_below_twice_the_owners_trigger() -> None:
    scene = flooded(base_files=0)
    scene.plant.originals = {**scene.plant.originals, SLOWDOWN: "-1"}
    scene.step(40)
    assert trigger(scene) == 8


@pytest.mark.parametrize(
    "waits", [{"condition": "delayed"}, {"stalled_fraction": 0.1}], ids=["RocksDB delays writes", "writers waited"]
)
def test_whoever_waits_shuts_the_gate_for_another_half_minute(waits: dict[str, object]) -> None:
    scene = flooded()
    scene.step(40)
    before = dict(scene.plant.members)
    scene.plant.members |= waits
    scene.step()
    assert (trigger(scene), width(scene)) == (SHUT, 4)
    scene.plant.members |= {name: before.get(name) for name in waits} | {"condition": "normal"}
    scene.step(28)
    assert trigger(scene) == SHUT
    scene.step(3)
    assert trigger(scene) == pytest.approx(GATE, abs=1)


def test_the_gate_stays_while_a_merge_runs_and_where_the_change_is_small() -> None:
    scene = flooded()
    scene.step(40)
    opened = trigger(scene)
    scene.writes(WRITES * 1.05)
    scene.step(30)
    assert trigger(scene) == opened
    merging = flooded()
    merging.plant.members["events"] = (Event(9, 100.0, "compaction_begin", "default", job=7, base_level=0),)
    merging.background(60, 140)
    merging.step()
    merging.plant.members["events"] = ()
    merging.step(40)
    assert trigger(merging) == SHUT


def test_neither_readers_nor_neighbours_that_want_the_device_open_it_earlier() -> None:
    read = flooded()
    read.level0(5)
    read.plant.tickers = {READ: 50_000}
    read.step(40)
    assert trigger(read) == 12, "as for readers"
    scarce = shared(flooded(), replace(WHOLE, is_scarce=True))
    scarce.step(40)
    assert trigger(scarce) == SHUT


def test_a_decision_says_that_merges_fit_beside_the_clients() -> None:
    scene = flooded()
    decisions = [decision for _ in range(31) if (decision := scene.plant.step(scene.law)) is not None]
    assert decisions[-1].signal.endswith("nobody reads, merges fit beside the clients")
    assert not any("fit" in each.signal for each in decisions[:-1])


def test_at_the_ebb_merges_are_wide() -> None:
    scene = flooded()
    scene.ebbs(60)
    rule, found = scene.step(31)
    assert (rule, found[Knob.LEVEL0_TRIGGER]) == ("tide.ebb", 12)
    assert width(scene) == 4


@pytest.mark.parametrize("share", [0.03, 0.1])
def test_merges_do_not_turn_narrow_and_wide_where_they_just_fit(share: float) -> None:
    """Clients write about 0.4 of the device: 0.8 / 0.4 - 2 = 0."""
    scene = flooded(writes=78, base_files=0)
    scene.step(60)
    widths = []
    for second in range(150):
        scene.writes(80 * (1 + share * ((second * 7919 % 13) / 6 - 1)))
        scene.step()
        widths.append(width(scene))
    turns = sum(before != after for before, after in itertools.pairwise(widths))
    assert turns <= 1
