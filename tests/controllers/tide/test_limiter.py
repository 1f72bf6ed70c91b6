"""The rate limiter while somebody reads: what clients leave, what flushes need, and how urgent merges are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.values import RATE_LIMITER, of_database, of_family
from tests.controllers.laws import MB, make
from tests.controllers.tide.test_compressed import flushes
from tests.controllers.tide.test_law import GIB, READ, Scene
from tests.controllers.tide.test_shared_disks import AROUND
from tests.model.test_surroundings import PROCESS

OWNERS = 200
RETURNED = "rocksdb.bytes.read"


def read_from(owners: float = OWNERS, disk: float = 30.0, writes: float = 40.0) -> Scene:
    """A scene with a rate limiter of 200 MB/s: clients write 40 MB/s, and read 30 from the disks.

    So they leave 130, and flushes, which write as much as clients, need 1.25 x 40, twice that beside a compaction.
    """
    scene = Scene(limiter=True)
    scene.plant.tickers = {READ: 50_000, RETURNED: 50 * MB}
    scene.opened_with(RATE_LIMITER, str(int(owners * MB)))
    scene.plant.memtables_bytes = 32 * MIB
    scene.writes(writes)
    scene.background(writes, 140)
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
    scene = read_from()
    assert scene.step(4) == ("", {}), "four seconds are no peak yet"
    rule, settings = scene.step()
    assert rule == "tide.flood"
    assert settings[Knob.RATE_LIMIT] == 130 * MB


def test_it_turns_the_limiter_only_where_it_may_and_a_peak_is_no_flood_elsewhere() -> None:
    scene = read_from()
    scene.law = make("tide", limiter=False)
    assert Knob.RATE_LIMIT not in scene.law.knobs
    assert scene.step(60) == ("", {})
    pinned = read_from()
    pinned.plant.members["pinned"] = frozenset({RATE_LIMITER})
    assert pinned.step(60) == ("", {})


def test_a_decision_says_what_clients_read_and_why() -> None:
    scene = read_from()
    scene.step(4)
    decision = scene.plant.step(scene.law)
    assert decision is not None
    assert decision.signal.endswith("reads matter, clients read 28.6 MiB (30000000 bytes)/s from the disks")
    assert decision.reason == (
        "clients take the disks and read from them, so level 0 collects files for a later merge; "
        "reads reach the disks, so flushes and compactions get the bandwidth that clients leave"
    )
    scene.plant.immutable_memtables = 2
    decision = scene.plant.step(scene.law)
    assert decision is not None
    assert decision.rule == "tide.flood"
    assert decision.reason == (
        "memtables take what flushes cannot yet, and level 0 collects files for one large merge; "
        "clients leave the disks alone, or flushes need more, so the rate limit is the owner's again"
    )


def test_while_nobody_reads_the_limiter_is_the_owners() -> None:
    """What clients write alone is no valley, and 150 MB/s would be enough for flushes."""
    scene = read_from(writes=67)
    scene.plant.tickers = {READ: 0, RETURNED: 0}
    flushes(scene, 16)
    scene.background(16, 140)
    assert scene.step(60) == ("", {})


@pytest.mark.parametrize(("disk", "limit"), [(4, OWNERS), (10, 123)])
def test_reads_that_a_cache_serves_need_no_disk(disk: float, limit: float) -> None:
    """With four of 50 MB/s from the disks the limit stays; with ten it does not."""
    scene = read_from(disk=disk, writes=67)
    flushes(scene, 16)
    scene.background(16, 140)
    assert limited_to(scene, 60) == limit


@pytest.mark.parametrize("unknown", ["the process", "the bytes that are read"])
def test_without_measurements_of_reads_the_limiter_is_the_owners(unknown: str) -> None:
    scene = read_from()
    assert limited_to(scene) == 130
    if unknown == "the process":
        scene.plant.members["surroundings"] = AROUND
    else:
        scene.plant.tickers = {READ: 50_000}
    assert limited_to(scene, 5) == 130, "one sample without them says nothing"
    assert limited_to(scene, 20) == OWNERS


def test_flushes_can_keep_up_with_what_clients_write_beside_compactions_that_are_served_as_soon() -> None:
    """Clients leave 70 MB/s, and flushes get 1.25 x 60; compactions that run beside them may take as much each."""
    scene = read_from(disk=70, writes=60)
    assert limited_to(scene) == 150
    scene.background(60, 80, running=2)
    assert limited_to(scene) == OWNERS
    wide = read_from(writes=30, disk=110)
    wide.opened_with(of_database("max_subcompactions"), "3")
    assert limited_to(wide) == 150, "each of the three threads of one compaction asks for itself"


def test_where_a_refill_is_less_than_a_request_flushes_are_served_first() -> None:
    """Clients leave 3 MB/s of 16, and flushes get 1.25 x 5, with any number of compactions."""
    scene = read_from(owners=16, disk=8, writes=5)
    scene.background(5, 5, running=3)
    assert limited_to(scene) == pytest.approx(6.25)


def test_flushes_of_compressed_values_need_less() -> None:
    """Of 100 MB/s that clients write 25 reach the files: twice 1.25 x 25, where 250 would be more than the owner's."""
    scene = read_from(writes=100, disk=70)
    assert limited_to(scene, 5) == OWNERS
    flushes(scene, 25)
    scene.background(25, 140)
    assert limited_to(scene, 60) == pytest.approx(62.5, rel=0.2)


def test_what_goes_to_blob_files_counts_as_it_is_written() -> None:
    """They are not in the flushes that are counted, but they pass the limiter."""
    scene = read_from(writes=60, disk=70)
    flushes(scene, 1)
    scene.background(1, 140)
    assert limited_to(scene, 60) == 70, "what clients leave"
    scene = read_from(writes=60, disk=70)
    scene.opened_with(of_family("default", "enable_blob_files"), "true")
    flushes(scene, 1)
    scene.background(1, 140)
    assert limited_to(scene, 60) == 150


def test_flushes_that_write_more_than_was_kept_before_get_it() -> None:
    """A quarter was kept for long, and then values are no longer compressed: flushes say so before the mean does."""
    scene = read_from(writes=60, disk=70)
    flushes(scene, 15)
    scene.background(15, 140)
    assert limited_to(scene, 60) == 70
    scene.background(60, 80)
    assert limited_to(scene, 20) > 125


def test_merges_get_a_quarter_of_the_owners_limit_whatever_clients_take() -> None:
    assert limited_to(read_from(disk=300, writes=10)) == 50


def test_clients_that_take_more_than_twice_the_owners_limit_show_that_it_is_no_bandwidth_of_the_device() -> None:
    assert read_from(disk=400, writes=10).step(30) == ("", {})


def test_what_clients_read_from_the_disks_counts_and_what_compactions_read_does_not() -> None:
    """What compactions read may be counted late, so reads have a bound: a few blocks each."""
    scene = read_from()
    reads_from_disks(scene, 60, compactions=50)
    assert limited_to(scene, 120) == 100
    bounded = read_from(disk=120, writes=50)
    bounded.plant.tickers = {READ: 500, RETURNED: 10 * MB}
    assert limited_to(bounded) == pytest.approx(200 - 50 - (10 + 500 * 16384 / MB), rel=0.02)


def test_compactions_that_read_from_a_cache_do_not_hide_what_clients_read_from_the_disks() -> None:
    """That was seen while none ran: 30 of 50 MB/s. For ten minutes without such a time it stays known.

    One lookup a second before that, which read a block for its 100 bytes, says little beside them.
    """
    scene = read_from()
    scene.background(40, 0, running=0)
    scene.plant.tickers = {READ: 1, RETURNED: 100}
    reads_from_disks(scene, 0.016)
    assert scene.step(60) == ("", {})
    scene.plant.tickers = {READ: 50_000, RETURNED: 50 * MB}
    reads_from_disks(scene, 30)
    assert limited_to(scene, 20) == pytest.approx(130, rel=0.03)
    scene.background(40, 50)
    scene.plant.members["compaction_read_bytes_per_s"] = 50.0 * MB
    assert limited_to(scene, 580) == pytest.approx(130, rel=0.03)
    assert limited_to(scene, 40) == OWNERS


@pytest.mark.parametrize(("files", "urgency"), [(7, 0.0), (10, 0.0), (12, 2 / 8), (14, 4 / 8), (18, 1.0)])
@pytest.mark.parametrize("slowdown", [20, 1 << 30, -1], ids=["slowdown", "far away", "off"])
def test_merges_become_urgent_from_half_of_the_owners_slowdown_to_nine_tenths(
    files: int, urgency: float, slowdown: int
) -> None:
    """A slowdown that is far away or off is taken for five times the owner's trigger, 20 files, too."""
    scene = read_from(owners=400, disk=200, writes=10)
    scene.opened_with(of_family("default", "level0_slowdown_writes_trigger"), str(slowdown))
    scene.level0(files)
    assert limited_to(scene) == pytest.approx(min(400, max(190, 25 + 400 * urgency)), rel=0.01)


def test_sorted_runs_below_level_0_count_where_rocksdb_counts_them() -> None:
    scene = read_from(owners=400, disk=200, writes=10)
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleUniversal")
    scene.level0(9)
    assert limited_to(scene) == 190
    scene.plant.levels_below = 6
    assert limited_to(scene) == pytest.approx(25 + 400 * 5 / 8, rel=0.01)


def test_merges_become_urgent_with_the_pending_compaction_bytes() -> None:
    """Between half and nine tenths of the soft limit of 64 GiB."""
    scene = read_from(owners=400, disk=200, writes=10)
    scene.plant.pending_bytes = int(0.7 * 64 * GIB)
    assert limited_to(scene) == pytest.approx(25 + 400 / 2, rel=0.01)


def test_in_a_valley_the_limit_is_the_owners_until_clients_take_a_third_of_it() -> None:
    scene = read_from()
    assert limited_to(scene) == 130
    scene.writes(22)
    assert limited_to(scene) == 130, "52 of 200 are no valley yet"
    scene.writes(18)
    assert limited_to(scene) == OWNERS
    scene.writes(34)
    assert limited_to(scene) == OWNERS, "64 of 200 do not end it"
    scene.writes(40)
    assert limited_to(scene) == pytest.approx(130, rel=0.05)


@pytest.mark.parametrize("what", ["memtables wait", "writes are delayed", "writers waited within the window"])
def test_where_flushes_need_the_device_the_limit_is_the_owners_at_once_and_for_some_seconds(what: str) -> None:
    scene = read_from()
    assert limited_to(scene) == 130
    members = {"writes are delayed": {"condition": "delayed"}, "memtables wait": {}}.get(
        what, {"stalled_fraction": 0.2}
    )
    scene.plant.immutable_memtables = 2 * (what == "memtables wait")
    scene.plant.members |= members
    assert limited_to(scene, 1) == OWNERS
    scene.plant.immutable_memtables = 0
    scene.plant.members |= {"condition": "normal", "stalled_fraction": 0.0}
    assert limited_to(scene, 9) == OWNERS
    assert limited_to(scene, 2) == 130


def test_the_more_often_flushes_need_it_under_a_limit_of_ours_the_longer_the_owners_stays() -> None:
    """10, 20, 40 and 80 s, then 160 s each; after ten minutes without, 10 s again."""
    scene, stays_s = read_from(), list[int]()
    for _ in range(6):
        scene.step(30)
        stays_s.append(owners_stays_s(scene))
    scene.step(620)
    stays_s.append(owners_stays_s(scene))
    assert stays_s == [10, 20, 40, 80, 160, 160, 10]


def owners_stays_s(scene: Scene) -> int:
    """Let memtables wait in one window; return for how many seconds the owner's limit stays."""
    assert limited_to(scene, 1) == 130
    scene.plant.immutable_memtables = 2
    scene.step()
    scene.plant.immutable_memtables = 0
    return next(second for second in range(1, 1000) if limited_to(scene, 1) != OWNERS)


def test_flushes_alone_leave_clients_the_disks_too() -> None:
    scene = read_from()
    scene.background(40, 0, running=0)
    assert limited_to(scene) == 130


def test_a_database_with_no_column_family_that_the_law_merges_keeps_the_owners_limit() -> None:
    scene = read_from()
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleFIFO")
    assert scene.step(30) == ("", {})


def test_the_limit_is_never_above_the_owners_nor_below_the_guards_bound() -> None:
    tight = read_from(owners=60)  # flushes need 100
    assert Knob.RATE_LIMIT not in tight.step(30)[1]
    slow = read_from(owners=2, disk=1, writes=0.4)
    slow.plant.tickers = {READ: 200, RETURNED: MB}
    slow.background(0.4, 0.8)
    assert limited_to(slow) == pytest.approx(1.048576)


def test_a_limit_that_is_near_enough_stays_unless_flushes_need_more() -> None:
    scene = read_from()
    assert limited_to(scene) == 130
    scene.writes(50)
    assert limited_to(scene) == 130, "125 is near"
    flushing = read_from(disk=80, writes=55)
    assert limited_to(flushing) == 137.5
    flushing.writes(62)
    assert limited_to(flushing) == pytest.approx(155)


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
        scene.writes(40)
        scene.plant.immutable_memtables = 2
        scene.plant.members["waited_fraction"] = 0.5
        scene.step(90)
        scene.plant.immutable_memtables = 0
        scene.plant.members["waited_fraction"] = 0.0
        scene.level0(0)
        scene.writes(1)
        scene.step(15)
        scene.writes(40)
        limited.append(limited_to(scene, 12))
        scene.writes(1)
        scene.step(120)
    assert limited == pytest.approx([130, OWNERS], rel=0.05), (
        "it is at work after the first bad flood, and not after the second"
    )
    scene.writes(40)
    assert scene.law.declined is not None
    assert scene.step(30) == ("", {})


def test_after_the_last_reads_the_limit_is_the_owners_within_seconds() -> None:
    """Reads matter for a minute more to level 0; the disks serve none of them."""
    scene = read_from(writes=60)
    assert limited_to(scene) == 150
    scene.plant.tickers = {READ: 0, RETURNED: 0}
    reads_from_disks(scene, 0)
    assert limited_to(scene, 9) == 150
    assert limited_to(scene, 1) == OWNERS


@pytest.mark.parametrize("every", [2, 10])
def test_late_counts_of_what_compactions_read_are_no_reads_of_clients_for_long(every: int) -> None:
    """A cache serves all reads; compactions read 10 MB/s, counted every few seconds."""
    scene = read_from(disk=0, writes=67)
    flushes(scene, 16)
    scene.background(16, 140)
    for second in range(120):
        reads_from_disks(scene, 0, compactions=10)
        scene.plant.members["compaction_read_bytes_per_s"] = every * 10.0 * MB * (second % every == every - 1)
        scene.step()
    assert int(scene.plant.values[RATE_LIMITER]) == OWNERS * MB
    for second in range(120):
        scene.plant.members["compaction_read_bytes_per_s"] = every * 10.0 * MB * (second % every == every - 1)
        assert Knob.RATE_LIMIT not in scene.step()[1]


def test_after_a_pause_it_begins_with_what_it_sees_then() -> None:
    scene = read_from()
    assert limited_to(scene) == 130
    scene.plant.values[RATE_LIMITER] = str(OWNERS * MB)
    reads_from_disks(scene, 0)
    scene.plant.now_s += 60
    assert limited_to(scene, 3) == OWNERS, "no read has reached the disks since"


def test_of_a_device_that_its_own_limit_holds_it_learns_nothing() -> None:
    """Floods count on what was seen under the owner's limit; as soon as that is in force again, it learns."""
    scene = read_from()
    scene.background(40, 160)
    assert limited_to(scene) == 130
    scene.background(30, 10)
    scene.step(600)
    assert signal_of_the_next_flood(scene).count("device 191 MiB") == 1
    scene.plant.tickers = {READ: 0, RETURNED: 0}
    scene.step(600)
    assert "device 38" in signal_of_the_next_flood(scene)


def signal_of_the_next_flood(scene: Scene) -> str:
    scene.plant.immutable_memtables = 2
    decision = scene.plant.step(scene.law)
    scene.plant.immutable_memtables = 0
    assert decision is not None
    return decision.signal
