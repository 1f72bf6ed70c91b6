"""Tide beside an operator who has pinned one of level 0's limits."""

from __future__ import annotations

import pytest

from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.guards.guard import Beside
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.control.steering import Steering
from adocd.model.allowance import Allowance
from adocd.model.knob import MIB, Knob
from adocd.model.values import Values, of_family
from tests.controllers.laws import MB
from tests.controllers.tide.test_law import GIB, MEMTABLE, READ, Scene
from tests.controllers.tide.test_shared_disks import shared

TRIGGER, SLOWDOWN, STOP = (
    of_family("default", f"level0_{name}")
    for name in ("file_num_compaction_trigger", "slowdown_writes_trigger", "stop_writes_trigger")
)
BASE, MEMTABLE_SIZE = of_family("default", "max_bytes_for_level_base"), of_family("default", "write_buffer_size")


def pinned(scene: Scene, pins: Values) -> Scene:
    """Let an operator have pinned these, before the flood."""
    scene.plant.values |= pins
    scene.plant.members["pinned"] = frozenset(pins)
    return scene


def let_through(scene: Scene, pins: Values) -> Values:
    """What the guards leave of the flood's decision."""
    for _second in range(30):
        scene.step()
        scene.plant.values |= pins  # no decision of the law's reaches what is pinned
    scene.plant.immutable_memtables = 2
    sample = scene.plant.sample()
    decision = scene.law.step(sample)
    assert decision is not None
    steering = Steering(Ledger(dict(scene.plant.originals)), GUARDS, CompactionLimits())
    return steering.guard(decision.settings, pins, sample, 100.0, Beside(budget_bytes=GIB)).options


@pytest.mark.parametrize("pins", [{STOP: "50"}, {SLOWDOWN: "30"}, {TRIGGER: "8"}, {TRIGGER: "8", STOP: "60"}])
def test_where_the_gate_cannot_be_shut_the_base_level_stays_the_owners(pins: Values) -> None:
    """A guard refuses the gate. With the base level alone, each merge of four files would write 25 GiB again."""
    found = let_through(pinned(Scene(), pins), pins)
    assert found[MEMTABLE_SIZE] == str(MEMTABLE)
    assert not {BASE, TRIGGER, SLOWDOWN, STOP} & found.keys()


@pytest.mark.parametrize(
    ("pins", "gate"),
    [
        ({STOP: "150"}, ("75", "90", None)),
        ({SLOWDOWN: "110"}, ("91", None, "183")),
        ({STOP: "1000"}, ("100", "120", None)),
        ({SLOWDOWN: "150"}, ("100", None, "200")),
    ],
)
def test_a_limit_pinned_above_the_gate_makes_the_bound_smaller(pins: Values, gate: tuple[str | None, ...]) -> None:
    found = let_through(pinned(Scene(), pins), pins)
    assert (found.get(TRIGGER), found.get(SLOWDOWN), found.get(STOP)) == gate
    most = int(gate[2] or min(200, int(pins.get(STOP, "200"))))
    assert found[BASE] == str(most * MEMTABLE)


def test_where_somebody_reads_the_gate_fits_into_what_is_pinned() -> None:
    scene = pinned(Scene(), {STOP: "50"})
    scene.plant.tickers = {READ: 50_000}
    found = let_through(scene, {STOP: "50"})
    assert (found[TRIGGER], found[BASE]) == ("12", str(20 * MEMTABLE))
    low = pinned(Scene(), {SLOWDOWN: "10"})
    low.plant.tickers = {READ: 50_000}
    assert BASE not in let_through(low, {SLOWDOWN: "10"})


def test_whoever_makes_way_for_others_keeps_to_what_is_pinned_too() -> None:
    scarce = Allowance(1, 0.5, 0.5, 200.0 * MB, GIB, None, is_scarce=True)
    scene = shared(pinned(Scene(), {STOP: "50"}), scarce)
    assert scene.step() == ("", {})
    higher = shared(pinned(Scene(), {STOP: "150"}), scarce)
    found = higher.step()[1]
    assert (found[Knob.LEVEL0_TRIGGER], found[Knob.LEVEL_BASE_SIZE]) == (75, 150 * 64 * MIB)
