"""The surroundings of a database for one tick of a target: disks, process, pressure and limits, from one call.

A rate needs two readings, so the probe remembers the previous one; it uses no clock. It rereads seldom what seldom
changes: the devices that hold a path, and the limits of cgroups.

A reading of a process with 60 threads takes 2.6 ms at the median, mostly for the threads (adocd.probes.process). Every
ten seconds it includes the limits and takes 3.8 ms, and every minute also the storage, 4.9 ms.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adocd.model.device import DeviceKind, DeviceLimit, DiskActivity, DiskReading, Storage
from adocd.model.missing import Missing
from adocd.model.process import GroupLimits, PressureReading, ProcessActivity, ProcessReading
from adocd.model.surroundings import Surroundings, concerned
from adocd.probes.block_device import storage_of
from adocd.probes.cpus import cpus_of
from adocd.probes.device_limit import LimitDetector
from adocd.probes.diskstats import activity, devices_in, read_lines
from adocd.probes.files import read_text
from adocd.probes.free_space import free_bytes, reachable
from adocd.probes.io_quota import used_up
from adocd.probes.pressure import places_of, pressure_activity, read_limits, read_pressure
from adocd.probes.process import process_activity, read_process
from adocd.probes.shared import Shared

#: A file system can be mounted over, a volume moved: rare, and 0.4 ms to find out.
STORAGE_S: Final = 60.0
_AS_WHOM: Final = "run adocd as root, or as the database's user"
#: An operator who raises a cgroup's limit should soon see it; 1.2 ms.
LIMITS_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_s: float
    disks: DiskReading
    process: ProcessReading | Missing
    pressure: PressureReading


class SurroundingsProbe:
    """Watches the surroundings of one database.

    `pid` is its process in this process's PID namespace, None if unknown. All paths are absolute, as that process sees
    them. `wal_dir` is None if the WAL is in `path`; `data_paths` are where its SST files are, none if they are in
    `path`. `root` is the root of a file system with `proc` and `sys`. `cpus` is the number of CPUs that the process may
    use; None asks the kernel. `shared` has the readings of this and other databases under the same root; None shares
    none. With `paths_are_its_own` false the paths are as this process sees them, as those of an observed directory.
    """

    def __init__(
        self,
        pid: int | None,
        path: Path,
        wal_dir: Path | None,
        root: Path = Path("/"),
        cpus: int | None = None,
        shared: Shared | None = None,
        *,
        paths_are_its_own: bool = True,
        data_paths: Sequence[Path] = (),
    ) -> None:
        self._pid = pid
        self._root = root
        self._shared = Shared() if shared is None else shared
        self._process = _OneProcess(pid, root, self._shared)
        whose = pid if paths_are_its_own else None
        self._disks = _Disks(whose, data_paths or (path,), wal_dir or path, root, self._shared)
        self._limits = _Limits(pid, root, cpus, self._shared)
        self._before: _Reading | None = None
        #: The devices whose quota is used up, and since when.
        self._at_quota_since_s: dict[str, float] = {}

    def read(self, monotonic_s: float) -> Surroundings | None:
        """Take a reading at a time of the caller's monotonic clock; None at the first call, as rates need two readings.

        Never raises: `missing` has a sentence for each thing that cannot be measured. A process that ended, or whose
        pid another process has now, stays missing; the machine's disks and pressure are still measured.
        """
        process = self._process.read(monotonic_s)
        pid = None if isinstance(process, Missing) else self._pid
        disks = self._disks.read(monotonic_s, ended=pid is None and self._pid is not None)
        pressure = self._pressure(monotonic_s, pid)
        self._limits.read(monotonic_s, pid)
        before, now = self._before, _Reading(monotonic_s, disks, process, pressure)
        self._before = now
        return None if before is None else self._between(before, now)

    def _pressure(self, monotonic_s: float, pid: int | None) -> PressureReading:
        places = None
        if pid is not None:
            kept = self._shared.read(("places", pid), monotonic_s, lambda: places_of(pid, self._root), most_s=LIMITS_S)
            places = kept.value
        return self._shared.read(
            ("pressure", pid),
            monotonic_s,
            lambda: read_pressure(pid, monotonic_s, self._root, places),
            before_s=None if self._before is None else self._before.pressure.monotonic_s,
        ).value

    def _between(self, before: _Reading, now: _Reading) -> Surroundings:
        devices, limits, device_gaps = self._disks.between(before.disks, now.disks)
        process = _process_between(before.process, now.process)
        pressure = pressure_activity(before.pressure, now.pressure)
        gaps = [
            *self._disks.missing,
            *device_gaps,
            *([process.why] if isinstance(process, Missing) else process.missing),
            *([pressure.why] if isinstance(pressure, Missing) else pressure.missing),
            *self._limits.missing,
        ]
        around = Surroundings(
            monotonic_s=now.monotonic_s,
            data=self._disks.data,
            wal=self._disks.wal,
            devices=devices,
            limits=limits,
            process=None if isinstance(process, Missing) else process,
            pressure=None if isinstance(pressure, Missing) else pressure,
            group=self._limits.group,
            cpus=self._limits.cpus,
            missing=tuple(dict.fromkeys(gaps)),
            free_bytes=self._disks.free_bytes(),
            more_data=self._disks.more_data,
        )
        return replace(around, limits=(*limits, *self._quotas(around)))

    def _quotas(self, around: Surroundings) -> list[DeviceLimit]:
        """Return the devices that are at no limit of their own, but at one that a cgroup sets."""
        since_s, unlimited = self._at_quota_since_s, [d for d in around.devices if not around.device_limit(d.device)]
        found = [limit for d in unlimited if (limit := used_up(d, around, since_s.get(d.device))) is not None]
        self._at_quota_since_s = {limit.device: limit.since_s for limit in found}
        return found


class _OneProcess:
    """Reads one process, and never another one that got its pid later."""

    def __init__(self, pid: int | None, root: Path, shared: Shared) -> None:
        self._pid = pid
        self._root = root
        self._shared = shared
        self._before_s: float | None = None
        self._start_ticks: int | None = None

    def read(self, monotonic_s: float) -> ProcessReading | Missing:
        pid = self._pid
        if pid is None:
            return Missing("the database's process is not known, so neither is its CPU, memory and cgroup")
        taken = self._shared.read(
            ("process", pid),
            monotonic_s,
            lambda: read_process(pid, monotonic_s, self._root),
            before_s=self._before_s,
        )
        found, self._before_s = taken.value, taken.monotonic_s
        if isinstance(found, Missing):
            return found
        # The first thread can end before the others; the process has ended when all threads have.
        if found.threads and all(thread.state in ("Z", "X") for thread in found.threads.values()):
            return Missing(f"process {self._pid} has ended, and its parent has yet to take note of it")
        if self._start_ticks is None:
            self._start_ticks = found.start_ticks
        if found.start_ticks != self._start_ticks:
            return Missing(f"process {self._pid} has ended: its number is another process's now")
        return found


class _Disks:
    """Finds the devices that hold the data and the WAL, and watches each for its limit."""

    def __init__(self, pid: int | None, paths: Sequence[Path], wal_dir: Path, root: Path, shared: Shared) -> None:
        self._pid = pid
        self._paths = tuple(dict.fromkeys(paths))
        self._wal_dir = wal_dir
        self._root = root
        self._shared = shared
        self._resolved_s: float | None = None
        self._names: tuple[str, ...] = ()
        #: Where the free space of the data's file systems can be read.
        self._space_at: tuple[Path | None, ...] = ()
        self._before: DiskReading | None = None
        self._detectors: dict[str, LimitDetector] = {}
        self.data = Storage(str(self._paths[0]), "", "", (), ())
        self.more_data: tuple[Storage, ...] = ()
        self.wal: Storage | None = None
        self.missing: tuple[str, ...] = ()

    def read(self, monotonic_s: float, *, ended: bool) -> DiskReading:
        """Read the devices' counters; the mounts of an ended process cannot be read again."""
        ask = self._resolved_s is None or not ended
        if ask and _due(self._resolved_s, monotonic_s, STORAGE_S):
            self._resolve(monotonic_s)
        reading = self._reading(monotonic_s)
        if ask and self._before is not None and self._before.devices.keys() & reading.missing.keys():
            self._resolve(monotonic_s)
            reading = self._reading(monotonic_s)
        self._before = reading
        return reading

    def _reading(self, monotonic_s: float) -> DiskReading:
        before_s = None if self._before is None else self._before.monotonic_s
        taken = self._shared.read("disks", monotonic_s, lambda: read_lines(self._root), before_s=before_s)
        return devices_in(taken.value, self._names, taken.monotonic_s)

    def between(
        self, before: DiskReading, now: DiskReading
    ) -> tuple[tuple[DiskActivity, ...], tuple[DeviceLimit, ...], list[str]]:
        """Return what the devices did, which of them are at their limit, and which could not be measured."""
        found = activity(before, now)
        devices, limits, gaps = [], [], []
        for name in self._names:
            did = found[name]
            if isinstance(did, Missing):
                gaps.append(did.why)
            else:
                devices.append(did)
            detector = self._detectors.get(name)
            limit = None if detector is None else detector.step(None if isinstance(did, Missing) else did)
            if limit is not None:
                limits.append(limit)
        return tuple(devices), tuple(limits), gaps

    def free_bytes(self) -> int | None:
        """Return the free space of the data's file system that has the least, in bytes; None if one cannot be read.

        That one may be the fullest.
        """
        found = [None if where is None else free_bytes(where) for where in self._space_at]
        known = [free for free in found if free is not None]
        return min(known, default=None) if len(known) == len(found) else None

    def _resolve(self, monotonic_s: float) -> None:
        pid, gap = _whose_mounts(self._pid, self._root)
        found = {path: storage_of(path, self._root, pid) for path in dict.fromkeys((*self._paths, self._wal_dir))}
        self.data, *more = (found[path] for path in self._paths)
        self.more_data = tuple(each for each in more if not _same(self.data, each))
        wal = found[self._wal_dir]
        self.wal = None if _same(self.data, wal) else wal
        storages = [self.data, *self.more_data, *([] if self.wal is None else [self.wal])]
        space_at: list[Path | None] = []
        no_space: list[str] = []
        for path in self._paths:
            try:
                space_at.append(reachable(path, self._root, pid))
            except PermissionError as error:
                space_at.append(None)
                no_space.append(f"{error}, so laws keep no space free: {_AS_WHOM}")
        self._space_at = tuple(space_at)
        self.missing = (*gap, *(why for storage in storages for why in storage.missing), *no_space)
        self._names = tuple(dict.fromkeys(name for storage in storages for name in concerned(storage)))
        walk = [device for storage in storages for top in storage.devices for device in top.walk()]
        # A partition shares its disk's limit and would only report it twice.
        parts = {device.name for device in walk if device.kind is DeviceKind.PARTITION and device.below}
        known = self._detectors
        self._detectors = {name: known.get(name) or LimitDetector() for name in self._names if name not in parts}
        self._resolved_s = monotonic_s


class _Limits:
    """Keeps the limits of the process's cgroups and of the machine."""

    def __init__(self, pid: int | None, root: Path, cpus: int | None, shared: Shared) -> None:
        self._root = root
        self._shared = shared
        self._given = cpus
        self._read_s: float | None = None
        self._pid = pid
        self.group: GroupLimits | None = None
        self.cpus = cpus
        self.missing: tuple[str, ...] = ()

    def read(self, monotonic_s: float, pid: int | None) -> None:
        """Read the limits if it is time to, and at once when the process is gone."""
        if pid == self._pid and not _due(self._read_s, monotonic_s, LIMITS_S):
            return
        self._pid, self._read_s = pid, monotonic_s
        gaps: list[str] = []
        self.group = None
        if pid is not None:
            self.group = self._shared.read(("limits", pid), monotonic_s, lambda: read_limits(pid, self._root)).value
        if self.group is not None:
            gaps += self.group.missing
            if self.group.missing and self.group.has_none:
                self.group = None
        if self._given is None:
            cpus = self._shared.read(("cpus", pid), monotonic_s, lambda: cpus_of(pid, self._root)).value
            self.cpus = None if isinstance(cpus, Missing) else cpus
            gaps += [cpus.why] if isinstance(cpus, Missing) else []
        self.missing = tuple(gaps)


def _process_between(before: ProcessReading | Missing, now: ProcessReading | Missing) -> ProcessActivity | Missing:
    if isinstance(now, Missing):
        return now
    if isinstance(before, Missing):
        return Missing(f"process {now.pid} has been read only once so far")
    return process_activity(before, now)


def _whose_mounts(pid: int | None, root: Path) -> tuple[int | None, tuple[str, ...]]:
    """Choose whose mounts to use for a path of the process: this process's own if both have the same.

    Following links like the process needs /proc/PID/root, and so ptrace permission (proc(5)), which a daemon lacks for
    another user's database. mountinfo needs none, and its device numbers are the same in every namespace.
    """
    if pid is None or read_text(root / f"proc/{pid}/mountinfo") == read_text(root / "proc/self/mountinfo"):
        return None, ()
    try:
        os.stat(root / f"proc/{pid}/root")
    except PermissionError:
        return pid, (
            f"links on the way to the database cannot be followed as process {pid} does, so its disk may be another: "
            + _AS_WHOM,
        )
    except OSError:  # storage_of reports the error
        pass
    return pid, ()


def _same(data: Storage, wal: Storage) -> bool:
    return data.path == wal.path or (bool(data.devices) and data.devices == wal.devices)


def _due(since_s: float | None, monotonic_s: float, every_s: float) -> bool:
    return since_s is None or not 0 <= monotonic_s - since_s < every_s
