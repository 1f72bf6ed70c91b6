"""What one tick observes around a target's database: its disks, its process, and their limits and pressure."""

from dataclasses import dataclass

from adocd.model.device import DeviceLimit, DiskActivity, Storage
from adocd.model.process import RESOURCES, GroupLimits, IoLimit, PressureActivity, ProcessActivity, Resource, Stalled

#: Most disks named in a sentence; of a larger RAID the busiest are named.
_DISKS_IN_WORDS = 3
#: A smaller share of the time, or of a CPU, is not mentioned.
_TELLING = 0.05


@dataclass(frozen=True, slots=True)
class SurroundingsPoint:
    """The figures of one tick that a chart needs, small enough to keep hundreds; None means not measured.

    Attributes:
        monotonic_s: when the interval ended, by the caller's clock.
        write_bytes_per_s: of all disks concerned, including the WAL's; each disk of a mirror counts.
        read_bytes_per_s: likewise.
        busy_fraction: the largest share of the interval, 0 to 1, for which one of them was busy.
        mean_queue: the longest mean queue of one of them, in requests.
        at_limit: whether a device concerned is at its limit; None if none was measured.
        cpu_cores: CPU seconds that the process used per second.
        cpu_limit_cores: CPU seconds that it could use per second: its CPUs, or its cgroup's quota if that is less.
        rss_bytes: its memory in RAM.
        io_pressure_some_fraction: share of the interval, 0 to 1, in which some task waited for I/O: of the process's
            cgroup, or of the machine if the cgroup's is unknown.
        cpu_pressure_some_fraction: the same for tasks that waited for a CPU.

    """

    monotonic_s: float
    write_bytes_per_s: float | None
    read_bytes_per_s: float | None
    busy_fraction: float | None
    mean_queue: float | None
    at_limit: bool | None
    cpu_cores: float | None
    cpu_limit_cores: float | None
    rss_bytes: int | None
    io_pressure_some_fraction: float | None
    cpu_pressure_some_fraction: float | None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a database between two readings.

    Attributes:
        monotonic_s: when the interval ended, by the caller's clock; each activity has its own measured interval.
        data: the storage of its SST files; where these have several paths (db_paths, cf_paths), of the first.
        wal: the storage of its WAL directory; None if it is the same.
        devices: the activity of the devices concerned, the data's first, each once: the devices that hold the file
            systems and the disks at the bottom (see `concerned`), if they could be measured.
        limits: the devices at their limit, their own or a quota. A partition has none of its own: its disk is listed.
        process: None if it has ended, or cannot be read.
        pressure: of the machine alone without a process.
        group: the limits of the process's cgroups; None if unknown.
        cpus: number of online CPUs that the process may use, not counting its cgroup's quota; None if unknown.
        missing: what could not be measured, one sentence each.
        free_bytes: the free space of the data's file system, of several that with the least; None if unknown.
        more_data: the storages of its other paths, where these are on other devices.

    """

    monotonic_s: float
    data: Storage
    wal: Storage | None
    devices: tuple[DiskActivity, ...]
    limits: tuple[DeviceLimit, ...]
    process: ProcessActivity | None
    pressure: PressureActivity | None
    group: GroupLimits | None
    cpus: int | None
    missing: tuple[str, ...]
    free_bytes: int | None = None
    more_data: tuple[Storage, ...] = ()

    @property
    def storages(self) -> tuple[Storage, ...]:
        """The data's storages, and the WAL's if it differs."""
        return self.data_storages if self.wal is None else (*self.data_storages, self.wal)

    @property
    def data_storages(self) -> tuple[Storage, ...]:
        """The data's storages, that of its first path first."""
        return (self.data, *self.more_data)

    @property
    def data_disks(self) -> frozenset[str]:
        """The names of the devices at the bottom that hold the data."""
        return frozenset(name for storage in self.data_storages for name in storage.disks)

    @property
    def data_devices(self) -> tuple[DiskActivity, ...]:
        """The activity of the devices that hold the data."""
        return self._among(tuple(name for storage in self.data_storages for name in concerned(storage)))

    @property
    def wal_devices(self) -> tuple[DiskActivity, ...]:
        """The activity of the devices that hold the WAL; a device can hold both."""
        return self._among(concerned(self.wal or self.data))

    @property
    def disks(self) -> tuple[DiskActivity, ...]:
        """The activity of the devices at the bottom, so that bytes of a mapped volume and its disk count once."""
        return self._among(tuple(name for storage in self.storages for name in storage.disks))

    @property
    def cpu_cores(self) -> float | None:
        """CPU seconds that the process used per second."""
        return None if self.process is None else self.process.user_cores + self.process.system_cores

    @property
    def cpu_limit_cores(self) -> float | None:
        """CPU seconds that it could use per second: by its CPUs, or its cgroup's quota if that is less."""
        quota = None if self.group is None else self.group.cpu_cores
        return min((float(limit) for limit in (quota, self.cpus) if limit is not None), default=None)

    @property
    def io_pressure(self) -> Stalled | None:
        """How long tasks waited for I/O: those of the process's cgroup, or the machine's if the cgroup's is unknown."""
        return self._pressure("io")

    @property
    def cpu_pressure(self) -> Stalled | None:
        """How long tasks waited for a CPU: the process's cgroup's, or the machine's if the cgroup's are unknown."""
        return self._pressure("cpu")

    def device_limit(self, device: str) -> DeviceLimit | None:
        """Return the limit that a device is at; None if it is at none."""
        return next((limit for limit in self.limits if limit.device == device), None)

    def io_allowed(self, device: str) -> IoLimit | None:
        """Return the limits of the process's cgroups on a device, by its name; None if they set none."""
        walk = (below for storage in self.storages for top in storage.devices for below in top.walk())
        number = next((found.number for found in walk if found.name == device), None)
        return None if self.group is None or number is None else self.group.io.get(number)

    def in_words(self) -> str:
        """Summarise everything in one sentence without a full stop; missing figures are left out."""
        clauses = [*_disks_in_words(self), *_limits_in_words(self), *_process_in_words(self), *_waits_in_words(self)]
        return "; ".join(clauses) or "nothing around the database could be measured"

    def point(self) -> SurroundingsPoint:
        """Return the figures to keep for charts."""
        disks, io, cpu = self.disks, self.io_pressure, self.cpu_pressure
        return SurroundingsPoint(
            monotonic_s=self.monotonic_s,
            write_bytes_per_s=sum(disk.writes.bytes_per_s for disk in disks) if disks else None,
            read_bytes_per_s=sum(disk.reads.bytes_per_s for disk in disks) if disks else None,
            busy_fraction=max((disk.busy_fraction for disk in disks), default=None),
            mean_queue=max((disk.mean_queue for disk in disks), default=None),
            at_limit=bool(self.limits) if self.devices else None,
            cpu_cores=self.cpu_cores,
            cpu_limit_cores=self.cpu_limit_cores,
            rss_bytes=None if self.process is None else self.process.rss_bytes,
            io_pressure_some_fraction=None if io is None else io.some_fraction,
            cpu_pressure_some_fraction=None if cpu is None else cpu.some_fraction,
        )

    def _pressure(self, resource: Resource) -> Stalled | None:
        if self.pressure is None:
            return None
        return self.pressure.group.get(resource, self.pressure.machine.get(resource))

    def _among(self, names: tuple[str, ...]) -> tuple[DiskActivity, ...]:
        return tuple(device for device in self.devices if device.device in names)


def concerned(storage: Storage) -> tuple[str, ...]:
    """Return the names of the devices that matter: those that hold the file system, and the disks at the bottom."""
    return tuple(dict.fromkeys((*(device.name for device in storage.devices), *storage.disks)))


def _disks_in_words(around: Surroundings) -> list[str]:
    busiest = sorted(around.disks, key=lambda disk: (disk.busy_fraction, disk.mean_queue), reverse=True)
    told = [disk for disk in around.disks if disk in busiest[:_DISKS_IN_WORDS]]
    clauses = [_disk_in_words(around, disk) for disk in told]
    more = len(busiest) - len(told)
    return [*clauses, f"{more} more {'disk is' if more == 1 else 'disks are'} no busier"] if more else clauses


def _disk_in_words(around: Surroundings, disk: DiskActivity) -> str:
    name = f"{disk.device}{_role(around, disk)}"
    if not disk.operations_per_s:
        return f"{name} ended none of its {disk.in_flight} requests" if disk.in_flight else f"{name} is idle"
    kinds = [
        f"{verb} {_figure(io.bytes_per_s / 1e6)} MB/s in {_figure(io.operations_per_s)} operations/s"
        for verb, io in (("writes", disk.writes), ("reads", disk.reads))
        if io.operations_per_s
    ]
    limit = ", at its limit" if around.device_limit(disk.device) else ""
    return f"{name} {', '.join(kinds)}, busy {_percent(disk.busy_fraction)}, queue {_figure(disk.mean_queue)}{limit}"


def _role(around: Surroundings, disk: DiskActivity) -> str:
    if around.wal is None:
        return ""
    if disk.device not in around.wal.disks:
        return " (data)"
    return " (data and WAL)" if disk.device in around.data_disks else " (WAL)"


def _limits_in_words(around: Surroundings) -> list[str]:
    """Return the limits of devices above the disks, and those that a cgroup sets."""
    told = {disk.device for disk in around.disks}
    clauses = [f"{limit.device} is at its limit" for limit in around.limits if limit.device not in told]
    for device in around.devices:
        if (allowed := around.io_allowed(device.device)) is not None:
            clauses.append(f"the cgroup allows {_allowed(allowed)} on {device.device}")
    return clauses


def _allowed(limit: IoLimit) -> str:
    amounts = (
        (limit.write_bytes_per_s, 1e6, "MB/s of writes"),
        (limit.read_bytes_per_s, 1e6, "MB/s of reads"),
        (limit.writes_per_s, 1, "writes/s"),
        (limit.reads_per_s, 1, "reads/s"),
    )
    return " and ".join(f"{_figure(amount / by)} {unit}" for amount, by, unit in amounts if amount is not None)


def _process_in_words(around: Surroundings) -> list[str]:
    process, used, limit = around.process, around.cpu_cores, around.cpu_limit_cores
    if process is None or used is None:
        return []
    of = _figure(used) if limit is None else f"{_figure(used)} of {_figure(limit)}"
    words = [f"the process uses {of} {'CPU' if of.endswith(' 1') else 'CPUs'}"]
    words += [
        f"rocksdb:{name} {_figure(pool.cpu_cores)}"
        for name, pool in sorted(process.pools.items())
        if pool.cpu_cores >= _TELLING
    ]
    waiting = sum(group.waiting_for_disk for group in (*process.pools.values(), process.others))
    if waiting:
        words.append(f"{waiting} {'thread waits' if waiting == 1 else 'threads wait'} for a disk")
    if process.rss_bytes is not None:
        words.append(f"{_figure(process.rss_bytes / 1e6)} MB in RAM")
    return [", ".join(words)]


def _waits_in_words(around: Surroundings) -> list[str]:
    pressure = around.pressure
    if pressure is None:
        return []
    stalled, whose = (pressure.group, "of its cgroup") if pressure.group else (pressure.machine, "on the machine")
    waits = [
        f"for {'I/O' if resource == 'io' else 'a CPU' if resource == 'cpu' else 'memory'} "
        f"{_percent(stalled[resource].some_fraction)}"
        for resource in RESOURCES
        if resource in stalled and stalled[resource].some_fraction >= _TELLING
    ]
    clauses = [f"tasks {whose} waited {', '.join(waits)} of the time"] if waits else []
    if pressure.throttled_cores is not None and pressure.throttled_cores >= _TELLING:
        clauses.append(f"the cgroup's quota held back {_figure(pressure.throttled_cores)} CPUs")
    return clauses


def _figure(value: float) -> str:
    """Format a number with one decimal if it has at most two digits before the point."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"
