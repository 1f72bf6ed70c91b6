"""Measures a device's reads, alone and with writes: `python -m adocd_bench.laws.streams DIRECTORY SECONDS`.

Runs in the capped cgroup. Requests are like RocksDB's with direct I/O: sequential, from one thread, of 1 MiB
(options.h, writable_file_max_buffer_size; with direct I/O a compaction reads ahead at least as much). Prints JSON.
"""

import json
import mmap
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_REQUEST_BYTES = 1 << 20
#: More than a disk's own cache.
_FILE_BYTES = 256 << 20


def main() -> None:
    """Measure in a directory of one's own, for so many seconds each."""
    directory, seconds = Path(sys.argv[1]), float(sys.argv[2])
    old, new = directory / "old", directory / "new"
    _write(old, lambda done: done < _FILE_BYTES)
    alone = _for(seconds, lambda going_on: _read(old, going_on))
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(_for, seconds, lambda going_on: _write(new, going_on))
        read, written = _for(seconds, lambda going_on: _read(old, going_on)), writing.result()
    sys.stdout.write(json.dumps({"read_bytes_per_s": alone, "mixed_bytes_per_s": read + written}) + "\n")


def _for(seconds: float, work: Callable[[Callable[[int], bool]], int]) -> float:
    """Work for this long; returns bytes/s."""
    began_s = time.monotonic()
    done = work(lambda _: time.monotonic() - began_s < seconds)
    return done / (time.monotonic() - began_s)


def _read(file: Path, going_on: Callable[[int], bool]) -> int:
    done, descriptor, buffer = 0, os.open(file, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, _REQUEST_BYTES)
    try:
        while going_on(done):
            done += os.preadv(descriptor, [buffer], done % _FILE_BYTES)
    finally:
        os.close(descriptor)
    return done


def _write(file: Path, going_on: Callable[[int], bool]) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_DIRECT
    done, descriptor, buffer = 0, os.open(file, flags, 0o600), mmap.mmap(-1, _REQUEST_BYTES)
    buffer.write(os.urandom(_REQUEST_BYTES))
    try:
        while going_on(done):
            done += os.pwritev(descriptor, [buffer], done % _FILE_BYTES)
    finally:
        os.close(descriptor)
    return done


if __name__ == "__main__":
    main()
