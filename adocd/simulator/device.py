"""What the simulated machine can do."""

import re
from dataclasses import dataclass

MB = 1_000_000
#: What one writing thread of db_bench managed in a good second, with 1000-byte values (docs/simulator.md).
CLIENT_BYTES_PER_S = 100 * MB
_MAX_CAP_MB_PER_S = 1_000_000


class BadProfile(ValueError):
    """There is no such device profile; one sentence."""


@dataclass(frozen=True, slots=True)
class Device:
    """How fast bytes can be written and read.

    MB is 10^6 bytes, as disk makers and the ADOC paper count. Files are written and read past the page cache, as with
    use_direct_io_for_flush_and_compaction; so bytes_per_sync changes nothing (WritableFileWriter::Flush).
    The threads' figures stand for the processor, which is otherwise left out: without them one thread would be as good
    as many. They were measured with db_bench 7.8.3 on two cores of a server (docs/simulator.md).

    Attributes:
        name: as a user types it, such as `cap-210`.
        bytes_per_s: what WAL, flushes and compactions can write together; None without a limit.
        read_bytes_per_s: what compactions can read together; None without a limit of its own.
        mixed_bytes_per_s: what can be written and read together; None where one does not take from the other, as under
            a cgroup, which caps each by itself (bench/adocd_bench/host/device.py).
        cached_share: the share of what compactions read that the page cache has, 0 to 1.
        flush_thread_bytes_per_s: what one flush can write.
        compaction_thread_bytes_per_s: what one compaction can take in.
        client_thread_bytes_per_s: what clients can write while nothing holds them up.
        cores: how many processors threads share, where each at the most that it can do keeps one busy; None for so many
            that nobody waits for one.
        page_cache_bytes: so much of the WAL may wait for the device before writers wait for it, too.
        wal_share: the share of the WAL's bytes that the device has to write, 0 to 1: less than all where part of it
            escapes what limits the device, as buffered writes do a cap by cgroup v1 (bench/adocd_bench/host/cap.py).

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
        """Whether it limits what can be written."""
        return self.bytes_per_s is not None or self.mixed_bytes_per_s is not None


def device(name: str) -> Device:
    """Make the device that a name means: `cap-210` (MB/s), or `uncapped`. Raises BadProfile for any other name.

    A disk is one: it reads as fast as it writes, and what it reads it does not write meanwhile (the ADOC paper's table
    1 has one figure for a device).
    """
    if name == "uncapped":
        return Device(name, None)
    match = re.fullmatch(r"cap-([1-9][0-9]{0,6})", name)
    if match is None or int(match[1]) > _MAX_CAP_MB_PER_S:
        raise BadProfile(f"there is no device profile {name!r}: use cap-N with N in MB/s, such as cap-210, or uncapped")
    bytes_per_s = int(match[1]) * MB
    return Device(name, bytes_per_s, bytes_per_s, bytes_per_s)
