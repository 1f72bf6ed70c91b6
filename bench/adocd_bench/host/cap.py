"""A block device with a capped bandwidth, and programs started under the cap.

`cap-N` is a device of its own (`adocd_bench.host.loop`), capped for everything that reads or writes on it, so that the
write-ahead log is under the cap like flush and compaction:

- cgroup v1 (`blkio.throttle.*_bps_device`): the cap is in the top group, to which the kernel counts the writeback of
  everybody's buffered writes. A group below it has caps of its own and not the top group's, so the program runs in the
  top group.
- cgroup v2 (`io.max`): the top group can have no cap. The program runs in a group with the cap, and writeback counts to
  the group that wrote: ext4 supports that where the memory controller is on. What ext4 writes to its own journal is the
  kernel's and outside the cap; RocksDB's files change little there.

`cap-N-wal-outside` caps the program's group on the disk as it is, for comparison, and is for cgroup v1 only. Under that
cap is what the program reads and writes past the page cache: with direct I/O for flush and compaction all of RocksDB's
table files. Buffered writes are outside, because the kernel's own threads write them back later, outside the group. For
RocksDB that is the write-ahead log, most of which is deleted before it ever reaches the disk.

Reads that the page cache answers never reach the device. Other programs on the disk are not slowed down by the cap, but
share the real device.
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
from adocd_bench.host.device import REAL_ROOTS, DeviceProfile, Roots, WholeDisk, block_device_of, written_bytes_of
from adocd_bench.host.loop import LoopDisk, loop_disk
from adocd_bench.host.owner import locked, own_token, taken_over

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
        directory: where databases are to be, on the device.
        device: the device that is capped, None when nothing is.
        disk: the disk of this machine that it is on.
        procs: cgroup.procs of the group that has the caps, None when nothing is capped.
        version: of the cgroups, 1 or 2.
        begun_bytes: what had been written to a device of the run's own before it was made.

    """

    profile: DeviceProfile
    directory: Path
    device: WholeDisk | None = None
    disk: WholeDisk | None = None
    procs: Path | None = None
    version: int = 1
    begun_bytes: int = 0

    @property
    def dedicated(self) -> bool:
        """Whether the device is the run's own: nobody else writes to it, and all that is written is under the cap."""
        return self.device is not None and self.device != self.disk

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
        """Count what was written to the device under the cap; None where nothing is capped."""
        if self.procs is None or self.device is None:
            return None
        if not self.dedicated:
            return written_bytes(self.procs.parent, self.device)
        return written_bytes_of(self.device.name)


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
        """Create the group; on v2 it gets the io controller, and memory, without which writeback is the top group's.

        Raises CapUnavailable if there is no memory controller.
        """
        if self.version == 2:
            if "memory" not in _read_words(self.hierarchy / "cgroup.controllers"):
                raise CapUnavailable(
                    f"without the memory controller, which {self.hierarchy} does not have, the write-ahead log is "
                    "outside the cap: switch it on, or use --profile uncapped"
                )
            missing = {"io", "memory"} - set(_read_words(self.hierarchy / "cgroup.subtree_control"))
            if missing:
                words = " ".join(f"+{controller}" for controller in sorted(missing))
                (self.hierarchy / "cgroup.subtree_control").write_text(words)
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
            with taken_over(group.name, GROUP_PREFIX, group, self.proc) as is_ours:
                if is_ours and not self.processes(group):
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
    profile: DeviceProfile,
    workspace: Path,
    size_bytes: int,
    roots: Roots = REAL_ROOTS,
    tree: CgroupTree | None = None,
) -> Iterator[Cap]:
    """Cap a device for programs started with the yielded Cap's `command`, with their databases in its `directory`.

    `workspace` is a directory that this process owns (`adocd_bench.run.workspace`). A device of the run's own has
    `size_bytes` of its disk. On the way out programs that still run in a group of ours are ended, and everything is
    taken down. Nothing happens for an uncapped profile: the directory is the workspace.

    Raises CapUnavailable, with one sentence, if the cap cannot be set, and NotEnoughSpace.
    """
    if not profile.capped:
        yield Cap(profile, workspace)
        return
    disk = block_device_of(workspace, roots)
    tree = tree or CgroupTree(roots)
    if profile.wal_outside and tree.version == 2:
        raise CapUnavailable(
            f"{profile.name} needs cgroup v1, and cgroup v2 counts the write-ahead log to the program: use --profile "
            f"{profile.speed}"
        )
    with contextlib.ExitStack() as stack:
        own = LoopDisk(disk, workspace)
        if not profile.wal_outside:
            own = stack.enter_context(loop_disk(workspace, size_bytes, roots))
        group = tree.hierarchy
        if profile.wal_outside or tree.version == 2:
            group = stack.enter_context(own_group(tree))
        procs = group / "cgroup.procs"
        cap = Cap(profile, own.directory, own.device, disk, procs, tree.version, own.begun_bytes)
        try:
            cap.impose()
        except OSError as error:
            raise refusal(error, group) from error
        yield cap


@contextlib.contextmanager
def own_group(tree: CgroupTree) -> Iterator[Path]:
    """Make a group of this process, and end what runs in it afterwards; groups of dead runs are removed first."""
    group = tree.hierarchy / f"{GROUP_PREFIX}{own_token(tree.proc)}"
    try:
        tree.remove_leftovers()
        tree.make(group)
    except OSError as error:
        raise refusal(error, tree.hierarchy) from error
    with locked(group):  # between two programs it is empty, and must not be taken for a leftover
        try:
            yield group
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
