"""The speed of the simulated machine: device, processors and page cache."""

import re
from dataclasses import dataclass

MB = 1_000_000
#: Best rate of one writing thread of db_bench with 1000-byte values (docs/simulator.md), in bytes/s.
CLIENT_BYTES_PER_S = 100 * MB
_MAX_CAP_MB_PER_S = 1_000_000


class BadProfile(ValueError):
    """An unknown device profile; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Device:
    """How fast bytes can be written and read.

    MB is 10^6 bytes, as disk makers and the ADOC paper count. Files bypass the page cache, as with
    use_direct_io_for_flush_and_compaction, so bytes_per_sync has no effect (WritableFileWriter::Flush).
    The threads' rates model the processor, which is otherwise left out: without them one thread would be as good as
    many. They were measured with db_bench 7.8.3 on two cores of a server (docs/simulator.md).

    Attributes:
        name: as a user types it, such as `cap-210`.
        bytes_per_s: most that WAL, flushes and compactions write together; None for no limit.
        read_bytes_per_s: most that compactions read together; None for no separate limit.
        mixed_bytes_per_s: most that is written and read together; None if reads and writes do not compete, as under a
            cgroup, which caps each separately (bench/adocd_bench/host/device.py).
        cached_share: share of compactions' reads served by the page cache, 0 to 1.
        flush_thread_bytes_per_s: most that one flush writes.
        compaction_thread_bytes_per_s: most that one compaction reads as input.
        client_thread_bytes_per_s: most that clients write when nothing holds them up.
        cores: number of processors that threads share; a thread at its highest rate keeps one busy. None for so many
            that no thread waits for one.
        page_cache_bytes: most WAL bytes that wait for the device before writers wait too.
        wal_share: share of the WAL's bytes that the device has to write, 0 to 1. It is below 1 if part of the WAL
            escapes the device's limit, as buffered writes escape a cap by cgroup v1 (bench/adocd_bench/host/cap.py).

    """

    name: str
    bytes_per_s: float | None
    read_bytes_per_s: float | None = None
    mixed_bytes_per_s: float | None = None
    cached_share: float = 0.0
    flush_thread_bytes_per_s: float = 200 * MB
    compaction_thread_bytes_per_s: float = 140 * MB
    client_thread_bytes_per_s: float = CLIENT_BYTES_PER_S
    cores: float | None = None
    page_cache_bytes: float = 1000 * MB
    wal_share: float = 1.0

    @property
    def is_limited(self) -> bool:
        """Whether it limits writes."""
        return self.bytes_per_s is not None or self.mixed_bytes_per_s is not None


def device(name: str) -> Device:
    """Make the device that a name stands for: `cap-210` (MB/s), or `uncapped`. Raises BadProfile for any other name.

    A disk has one bandwidth for reads and writes together (the ADOC paper's table 1 has one figure for a device).
    """
    if name == "uncapped":
        return Device(name, None)
    match = re.fullmatch(r"cap-([1-9][0-9]{0,6})", name)
    if match is None or int(match[1]) > _MAX_CAP_MB_PER_S:
        raise BadProfile(f"there is no device profile {name!r}: use cap-N with N in MB/s, such as cap-210, or uncapped")
    bytes_per_s = int(match[1]) * MB
    return Device(name, bytes_per_s, bytes_per_s, bytes_per_s)
