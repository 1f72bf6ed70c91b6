"""Surroundings of a database, on committed trees and on this machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adocd.model.process import GroupLimits, IoLimit, Stalled
from adocd.model.surroundings import Surroundings
from adocd.probes import surroundings
from adocd.probes.surroundings import STORAGE_S, SurroundingsProbe
from tests.probes.kernel_tree import APART_S, go_on, later, lay_out, tree
from tests.probes.test_mutated_trees import PATHS, PIDS, mutated

DB = Path("/var/lib/db")
STAT = "{pid} (db) {state} 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 1 1"


def put(root: Path, name: str, text: str) -> None:
    lay_out([(name, text)], root)


def with_process(root: Path, pid: int, ticks: int = 100, start: int = 5, state: str = "S") -> None:
    """Add a process that sees the mounts of the tree's own."""
    stat = STAT.format(pid=pid, state=state, ticks=ticks, start=start)
    put(root, f"proc/{pid}/stat", stat)
    put(root, f"proc/{pid}/task/{pid}/stat", stat)
    with_mounts(root, pid)


def with_mounts(root: Path, pid: int) -> None:
    put(root, f"proc/{pid}/mountinfo", (root / "proc/self/mountinfo").read_text(encoding="utf-8"))


def twice(
    kernel: str,
    root: Path,
    pid: int | None,
    path: Path = DB,
    wal: Path | None = None,
    cpus: int | None = 4,
    data_paths: tuple[Path, ...] = (),
) -> Surroundings:
    """Read a committed tree at its first and at its later reading."""
    tree(kernel, root)
    if pid == 700:  # the tree has all but its mounts
        with_mounts(root, pid)
    probe = SurroundingsProbe(pid, path, wal, root, cpus, data_paths=data_paths)
    assert probe.read(10.0) is None
    later(kernel, root)
    found = probe.read(10.0 + APART_S)
    assert found is not None
    return found


def names(found: Surroundings) -> list[str]:
    return [device.device for device in found.devices]


def test_a_bare_disk_with_a_process_that_has_pools(tmp_path: Path) -> None:
    found = twice("bare-disk", tmp_path, 700)
    assert found.missing == ()
    assert names(found) == ["sda1", "sda"]
    assert (found.data.filesystem, found.data.path, found.wal) == ("ext4", "/data/db", None)
    assert found.devices[1].writes.bytes_per_s == 131_072_000.0
    assert found.devices[1].interval_s == APART_S
    assert found.group == GroupLimits(None, None, None, {"8:0": IoLimit(209_715_200, 104_857_600, None, 2000)}, ())
    assert found.io_allowed("sda") == IoLimit(209_715_200, 104_857_600, None, 2000)
    assert found.io_pressure == Stalled(0.35, 0.2)
    assert found.in_words() == (
        "sda writes 131 MB/s in 500 operations/s, reads 8.2 MB/s in 100 operations/s, busy 75 %, queue 10; the cgroup "
        "allows 105 MB/s of writes and 210 MB/s of reads and 2000 writes/s on sda; the process uses 1.5 of 4 CPUs, "
        "rocksdb:high 0.1, rocksdb:low 1.2, 2 threads wait for a disk, 1024 MB in RAM; tasks of its cgroup waited for "
        "I/O 35 % of the time"
    )
    point = found.point()
    assert (point.write_bytes_per_s, point.busy_fraction, point.cpu_cores) == (131_072_000.0, 0.75, 1.5)


def test_a_wal_on_another_disk(tmp_path: Path) -> None:
    found = twice("bare-disk", tmp_path, 700, wal=Path("/data/wal"))
    assert found.wal is not None
    assert found.wal.path == "/srv/my wal/db"
    assert names(found) == ["sda1", "sda", "sdb1", "sdb"]
    assert [device.device for device in found.data_devices] == ["sda1", "sda"]
    assert [device.device for device in found.wal_devices] == ["sdb1", "sdb"]
    assert found.missing == ()
    assert "sdb (WAL) writes 0.4 MB/s in 100 operations/s, busy 85 %, queue 1.1" in found.in_words()


def test_data_on_two_disks_has_the_space_of_the_fuller_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = {DB: 7, Path("/data/wal"): 3, DB / "cold": 9}
    monkeypatch.setattr(surroundings, "reachable", lambda path, _root, _pid: path)
    monkeypatch.setattr(surroundings, "free_bytes", free.get)
    found = twice("bare-disk", tmp_path, 700, path=Path("/data"), data_paths=tuple(free))
    assert [each.path for each in (found.data, *found.more_data)] == ["/data/db", "/srv/my wal/db"]
    assert [device.device for device in found.data_devices] == ["sda1", "sda", "sdb1", "sdb"]
    assert found.free_bytes == 3
    assert found.wal is None, "it is in /data, on the first of these disks"
    assert found.missing == ()


def test_space_that_cannot_be_read_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = Path("/data/wal")
    monkeypatch.setattr(surroundings, "reachable", lambda path, _root, _pid: None if path == unreadable else path)
    monkeypatch.setattr(surroundings, "free_bytes", {DB: 7}.get)
    assert twice("bare-disk", tmp_path, 700, data_paths=(DB,)).free_bytes == 7
    assert twice("bare-disk", tmp_path / "more", 700, data_paths=(DB, unreadable)).free_bytes is None


@pytest.mark.parametrize("wal", [DB, DB / "wal", Path("/else/where")])
def test_a_wal_on_the_same_devices_is_no_storage_of_its_own(tmp_path: Path, wal: Path) -> None:
    assert twice("bare-disk", tmp_path, 700, wal=wal).wal is None


def test_a_wal_that_no_device_holds(tmp_path: Path) -> None:
    found = twice("bare-disk", tmp_path, 700, wal=Path("/dev/shm/wal"))
    assert found.wal is not None
    assert found.wal_devices == ()
    assert found.missing == ("/dev/shm/wal is in memory (tmpfs): no device holds it",)


@pytest.mark.parametrize(
    ("kernel", "path", "devices", "write_bytes_per_s", "busy"),
    [
        ("nvme-partition", "/var/lib/db", ["nvme0n1p2", "nvme0n1"], 2_621_440_000, 0.75),
        ("nvme-partition", "/fast", ["nvme1n1p1", "nvme1c0n1", "nvme1c1n1"], 262_144_000, 0.5),
        ("dm-crypt", "/var/lib/db", ["dm-0", "sda"], 102_400_000, 0.5),
        ("md-raid1", "/db", ["md127", "sda", "sdb"], 2 * 10_240_000, 1.0),
        ("lvm", "/db", ["dm-0", "sda", "sdb"], 0, 0.35),
    ],
)
def test_the_devices_above_and_the_disks_below(
    tmp_path: Path, kernel: str, path: str, devices: list[str], write_bytes_per_s: float, busy: float
) -> None:
    with_process(tree(kernel, tmp_path), 9)
    probe = SurroundingsProbe(9, Path(path), None, tmp_path, cpus=1)
    probe.read(10.0)
    later(kernel, tmp_path)
    with_process(tmp_path, 9, ticks=150)
    found = probe.read(12.0)
    assert found is not None
    assert names(found) == devices
    assert found.point().write_bytes_per_s == write_bytes_per_s
    assert found.point().busy_fraction == busy
    assert found.cpu_cores == pytest.approx(50 / os.sysconf("SC_CLK_TCK") / 2.0)
    assert [why for why in found.missing if "sd" in why or "nvme" in why or "dm-" in why or "md" in why] == []
    assert len(set(found.missing)) == len(found.missing)


def test_a_container_is_followed_through_its_own_root(tmp_path: Path) -> None:
    found = twice("container", tmp_path, 4321)
    assert found.data.path == "/data/db"
    assert names(found) == ["nvme0n1p1", "nvme0n1"]
    assert found.cpu_limit_cores == 1.5
    assert found.pressure is not None
    assert found.pressure.throttled_cores == 0.75
    assert found.io_allowed("nvme0n1") == IoLimit(None, 52_428_800, None, 500)
    assert [why.partition(" (")[0] for why in found.missing] == ["the I/O of process 4321 cannot be read"]


def test_a_kernel_without_psi(tmp_path: Path) -> None:
    with_process(tree("old-kernel", tmp_path), 900)
    probe = SurroundingsProbe(900, Path("/db"), None, tmp_path, cpus=2)
    probe.read(10.0)
    later("old-kernel", tmp_path)
    found = probe.read(12.0)
    assert found is not None
    assert names(found) == ["cciss!c0d0p1", "cciss!c0d0"]
    assert (found.io_pressure, found.point().io_pressure_some_fraction) == (None, None)
    assert found.cpu_limit_cores == 0.5
    assert [why.partition(" (")[0] for why in found.missing] == [
        "the memory of process 900 cannot be read",
        "the I/O of process 900 cannot be read",
        "this kernel measures no pressure, or not all of it",
        "process 900 is in no cgroup",
    ]


def test_without_a_process_the_disks_and_the_machine_are_still_measured(tmp_path: Path) -> None:
    found = twice("bare-disk", tmp_path, None)
    assert (found.process, found.group, found.cpus) == (None, None, 4)
    assert found.io_pressure == Stalled(0.9, 0.5)
    assert found.missing == ("the database's process is not known, so neither is its CPU, memory and cgroup",)


@pytest.mark.parametrize("how", ["ended", "replaced", "zombie"])
def test_a_process_that_ended_is_one_gap_and_stays_one(tmp_path: Path, how: str) -> None:
    root = tree("bare-disk", tmp_path)
    with_process(root, 9)
    probe = SurroundingsProbe(9, DB, None, root, cpus=2)
    probe.read(10.0)
    alive = probe.read(11.0)
    assert alive is not None
    assert alive.process is not None
    if how == "replaced":
        with_process(root, 9, ticks=9000, start=6)
    elif how == "zombie":
        with_process(root, 9, state="Z")
    else:
        for name in ("stat", "mountinfo", "task/9/stat"):
            (root / "proc/9" / name).unlink()
    # Beyond STORAGE_S the mounts would be asked again, of a process that is no longer there.
    for second in (12.0, 13.0, 14.0 + STORAGE_S):
        found = probe.read(second)
        assert found is not None
        assert (found.process, found.group) == (None, None)
        assert found.pressure is not None
        assert (found.pressure.group, names(found)) == ({}, ["sda1", "sda"])
        (why,) = found.missing
        assert why.startswith(
            {
                "ended": "process 9 cannot be read: it has ended, or is hidden from here (",
                "replaced": "process 9 has ended: its number is another process's now",
                "zombie": "process 9 has ended, and its parent has yet to take note of it",
            }[how]
        )


def test_a_first_thread_that_ended_is_no_end(tmp_path: Path) -> None:
    with_process(tree("bare-disk", tmp_path), 9, state="Z")
    put(tmp_path, "proc/9/task/10/stat", STAT.format(pid=10, state="S", ticks=0, start=5))
    probe = SurroundingsProbe(9, DB, None, tmp_path, cpus=2)
    probe.read(10.0)
    found = probe.read(11.0)
    assert found is not None
    assert found.process is not None


def test_a_device_that_vanished_is_looked_for_at_once_and_any_other_in_a_minute(tmp_path: Path) -> None:
    root = tree("bare-disk", tmp_path)
    probe = SurroundingsProbe(None, Path("/srv/odd"), None, root, cpus=2)
    probe.read(10.0)
    mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8")
    put(root, "proc/self/mountinfo", mounts.replace("8:34", "8:17"))
    before = probe.read(11.0)
    later("bare-disk", root)  # sdc2 is gone
    found, following = probe.read(12.0), probe.read(13.0)
    assert before is not None
    assert found is not None
    assert following is not None
    assert names(before) == ["sdc2"]
    assert [device.name for device in found.data.devices] == ["sdb1"]
    assert found.missing[:2] == ("sdb1 has been read only once so far", "sdb has been read only once so far")
    assert names(following) == ["sdb1", "sdb"]
    put(root, "proc/self/mountinfo", mounts.replace("8:34", "8:1"))
    seconds = [71.0, 72.0, 73.0]  # it was looked for at 12.0
    tops = [found.data.devices[0].name for second in seconds if (found := probe.read(second)) is not None]
    assert tops == ["sdb1", "sda1", "sda1"]


def test_data_and_wal_that_no_device_holds_are_not_the_same(tmp_path: Path) -> None:
    found = twice("bare-disk", tmp_path, 700, Path("/net/filer/db"), Path("/dev/shm/wal"))
    assert found.wal is not None
    assert (found.data.filesystem, found.wal.filesystem) == ("nfs4", "tmpfs")
    assert (found.devices, found.point().write_bytes_per_s) == ((), None)
    assert len(found.missing) == 2


def test_cgroups_that_cannot_be_seen_leave_the_limits_unknown(tmp_path: Path) -> None:
    root = tree("bare-disk", tmp_path)
    with_mounts(root, 700)
    put(root, "proc/700/cgroup", "0::/../elsewhere\n")
    probe = SurroundingsProbe(700, DB, None, root, cpus=2)
    probe.read(10.0)
    found = probe.read(11.0)
    assert found is not None
    assert (found.group, found.cpu_limit_cores) == (None, 2.0)
    assert "process 700 is in cgroups that cannot be seen from here, so their limits are unknown" in found.missing


def test_limits_are_read_again(tmp_path: Path) -> None:
    root = tree("container", tmp_path)
    probe = SurroundingsProbe(4321, DB, None, root, cpus=4)
    probe.read(10.0)
    put(root, "sys/fs/cgroup/system.slice/docker-f00d.scope/cpu.max", "300000 100000\n")
    seconds = [11.0, 19.0, 20.0]
    assert [found.cpu_limit_cores for second in seconds if (found := probe.read(second))] == [1.5, 1.5, 3.0]


def test_a_directory_that_is_observed_is_where_this_process_sees_it(tmp_path: Path) -> None:
    """The program in the container has another file system there."""
    root = tree("container", tmp_path)
    probes = [
        SurroundingsProbe(4321, Path("/img/db"), None, root, cpus=4, paths_are_its_own=its_own)
        for its_own in (True, False)
    ]
    for probe in probes:
        probe.read(10.0)
    later("container", root)
    theirs, ours = (probe.read(10.0 + APART_S) for probe in probes)
    assert theirs is not None
    assert ours is not None
    assert (names(theirs), names(ours)) == ([], ["nvme0n1p1", "nvme0n1"])
    assert theirs.cpu_limit_cores == ours.cpu_limit_cores == 1.5, "the process is the same"


def test_a_disk_at_its_limit_is_told_once_though_its_partition_shows_it_too(tmp_path: Path) -> None:
    """Two seconds with a queue of 2, then ten with one of 12, and never more than 100 MB/s in 1000 operations/s."""
    root = tree("bare-disk", tmp_path)
    probe = SurroundingsProbe(None, DB, None, root, cpus=2)
    writes = weighted_ms = 0
    found: list[Surroundings | None] = []
    for second in range(13):
        line = f"0 0 0 0 {writes} 0 {writes * 200} 0 12 {1000 * second} {weighted_ms} 0 0 0 0 0 0"
        put(root, "proc/diskstats", f"8 0 sda {line}\n8 1 sda1 {line}\n")
        found.append(probe.read(float(second)))
        writes += 1000
        weighted_ms += 2000 if second < 2 else 12_000
    assert found[0] is None
    limits = [reading.limits for reading in found if reading is not None]
    assert limits[:4] == [()] * 4
    assert len(limits) == 12
    for (limit,) in limits[4:]:
        assert (limit.device, limit.operations_per_s, limit.sufficient_queue) == ("sda", 1000.0, 2.0)
    last = found[-1]
    assert last is not None
    assert last.point().at_limit
    assert "queue 12, at its limit" in last.in_words()
    put(root, "proc/diskstats", "")
    gone = probe.read(13.0)
    assert gone is not None
    assert gone.limits == ()


@pytest.mark.parametrize("second", [10.0, 9.0])
def test_a_clock_that_does_not_move_is_a_gap(tmp_path: Path, second: float) -> None:
    tree("bare-disk", tmp_path)
    with_mounts(tmp_path, 700)
    probe = SurroundingsProbe(700, DB, None, tmp_path, cpus=2)
    probe.read(10.0)
    found = probe.read(second)
    assert found is not None
    assert (found.devices, found.process, found.pressure) == ((), None, None)
    assert all("was read twice at the same time" in why for why in found.missing)
    assert len(found.missing) == 4
    following = probe.read(12.0)
    assert following is not None
    assert following.missing == ()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from(PATHS), st.none() | st.sampled_from(PATHS), st.sampled_from(PIDS))
def test_no_tree_makes_it_raise(parts: list[tuple[str, str]], path: str, wal: str | None, pid: int | None) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = lay_out(parts, Path(directory))
        probe = SurroundingsProbe(pid, Path(path), None if wal is None else Path(wal), root)
        assert probe.read(1.0) is None
        go_on(parts, root)
        for second in (3.0, 4.0, 4.0 + STORAGE_S):
            found = probe.read(second)
            assert found is not None
            assert found.devices or found.missing
            assert found.in_words()
            assert found.point().at_limit is (False if found.devices else None)
            assert len(set(found.missing)) == len(found.missing)
            for sentence in found.missing:
                assert sentence
                assert not sentence.endswith(".")
