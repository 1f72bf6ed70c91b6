"""Says when a cgroup's limit on a device's I/O (io.max, blkio.throttle) is used up.

The kernel holds such requests back before the device counts them, so the device itself shows no queue and looks as if
it had room (adocd.probes.device_limit). The sign is that the process moves as much as it may, and tasks wait for I/O.
"""

from typing import Final, Literal

from adocd.model.device import DeviceLimit, DiskActivity, IoActivity
from adocd.model.surroundings import Surroundings

#: A quota is met within a few percent, but what a process writes reaches the device some moments later.
USED_UP: Final = 0.9
#: Share of the time in which some task waits for I/O (PSI). Where a quota is used up it is most of the time.
WAITING: Final = 0.5


def used_up(device: DiskActivity, around: Surroundings, since_s: float | None = None) -> DeviceLimit | None:
    """Return the limit of the process's cgroups on a device if the process is at it; pure.

    `since_s` is when that began, if it was so before. Where the process's own I/O cannot be read, all of the device's
    counts as its.
    """
    allowed, waiting = around.io_allowed(device.device), around.io_pressure
    if allowed is None or waiting is None or waiting.some_fraction < WAITING:
        return None
    process = around.process
    writes = _part(device.writes, None if process is None else process.written_bytes_per_s)
    reads = _part(device.reads, None if process is None else process.read_bytes_per_s)
    measures: tuple[tuple[float, int | None, Literal["bytes", "operations"], str], ...] = (
        (writes[0], allowed.write_bytes_per_s, "bytes", "bytes/s of writes"),
        (reads[0], allowed.read_bytes_per_s, "bytes", "bytes/s of reads"),
        (writes[1], allowed.writes_per_s, "operations", "writes/s"),
        (reads[1], allowed.reads_per_s, "operations", "reads/s"),
    )
    for moved, limit, by, unit in measures:
        if limit and moved >= USED_UP * limit:
            return DeviceLimit(
                device=device.device,
                since_s=device.monotonic_s - device.interval_s if since_s is None else since_s,
                bytes_per_s=device.bytes_per_s,
                operations_per_s=device.operations_per_s,
                by=by,
                mean_queue=device.mean_queue,
                sufficient_queue=device.mean_queue,
                why=f"the cgroup allows {limit} {unit} on {device.device}, and the process had {moved:.0f} while some "
                f"task waited for I/O {waiting.some_fraction:.0%} of the time",
            )
    return None


def _part(io: IoActivity, process_bytes_per_s: float | None) -> tuple[float, float]:
    """Return bytes and operations per second of a device that can be the process's."""
    share = 1.0
    if process_bytes_per_s is not None and io.bytes_per_s > 0:
        share = min(1.0, process_bytes_per_s / io.bytes_per_s)
    return share * io.bytes_per_s, share * io.operations_per_s
