"""Measures a device's read and write bandwidth with direct I/O, as flushes and compactions use it: two jobs at once.

A cap above this bandwidth would have no effect, and the figures would be the disk's own.
"""

import mmap
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adocd_bench.errors import BadArgument
from adocd_bench.host.device import MB, DeviceProfile

_BLOCK_BYTES = 1 << 20
_JOBS = 2
_SECONDS = 2.0
#: Upper bound on what is written, to spare the disk.
_BYTES_MOST = 2 << 30


@dataclass(frozen=True, slots=True)
class DeviceBandwidth:
    """Sequential bytes/s of two jobs together."""

    write_bytes_per_s: float
    read_bytes_per_s: float


def measure(directory: Path, seconds: float = _SECONDS) -> DeviceBandwidth | None:
    """Write two files for some seconds, read them back, and remove them; None if direct I/O is not supported."""
    files = [directory / f"bandwidth-{number}" for number in range(_JOBS)]
    try:
        written = _together(files, os.O_WRONLY | os.O_CREAT, os.writev, seconds)
        read = _together(files, os.O_RDONLY, os.readv, seconds)
    except OSError:
        return None
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return None if written is None or read is None else DeviceBandwidth(written, read)


def refuse_above(profile: DeviceProfile, measured: DeviceBandwidth | None, at_once: int = 1) -> None:
    """Raise BadArgument for a cap that, `at_once` times, is above the device's measured bandwidth."""
    if measured is None:
        return
    for way, cap, reached in (
        ("write", profile.write_bytes_per_s, measured.write_bytes_per_s),
        ("read", profile.read_bytes_per_s, measured.read_bytes_per_s),
    ):
        if cap is not None and cap * at_once > reached:
            times = "" if at_once == 1 else f"{at_once} times "
            raise BadArgument(
                f"{times}{profile.name} is above what this device can {way}, {reached / MB:.0f} MB/s as measured: "
                "choose a lower cap, or use --profile uncapped"
            )


def _together(
    files: list[Path], flags: int, move: Callable[[int, list[mmap.mmap]], int], seconds: float
) -> float | None:
    """Read or write blocks of all files at once; return their total bytes/s. Raises OSError."""
    moved, errors = [0] * len(files), []
    begin_s = time.monotonic()

    def job(number: int) -> None:
        try:
            moved[number] = _move(files[number], flags, move, begin_s + seconds)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=job, args=(number,)) for number in range(len(files))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    took_s = time.monotonic() - begin_s
    return sum(moved) / took_s if sum(moved) else None


def _move(file: Path, flags: int, move: Callable[[int, list[mmap.mmap]], int], until_s: float) -> int:
    # Direct I/O needs page-aligned memory, as a mapping is.
    with mmap.mmap(-1, _BLOCK_BYTES) as block:
        block.write(os.urandom(_BLOCK_BYTES))
        descriptor = os.open(file, flags | os.O_DIRECT | os.O_CLOEXEC, 0o600)
        try:
            total = 0
            while time.monotonic() < until_s and total < _BYTES_MOST // _JOBS:
                count = move(descriptor, [block])
                if count == 0:
                    break
                total += count
            return total
        finally:
            os.close(descriptor)
