"""Surroundings of programs that run on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from adocd.probes.block_device import storage_of
from adocd.probes.surroundings import SurroundingsProbe
from tests.support import full_disk

NOBODY = 65534


def test_a_program_that_writes_and_computes_on_this_machine(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\n"
        "input()\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    file.write(os.urandom(8 << 20)); file.flush(); os.fsync(file.fileno())\n"
        "began = time.process_time()\n"
        "while time.process_time() < began + 0.3: pass\n"
        "print('done', flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "file")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        probe = SurroundingsProbe(child.pid, tmp_path, None)
        began_s = time.monotonic()
        assert probe.read(began_s) is None
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"done\n"
        ended_s = time.monotonic()
        found = probe.read(ended_s)
        child.kill()
        child.wait()
        gone = probe.read(ended_s + 1)
    interval_s = ended_s - began_s
    assert found is not None
    assert found.data == storage_of(tmp_path)
    assert found.process is not None
    assert found.cpu_cores is not None
    assert found.cpu_cores * interval_s >= 0.25
    assert found.cpu_limit_cores is not None
    assert found.cpu_limit_cores <= (os.cpu_count() or 1)
    assert gone is not None
    assert gone.process is None
    if not found.data.disks:
        pytest.skip(found.missing[0])
    assert sum(disk.writes.bytes_per_s for disk in found.disks) * interval_s >= 8 << 20
    assert "writes" in found.in_words()


def test_a_program_that_its_parent_forgot_on_this_machine(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        probe = SurroundingsProbe(child.pid, tmp_path, None)
        probe.read(time.monotonic())
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # without taking note of it
        found = probe.read(time.monotonic())
    assert found is not None
    assert f"process {child.pid} has ended, and its parent has yet to take note of it" in found.missing


#: As a daemon that is not its databases' user. What it imports may be root's alone, so it gives up being that late.
AS_ANOTHER_USER = (
    "import os, sys\n"
    "from pathlib import Path\n"
    "from adocd.probes.surroundings import SurroundingsProbe\n"
    f"if os.getuid() == 0: os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    "probe = SurroundingsProbe(int(sys.argv[1]), Path(sys.argv[2]), None)\n"
    "probe.read(1.0); found = probe.read(2.0)\n"
    "print(found.data.path, *found.data.disks); print(found.free_bytes); print(*found.missing, sep='\\n')\n"
)


def as_another_user(pid: int, path: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", AS_ANOTHER_USER, str(pid), str(path)], capture_output=True, check=True, text=True
    )
    return done.stdout.splitlines()


def test_another_users_process_with_the_same_mounts_needs_no_permission(tmp_path: Path) -> None:
    """Its /proc/PID/root is closed to the daemon, but links are the daemon's own: /tmp's directories are for all."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        (Path(directory) / "link").symlink_to("/srv/db")
        first, _, *missing = as_another_user(os.getpid(), Path(directory) / "link")
    expected = storage_of(Path("/srv/db"))
    assert first.split() == [expected.path, *expected.disks]
    assert not any("links on the way" in why for why in missing)


@pytest.mark.parametrize("mode", [0o755, 0o700], ids=["open", "closed"])
def test_the_free_space_of_another_users_process_is_that_of_its_file_system(tmp_path: Path, mode: int) -> None:
    """With mounts of its own, as under systemd: its root is closed to the daemon, and so may be the database."""
    if not full_disk.can_mount(tmp_path):
        pytest.skip("mounting takes root, and a container that allows it")
    command = [*full_disk.on_small_disk(tmp_path), sys.executable, "-c", "print('up', flush=True); input()"]
    with tempfile.TemporaryDirectory() as directory, subprocess.Popen(command, stdin=-1, stdout=-1) as child:
        (Path(directory) / "db").mkdir()
        Path(directory).chmod(mode)
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        _, free, *missing = as_another_user(child.pid, Path(directory) / "db")
        told = shutil.disk_usage(directory)
        child.communicate(b"\n")
    assert not any("free space" in why for why in missing)
    assert abs(int(free) - told.free) < 0.05 * told.total, "others write meanwhile"


def test_another_users_process_with_other_mounts_is_said_to_be_uncertain(tmp_path: Path) -> None:
    if not full_disk.can_mount(tmp_path):
        pytest.skip("mounting takes root, and a container that allows it")
    command = [*full_disk.on_small_disk(tmp_path), sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        _, free, *missing = as_another_user(child.pid, tmp_path)
        probe = SurroundingsProbe(child.pid, tmp_path, Path.cwd())
        probe.read(1.0)
        found = probe.read(2.0)
        child.communicate(b"\n")
    assert missing[0].startswith(f"links on the way to the database cannot be followed as process {child.pid} does")
    assert free == "None", "no mount of that file system can be seen"
    assert (
        f"the free space of {tmp_path} cannot be read, so laws keep no space free: run adocd as root, or as the "
        "database's user"
    ) in missing
    assert found is not None
    assert found.data.filesystem == "tmpfs"
    assert found.wal == storage_of(Path.cwd())
    assert f"{tmp_path} is in memory (tmpfs): no device holds it" in found.missing
