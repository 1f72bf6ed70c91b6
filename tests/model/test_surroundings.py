"""What was around a database: in words, in a few figures, and which device serves what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.device import BlockDevice, DeviceKind, DeviceLimit, DiskActivity, IoActivity, Storage
from adocd.model.process import GroupLimits, IoLimit, PressureActivity, ProcessActivity, Resource, Stalled, ThreadGroup
from adocd.model.surroundings import Surroundings, SurroundingsPoint, concerned

SDA = BlockDevice("sda", "8:0", DeviceKind.DISK)
SDB = BlockDevice("sdb", "8:16", DeviceKind.DISK)
CRYPT = BlockDevice("dm-0", "253:0", DeviceKind.CRYPT, (BlockDevice("sda3", "8:3", DeviceKind.PARTITION, (SDA,)),))
NO_LIMITS = GroupLimits(None, None, None, {}, ())


def storage(*devices: BlockDevice) -> Storage:
    return Storage("/db", "ext4", "/dev/x", devices, ())


def io(operations_per_s: float, bytes_per_s: float) -> IoActivity:
    return IoActivity(operations_per_s, 0.0, bytes_per_s, None, None)


def disk(
    name: str, mb_per_s: float, operations_per_s: float, busy: float = 0.5, queue: float = 1.0, reads: float = 0
) -> DiskActivity:
    return DiskActivity(
        device=name,
        monotonic_s=12.0,
        interval_s=1.0,
        reads=io(reads, reads * 4096),
        writes=io(operations_per_s, mb_per_s * 1e6),
        discards=None,
        busy_fraction=busy,
        mean_queue=queue,
        in_flight=3,
        flushes_per_s=None,
        s_per_flush=None,
    )


def at_limit(name: str) -> DeviceLimit:
    return DeviceLimit(name, 3.0, 212e6, 840.0, "either", 31.0, 4.0, f"{name} gives no more than 212 MB/s")


PROCESS = ProcessActivity(
    monotonic_s=12.0,
    interval_s=1.0,
    pid=700,
    user_cores=1.5,
    system_cores=0.3,
    rss_bytes=1_024_000_000,
    anon_bytes=None,
    swap_bytes=None,
    read_bytes_per_s=None,
    written_bytes_per_s=None,
    cancelled_bytes_per_s=None,
    pools={"low": ThreadGroup(3, 2, 1, 0.9), "high": ThreadGroup(1, 0, 1, 0.1), "bottom": ThreadGroup(1, 0, 0, 0.0)},
    others=ThreadGroup(1, 0, 0, 0.0),
    voluntary_switches_per_s=None,
    involuntary_switches_per_s=None,
    missing=(),
)
NOTHING = Surroundings(
    monotonic_s=12.0,
    data=storage(),
    wal=None,
    devices=(),
    limits=(),
    process=None,
    pressure=None,
    group=None,
    cpus=None,
    missing=("the counters of block devices cannot be read",),
)
BUSY = replace(
    NOTHING,
    data=storage(SDA),
    devices=(disk("sda", 212, 840, busy=0.99, queue=31.4),),
    limits=(at_limit("sda"),),
    process=PROCESS,
    cpus=2,
)


def pressure(
    machine: dict[Resource, Stalled], group: dict[Resource, Stalled] | None = None, throttled_cores: float | None = None
) -> PressureActivity:
    return PressureActivity(12.0, 1.0, machine, group or {}, throttled_cores, ())


def test_a_busy_disk_and_process_in_one_sentence() -> None:
    assert BUSY.in_words() == (
        "sda writes 212 MB/s in 840 operations/s, busy 99 %, queue 31, at its limit; the process uses 1.8 of 2 CPUs, "
        "rocksdb:high 0.1, rocksdb:low 0.9, 2 threads wait for a disk, 1024 MB in RAM"
    )


def test_what_the_process_waits_for_and_is_allowed() -> None:
    around = replace(
        BUSY,
        devices=(disk("sda", 52.4, 20, reads=1000),),
        limits=(),
        process=None,
        group=replace(NO_LIMITS, cpu_cores=1.5, io={"8:0": IoLimit(None, 52_428_800, 300, 500), "8:16": IoLimit(1)}),
        pressure=pressure({"io": Stalled(0.9, 0.5)}, {"cpu": Stalled(0.75, 0.5), "io": Stalled(0.35, 0.0)}, 0.75),
    )
    assert around.in_words() == (
        "sda writes 52 MB/s in 20 operations/s, reads 4.1 MB/s in 1000 operations/s, busy 50 %, queue 1; the cgroup "
        "allows 52 MB/s of writes and 500 writes/s and 300 reads/s on sda; tasks of its cgroup waited for a CPU 75 %, "
        "for I/O 35 % of the time; the cgroup's quota held back 0.8 CPUs"
    )
    alone = replace(NOTHING, pressure=pressure({"io": Stalled(0.9, 0.5), "memory": Stalled(0.04, 0.0)}))
    assert alone.in_words() == "tasks on the machine waited for I/O 90 % of the time"


def test_the_wals_disk_is_told_from_the_datas() -> None:
    idle = replace(disk("sdb", 0, 0), in_flight=0)
    around = replace(NOTHING, data=storage(SDA), wal=storage(SDB), devices=(disk("sda", 9.94, 2), idle))
    assert around.in_words() == ("sda (data) writes 9.9 MB/s in 2 operations/s, busy 50 %, queue 1; sdb (WAL) is idle")
    assert [device.device for device in around.data_devices] == ["sda"]
    assert [device.device for device in around.wal_devices] == ["sdb"]
    hangs = replace(around, wal=storage(SDA, SDB), devices=(disk("sda", 0, 0), idle))
    assert hangs.in_words() == "sda (data and WAL) ended none of its 3 requests; sdb (WAL) is idle"
    assert [device.device for device in hangs.wal_devices] == ["sda", "sdb"]


def test_data_on_several_disks_is_data_on_each() -> None:
    disks = (disk("sda", 10, 2), disk("sdb", 20, 4))
    around = replace(NOTHING, data=storage(SDA), more_data=(storage(SDB),), devices=disks)
    assert around.data_devices == around.disks == disks
    assert around.data_disks == {"sda", "sdb"}
    assert around.point().write_bytes_per_s == 30e6
    apart = replace(around, wal=storage(SDB))
    assert [clause.partition(" writes")[0] for clause in apart.in_words().split("; ")] == [
        "sda (data)",
        "sdb (data and WAL)",
    ]
    assert [device.device for device in apart.wal_devices] == ["sdb"]


def test_the_wal_with_the_data_is_on_the_same_devices() -> None:
    assert BUSY.wal_devices == BUSY.data_devices == BUSY.devices


def test_a_mapped_volume_and_its_disk_count_once() -> None:
    around = replace(
        NOTHING,
        data=storage(CRYPT),
        devices=(disk("dm-0", 100, 400, busy=0.9, queue=3), disk("sda", 100, 100, busy=0.4, queue=0.2)),
        limits=(at_limit("dm-0"),),
    )
    assert concerned(around.data) == ("dm-0", "sda")
    assert [device.device for device in around.disks] == ["sda"]
    assert around.point().write_bytes_per_s == 100e6
    assert around.point().busy_fraction == 0.4
    assert around.point().at_limit
    assert around.in_words() == ("sda writes 100 MB/s in 100 operations/s, busy 40 %, queue 0.2; dm-0 is at its limit")
    assert around.device_limit("dm-0") == at_limit("dm-0")
    assert around.device_limit("sda") is None


@pytest.mark.parametrize(("members", "ending"), [(4, "1 more disk is no busier"), (8, "5 more disks are no busier")])
def test_of_many_disks_the_busiest_are_named(members: int, ending: str) -> None:
    names = [f"sd{letter}" for letter in "abcdefgh"[:members]]
    around = replace(
        NOTHING,
        data=storage(*(BlockDevice(name, "", DeviceKind.DISK) for name in names)),
        devices=tuple(disk(name, 1, 1, busy=number / 10) for number, name in enumerate(names)),
    )
    clauses = around.in_words().split("; ")
    assert [clause.split(" ")[0] for clause in clauses[:-1]] == names[-3:]
    assert clauses[-1] == ending


def test_the_point_has_what_a_chart_needs() -> None:
    around = replace(
        BUSY,
        wal=storage(SDB),
        devices=(*BUSY.devices, disk("sdb", 10, 100, busy=1.0, queue=0.9, reads=10)),
        pressure=pressure({"io": Stalled(0.5, 0.2)}),
    )
    assert around.point() == SurroundingsPoint(
        monotonic_s=12.0,
        write_bytes_per_s=222e6,
        read_bytes_per_s=40_960.0,
        busy_fraction=1.0,
        mean_queue=31.4,
        at_limit=True,
        cpu_cores=1.8,
        cpu_limit_cores=2.0,
        rss_bytes=1_024_000_000,
        io_pressure_some_fraction=0.5,
        cpu_pressure_some_fraction=None,
    )


def test_nothing_measured_is_none_and_no_zero() -> None:
    assert NOTHING.point() == SurroundingsPoint(12.0, *[None] * 10)
    assert NOTHING.in_words() == "nothing around the database could be measured"
    assert NOTHING.io_allowed("sda") is None


@pytest.mark.parametrize(
    ("quota", "cpus", "limit", "words"),
    [
        (None, None, None, "1.8 CPUs"),
        (None, 2, 2.0, "1.8 of 2 CPUs"),
        (1.5, 2, 1.5, "1.8 of 1.5 CPUs"),
        (8.0, 2, 2.0, "1.8 of 2 CPUs"),
        (1.0, None, 1.0, "1.8 of 1 CPU"),
    ],
)
def test_the_narrower_of_cpus_and_quota_counts(
    quota: float | None, cpus: int | None, limit: float | None, words: str
) -> None:
    around = replace(NOTHING, process=PROCESS, cpus=cpus, group=replace(NO_LIMITS, cpu_cores=quota))
    assert around.cpu_limit_cores == limit
    assert f"the process uses {words}, rocksdb:high" in around.in_words()


def test_the_cgroups_own_pressure_beats_the_machines() -> None:
    both = replace(NOTHING, pressure=pressure({"io": Stalled(0.9, 0.5)}, {"io": Stalled(0.2, 0.1)}))
    assert both.io_pressure == Stalled(0.2, 0.1)
    assert replace(NOTHING, pressure=pressure({"io": Stalled(0.9, 0.5)})).io_pressure == Stalled(0.9, 0.5)
    assert replace(NOTHING, pressure=pressure({})).io_pressure is None


@given(
    figures=st.lists(st.tuples(*[st.floats(0, 1e7)] * 3, st.floats(0, 1), st.floats(0, 1e4)), max_size=6),
    cores=st.floats(0, 4096),
    cpus=st.none() | st.integers(1, 8192),
)
def test_any_figures_make_one_sentence(
    figures: list[tuple[float, float, float, float, float]], cores: float, cpus: int | None
) -> None:
    names = [f"sd{number}" for number in range(len(figures))]
    around = replace(
        NOTHING,
        data=storage(*(BlockDevice(name, "", DeviceKind.DISK) for name in names)),
        devices=tuple(
            disk(name, mb, writes, busy, queue, reads)
            for name, (mb, writes, reads, busy, queue) in zip(names, figures, strict=True)
        ),
        process=replace(PROCESS, user_cores=cores),
        cpus=cpus,
    )
    words = around.in_words()
    assert "the process uses " in words
    assert "\n" not in words
    assert "e+" not in words
    assert not words.endswith(".")
    assert words.count("operations/s") + words.count("ended none") >= min(1, len(figures))
