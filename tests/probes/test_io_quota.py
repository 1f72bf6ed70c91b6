"""When a cgroup's limit on a device's I/O is used up, which the device itself does not show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adocd.model.device import BlockDevice, DeviceKind, DiskActivity, Storage
from adocd.model.process import GroupLimits, IoLimit, PressureActivity, Resource, Stalled
from adocd.model.surroundings import Surroundings
from adocd.probes.io_quota import used_up
from adocd.probes.surroundings import SurroundingsProbe
from tests.model.test_surroundings import PROCESS, io
from tests.probes.kernel_tree import go_on, later, lay_out, tree

MIB = 1 << 20


def sda(writes: float, written: float, reads: float = 0.0, read: float = 0.0) -> DiskActivity:
    """Make a disk that did so many operations and bytes per second."""
    return DiskActivity("sda", 12.0, 2.0, io(reads, read), io(writes, written), None, 0.4, 1.5, 1, None, None)


def around(
    disk: DiskActivity, limit: IoLimit, waiting: float | None = 0.9, written: float | None = None
) -> Surroundings:
    """Make the surroundings of a process that wrote so many bytes per second, None if that cannot be read."""
    waits: dict[Resource, Stalled] = {} if waiting is None else {"io": Stalled(waiting, 0.0)}
    return Surroundings(
        monotonic_s=12.0,
        data=Storage("/db", "ext4", "/dev/sda", (BlockDevice("sda", "8:0", DeviceKind.DISK),), ()),
        wal=None,
        devices=(disk,),
        limits=(),
        process=replace(PROCESS, written_bytes_per_s=written, read_bytes_per_s=written),
        pressure=PressureActivity(12.0, 2.0, {}, waits, None, ()),
        group=GroupLimits(None, None, None, {"8:0": limit}, ()),
        cpus=4,
        missing=(),
    )


@pytest.mark.parametrize(
    ("disk", "limit", "by"),
    [
        (sda(100, 95.0 * MIB), IoLimit(write_bytes_per_s=100 * MIB), "bytes"),
        (sda(10, MIB, 900, 95.0 * MIB), IoLimit(read_bytes_per_s=100 * MIB), "bytes"),
        (sda(480, MIB), IoLimit(writes_per_s=500), "operations"),
        (sda(10, MIB, 480, MIB), IoLimit(reads_per_s=500), "operations"),
        (sda(100, 80.0 * MIB), IoLimit(write_bytes_per_s=100 * MIB), None),
        (sda(400, MIB), IoLimit(writes_per_s=500), None),
        (sda(400, MIB), IoLimit(), None),
        (sda(0, 0), IoLimit(write_bytes_per_s=0), None),
    ],
)
def test_what_is_used_up_is_the_limit(disk: DiskActivity, limit: IoLimit, by: str | None) -> None:
    found = used_up(disk, around(disk, limit))
    assert (None if found is None else found.by) == by
    assert found is None or (found.device, found.since_s, found.bytes_per_s) == ("sda", 10.0, disk.bytes_per_s)


@pytest.mark.parametrize("waiting", [None, 0.4])
def test_who_does_not_wait_is_not_held_back(waiting: float | None) -> None:
    disk = sda(100, 95.0 * MIB)
    assert used_up(disk, around(disk, IoLimit(write_bytes_per_s=100 * MIB), waiting)) is None


def test_what_others_write_is_not_the_processs() -> None:
    disk = sda(1000, 300.0 * MIB)
    for limit in (IoLimit(write_bytes_per_s=100 * MIB), IoLimit(writes_per_s=500)):
        assert used_up(disk, around(disk, limit, written=5.0 * MIB)) is None
        assert used_up(disk, around(disk, limit, written=290.0 * MIB)) is not None


def test_a_device_whose_quota_is_used_up_counts_as_at_its_limit(tmp_path: Path) -> None:
    """The process writes 20 MB/s, of the 20 MiB/s that its cgroup allows; the disk could do more."""
    root = tree("bare-disk", tmp_path)
    group = "sys/fs/cgroup/system.slice/db.service"
    mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8")
    parts = [("proc/700/mountinfo", mounts), (f"{group}/io.max", f"8:0 wbps={20 * MIB}")]
    parts += [(f"later {group}/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2600000")]
    lay_out(parts, root)
    probe = SurroundingsProbe(700, Path("/var/lib/db"), None, root, cpus=4)
    assert probe.read(10.0) is None
    later("bare-disk", root)
    go_on(parts, root)
    found = probe.read(12.0)
    assert found is not None
    (limit,) = found.limits
    assert (limit.device, limit.by, limit.since_s) == ("sda", "bytes", 10.0)
    assert found.point().at_limit
    assert "queue 10, at its limit" in found.in_words()
    following = probe.read(14.0)
    assert following is not None
    assert following.limits == (), "nobody waits any more"
