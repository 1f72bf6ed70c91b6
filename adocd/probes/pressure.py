"""What a process lacks: the pressure (PSI) of the machine and of its cgroup, and its cgroup's limits.

Since Linux 4.20, PSI is in /proc/pressure (Documentation/accounting/psi.rst) and in `*.pressure` of cgroup v2. A kernel
may be built without it, or have it off unless booted with psi=1. Limits are those of cgroup v2 (cpu.max,
memory.max, memory.high, io.max; Documentation/admin-guide/cgroup-v2.rst) and of v1 (cpu.cfs_quota_us,
memory.limit_in_bytes, blkio.throttle.*). psutil has none of this.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from adocd.model.missing import Missing
from adocd.model.process import (
    RESOURCES,
    GroupLimits,
    IoLimit,
    Pressure,
    PressureActivity,
    PressureReading,
    Resource,
    Stalled,
)
from adocd.probes.cgroup import are_seen, groups_of
from adocd.probes.files import natural, read_text, text_or
from adocd.probes.memory_limit import cgroup_limit_bytes

_IO_MAX: Final = {
    "rbps": "read_bytes_per_s",
    "wbps": "write_bytes_per_s",
    "riops": "reads_per_s",
    "wiops": "writes_per_s",
}
_THROTTLE: Final = {
    "blkio.throttle.read_bps_device": "read_bytes_per_s",
    "blkio.throttle.write_bps_device": "write_bytes_per_s",
    "blkio.throttle.read_iops_device": "reads_per_s",
    "blkio.throttle.write_iops_device": "writes_per_s",
}
#: The limited resources, and the controllers that limit them; `blkio` is cgroup v1's name of `io`.
_LIMITED: Final = (("CPU", "cpu"), ("memory", "memory"), ("I/O", "blkio"))


@dataclass(frozen=True, slots=True)
class Places:
    """The cgroups whose pressure is read: the process's own (v2), and those that may throttle it."""

    own: Path | None
    throttling: tuple[Path, ...]


def places_of(pid: int, root: Path = Path("/")) -> Places:
    """Find a process's cgroups. This is the slowest part of a reading, and they seldom change."""
    own = next((group.directories[0] for group in groups_of(pid, "", root) if group.unified), None)
    return Places(own, tuple(each for each in _directories(pid, "cpu", root) if _cpu_cores(each) is not None))


def read_pressure(
    pid: int | None, monotonic_s: float, root: Path = Path("/"), places: Places | None = None
) -> PressureReading:
    """Read the pressure of the machine and of the process's cgroup; the time is the caller's monotonic clock.

    `places` are the process's cgroups, if already known. Never raises: `missing` has a sentence for each thing that the
    kernel does not provide. Without a process, only the machine's pressure is read.
    """
    missing: list[str] = []
    machine = _all(root / "proc/pressure", "", missing, "this kernel measures no pressure, or not all of it")
    if pid is None:
        return PressureReading(monotonic_s, machine, {}, None, tuple(missing))
    places = places_of(pid, root) if places is None else places
    own = places.own
    group: dict[Resource, Pressure] = {}
    if own is None:
        missing.append(f"process {pid} is in no cgroup (v2) that can be seen from here, so its own pressure is unknown")
    elif machine:  # otherwise it is in `missing` already
        group = _all(own, ".pressure", missing, f"the pressure of process {pid}'s cgroup cannot be read")
    return PressureReading(monotonic_s, machine, group, _throttled_us(places), tuple(missing))


def pressure_activity(before: PressureReading, after: PressureReading) -> PressureActivity | Missing:
    """Compute from two readings the shares of the time between them."""
    interval_s = after.monotonic_s - before.monotonic_s
    if not interval_s > 0:
        return Missing("pressure was read twice at the same time, which measures nothing")
    throttled = None
    if before.throttled_us is not None and after.throttled_us is not None:
        throttled = max(0, after.throttled_us - before.throttled_us) / 1e6 / interval_s
    return PressureActivity(
        monotonic_s=after.monotonic_s,
        interval_s=interval_s,
        machine=_stalled(before.machine, after.machine, interval_s),
        group=_stalled(before.group, after.group, interval_s),
        throttled_cores=throttled,
        missing=after.missing,
    )


def read_limits(pid: int, root: Path = Path("/")) -> GroupLimits:
    """Return the limits of the process's cgroups, the narrowest of its own and those above; never raises."""
    if isinstance(why := read_text(root / f"proc/{pid}/cgroup"), Missing):
        return GroupLimits(None, None, None, {}, (f"the cgroup of process {pid} cannot be read ({why.why})",))
    cores = [limit for directory in _directories(pid, "cpu", root) if (limit := _cpu_cores(directory)) is not None]
    high = [
        limit
        for directory in _directories(pid, "memory", root)
        if (limit := natural(text_or(directory / "memory.high"))) is not None
    ]
    return GroupLimits(
        cpu_cores=min(cores, default=None),
        memory_bytes=cgroup_limit_bytes(pid, root),
        memory_high_bytes=min(high, default=None),
        io=_io_limits(pid, root),
        missing=_unseen(pid, root),
    )


def _unseen(pid: int, root: Path) -> tuple[str, ...]:
    """Say which limits may be there and cannot be seen from here."""
    seen = are_seen(pid, [controller for _, controller in _LIMITED], root)
    if True not in seen.values():
        return (f"process {pid} is in cgroups that cannot be seen from here, so their limits are unknown",)
    hidden = " and ".join(what for what, controller in _LIMITED if seen[controller] is False)
    return (f"process {pid} is in a cgroup for {hidden} that cannot be seen from here",) if hidden else ()


def parse_pressure(text: str) -> Pressure | None:
    """Read one pressure file; None if it lacks the line `some`."""
    lines: dict[str, tuple[int, float]] = {}
    for line in text.split("\n"):
        kind, *pairs = line.split(" ")
        values = dict(pair.partition("=")[::2] for pair in pairs)
        total, average = natural(values.get("total", "")), _percent(values.get("avg10", ""))
        if total is not None and average is not None:
            lines[kind] = (total, average)
    some, full = lines.get("some"), lines.get("full")
    if some is None:
        return None
    return Pressure(some[0], some[1], full[0] if full else None, full[1] if full else None)


def _percent(text: str) -> float | None:
    whole, _, part = text.partition(".")
    if natural(whole) is None or (part and natural(part) is None):
        return None
    return float(f"{whole}.{part or 0}") / 100


def _all(directory: Path, suffix: str, missing: list[str], why: str) -> dict[Resource, Pressure]:
    found: dict[Resource, Pressure] = {}
    reasons = []
    for resource in RESOURCES:
        text = read_text(directory / f"{resource}{suffix}")
        pressure = None if isinstance(text, Missing) else parse_pressure(text)
        if pressure is not None:
            found[resource] = pressure
        else:
            reasons.append(text.why if isinstance(text, Missing) else f"{directory / resource}{suffix}: cannot be read")
    if reasons:
        missing.append(f"{why} ({'; '.join(reasons)})")
    return found


def _stalled(
    before: dict[Resource, Pressure], after: dict[Resource, Pressure], interval_s: float
) -> dict[Resource, Stalled]:
    def share(then_us: int, now_us: int) -> float:
        # The caller took its time stamp a moment before or after the kernel.
        return min(1.0, max(0, now_us - then_us) / 1e6 / interval_s)

    return {
        resource: Stalled(
            share(then.some_us, now.some_us),
            None if then.full_us is None or now.full_us is None else share(then.full_us, now.full_us),
        )
        for resource, now in after.items()
        if (then := before.get(resource)) is not None
    }


def _directories(pid: int, controller: str, root: Path) -> list[Path]:
    return [directory for group in groups_of(pid, controller, root) for directory in group.directories]


def _cpu_cores(directory: Path) -> float | None:
    """Read cpu.max ("quota period", in microseconds), or v1's two files (-1 is no quota)."""
    quota, _, period = text_or(directory / "cpu.max").partition(" ")
    if not quota:
        quota, period = text_or(directory / "cpu.cfs_quota_us"), text_or(directory / "cpu.cfs_period_us")
    quota_us, period_us = natural(quota), natural(period)
    return quota_us / period_us if quota_us is not None and period_us else None


def _throttled_us(places: Places) -> int | None:
    """Add up the throttled time of every group with a quota: a parent's quota makes the process wait too."""
    totals = []
    for directory in places.throttling:
        values = dict(line.partition(" ")[::2] for line in text_or(directory / "cpu.stat").split("\n"))
        in_us, in_ns = natural(values.get("throttled_usec", "")), natural(values.get("throttled_time", ""))
        if in_us is not None:
            totals.append(in_us)
        elif in_ns is not None:
            totals.append(in_ns // 1000)
    return sum(totals) if totals else None


def _io_limits(pid: int, root: Path) -> dict[str, IoLimit]:
    found: dict[str, IoLimit] = {}

    def narrow(device: str, field: str, value: str) -> None:
        limit, before = natural(value), found.setdefault(device, IoLimit())
        current: int | None = getattr(before, field)
        if limit is not None and (current is None or limit < current):
            found[device] = replace(before, **{field: limit})

    for directory in _directories(pid, "io", root):
        for line in text_or(directory / "io.max").split("\n"):
            device, *pairs = line.split(" ")
            for name, _, value in (pair.partition("=") for pair in pairs):
                if name in _IO_MAX:
                    narrow(device, _IO_MAX[name], value)
    for directory in _directories(pid, "blkio", root):
        for file, field in _THROTTLE.items():
            for line in text_or(directory / file).split("\n"):
                device, _, value = line.partition(" ")
                narrow(device, field, value)
    return {device: limit for device, limit in found.items() if limit != IoLimit()}
