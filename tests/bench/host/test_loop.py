"""The device of a run's own: all writers are under its cap, and nothing is left of it, however the run ends."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from adocd_bench.errors import CapUnavailable, NotEnoughSpace
from adocd_bench.host import loop
from adocd_bench.host.cap import capped
from adocd_bench.host.device import MB, REAL_ROOTS, Roots, WholeDisk, block_device_of, parse_profile
from adocd_bench.host.loop import attached, images, loop_disk, take_down
from adocd_bench.run.workspace import PREFIX, remove_leftovers, workspace

from tests.bench.roots import capping, tree
from tests.support.waiting import eventually

_SIZE_BYTES = 400 * MB

#: Buffered writes, then what the kernel's threads have not written back yet; prints the bytes per second.
BUFFERED_WRITER = """
import os, sys, time
start_s = time.monotonic()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
for _ in range(int(sys.argv[2])):
    os.write(file, bytes(1 << 20))
os.fsync(file)
print((int(sys.argv[2]) << 20) / (time.monotonic() - start_s))
"""

#: Makes a capped device below argv[1], says where, and waits.
HOLDER = """
import sys, time
from pathlib import Path
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.run.interrupt import interruptible
from adocd_bench.run.workspace import workspace
with interruptible(), workspace(Path(sys.argv[1])) as room, capped(parse_profile("cap-5"), room, 400_000_000) as cap:
    print(cap.directory, flush=True)
    while True:  # Python notices a signal that comes just before a sleep only after it
        time.sleep(0.1)
"""


@pytest.fixture
def capped_disk(disk: Path) -> Path:
    """Give a directory below which a device can be capped."""
    if capping(disk, "cap-5") == "uncapped":
        pytest.skip("no device can be capped here")
    try:
        with workspace(disk) as room, capped(parse_profile("cap-5"), room, _SIZE_BYTES):
            return disk
    except CapUnavailable as refused:
        sentence = str(refused)
    assert sentence.endswith("use --profile uncapped")
    pytest.skip(sentence)


def assert_nothing_is_left(disk: Path) -> None:
    assert not list(disk.iterdir())
    assert not [image for image in images(REAL_ROOTS) if image.is_relative_to(disk.resolve())]
    assert str(disk) not in Path("/proc/self/mountinfo").read_text()


def caps_of(device: WholeDisk) -> list[str]:
    """Read the top group's caps of a device, on cgroup v1; there are none on v2."""
    files = [REAL_ROOTS.cgroup / "blkio" / name for name in loop.V1_LIMITS]
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    return [line for line in lines if line.startswith(f"{device.number} ")]


def test_buffered_and_direct_writes_are_under_one_cap(capped_disk: Path) -> None:
    cap_bytes_per_s, mebibytes = 5 * MB, 15
    with workspace(capped_disk) as room, capped(parse_profile("cap-5"), room, _SIZE_BYTES) as cap:
        assert cap.dedicated
        assert cap.disk == block_device_of(capped_disk)
        assert cap.device is not None
        assert cap.device == block_device_of(cap.directory) != cap.disk
        writer = [sys.executable, "-c", BUFFERED_WRITER, str(cap.directory / "file"), str(mebibytes)]
        cap.lift()
        free = subprocess.run(cap.command(writer), capture_output=True, text=True, check=True)
        cap.impose()
        before = cap.written_bytes() or 0
        direct = subprocess.Popen(
            cap.command(["dd", "if=/dev/zero", f"of={cap.directory / 'direct'}", "bs=1M", "count=15", "oflag=direct"]),
            stderr=subprocess.DEVNULL,
        )
        begun_s = time.monotonic()
        done = subprocess.run(cap.command(writer), capture_output=True, text=True, check=True)
        assert direct.wait(timeout=60) == 0
        took_s, written = time.monotonic() - begun_s, (cap.written_bytes() or 0) - before
    # The kernel lets nobody be faster, whatever else the disk has to do; without the cap it is another matter.
    assert written >= 2 * mebibytes << 20
    assert written / took_s < 1.3 * cap_bytes_per_s
    assert float(free.stdout) > 1.5 * float(done.stdout)
    assert not caps_of(cap.device)
    assert_nothing_is_left(capped_disk)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_takes_everything_down(number: signal.Signals, capped_disk: Path) -> None:
    holder, _ = held(capped_disk)
    holder.send_signal(number)
    assert holder.wait(timeout=60) != 0
    assert_nothing_is_left(capped_disk)


@pytest.mark.alone  # any other run that begins meanwhile would remove it
def test_what_a_killed_run_left_is_removed_at_the_next_start(capped_disk: Path, tmp_path: Path) -> None:
    """Wherever the next run has its own directory; what is busy stays until it is not."""
    holder, directory = held(capped_disk)
    (device,) = attached(directory.parent.resolve() / loop.IMAGE, REAL_ROOTS)
    holder.kill()
    holder.wait(timeout=60)
    assert directory.is_mount()
    with (directory / "busy").open("w"):
        remove_leftovers(tmp_path)
        assert directory.is_mount()
    remove_leftovers(tmp_path)
    assert not caps_of(device)
    assert_nothing_is_left(capped_disk)


def test_a_living_runs_device_and_a_strangers_are_left_alone(capped_disk: Path, tmp_path: Path) -> None:
    holder, directory = held(capped_disk)
    stranger = capped_disk / "somebody" / loop.IMAGE
    stranger.parent.mkdir()
    with stranger.open("wb") as file:
        file.truncate(1 << 20)
    subprocess.run(["losetup", "--find", str(stranger)], check=True)
    try:
        remove_leftovers(tmp_path)
        assert directory.is_mount()
        (device,) = attached(stranger.resolve(), REAL_ROOTS)
    finally:
        take_down(stranger.resolve(), REAL_ROOTS)
        holder.terminate()
        holder.wait(timeout=60)
    assert device.name.startswith("loop")
    shutil.rmtree(stranger.parent)
    assert_nothing_is_left(capped_disk)


def held(disk: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that holds a capped device; return it with the device's directory."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(disk)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    directory = Path(holder.stdout.readline().strip())
    holder.stdout.close()
    assert directory.parent.name.startswith(f"{PREFIX}{holder.pid}-")
    eventually(directory.is_mount, within_s=30, what="the device is mounted")
    return holder, directory


def test_too_little_space_is_one_sentence(capped_disk: Path) -> None:
    with workspace(capped_disk) as room, pytest.raises(NotEnoughSpace) as refused:
        capped(parse_profile("cap-5"), room, shutil.disk_usage(room).total * 2).__enter__()
    assert str(refused.value).endswith("choose another place with --directory")
    assert_nothing_is_left(capped_disk)


def test_a_missing_program_is_named_with_its_package(
    capped_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("losetup", "fallocate", "umount"):
        (tmp_path / name).symlink_to(shutil.which(name) or f"/usr/sbin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(loop, "_SBIN", "")
    with workspace(capped_disk) as room, pytest.raises(CapUnavailable) as refused:
        capped(parse_profile("cap-5"), room, _SIZE_BYTES).__enter__()
    assert str(refused.value) == (
        "mkfs.ext4, which the capped device needs, is not installed: install e2fsprogs, or use --profile uncapped"
    )
    assert_nothing_is_left(capped_disk)


def test_without_loop_devices_there_is_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_CONTROL", tmp_path / "loop-control")
    with pytest.raises(CapUnavailable, match=r"^there are no loop devices here .*use --profile uncapped$"):
        loop_disk(tmp_path, 1, tree("whole-disk")).__enter__()


def test_without_root_there_is_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may do everything
    with pytest.raises(CapUnavailable, match=r"needs root .*use --profile uncapped$"):
        loop_disk(tmp_path, 1, REAL_ROOTS).__enter__()


@pytest.fixture
def capped_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Roots, Path, list[Path]]:
    """A device over a file, capped on cgroup v1; the list has the caps' files. No program of the system is run."""
    image = tmp_path / f"{PREFIX}12-34" / loop.IMAGE
    image.parent.mkdir()
    image.touch()
    device = tmp_path / "sys" / "block" / "loop7"
    (device / "loop").mkdir(parents=True)
    (device / "dev").write_text("7:7\n")
    (device / "loop" / "backing_file").write_text(f"{image}\n")
    caps = [tmp_path / "cgroup" / "blkio" / name for name in loop.V1_LIMITS]
    caps[0].parent.mkdir(parents=True)
    for file in caps:
        file.write_text("7:7 5000000")
    (tmp_path / "control").touch()
    monkeypatch.setattr(loop, "_CONTROL", tmp_path / "control")
    monkeypatch.setattr(loop, "_DEVICES", tmp_path)
    monkeypatch.setattr(loop, "_DETACHED_WITHIN_S", 0.0)
    monkeypatch.setattr(loop, "_BUSY_FOR_S", 0.0)
    return Roots(tmp_path / "proc", tmp_path / "sys", tmp_path / "cgroup"), image, caps


def test_a_device_keeps_its_caps_until_it_is_detached(
    capped_tree: tuple[Roots, Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on in another mount namespace lost its cap to a cleanup that could not detach its device."""
    roots, image, caps = capped_tree
    (device,) = attached(image, roots)
    monkeypatch.setattr(loop, "_run", lambda *_: None)  # as losetup does for a device that somebody has open
    assert not take_down(image, roots)
    assert [file.read_text() for file in caps] == ["7:7 5000000"] * 2
    assert image.exists()

    asked = list[tuple[str, ...]]()

    def run(*command: str) -> None:
        asked.append(command)
        assert [file.read_text() for file in caps] == ["7:7 5000000"] * 2, "it is detached first"
        (roots.sysfs / "block" / device.name / "loop" / "backing_file").unlink()

    monkeypatch.setattr(loop, "_run", run)
    assert take_down(image, roots)
    assert asked == [("losetup", "--detach", "/dev/loop7")]
    assert [file.read_text() for file in caps] == ["7:7 0"] * 2
    assert not image.exists()


def test_a_device_that_somebody_has_for_himself_is_not_detached(
    capped_tree: tuple[Roots, Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel would detach it by itself later on, with its caps still in force for whoever has its number then."""
    roots, image, caps = capped_tree

    def busy(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_EXCL:
            raise OSError(errno.EBUSY, f"{path} is mounted somewhere")
        return opened(path, flags, *mode)

    opened = os.open
    monkeypatch.setattr(os, "open", busy)
    monkeypatch.setattr(loop, "_run", lambda *command: pytest.fail(f"{command}"))
    assert not take_down(image, roots)
    assert [file.read_text() for file in caps] == ["7:7 5000000"] * 2


def test_a_device_that_stays_busy_is_left_to_the_kernel_without_caps(
    capped_tree: tuple[Roots, Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody finds it again without its file, and its number will be somebody else's."""
    roots, image, caps = capped_tree
    asked = list[tuple[str, ...]]()
    monkeypatch.setattr(loop, "_run", lambda *command: asked.append(command))
    loop._leave(image, roots)
    assert asked[-1] == ("losetup", "--detach", "/dev/loop7")
    assert [file.read_text() for file in caps] == ["7:7 0"] * 2
    assert not image.exists()


def test_devices_are_found_by_the_path_of_their_file(tmp_path: Path) -> None:
    """Files of any name may be below loop devices; a device without one is in sysfs, too."""
    for name, number, backing in (
        ("loop0", "7:0", f"/tmp/{PREFIX}12-34/{loop.IMAGE}"),
        ("loop1", "7:1", "/var/lib/snapd/snaps/core.snap"),
        ("loop2", "7:2", f"/tmp/{PREFIX}12-34/{loop.IMAGE} (deleted)"),
        ("loop3", "7:3", None),
    ):
        device = tmp_path / "block" / name
        device.mkdir(parents=True)
        (device / "dev").write_text(f"{number}\n")
        if backing is not None:
            (device / "loop").mkdir()
            (device / "loop/backing_file").write_text(f"{backing}\n")
    roots = Roots(sysfs=tmp_path)
    image = Path(f"/tmp/{PREFIX}12-34/{loop.IMAGE}")
    assert images(roots) == [image]
    assert attached(image, roots) == [WholeDisk("loop0", "7:0")]
