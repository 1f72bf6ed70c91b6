"""The rate limiter while somebody reads: what clients leave, what flushes need, and how urgent merges are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.knob import Knob
from adocd.model.values import RATE_LIMITER
from tests.controllers.laws import MB
from tests.controllers.tide.test_law import GIB, READ, Scene
from tests.controllers.tide.test_shared_disks import AROUND
from tests.model.test_surroundings import PROCESS

OWNERS = 1000 * MB


def read_from(owners: int = OWNERS) -> Scene:
    """A scene with readers and a rate limiter; flushes and compactions write 200 MB/s."""
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.opened_with(RATE_LIMITER, str(owners))
    return scene


def limited_to(scene: Scene, seconds: int = 30) -> float:
    """The limit in force after some seconds, in MB/s."""
    scene.step(seconds)
    return int(scene.plant.values[RATE_LIMITER]) / MB


def test_what_clients_leave_is_for_flushes_and_compactions() -> None:
    """Of 200 MB/s, clients that write 60 leave 140."""
    scene = read_from()
    scene.writes(60)
    rule, found = scene.step()
    assert (rule, found) == ("tide.limit", {Knob.RATE_LIMIT: 140 * MB})


def test_while_nobody_reads_the_limiter_is_the_owners() -> None:
    scene = read_from()
    scene.plant.tickers = {READ: 0}
    assert scene.step(60) == ("", {})


def test_flushes_can_keep_up_with_what_clients_write() -> None:
    """They leave 100 MB/s, and flushes get 1.25 x 100."""
    assert limited_to(read_from()) == 125


def test_what_clients_read_from_the_disks_counts_and_what_compactions_read_does_not() -> None:
    """Compactions read 50 of the 90 MB/s: 200 - 60 - 40 are left."""
    scene = read_from()
    scene.writes(60)
    scene.plant.members |= {
        "compaction_read_bytes_per_s": 50.0 * MB,
        "surroundings": replace(AROUND, process=replace(PROCESS, read_bytes_per_s=90.0 * MB)),
    }
    assert limited_to(scene) == 100


@pytest.mark.parametrize(("files", "urgency"), [(4, 0.0), (6, 2 / 14), (7, 3 / 14)])
def test_merges_become_urgent_from_the_trigger_to_nine_tenths_of_the_owners_slowdown(
    files: int, urgency: float
) -> None:
    """From 4 to 18 files; with 8 a flood begins."""
    scene = read_from()
    scene.level0(files)
    assert limited_to(scene) == pytest.approx(125 + 200 * urgency, rel=0.01)


def test_in_a_flood_merges_become_urgent_from_its_own_trigger() -> None:
    """From half of the slowdown at the latest: 10 of 20 files, although level 0 is merged at 12. At 14, 4 of 8."""
    scene = read_from()
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.level0(10)
    assert limited_to(scene, 5) == 125
    scene.level0(14)
    assert limited_to(scene, 5) == pytest.approx(225, rel=0.01)
    scene.level0(18)
    assert limited_to(scene, 5) == pytest.approx(325, rel=0.01)


def test_merges_become_urgent_with_the_pending_compaction_bytes() -> None:
    """Between half and nine tenths of the soft limit of 64 GiB."""
    scene = read_from()
    scene.plant.pending_bytes = int(0.7 * 64 * GIB)
    assert limited_to(scene) == pytest.approx(225, rel=0.01)


def test_in_a_valley_the_limit_is_the_owners() -> None:
    scene = read_from()
    assert limited_to(scene) == 125
    scene.writes(10)
    assert limited_to(scene) == 1000


@pytest.mark.parametrize("waits", ["memtables", "nothing is merged"])
def test_where_flushes_alone_need_the_device_the_limit_is_the_owners(waits: str) -> None:
    scene = read_from()
    assert limited_to(scene) == 125
    if waits == "memtables":
        scene.plant.immutable_memtables = 2
    else:
        scene.background(60, 0, running=0)
    assert limited_to(scene) == 1000


def test_the_limit_is_never_above_the_owners_nor_below_the_guards_bound() -> None:
    tight = read_from(owners=110 * MB)
    assert tight.step(30) == ("", {})
    idle = read_from()
    idle.background(0.1, 0.3)
    idle.writes(0.2)
    assert limited_to(idle) == pytest.approx(1.048576)


def test_a_limit_that_is_near_enough_stays() -> None:
    scene = read_from()
    scene.writes(60)
    assert limited_to(scene) == 140
    scene.writes(52)
    assert limited_to(scene) == 140
    scene.writes(20)
    assert limited_to(scene) == 1000, "a valley"


def test_the_operators_pin_stays_and_a_database_without_a_limiter_needs_none() -> None:
    pinned = read_from()
    pinned.plant.members["pinned"] = frozenset({RATE_LIMITER})
    assert pinned.step(30) == ("", {})
    without = read_from()
    del without.plant.values[RATE_LIMITER], without.plant.originals[RATE_LIMITER]
    assert without.step(30) == ("", {})


def test_while_it_rests_it_gives_the_limiter_back() -> None:
    scene = read_from()
    for _ in range(2):
        scene.writes(100)
        scene.plant.immutable_memtables = 2
        scene.plant.members["waited_fraction"] = 0.5
        scene.step(40)
        scene.plant.immutable_memtables = 0
        scene.plant.members["waited_fraction"] = 0.0
        scene.level0(0)
        scene.writes(1)
        scene.step(60)
    scene.writes(100)
    assert scene.law.declined is not None
    assert scene.step(30) == ("", {})
