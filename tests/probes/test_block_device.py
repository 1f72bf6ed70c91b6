"""From a path to its disks, on committed trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.model.device import BlockDevice, DeviceKind
from adocd.probes.block_device import storage_of
from tests.probes.kernel_tree import tree


@pytest.mark.parametrize(
    ("kernel", "path", "pid", "devices"),
    [
        ("bare-disk", "/", None, "sda1 (partition) on sda (disk)"),
        ("bare-disk", "/not/there/yet", None, "sda1 (partition) on sda (disk)"),
        ("bare-disk", "/var/lib/db", None, "sda1 (partition) on sda (disk)"),
        ("bare-disk", "/data/wal", None, "sdb1 (partition) on sdb (disk)"),
        ("bare-disk", "/srv/my wal/../my wal/db", None, "sdb1 (partition) on sdb (disk)"),
        ("bare-disk", "/srv/hidden/below", None, "sda1 (partition) on sda (disk)"),
        (
            "bare-disk",
            "/srv/btrfs/db",
            None,
            "sda1 (partition) on sda (disk); sdb2 (partition) on sdb (disk)",
        ),
        ("nvme-partition", "/var/lib/db", None, "nvme0n1p2 (partition) on nvme0n1 (disk)"),
        (
            "nvme-partition",
            "/fast",
            None,
            "nvme1n1p1 (partition) on nvme1n1 (multipath) on nvme1c0n1 (path) and nvme1c1n1 (path)",
        ),
        ("dm-crypt", "/var/lib/db", None, "dm-0 (dm-crypt luks-db) on sda3 (partition) on sda (disk)"),
        (
            "md-raid1",
            "/db",
            None,
            "md127 (raid1) on sda1 (partition) on sda (disk) and sdb1 (partition) on sdb (disk)",
        ),
        ("lvm", "/db", None, "dm-0 (LVM volume vg-root) on sda2 (partition) on sda (disk) and sdb (disk)"),
        ("lvm", "/san", None, "dm-5 (partition mpatha1) on dm-4 (multipath mpatha) on sdc (disk) and sdd (disk)"),
        ("container", "/var/lib/db", 4321, "nvme0n1p1 (partition) on nvme0n1 (disk)"),
        ("container", "/tmp/db", 4321, "nvme0n1p1 (partition) on nvme0n1 (disk)"),
        ("old-kernel", "/db", None, "cciss!c0d0p1 (partition) on cciss!c0d0 (disk)"),
        ("loop", "/srv/db", None, "loop0 (loop, /images/db.img) on sda1 (partition) on sda (disk)"),
    ],
)
def test_a_path_is_traced_to_its_disks(tmp_path: Path, kernel: str, path: str, pid: int | None, devices: str) -> None:
    storage = storage_of(Path(path), tree(kernel, tmp_path), pid)
    assert "; ".join(str(device) for device in storage.devices) == devices
    assert storage.missing == ()


@pytest.mark.parametrize(
    ("kernel", "path", "pid", "devices", "sentence"),
    [
        ("bare-disk", "/dev/shm/db", None, "", "/dev/shm/db is in memory (tmpfs): no device holds it"),
        (
            "bare-disk",
            "/net/filer/db",
            None,
            "",
            "/net/filer/db is on another machine (nfs4, filer:/export), whose device cannot be seen from here",
        ),
        (
            "bare-disk",
            "/tank",
            None,
            "",
            "/tank is on a ZFS pool (tank), which does not say in /sys which disks it uses",
        ),
        ("bare-disk", "/mnt/s3", None, "", "/mnt/s3 is on fuse.s3fs (s3fs): a program decides where it is kept"),
        (
            "bare-disk",
            "/srv/unknown/db",
            None,
            "",
            "/srv/unknown/db is on device 8:99, which neither /sys nor /proc/diskstats knows",
        ),
        (
            "bare-disk",
            "/srv/odd",
            None,
            "sdc2 (block device)",
            "what sdc2, which holds /srv/odd, is made of cannot be read in /sys",
        ),
        (
            "md-raid1",
            "/parts",
            None,
            "md126p1 (partition) on md126 (raid0)",
            "sdc, a part of md126, is not in /sys",
        ),
        (
            "container",
            "/img/db",
            4321,
            "",
            "/img/db is on an overlay that cannot be written to: nothing says which disk holds it",
        ),
        (
            "container",
            "/db",
            4322,
            "",
            "/db is on a container's overlay, whose disk cannot be seen from here: run adocd on the host, or keep the "
            "database on a volume",
        ),
        ("loop", "/srv/memory", None, "loop2 (loop, /dev/shm/db.img)", "/dev/shm/db.img is in memory (tmpfs)"),
        ("loop", "/srv/detached", None, "loop3 (loop)", "the file behind loop3 cannot be read in /sys"),
    ],
)
def test_what_cannot_be_resolved_is_one_sentence(
    tmp_path: Path, kernel: str, path: str, pid: int | None, devices: str, sentence: str
) -> None:
    storage = storage_of(Path(path), tree(kernel, tmp_path), pid)
    assert "; ".join(str(device) for device in storage.devices) == devices
    assert storage.missing[0].startswith(sentence)
    assert "\n" not in storage.missing[0]


def test_an_image_that_lies_on_itself_ends(tmp_path: Path) -> None:
    storage = storage_of(Path("/srv/circle/db"), tree("loop", tmp_path))
    assert storage.devices[0].name == "loop1"
    assert "lead back to themselves" in " ".join(storage.missing)


def test_without_a_proc_or_for_a_process_that_ended_it_says_so(tmp_path: Path) -> None:
    storage = storage_of(Path("/db"), tmp_path)
    assert storage.devices == ()
    assert storage.missing[0].startswith("what is mounted cannot be read (")
    storage = storage_of(Path("/db"), tree("container", tmp_path), pid=99)
    assert storage.missing[1] == "/db is on no mount that can be seen"


def test_in_a_chroot_without_a_root_mount_the_longest_mount_point_counts(tmp_path: Path) -> None:
    root = tree("bare-disk", tmp_path)
    (root / "proc/self/mountinfo").write_text(
        "30 9 8:1 /jail/srv /srv rw - ext4 /dev/sda1 rw\n31 30 8:17 / /srv/db rw - xfs /dev/sdb1 rw\n"
    )
    assert storage_of(Path("/srv/db/x"), root).disks == ("sdb",)
    assert storage_of(Path("/srv/x"), root).disks == ("sda",)
    assert storage_of(Path("/x"), root).devices == ()


@pytest.mark.parametrize("filesystem", ["btrfs", "bcachefs"])
def test_a_mapped_volume_without_its_link_in_dev_is_found_by_its_name(tmp_path: Path, filesystem: str) -> None:
    """Their mounts have a number of their own; a container, or PrivateDevices= of systemd, has no /dev/mapper."""
    root = tree("dm-crypt", tmp_path)
    (root / "proc/self/mountinfo").write_text(f"28 1 0:42 / / rw - {filesystem} /dev/mapper/luks-db rw\n")
    members = root / "sys/fs/btrfs/0f1d7a4e-6c0b-4c58-9a3e-5d2b8c1e7f90/devices"
    members.mkdir(parents=True)
    volume = root / "sys/devices/virtual/block/dm-0"
    (members / "dm-0").symlink_to(volume)
    (root / "sys/class/block").mkdir(parents=True, exist_ok=True)
    (root / "sys/class/block/dm-0").symlink_to(volume)
    storage = storage_of(Path("/db"), root)
    assert "; ".join(map(str, storage.devices)) == "dm-0 (dm-crypt luks-db) on sda3 (partition) on sda (disk)"
    assert storage.missing == ()


def test_links_in_circles_end(tmp_path: Path) -> None:
    root = tree("bare-disk", tmp_path)
    (root / "a").symlink_to("/b")
    (root / "b").symlink_to("/a")
    assert storage_of(Path("/a/db"), root).disks == ("sda",)


def test_names_are_those_to_read_and_disks_those_where_a_limit_shows(tmp_path: Path) -> None:
    storage = storage_of(Path("/db"), tree("md-raid1", tmp_path))
    assert storage.names == ("md127", "sda1", "sda", "sdb1", "sdb")
    assert storage.disks == ("sda", "sdb")
    assert storage.devices[0] == BlockDevice("md127", "9:127", DeviceKind.MD, storage.devices[0].below, "raid1")
    assert (storage.path, storage.filesystem, storage.source) == ("/db", "ext4", "/dev/md127")
