"""Who shares disks with whom, and what each may count on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.daemon.control.neighbours import Neighbours
from adocd.daemon.control.sharing import DiskNeeds, Sharing, needs_of
from adocd.model.allowance import Allowance
from adocd.model.device import BlockDevice, DeviceKind, Storage
from adocd.model.policy import Priority
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


def lived(sharing: Sharing, needs: dict[str, DiskNeeds], seconds: int = 30) -> dict[str, Allowance | None]:
    """Let every target tell the same needs each second, and return what each is allotted at last."""
    found: dict[str, Allowance | None] = {}
    for second in range(seconds):
        for name, each in needs.items():
            now_s = each.monotonic_s + second
            waited_s, wanted_s = (None if at_s is None else now_s for at_s in (each.waited_s, each.wanted_s))
            sharing.put(name, replace(each, monotonic_s=now_s, waited_s=waited_s, wanted_s=wanted_s))
        found = {name: sharing.allowance(name, GIB, 128 * MIB) for name in needs}
    return found


def allotted(sharing: Sharing, needs: dict[str, DiskNeeds], seconds: int = 30) -> dict[str, Allowance]:
    """The same, of targets that do share."""
    found = {name: each for name, each in lived(sharing, needs, seconds).items() if each is not None}
    assert found.keys() == needs.keys()
    return found


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
    assert all(each.is_scarce for each in found.values())


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


def test_memory_and_space_go_by_need_too() -> None:
    """The calm one keeps its memtables, and a tenth of the space, a fifth of its half; the hot one has the rest."""
    found, space = allotted(Sharing(), {"hot": HOT, "calm": CALM}), 10 * GIB + 2 * 64 * MIB
    assert found["calm"].memtables_bytes == 32 * MIB
    plenty = allotted(Sharing(), {"a": CALM, "b": CALM})
    assert plenty["a"].memtables_bytes == (GIB - 64 * MIB) // 2, "what nobody needs goes to both"
    assert found["hot"].memtables_bytes == GIB - 32 * MIB - (128 - 64) * MIB, "others of the daemon take 64 MiB"
    assert found["calm"].space_bytes == space // 10
    assert found["hot"].space_bytes == pytest.approx(space - space // 10, abs=1)
    full = replace(CALM, level0_bytes=4 * GIB)
    found = allotted(Sharing(), {"hot": HOT, "full": full})
    assert found["full"].space_bytes == 4 * GIB + 600 * MB, "its level 0, and five minutes of flushes"


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
    assert needs is not None
    assert (needs.disks, needs.bytes_per_s, needs.free_bytes) == (frozenset({"sda"}), 5.0, GIB)
    assert (needs.wanted_s, needs.memtables_bytes, needs.priority) == (seen.monotonic_s, 7, Priority(2))
    assert needs_of(replace(seen, surroundings=None), 7, Priority()) is None


def test_memtables_that_one_flush_merges_want_no_more_of_the_disks() -> None:
    """A flush of three begins at the third: two that wait for it were taken for a need of the disks, for ever."""
    disk = BlockDevice("sda", "8:0", DeviceKind.DISK)
    around = Surroundings(
        1.0, Storage("/db", "ext4", "/dev/sda", (disk,), ()), None, (), (), None, None, None, None, (), GIB
    )

    def wants(immutable: int) -> bool:
        cf = column_family(immutable_memtables=immutable, min_write_buffer_number_to_merge=3)
        needs = needs_of(sample(cf, surroundings=around), 7, Priority())
        assert needs is not None
        return needs.wants_now

    assert [wants(immutable) for immutable in (2, 3, 4)] == [False, False, True]
