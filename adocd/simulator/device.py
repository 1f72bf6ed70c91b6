"""What the simulated machine can do."""

import re
from dataclasses import dataclass

MB = 1_000_000
_MAX_CAP_MB_PER_S = 1_000_000


class BadProfile(ValueError):
    """There is no such device profile; one sentence."""


@dataclass(frozen=True, slots=True)
class Device:
    """How fast bytes can be written.

    Reads are left out, so there is one figure for a device; MB is 10^6 bytes, as disk makers and the ADOC paper count.
    The threads' figures stand for the processor, which is otherwise left out: without them one thread would be as good
    as many. They were measured with db_bench 7.8.3 on two cores of a server (docs/simulator.md).

    Attributes:
        name: as a user types it, such as `cap-210`.
        bytes_per_s: what WAL, flushes and compactions can write together; None without a limit.
        flush_thread_bytes_per_s: what one flush can write.
        compaction_thread_bytes_per_s: what one compaction can take in.
        page_cache_bytes: so much of the WAL may wait for the device before writers wait for it, too.
        wal_share: the share of the WAL's bytes that the device has to write, 0 to 1: less than all where part of it
            escapes what limits the device, as buffered writes do a cap by cgroup v1 (adocd/bench/cap.py).

    """

    name: str
    bytes_per_s: float | None
    flush_thread_bytes_per_s: float = 200 * MB
    compaction_thread_bytes_per_s: float = 140 * MB
    page_cache_bytes: float = 1000 * MB
    wal_share: float = 1.0


def device(name: str) -> Device:
    """Make the device that a name means: `cap-210` (MB/s), or `uncapped`. Raises BadProfile for any other name."""
    if name == "uncapped":
        return Device(name, None)
    match = re.fullmatch(r"cap-([1-9][0-9]{0,6})", name)
    if match is None or int(match[1]) > _MAX_CAP_MB_PER_S:
        raise BadProfile(f"there is no device profile {name!r}: use cap-N with N in MB/s, such as cap-210, or uncapped")
    return Device(name, int(match[1]) * MB)
