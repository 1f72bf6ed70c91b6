"""A cgroup that caps the bandwidth of one block device, and programs started in it.

Works with cgroup v1 (`blkio.throttle.*_bps_device`) and v2 (`io.max`), whichever this machine has.

What the cap covers: everything a program in the group reads and writes past the page cache; with direct I/O
for flush and compaction that is all of RocksDB's table files. What escapes it: on v1, buffered writes, because
the kernel's own threads write them back later, outside the group. For RocksDB that is the write-ahead log,
most of which is deleted before it ever reaches the disk. On v2 those are charged to the group too, where the
file system supports it (ext4, btrfs, xfs) and the memory controller is on. Reads that the page cache answers
never reach the device. Other programs on the disk are not slowed down by the cap, but share the real device.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd_bench.errors import CapUnavailable
from adocd_bench.host.device import REAL_ROOTS, DeviceProfile, Roots, WholeDisk, block_device_of
from adocd_bench.host.owner import own_token, owner_is_gone

GROUP_PREFIX = "adocd-bench-"
_REMOVE_WITHIN_S = 10.0
_POLL_S = 0.05
_V1_MARK = "blkio.throttle.write_bps_device"
_V1_COUNT = "blkio.throttle.io_service_bytes"


@dataclass(frozen=True)
class Cap:
    """A cap in force: start programs with `command`.

    Attributes:
        profile: what is capped.
        device: the disk that is capped, None when nothing is.
        procs: the group's cgroup.procs, None when nothing is capped.
        version: of the cgroups, 1 or 2.

    """

    profile: DeviceProfile
    device: WholeDisk | None = None
    procs: Path | None = None
    version: int = 1

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Wrap a command line so that the program and all its children run under the cap.

        A shell enters the group and then becomes the program, so no process runs outside, not even for a
        moment, and the program keeps the shell's process id.
        """
        if self.procs is None:
            return list(arguments)
        return ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.procs), *arguments]

    def lift(self) -> None:
        """Let everything through until `impose`."""
        self._write(lifting_lines)

    def impose(self) -> None:
        """Write the profile's caps into the group."""
        self._write(limit_lines)

    def _write(self, lines: Callable[[int, WholeDisk, DeviceProfile], list[tuple[str, str]]]) -> None:
        if self.procs is None or self.device is None:
            return
        for name, value in lines(self.version, self.device, self.profile):
            (self.procs.parent / name).write_text(value)

    def written_bytes(self) -> int | None:
        """Count what the group has written to the device: what the cap covered. None where nothing is capped."""
        if self.procs is None or self.device is None:
            return None
        return written_bytes(self.procs.parent, self.device)


class CgroupTree:
    """The cgroup file system, as far as it is needed: makes, fills and removes groups."""

    def __init__(self, roots: Roots) -> None:
        """Find the hierarchy that can throttle; raises CapUnavailable when none can."""
        self.proc = roots.proc
        v1, v2 = roots.cgroup / "blkio", roots.cgroup
        if (v1 / _V1_MARK).exists():
            self.version, self.hierarchy = 1, v1
        elif "io" in _read_words(v2 / "cgroup.controllers"):
            self.version, self.hierarchy = 2, v2
        else:
            raise CapUnavailable(
                f"no cgroup controller for block I/O at {roots.cgroup} (neither blkio with throttling nor io), as "
                "in most containers: run on the host, or use --profile uncapped"
            )

    def make(self, group: Path) -> None:
        """Create the group; on v2 the io controller is handed down to it first."""
        if self.version == 2 and "io" not in _read_words(self.hierarchy / "cgroup.subtree_control"):
            (self.hierarchy / "cgroup.subtree_control").write_text("+io")
        group.mkdir()

    def processes(self, group: Path) -> list[int]:
        """List the group's process ids."""
        return [int(word) for word in _read_words(group / "cgroup.procs")]

    def remove(self, group: Path) -> None:
        """Remove the group; OSError while it has processes."""
        with contextlib.suppress(FileNotFoundError):
            group.rmdir()

    def remove_leftovers(self) -> None:
        """Remove the empty groups of runs that were killed; never ends a process it did not start."""
        for group in self.hierarchy.glob(f"{GROUP_PREFIX}*"):
            if owner_is_gone(group.name, GROUP_PREFIX, self.proc) and not self.processes(group):
                with contextlib.suppress(OSError):
                    self.remove(group)


def written_bytes(group: Path, device: WholeDisk) -> int:
    """Read from the group's own count how many bytes it has written to the device, past the page cache or out of it.

    cgroup v1 has `MAJOR:MINOR Write N` in blkio.throttle.io_service_bytes, v2 `MAJOR:MINOR ... wbytes=N ...` in
    io.stat; a device to which nothing was written has no line.
    """
    for name, mark in ((_V1_COUNT, "Write "), ("io.stat", "wbytes=")):
        if not (group / name).exists():
            continue
        for line in (group / name).read_text(encoding="utf-8").splitlines():
            number, _, counts = line.partition(" ")
            _, found, count = counts.partition(mark)
            if number == device.number and found:
                return int(count.split()[0])
    return 0


def limit_lines(version: int, device: WholeDisk, profile: DeviceProfile) -> list[tuple[str, str]]:
    """Say what to write into which file of the group, for cgroup version 1 or 2."""
    return _lines(version, device, {way: str(cap) for way, cap in _caps(profile).items()})


def lifting_lines(version: int, device: WholeDisk, profile: DeviceProfile) -> list[tuple[str, str]]:
    """Return the same writes for removing the profile's cap."""
    return _lines(version, device, dict.fromkeys(_caps(profile), "0" if version == 1 else "max"))


def _caps(profile: DeviceProfile) -> dict[str, int]:
    caps = {"read": profile.read_bytes_per_s, "write": profile.write_bytes_per_s}
    return {way: bytes_per_s for way, bytes_per_s in caps.items() if bytes_per_s is not None}


def _lines(version: int, device: WholeDisk, set_caps: Mapping[str, str]) -> list[tuple[str, str]]:
    if version == 1:
        return [(f"blkio.throttle.{way}_bps_device", f"{device.number} {cap}") for way, cap in set_caps.items()]
    limits = " ".join(f"{way[0]}bps={cap}" for way, cap in set_caps.items())
    return [("io.max", f"{device.number} {limits}")]


@contextlib.contextmanager
def capped(
    profile: DeviceProfile, directory: Path, roots: Roots = REAL_ROOTS, tree: CgroupTree | None = None
) -> Iterator[Cap]:
    """Cap the device that holds `directory`, for programs started with the yielded Cap's `command`.

    On the way out whatever still runs in the group is ended and the group removed. Groups that dead runs left
    behind are removed on the way in. Nothing happens for an uncapped profile.

    Raises CapUnavailable, with one sentence, if the cap cannot be set.
    """
    if not profile.capped:
        yield Cap(profile)
        return
    device = block_device_of(directory, roots)
    tree = tree or CgroupTree(roots)
    group = tree.hierarchy / f"{GROUP_PREFIX}{own_token(roots.proc)}"
    try:
        tree.remove_leftovers()
        tree.make(group)
    except OSError as error:
        raise refusal(error, tree.hierarchy) from error
    cap = Cap(profile, device, group / "cgroup.procs", tree.version)
    try:
        try:
            cap.impose()
        except OSError as error:
            raise refusal(error, group) from error
        yield cap
    finally:
        _end(tree, group)


def refusal(error: OSError, path: Path) -> CapUnavailable:
    """Turn the kernel's refusal into a sentence that says what to do."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return CapUnavailable(f"capping the device needs root ({path}): run as root, or use --profile uncapped")
    if error.errno == errno.EROFS:
        return CapUnavailable(f"{path} is read-only, as in a container: run on the host, or use --profile uncapped")
    if error.errno in (errno.EBUSY, errno.EOPNOTSUPP):
        return CapUnavailable(
            f"{path} cannot hand the io controller on ({error.strerror}), as in a container: run on the host, or "
            "use --profile uncapped"
        )
    return CapUnavailable(f"{path} cannot be set up ({error.strerror}): use --profile uncapped")


def _end(tree: CgroupTree, group: Path) -> None:
    """Terminate, then kill, what still runs in the group, and remove the group."""
    deadline_s = time.monotonic() + _REMOVE_WITHIN_S
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for pid in tree.processes(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        patience_s = time.monotonic() + _REMOVE_WITHIN_S / 2
        while tree.processes(group) and time.monotonic() < patience_s:
            time.sleep(_POLL_S)
    while time.monotonic() < deadline_s:
        try:
            tree.remove(group)
        except OSError:  # the kernel removes a group's last process a moment after it has exited
            time.sleep(_POLL_S)
        else:
            return


def _read_words(file: Path) -> list[str]:
    """Read a file's words; none when it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []
