"""The rate limiter while somebody reads: what clients leave, what flushes need, and how urgent merges are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.knob import Knob
from adocd.model.values import RATE_LIMITER, of_family
from tests.controllers.laws import MB, make
from tests.controllers.tide.test_law import GIB, READ, Scene
from tests.controllers.tide.test_shared_disks import AROUND
from tests.model.test_surroundings import PROCESS

OWNERS = 1000 * MB
RETURNED = "rocksdb.bytes.read"


def read_from(owners: int = OWNERS, disk: float = 10.0, **parameters: float) -> Scene:
    """A scene with a rate limiter; flushes and compactions write 200 MB/s, clients read 10 from the disks."""
    scene = Scene(**parameters)
    scene.plant.tickers = {READ: 50_000, RETURNED: 50 * MB}
    scene.opened_with(RATE_LIMITER, str(owners))
    reads_from_disks(scene, disk)
    return scene


def reads_from_disks(scene: Scene, mb_per_s: float, compactions: float = 0.0) -> None:
    """Let clients and compactions read so many MB/s from the disks."""
    scene.plant.members |= {
        "compaction_read_bytes_per_s": compactions * MB,
        "surroundings": replace(AROUND, process=replace(PROCESS, read_bytes_per_s=(mb_per_s + compactions) * MB)),
    }


def limited_to(scene: Scene, seconds: int = 30) -> float:
    """The limit in force after some seconds, in MB/s."""
    scene.step(seconds)
    return int(scene.plant.values[RATE_LIMITER]) / MB


def test_what_clients_leave_is_for_flushes_and_compactions() -> None:
    """Of 200 MB/s, clients that write 60 and read 10 leave 130. The device is known after 5 s of compactions."""
    scene = read_from()
    scene.writes(60)
    assert scene.step(4) == ("", {}), "before that it is the owner's limit of 1000, less 70: near enough"
    assert scene.step() == ("tide.limit", {Knob.RATE_LIMIT: 130 * MB})


def test_before_the_device_is_known_it_is_the_owners_limit() -> None:
    """Of 300 MB/s, clients that write 80 and read 40 leave 180."""
    scene = read_from(owners=300 * MB, disk=40)
    scene.writes(80)
    assert scene.step() == ("tide.limit", {Knob.RATE_LIMIT: 180 * MB})
    assert limited_to(scene) == 180, "of its own limit it learns nothing"


def test_it_turns_the_limiter_only_where_it_may() -> None:
    scene = read_from()
    scene.law = make("tide", limiter=False)
    assert Knob.RATE_LIMIT not in scene.law.knobs
    assert scene.step(60) == ("", {})


def test_while_nobody_reads_the_limiter_is_the_owners() -> None:
    scene = read_from()
    scene.plant.tickers = {READ: 0, RETURNED: 0}
    assert scene.step(60) == ("", {})


def test_reads_that_a_cache_serves_need_no_disk() -> None:
    """Four of 50 MB/s come from the disks."""
    scene = read_from(disk=4)
    assert scene.step(60) == ("", {})


@pytest.mark.parametrize("unknown", ["the process", "the bytes that are read"])
def test_without_measurements_of_reads_the_limiter_is_the_owners(unknown: str) -> None:
    scene = read_from()
    assert limited_to(scene) == 125
    if unknown == "the process":
        scene.plant.members["surroundings"] = AROUND
    else:
        scene.plant.tickers = {READ: 50_000}
    assert limited_to(scene, 5) == 125, "one sample without them says nothing"
    assert limited_to(scene, 20) == 1000


def test_flushes_can_keep_up_with_what_clients_write() -> None:
    """They leave 90 MB/s, and flushes get 1.25 x 100."""
    assert limited_to(read_from()) == 125


def test_merges_get_a_quarter_of_the_device_whatever_clients_take() -> None:
    scene = read_from(disk=500)
    scene.writes(30)
    assert limited_to(scene) == 50


def test_what_clients_read_from_the_disks_counts_and_what_compactions_read_does_not() -> None:
    """200 - 60 - 40 are left. What compactions read may be counted late, so reads have a bound: a few blocks each."""
    scene = read_from()
    scene.writes(60)
    reads_from_disks(scene, 40, compactions=50)
    assert limited_to(scene) == 100
    scene.plant.tickers = {READ: 500, RETURNED: 10 * MB}
    reads_from_disks(scene, 120)
    assert limited_to(scene) == pytest.approx(200 - 60 - (10 + 500 * 16384 / MB), rel=0.02)


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


@pytest.mark.parametrize("what", ["memtables wait", "writes are delayed"])
def test_where_flushes_need_the_device_the_limit_is_the_owners_at_once(what: str) -> None:
    scene = read_from()
    assert limited_to(scene) == 125
    if what == "memtables wait":
        scene.plant.immutable_memtables = 2
    else:
        scene.plant.members["condition"] = "delayed"
    assert limited_to(scene, 1) == 1000


def test_some_seconds_after_the_last_compaction_the_limit_is_the_owners() -> None:
    scene = read_from()
    assert limited_to(scene) == 125
    scene.background(60, 0, running=0)
    assert limited_to(scene, 4) == 125
    assert limited_to(scene, 1) == 1000


def test_column_families_that_are_not_merged_by_level_make_nothing_urgent() -> None:
    scene = read_from()
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleFIFO")
    scene.level0(200)
    assert scene.step(30) == ("", {})


def test_a_slowdown_out_of_the_way_does_not_let_level_0_grow_without_end() -> None:
    """Merges are urgent at five times the owner's trigger, 20 files."""
    scene = read_from()
    scene.opened_with(of_family("default", "level0_slowdown_writes_trigger"), str(1 << 30))
    scene.level0(7)
    assert limited_to(scene) == pytest.approx(125 + 200 * 3 / 16, rel=0.01)


def test_the_limit_is_never_above_the_owners_nor_below_the_guards_bound() -> None:
    tight = read_from(owners=90 * MB)  # 125 would be far enough from it to be set
    assert tight.step(30) == ("", {})
    slow = read_from(disk=1)
    slow.plant.tickers = {READ: 200, RETURNED: MB}
    slow.background(0.4, 0.8)
    slow.writes(0.4)
    assert limited_to(slow) == pytest.approx(1.048576)


def test_a_limit_that_is_near_enough_stays() -> None:
    scene = read_from()
    scene.writes(60)
    assert limited_to(scene) == 130
    scene.writes(50)
    assert limited_to(scene) == 130
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
    scene, limited = read_from(), list[float]()
    for _ in range(2):
        scene.writes(100)
        scene.plant.immutable_memtables = 2
        scene.plant.members["waited_fraction"] = 0.5
        scene.step(40)
        scene.plant.immutable_memtables = 0
        scene.plant.members["waited_fraction"] = 0.0
        scene.level0(0)
        scene.writes(1)
        scene.step(15)
        scene.writes(100)
        limited.append(limited_to(scene, 10))
        scene.writes(1)
        scene.step(60)
    assert limited == pytest.approx([125, 1000], rel=0.02), (
        "it is at work after the first bad flood, and not after the second"
    )
    scene.writes(100)
    assert scene.law.declined is not None
    assert scene.step(30) == ("", {})


def test_after_the_last_reads_the_limit_is_the_owners_within_seconds() -> None:
    """Reads matter for a minute more to level 0; the disks serve none of them."""
    scene = read_from()
    assert limited_to(scene) == 125
    scene.plant.tickers = {READ: 0, RETURNED: 0}
    reads_from_disks(scene, 0)
    assert limited_to(scene, 9) == 125
    assert limited_to(scene, 1) == 1000


def test_late_counts_of_what_compactions_read_move_nothing_to_and_fro() -> None:
    """A cache serves all reads; compactions read 50 MB/s, counted every other second."""
    scene = read_from(disk=0)
    moved = 0
    for second in range(120):
        reads_from_disks(scene, 0, compactions=50)
        scene.plant.members["compaction_read_bytes_per_s"] = 100.0 * MB * (second % 2)
        moved += Knob.RATE_LIMIT in scene.step()[1]
    assert moved <= 1
