"""Counts what is written to devices that runs have to themselves, so that others' writes to the disk can be told."""

import contextlib
import threading
from collections.abc import Iterator

from adocd_bench.host.cap import Cap
from adocd_bench.host.device import written_bytes_of


class OwnDevices:
    """All such devices of this process, those that were taken down included; several threads may use it."""

    def __init__(self) -> None:
        self._gone_bytes = 0
        #: Their counters when they were made, by kernel name: a device keeps those of its last use.
        self._begun_bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def counting(self, cap: Cap) -> Iterator[None]:
        """Count a cap's device, from when it was made, if it is the run's own."""
        if not cap.dedicated or cap.device is None:
            yield
            return
        name = cap.device.name
        with self._lock:
            self._begun_bytes[name] = cap.begun_bytes
        try:
            yield
        finally:
            with self._lock:
                self._gone_bytes += _since(name, self._begun_bytes.pop(name))

    def written_bytes(self) -> int:
        """Say what was written to all of them so far."""
        with self._lock:
            return self._gone_bytes + sum(_since(*begun) for begun in self._begun_bytes.items())


def _since(name: str, begun_bytes: int) -> int:
    return max(0, (written_bytes_of(name) or 0) - begun_bytes)
