"""Activity of block devices, from /proc/diskstats.

The fields are those of the kernel's Documentation/admin-guide/iostats.rst: 11 for each device since Linux 2.6.25, 4
more for discards since 4.18, 2 more for flushes since 5.5. psutil reads this file too, but not the queue, discards and
flushes; it keeps its correction of wraps in a global cache, raises on an unknown line, and its root (PROCFS_PATH) is
one global for all threads. The tests compare with it where the two overlap.
"""

from pathlib import Path
from typing import Final

from adocd.model.device import DiskActivity, DiskCounters, DiskReading, IoActivity, IoCounters
from adocd.model.missing import Missing
from adocd.probes.files import natural, read_text

#: The kernel's sector in these counters, whatever the disk's own is (Documentation/block/stat.rst).
SECTOR_BYTES: Final = 512
_NAME = 2
_FIELDS = 11
_WITH_DISCARDS = 15
_WITH_FLUSHES = 17
#: Milliseconds are an unsigned int on every machine, all else is an unsigned long, equally wide on 32-bit machines.
_WRAP = 1 << 32
#: A larger increase is not a wrap: 1 TiB, or 2 * 10^9 operations, in one interval.
_LIKELY = 1 << 31


#: The fields of all devices, by kernel name.
Lines = dict[str, list[str]]


def read_devices(names: tuple[str, ...], monotonic_s: float, root: Path = Path("/")) -> DiskReading:
    """Read the counters of the devices with these kernel names; the time is the caller's monotonic clock.

    Never raises: a missing device or an unreadable line is a sentence in `missing`.
    """
    return devices_in(read_lines(root), names, monotonic_s)


def read_lines(root: Path = Path("/")) -> Lines | Missing:
    """Read the fields of all devices; never raises."""
    text = read_text(root / "proc/diskstats")
    if isinstance(text, Missing):
        return Missing(f"the counters of block devices cannot be read ({text.why})")
    lines: Lines = {}
    for line in text.split("\n"):
        fields = line.split()
        if len(fields) > _NAME:
            # If the driver's name has a slash (cciss/c0d0), sysfs has an exclamation mark instead.
            lines[fields[_NAME].replace("/", "!")] = fields
    return lines


def devices_in(lines: Lines | Missing, names: tuple[str, ...], monotonic_s: float) -> DiskReading:
    """Return the counters of these devices from the fields read at this time."""
    if isinstance(lines, Missing):
        return DiskReading(monotonic_s, {}, dict.fromkeys(names, lines.why))
    devices, missing = {}, {}
    for name in names:
        counters = _counters(lines[name]) if name in lines else None
        if counters is not None:
            devices[name] = counters
        elif name in lines:
            missing[name] = f"the line of {name} in /proc/diskstats cannot be read"
        else:
            missing[name] = f"{name} is not in /proc/diskstats: it is gone, or hidden from here"
    return DiskReading(monotonic_s, devices, missing)


def activity(before: DiskReading, after: DiskReading) -> dict[str, DiskActivity | Missing]:
    """Compute from two readings what each device of the later one did between them.

    A wrapped counter is continued. Counters that restarted, because the device was removed and added or another has its
    name, give no measurement this time.
    """
    found: dict[str, DiskActivity | Missing] = {name: Missing(why) for name, why in after.missing.items()}
    interval_s = after.monotonic_s - before.monotonic_s
    for name, now in after.devices.items():
        then = before.devices.get(name)
        if then is None:
            found[name] = Missing(f"{name} has been read only once so far")
        elif not interval_s > 0:
            found[name] = Missing(f"{name} was read twice at the same time, which measures nothing")
        elif _began_anew(then, now):
            found[name] = Missing(f"the counters of {name} began anew: it was removed and added, or is another device")
        else:
            found[name] = _activity(name, then, now, interval_s, after.monotonic_s)
    return found


def _counters(fields: list[str]) -> DiskCounters | None:
    values = [natural(field) for field in fields[_NAME + 1 :]]
    known = [value for value in values if value is not None]
    if len(known) < _FIELDS or len(known) != len(values):
        return None
    flushes = len(known) >= _WITH_FLUSHES
    return DiskCounters(
        number=f"{fields[0]}:{fields[1]}",
        reads=IoCounters(*known[0:4]),
        writes=IoCounters(*known[4:8]),
        in_flight=known[8],
        io_ms=known[9],
        weighted_ms=known[10],
        discards=IoCounters(*known[11:15]) if len(known) >= _WITH_DISCARDS else None,
        flushes=known[15] if flushes else None,
        flush_ms=known[16] if flushes else None,
    )


def _began_anew(then: DiskCounters, now: DiskCounters) -> bool:
    """Tell restarted counters from a wrapped one: more than one hardly ever wraps at the same time.

    A new device whose counters exceed the old ones goes unnoticed. What it counted is real, so the error is not worth
    reading a second file (diskseq).
    """
    if then.number != now.number:
        return True
    pairs = list(zip(_longs(then), _longs(now), strict=False))
    fell = [(old, new) for old, new in pairs if new < old]
    if not fell:
        return False
    return all(new < old for old, new in pairs if old) or any(
        old >= _WRAP or new - old + _WRAP >= _LIKELY for old, new in fell
    )


def _longs(counters: DiskCounters) -> list[int]:
    kinds = [counters.reads, counters.writes, *([counters.discards] if counters.discards is not None else [])]
    return [value for kind in kinds for value in (kind.operations, kind.merged, kind.sectors)]


def _grew(then: int, now: int) -> int:
    """Return a counter's increase, with a wrap included.

    The kernel sums the counters over CPUs without a lock, so one that seems a little lower than before did not move.
    """
    if now >= then:
        return now - then
    increase = now - then + _WRAP
    return increase if 0 <= increase < _LIKELY else 0


def _activity(name: str, then: DiskCounters, now: DiskCounters, interval_s: float, monotonic_s: float) -> DiskActivity:
    interval_ms = interval_s * 1000
    discards = None
    if then.discards is not None and now.discards is not None:
        discards = _io(then.discards, now.discards, interval_s)
    flushes = flush_s = None
    if then.flushes is not None and now.flushes is not None and then.flush_ms is not None and now.flush_ms is not None:
        flushes = _grew(then.flushes, now.flushes)
        flush_s = _grew(then.flush_ms, now.flush_ms) / 1000
    return DiskActivity(
        device=name,
        monotonic_s=monotonic_s,
        interval_s=interval_s,
        reads=_io(then.reads, now.reads, interval_s),
        writes=_io(then.writes, now.writes, interval_s),
        discards=discards,
        busy_fraction=min(1.0, _grew(then.io_ms, now.io_ms) / interval_ms),
        mean_queue=_grew(then.weighted_ms, now.weighted_ms) / interval_ms,
        in_flight=now.in_flight,
        flushes_per_s=None if flushes is None else flushes / interval_s,
        s_per_flush=flush_s / flushes if flushes and flush_s is not None else None,
    )


def _io(then: IoCounters, now: IoCounters, interval_s: float) -> IoActivity:
    operations = _grew(then.operations, now.operations)
    size_bytes = _grew(then.sectors, now.sectors) * SECTOR_BYTES
    return IoActivity(
        operations_per_s=operations / interval_s,
        merged_per_s=_grew(then.merged, now.merged) / interval_s,
        bytes_per_s=size_bytes / interval_s,
        s_per_operation=_grew(then.ms, now.ms) / 1000 / operations if operations else None,
        bytes_per_operation=size_bytes / operations if operations else None,
    )
