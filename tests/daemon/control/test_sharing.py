"""Who shares disks with whom, and what each may count on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest

from adocd.daemon.control.neighbours import HostProcess, Neighbours, Share
from adocd.daemon.control.sharing import DiskNeeds, Sharing, needs_of
from adocd.model.allowance import Allowance
from adocd.model.device import BlockDevice, DeviceKind, DeviceLimit, DiskActivity, IoActivity, Storage
from adocd.model.policy import Priority
from adocd.model.process import PressureActivity, Stalled
from adocd.model.surroundings import Surroundings
from tests.builders import GIB, column_family, sample

MB = 1_000_000
MIB = 1 << 20
CALM = DiskNeeds(
    disks=frozenset({"sda"}),
    bytes_per_s=10.0 * MB,
    flushed_bytes_per_s=2.0 * MB,
    waited_s=None,
    wanted_s=None,
    memtables_bytes=32 * MIB,
    level0_bytes=64 * MIB,
    free_bytes=10 * GIB,
    monotonic_s=100.0,
    priority=Priority(),
)
HOT = replace(CALM, bytes_per_s=60.0 * MB, wanted_s=100.0, waited_s=100.0)


def others(members: Iterable[str]) -> int:
    """Say what the memtables of the daemon's other databases take."""
    return 128 * MIB - 32 * MIB * len(set(members))


def lived(sharing: Sharing, needs: dict[str, DiskNeeds], seconds: int = 30) -> dict[str, Allowance | None]:
    """Let every target tell the same needs each second, and return what each is allotted at last."""
    found: dict[str, Allowance | None] = {}
    for second in range(seconds):
        for name, each in needs.items():
            now_s = each.monotonic_s + second
            waited_s, wanted_s = (None if at_s is None else now_s for at_s in (each.waited_s, each.wanted_s))
            sharing.put(name, replace(each, monotonic_s=now_s, waited_s=waited_s, wanted_s=wanted_s))
        found = {name: sharing.allowance(name, GIB, others) for name in needs}
    return found


def allotted(sharing: Sharing, needs: dict[str, DiskNeeds], seconds: int = 30) -> dict[str, Allowance]:
    """The same, of targets that do share."""
    found = {name: each for name, each in lived(sharing, needs, seconds).items() if each is not None}
    assert found.keys() == needs.keys()
    return found


def lived_on(sharing: Sharing, needs: dict[str, DiskNeeds], from_s: float, seconds: int = 30) -> dict[str, Allowance]:
    """The same from a time on; whoever waits or wants more does so all the time."""
    moved = {}
    for name, each in needs.items():
        waited_s, wanted_s = (None if at_s is None else from_s for at_s in (each.waited_s, each.wanted_s))
        moved[name] = replace(each, monotonic_s=from_s, waited_s=waited_s, wanted_s=wanted_s)
    return allotted(sharing, moved, seconds)


def changes(values: list[int | None]) -> int:
    """Count how often a value is another than the one before."""
    return sum(one != other for one, other in pairwise(values))


def test_one_that_is_alone_on_its_disks_is_told_nothing() -> None:
    other = replace(HOT, disks=frozenset({"sdb"}))
    assert lived(Sharing(), {"a": HOT, "b": other}) == {"a": None, "b": None}


def test_disks_are_shared_with_whoever_shares_one_with_a_neighbour() -> None:
    """A mirror of two disks joins the databases on each of them."""
    one, mirror, other = (replace(CALM, disks=frozenset(disks)) for disks in ({"sda"}, {"sda", "sdb"}, {"sdb"}))
    alone = replace(CALM, disks=frozenset({"nvme0n1"}))
    found = lived(Sharing(), {"one": one, "other": other, "mirror": mirror, "alone": alone})
    assert {name: each and each.others for name, each in found.items()} == {
        "one": 2,
        "mirror": 2,
        "other": 2,
        "alone": None,
    }


def test_what_the_others_do_not_need_goes_to_the_one_that_wants_more() -> None:
    """Four need 15 of 100 MB/s each, with half as much again for growth; the hot one gets the other 40."""
    found = allotted(Sharing(), {"hot": HOT, **{f"calm-{n}": CALM for n in range(4)}})
    assert found["hot"].device_share == pytest.approx(0.4, abs=0.01)
    assert found["calm-0"].device_share == pytest.approx(0.15, abs=0.01)
    assert found["hot"].device_bytes_per_s == pytest.approx(40 * MB, rel=0.01)
    assert found["calm-0"].device_bytes_per_s == pytest.approx(20 * MB, rel=0.01), "a fifth, if it wants it"
    assert sum(each.device_share for each in found.values()) == pytest.approx(1)
    assert found["calm-0"].is_scarce
    assert not found["hot"].is_scarce, "only it wants more"


def test_what_nobody_needs_goes_to_all() -> None:
    found = allotted(Sharing(), {"a": CALM, "b": replace(CALM, bytes_per_s=1.0 * MB)})
    assert sum(each.device_share for each in found.values()) == pytest.approx(1)
    assert not any(each.is_scarce for each in found.values())


def test_weights_and_floors_decide_between_those_that_want_more() -> None:
    heavy = replace(HOT, priority=Priority(weight=3))
    found = allotted(Sharing(), {"heavy": heavy, "light": HOT})
    assert found["heavy"].device_share == pytest.approx(0.75)
    safe = replace(HOT, priority=Priority(floor=0.5))
    found = allotted(Sharing(), {"heavy": replace(heavy, priority=Priority(weight=9)), "safe": safe})
    assert found["safe"].device_share == pytest.approx(0.5)
    assert (found["heavy"].fair_share, found["safe"].fair_share) == (0.9, 0.1)


def test_memory_and_space_go_by_need_too() -> None:
    """The calm one keeps its memtables, and a tenth of the space, a fifth of its half; the hot one has the rest."""
    found, space = allotted(Sharing(), {"hot": HOT, "calm": CALM}), 10 * GIB + 2 * 64 * MIB
    assert found["calm"].memtables_bytes == 32 * MIB
    plenty = allotted(Sharing(), {"a": CALM, "b": CALM})
    assert plenty["a"].memtables_bytes == (GIB - 64 * MIB) // 2, "what nobody needs goes to both"
    assert found["hot"].memtables_bytes == GIB - 32 * MIB - 64 * MIB, "others of the daemon take 64 MiB"
    assert found["calm"].space_bytes == space // 10
    assert found["hot"].space_bytes == pytest.approx(space - space // 10, abs=1)
    full = replace(CALM, level0_bytes=4 * GIB)
    found = allotted(Sharing(), {"hot": HOT, "full": full})
    assert found["full"].space_bytes == 4 * GIB + 600 * MB, "its level 0, and five minutes of flushes"
    space, flooding = 20 * GIB + 64 * MIB + 4 * GIB, replace(HOT, level0_bytes=4 * GIB, flushed_bytes_per_s=40.0 * MB)
    briefly = {"flooding": flooding, "calm": replace(CALM, wanted_s=100.0)}
    found = allotted(Sharing(), {name: replace(each, free_bytes=20 * GIB) for name, each in briefly.items()})
    needed = 4 * GIB + 12_000 * MB
    assert found["flooding"].space_bytes == pytest.approx(needed + (space - needed - space // 10) // 2, abs=2)
    found = allotted(Sharing(), {"a": CALM, "b": CALM})
    assert found["a"].space_bytes == pytest.approx(5 * GIB + 64 * MIB, abs=1), "nobody floods, so it is halved"


def test_whoever_waits_below_its_share_narrows_the_others() -> None:
    starved = replace(CALM, waited_s=100.0, wanted_s=100.0)
    found = allotted(Sharing(), {"hot": HOT, "starved": starved, "calm": CALM})
    assert (found["starved"].width, found["starved"].waiting) == (None, 0)
    assert (found["hot"].width, found["hot"].waiting) == (2, 1)
    assert "it should write with 2 threads at most, because one waits and uses" in found["hot"].in_words()


def test_whoever_waited_wants_more_for_a_minute() -> None:
    sharing = Sharing()
    allotted(sharing, {"hot": HOT, "calm": CALM})
    flows = replace(HOT, waited_s=None, wanted_s=None, monotonic_s=130.0)
    calm = replace(CALM, monotonic_s=130.0)
    assert allotted(sharing, {"hot": flows, "calm": calm}, seconds=25)["calm"].is_scarce
    assert not allotted(sharing, {"hot": flows, "calm": calm}, seconds=65)["calm"].is_scarce


def test_disks_are_not_short_because_a_law_holds_one_database() -> None:
    """A law of admission delays it for minutes, and the disks write a tenth of what they can."""
    sharing = Sharing()
    allotted(sharing, {"held": replace(HOT, bytes_per_s=200.0 * MB), "calm": CALM})
    held = replace(HOT, bytes_per_s=15.0 * MB, monotonic_s=130.0)
    calm = replace(CALM, bytes_per_s=5.0 * MB, monotonic_s=130.0)
    found = allotted(sharing, {"held": held, "calm": calm}, seconds=300)
    assert not found["calm"].is_scarce
    idle = {name: replace(each, is_busy=False, monotonic_s=430.0) for name, each in (("held", held), ("calm", calm))}
    found = allotted(sharing, idle, seconds=3600)
    assert not found["calm"].is_scarce
    assert found["calm"].device_bytes_per_s == pytest.approx(80 * MB, rel=0.3), "half of what they are known to write"
    assert (found["calm"].width, found["calm"].waiting) == (None, 0)


def test_disks_at_their_limit_are_short_however_little_they_write() -> None:
    """Burst credits are gone: 1000 MB/s before, and 125 now."""
    sharing = Sharing()
    allotted(sharing, {"hot": replace(HOT, bytes_per_s=1000.0 * MB), "calm": CALM})
    slow = {
        "hot": replace(HOT, bytes_per_s=115.0 * MB, monotonic_s=130.0, is_busy=True),
        "calm": replace(CALM, monotonic_s=130.0, is_busy=True),
    }
    assert allotted(sharing, slow, seconds=40)["calm"].is_scarce
    slow = {name: replace(each, monotonic_s=170.0) for name, each in slow.items()}
    found = allotted(sharing, slow, seconds=240)
    assert found["calm"].device_bytes_per_s == pytest.approx(62.5 * MB, rel=0.2), "half of what they write now"


def test_disks_that_are_short_now_and_then_are_called_short_meanwhile() -> None:
    """What they write swings around the threshold: each turn would change the options of every neighbour."""
    sharing = Sharing()
    allotted(sharing, {"hot": replace(HOT, bytes_per_s=100.0 * MB), "calm": CALM})
    said = set()
    for second in range(130, 400):
        rate = (40.0 if second // 15 % 2 else 5.0) * MB
        for name, each in (("hot", replace(HOT, bytes_per_s=rate)), ("calm", replace(CALM, bytes_per_s=2.0 * MB))):
            wanted_s = None if each.wanted_s is None else float(second)
            sharing.put(name, replace(each, monotonic_s=float(second), waited_s=wanted_s, wanted_s=wanted_s))
        found = sharing.allowance("calm", GIB, others)
        assert found is not None
        said.add(found.is_scarce)
    assert said == {True}


def test_two_that_wait_and_write_in_turns_are_not_narrowed_in_turns() -> None:
    """Their compactions take turns: each turn would change the threads of the other, which holds its writes."""
    sharing = Sharing()
    widths: dict[str, list[int | None]] = {"a": [], "b": []}
    for second in range(270):
        writes = (90.0, 10.0) if second // 15 % 2 else (10.0, 90.0)
        for (name, told), rate in zip(widths.items(), writes, strict=True):
            at_s = 100.0 + second
            sharing.put(name, replace(HOT, bytes_per_s=rate * MB, monotonic_s=at_s, waited_s=at_s, wanted_s=at_s))
            if (allowance := sharing.allowance(name, None, others)) is not None:
                told.append(allowance.width)
    assert [changes(told[30:]) for told in widths.values()] == [0, 0]


def test_whoever_has_its_share_again_narrows_nobody_half_a_minute_later() -> None:
    sharing = Sharing()
    allotted(sharing, {"a": HOT, "b": HOT})
    less, more = replace(HOT, bytes_per_s=50.0 * MB), replace(HOT, bytes_per_s=70.0 * MB)
    assert lived_on(sharing, {"a": more, "b": less}, 130, seconds=60)["a"].width == 3
    found = lived_on(sharing, {"a": less, "b": more}, 190, seconds=20)
    assert [each.width for each in found.values()] == [None, None], "both have waited with less a moment ago"
    assert lived_on(sharing, {"a": less, "b": more}, 210, seconds=40)["b"].width == 3
    flows = replace(less, waited_s=None)
    assert lived_on(sharing, {"a": flows, "b": more}, 250, seconds=35)["b"].width is None


def test_memory_does_not_follow_neighbours_that_flush_now_and_then() -> None:
    """Eight quiet ones flush every 30 s: after it, their memtables are empty, and would count for nothing."""
    neighbours, process = Neighbours(GIB, reads_memory=False), HostProcess("here", 1, None, None)
    given: list[int] = []
    for second in range(215):
        at_s = 100.0 + second
        for name, offset in (("hot", None), *((f"quiet-{n}", 4 * n) for n in range(8))):
            if offset is None:
                needs = replace(HOT, monotonic_s=at_s, waited_s=at_s, wanted_s=at_s, memtables_bytes=128 * MIB)
            else:
                is_idle = (second + offset) % 30 < 12
                needs = replace(CALM, monotonic_s=at_s, memtables_bytes=0 if is_idle else 64 * MIB)
            allowance = neighbours.allowance(name, needs)
            neighbours.put(name, Share(name, process, needs.memtables_bytes, turns_shared=False))
            if name == "hot" and allowance is not None:
                given.append(allowance.memtables_bytes)
    assert set(given[40:]) == {GIB - 8 * 64 * MIB}


def test_memory_that_a_neighbour_has_not_needed_for_minutes_goes_to_others() -> None:
    sharing = Sharing()
    allotted(sharing, {"hot": HOT, "calm": CALM})
    empty = {"hot": HOT, "calm": replace(CALM, memtables_bytes=0)}
    assert lived_on(sharing, empty, 130, seconds=60)["calm"].memtables_bytes == 32 * MIB
    assert lived_on(sharing, empty, 190, seconds=120)["calm"].memtables_bytes == 0


def test_disks_stay_short_when_a_database_opens_or_closes() -> None:
    """They are called short for a minute after they were; in the second in which one opens they may write little."""
    sharing = Sharing()
    allotted(sharing, {"hot": replace(HOT, bytes_per_s=400.0 * MB), "calm": CALM})
    slower = {"hot": replace(HOT, bytes_per_s=5.0 * MB), "calm": CALM}
    assert lived_on(sharing, slower, 130, seconds=40)["calm"].is_scarce
    assert lived_on(sharing, {**slower, "new": CALM}, 170, seconds=2)["calm"].is_scarce
    sharing.remove("new")
    assert lived_on(sharing, slower, 172, seconds=2)["calm"].is_scarce
    assert not lived_on(sharing, slower, 174, seconds=60)["calm"].is_scarce


def test_what_is_known_of_disks_stays_where_databases_come_to_others() -> None:
    sharing = Sharing()
    allotted(sharing, {"hot": HOT, "calm": CALM})
    group = sharing.allowance("hot", GIB, others)
    sharing.put("elsewhere", replace(CALM, disks=frozenset({"sdb"}), monotonic_s=130.0))
    assert sharing.allowance("hot", GIB, others) is group, "its group is the same, and allots nothing anew"


def test_an_arbiter_that_was_off_for_an_hour_knows_no_less_of_the_disks() -> None:
    sharing, needs = Sharing(), {"a": CALM, "b": HOT}
    lived_on(sharing, {"a": CALM, "b": replace(HOT, bytes_per_s=200.0 * MB)}, 100.0)
    before = lived_on(sharing, needs, 131.0, 2)["a"].device_bytes_per_s
    for second in range(3600):
        for name, each in needs.items():
            sharing.put(name, replace(each, monotonic_s=133.0 + second))
    after = lived_on(sharing, needs, 3733.0, 1)["a"].device_bytes_per_s
    assert before is not None
    assert after is not None
    assert after > 0.8 * before


def test_a_look_that_came_too_late_takes_nobody_off_its_disks() -> None:
    sharing = Sharing()
    allotted(sharing, {"hot": HOT, "calm": CALM})
    unseen = {name: replace(each, monotonic_s=130.0, disks=frozenset(), free_bytes=None) for name, each in
              (("hot", HOT), ("calm", CALM))}  # fmt: skip
    found = allotted(sharing, unseen, seconds=2)
    assert found["calm"].is_scarce
    assert found["calm"].space_bytes is not None
    assert lived(Sharing(), unseen) == {"hot": None, "calm": None}, "nobody ever saw their disks"


def test_one_that_cannot_answer_while_it_is_stopped_still_wants_more() -> None:
    """Its memtables stay its own, and those of one that is gone are not allotted to others."""
    sharing = Sharing()
    allotted(sharing, {"stopped": HOT, "calm": CALM, "gone": CALM})
    later = allotted(sharing, {"calm": replace(CALM, monotonic_s=130.0)}, seconds=120)["calm"]
    assert (later.others, later.is_scarce) == (1, False), "short, but not for longer than a minute"
    assert later.memtables_bytes == 32 * MIB
    busy = replace(CALM, monotonic_s=250.0, is_busy=True)
    assert allotted(sharing, {"calm": busy}, seconds=30)["calm"].is_scarce


def test_a_closed_target_leaves_its_share_to_the_others() -> None:
    neighbours = Neighbours(GIB, reads_memory=False)
    for second in range(3):
        for name in ("a", "b"):
            neighbours.allowance(name, replace(HOT, monotonic_s=100.0 + second))
    found = neighbours.allowance("a", replace(HOT, monotonic_s=103.0))
    assert found is not None
    assert found.device_share == pytest.approx(0.5)
    neighbours.remove("b")
    assert neighbours.allowance("a", replace(HOT, monotonic_s=104.0)) is None


def test_an_arbiter_that_is_off_allots_nothing() -> None:
    sharing = Sharing()
    sharing.is_on = False
    assert lived(sharing, {"a": HOT, "b": CALM}) == {"a": None, "b": None}


def test_needs_are_read_off_a_sample() -> None:
    disk = BlockDevice("sda1", "8:1", DeviceKind.PARTITION, (BlockDevice("sda", "8:0", DeviceKind.DISK),))
    around = Surroundings(
        1.0, Storage("/db", "ext4", "/dev/sda1", (disk,), ()), None, (), (), None, None, None, None, (), GIB
    )
    seen = sample(column_families=(column_family(immutable_memtables=2, l0_files=1),))
    seen = replace(
        seen,
        flush_written_bytes_per_s=2.0,
        compaction_written_bytes_per_s=3.0,
        wal_bytes_per_s=1.0,
        surroundings=around,
    )
    needs = needs_of(seen, 7, Priority(2))
    assert (needs.disks, needs.bytes_per_s, needs.free_bytes) == (frozenset({"sda"}), 5.0, GIB)
    assert (needs.wanted_s, needs.memtables_bytes, needs.priority) == (seen.monotonic_s, 7, Priority(2))
    assert needs_of(replace(seen, surroundings=None), 7, Priority()).disks == frozenset()


def test_a_wait_of_some_milliseconds_is_none() -> None:
    woken = sample(waited_fraction=0.3, interval_s=0.1)
    assert needs_of(woken, 7, Priority()).waited_s is None
    assert needs_of(replace(woken, interval_s=1.0), 7, Priority()).waited_s is not None
    assert needs_of(replace(woken, condition="delayed"), 7, Priority()).waited_s is not None


def test_disks_are_busy_at_their_limit_and_idle_where_nobody_waits_for_them() -> None:
    def busy(fraction: float, waits: float | None, *, at_limit: bool = False) -> bool | None:
        disk = BlockDevice("sda", "8:0", DeviceKind.DISK)
        none = IoActivity(0.0, 0.0, 0.0, None, None)
        active = DiskActivity("sda", 1.0, 1.0, none, none, None, fraction, 1.0, 1, None, None)
        limit = DeviceLimit("sda", 1.0, 1e6, 1.0, "bytes", 2.0, 1.0, "why")
        pressure = None if waits is None else PressureActivity(1.0, 1.0, {"io": Stalled(waits, None)}, {}, None, ())
        storage = Storage("/db", "ext4", "/dev/sda", (disk,), ())
        limits = (limit,) if at_limit else ()
        around = Surroundings(1.0, storage, None, (active,), limits, None, pressure, None, None, ())
        return needs_of(sample(surroundings=around), 7, Priority()).is_busy

    assert busy(0.1, 0.9, at_limit=True) is True
    assert busy(0.1, 0.02) is False
    assert busy(0.1, 0.6) is None, "a cgroup's limit holds requests back before they reach the disk"
    assert busy(1.0, 0.02) is None, "it may serve more at once"
    assert busy(0.1, None) is None


def test_memtables_that_one_flush_merges_want_no_more_of_the_disks() -> None:
    """A flush of three begins at the third: two that wait for it were taken for a need of the disks, for ever."""

    def wants(immutable: int) -> bool:
        cf = column_family(immutable_memtables=immutable, min_write_buffer_number_to_merge=3)
        return needs_of(sample(cf), 7, Priority()).wants_now

    assert [wants(immutable) for immutable in (2, 3, 4)] == [False, False, True]
