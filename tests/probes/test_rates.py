"""Two readings, 2 s apart, of every committed tree: numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.model.device import DiskActivity, IoActivity
from adocd.model.missing import Missing
from adocd.model.process import GroupLimits, IoLimit, PressureActivity, ProcessActivity, Stalled, ThreadGroup
from adocd.probes.diskstats import activity, read_devices
from adocd.probes.pressure import pressure_activity, read_limits, read_pressure
from adocd.probes.process import process_activity, read_process
from tests.probes.kernel_tree import APART_S, later, tree

GIB = 1 << 30


def disks(kernel: str, root: Path, *names: str) -> dict[str, DiskActivity | Missing]:
    tree(kernel, root)
    before = read_devices(names, 10.0, root)
    later(kernel, root)
    return activity(before, read_devices(names, 10.0 + APART_S, root))


def pressure(kernel: str, pid: int, root: Path) -> PressureActivity:
    tree(kernel, root)
    before = read_pressure(pid, 10.0, root)
    later(kernel, root)
    found = pressure_activity(before, read_pressure(pid, 10.0 + APART_S, root))
    assert isinstance(found, PressureActivity)
    return found


def test_all_fields_of_a_disk(tmp_path: Path) -> None:
    assert disks("bare-disk", tmp_path, "sda")["sda"] == DiskActivity(
        device="sda",
        monotonic_s=12.0,
        interval_s=2.0,
        reads=IoActivity(100.0, 0.0, 8_192_000.0, 0.003, 81_920.0),
        writes=IoActivity(500.0, 50.0, 131_072_000.0, 0.020, 262_144.0),
        discards=IoActivity(2.0, 0.0, 2_097_152.0, 0.010, 1_048_576.0),
        busy_fraction=0.75,
        mean_queue=10.4,
        in_flight=7,
        flushes_per_s=50.0,
        s_per_flush=0.004,
    )


def test_counters_that_wrapped_are_carried_on(tmp_path: Path) -> None:
    sdb = disks("bare-disk", tmp_path, "sdb")["sdb"]
    assert isinstance(sdb, DiskActivity)
    assert sdb.writes == IoActivity(100.0, 0.0, 409_600.0, 0.005, 4096.0)
    assert (sdb.busy_fraction, sdb.mean_queue) == (0.852, 1.102)
    assert sdb.reads == IoActivity(0.0, 0.0, 0.0, None, None)


def test_a_disk_that_came_back_or_went_is_no_activity(tmp_path: Path) -> None:
    found = disks("bare-disk", tmp_path, "sdc", "sdc2", "sdx")
    assert found["sdc"] == Missing("the counters of sdc began anew: it was removed and added, or is another device")
    assert found["sdc2"] == Missing("sdc2 is not in /proc/diskstats: it is gone, or hidden from here")
    assert found["sdx"] == Missing("sdx is not in /proc/diskstats: it is gone, or hidden from here")


@pytest.mark.parametrize(
    ("kernel", "name", "operations_per_s", "bytes_per_s", "s_per_operation", "busy", "queue"),
    [
        ("nvme-partition", "nvme0n1", 10_000, 2_621_440_000, 0.00015, 0.75, 1.5),
        ("nvme-partition", "nvme1n1", 0, 0, None, 0, 0),
        ("nvme-partition", "nvme1c0n1", 1000, 262_144_000, 0.0001, 0.5, 0.1),
        ("dm-crypt", "dm-0", 400, 102_400_000, 0.0075, 0.9, 3.0),
        ("dm-crypt", "sda", 100, 102_400_000, 0.002, 0.5, 0.2),
        ("md-raid1", "md127", 200, 10_240_000, 0.0, 0, 0),
        ("md-raid1", "sda", 50, 10_240_000, 0.004, 0.5, 0.2),
        ("md-raid1", "sdb", 50, 10_240_000, 0.040, 1.0, 2.0),
        ("container", "nvme0n1", 50, 5_242_880, 0.0005, 0.03, 0.025),
        ("old-kernel", "cciss!c0d0", 25, 10_240_000, 0.004, 0.2, 0.1),
        ("loop", "sda", 10, 2_097_152, 0.002, 0.02, 0.02),
    ],
)
def test_writes_of_every_tree(
    tmp_path: Path,
    kernel: str,
    name: str,
    operations_per_s: float,
    bytes_per_s: float,
    s_per_operation: float | None,
    busy: float,
    queue: float,
) -> None:
    found = disks(kernel, tmp_path, name)[name]
    assert isinstance(found, DiskActivity)
    writes = found.writes
    assert (writes.operations_per_s, writes.bytes_per_s, writes.s_per_operation) == (
        operations_per_s,
        bytes_per_s,
        s_per_operation,
    )
    assert (found.busy_fraction, found.mean_queue) == (busy, queue)


def test_what_a_kernel_does_not_count_is_none(tmp_path: Path) -> None:
    lvm = disks("lvm", tmp_path / "lvm", "sda")["sda"]
    assert isinstance(lvm, DiskActivity)
    assert lvm.reads == IoActivity(200.0, 0.0, 13_107_200.0, 0.002, 65_536.0)
    assert lvm.discards is not None
    assert (lvm.flushes_per_s, lvm.s_per_flush) == (None, None)
    old = disks("old-kernel", tmp_path / "old", "cciss!c0d0", "sda1")
    assert isinstance(old["cciss!c0d0"], DiskActivity)
    assert old["cciss!c0d0"].discards is None
    assert old["sda1"] == Missing("sda1 is not in /proc/diskstats: it is gone, or hidden from here")


def test_a_loop_device_that_was_detached(tmp_path: Path) -> None:
    assert disks("loop", tmp_path, "loop0")["loop0"] == Missing(
        "loop0 is not in /proc/diskstats: it is gone, or hidden from here"
    )


def test_a_process_with_rocksdbs_pools(tmp_path: Path) -> None:
    tree("bare-disk", tmp_path)
    before = read_process(700, 10.0, tmp_path)
    later("bare-disk", tmp_path)
    after = read_process(700, 10.0 + APART_S, tmp_path)
    assert not isinstance(before, Missing)
    assert not isinstance(after, Missing)
    assert process_activity(before, after, ticks_per_s=100) == ProcessActivity(
        monotonic_s=12.0,
        interval_s=2.0,
        pid=700,
        user_cores=1.25,
        system_cores=0.25,
        rss_bytes=1_024_000_000,
        anon_bytes=921_600_000,
        swap_bytes=2_097_152,
        read_bytes_per_s=5_000_000.0,
        written_bytes_per_s=20_000_000.0,
        cancelled_bytes_per_s=2_000_000.0,
        pools={
            "low": ThreadGroup(threads=3, running=2, waiting_for_disk=1, cpu_cores=1.25),
            "high": ThreadGroup(threads=1, running=0, waiting_for_disk=1, cpu_cores=0.1),
            "bottom": ThreadGroup(threads=1, running=0, waiting_for_disk=0, cpu_cores=0.0),
        },
        others=ThreadGroup(threads=1, running=0, waiting_for_disk=0, cpu_cores=0.0),
        voluntary_switches_per_s=100.0,
        involuntary_switches_per_s=5.0,
        missing=(),
    )


def test_pressure_of_the_machine_and_of_the_cgroup(tmp_path: Path) -> None:
    found = pressure("bare-disk", 700, tmp_path)
    assert found.machine == {"cpu": Stalled(0.25, 0.0), "io": Stalled(0.9, 0.5), "memory": Stalled(0.0, 0.0)}
    assert found.group == {"cpu": Stalled(0.0, 0.0), "io": Stalled(0.35, 0.2), "memory": Stalled(0.0, 0.0)}
    assert found.throttled_cores is None
    assert found.missing == ()
    reading = read_pressure(700, 0.0, tmp_path)
    assert (reading.machine["io"].some_10s_fraction, reading.machine["io"].full_10s_fraction) == (0.61, 0.45)


def test_a_container_that_is_held_back_by_its_cpu_quota(tmp_path: Path) -> None:
    found = pressure("container", 4321, tmp_path)
    assert found.group["cpu"] == Stalled(0.75, 0.5)
    assert found.machine["cpu"] == Stalled(0.0, None)
    assert found.throttled_cores == 0.75


def test_a_kernel_without_psi_says_so_once(tmp_path: Path) -> None:
    found = pressure("old-kernel", 900, tmp_path)
    assert (found.machine, found.group) == ({}, {})
    assert [sentence.partition(" (")[0] for sentence in found.missing] == [
        "this kernel measures no pressure, or not all of it",
        "process 900 is in no cgroup",
    ]
    assert found.throttled_cores == 1.5


@pytest.mark.parametrize(
    ("kernel", "pid", "limits"),
    [
        (
            "bare-disk",
            700,
            GroupLimits(None, None, None, {"8:0": IoLimit(209_715_200, 104_857_600, None, 2000)}, ()),
        ),
        (
            "container",
            4321,
            GroupLimits(1.5, 2 * GIB, GIB + GIB // 2, {"259:0": IoLimit(None, 52_428_800, None, 500)}, ()),
        ),
        ("old-kernel", 900, GroupLimits(0.5, GIB, None, {"104:0": IoLimit(None, 10_485_760, 300, None)}, ())),
    ],
)
def test_limits_of_both_versions_of_cgroups(tmp_path: Path, kernel: str, pid: int, limits: GroupLimits) -> None:
    assert read_limits(pid, tree(kernel, tmp_path)) == limits
