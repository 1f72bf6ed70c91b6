"""The clients: what they want to write, what they may write, and what waits where."""

from adocd.simulator.device import CLIENT_BYTES_PER_S
from adocd.simulator.jobs import Flow
from adocd.simulator.workload import WriteDemand
from adocd.simulator.write_controller import WriteController

#: Fewer bytes count as 0: a float's rounding error.
NOTHING_BYTES = 0.5


class Writers:
    """All clients of a database together.

    `backlog_bytes` are the waiting writes of an open loop. `dirty_bytes` are the WAL bytes that wait in the page cache
    for the device: an unsynced write is done once it is in the cache, until the cache's limit is reached.
    """

    def __init__(self, workload: WriteDemand, page_cache_bytes: float, controller: WriteController) -> None:
        self.backlog_bytes = 0.0
        self.dirty_bytes = 0.0
        self._workload = workload
        self._page_cache_bytes = page_cache_bytes
        self._controller = controller
        self._arrival_bytes_per_s = workload.rate(0.0)
        self._change_s = workload.next_change_s(0.0)

    def wanted_bytes_per_s(self) -> float:
        """Return the rate at which they would write if nothing held them up; an open loop first clears its backlog."""
        arrival = self._arrival_bytes_per_s
        return max(arrival, CLIENT_BYTES_PER_S) if self.backlog_bytes > NOTHING_BYTES else arrival

    def admitted_bytes_per_s(self) -> float:
        """Return the part of that rate which the write controller allows."""
        if self._controller.condition == "stopped":
            return 0.0
        wanted = self.wanted_bytes_per_s()
        return min(wanted, self._controller.rate_bytes_per_s) if self._controller.condition == "delayed" else wanted

    def waiting_share(self) -> float:
        """Return the share of the time that they wait for the write controller."""
        wanted = self.wanted_bytes_per_s()
        if wanted <= 0 or self._controller.condition == "normal":
            return 0.0
        return 1 - self.admitted_bytes_per_s() / wanted

    def next_s(self, now_s: float, flow: Flow) -> float:
        """Return the time of their next change, given a constant flow."""
        next_s = self._change_s
        gains = flow.writes - self._arrival_bytes_per_s
        if self.backlog_bytes > 0 and gains > 0:
            next_s = min(next_s, now_s + self.backlog_bytes / gains)
        grows = flow.dirties - flow.wal
        if grows > 0 and self.dirty_bytes < self._page_cache_bytes:
            next_s = min(next_s, now_s + (self._page_cache_bytes - self.dirty_bytes) / grows)
        elif grows < 0 and self.dirty_bytes > 0:
            next_s = min(next_s, now_s + self.dirty_bytes / -grows)
        return next_s

    def let_pass(self, seconds: float, flow: Flow) -> None:
        """Move bytes for this time."""
        self.dirty_bytes += (flow.dirties - flow.wal) * seconds
        if not self._workload.closed:
            arrived = self._arrival_bytes_per_s * seconds
            self.backlog_bytes = max(0.0, self.backlog_bytes + arrived - flow.writes * seconds)

    def look(self, now_s: float) -> None:
        """Process what is due now, and round off floating-point leftovers."""
        if now_s >= self._change_s:
            self._arrival_bytes_per_s = self._workload.rate(now_s)
            self._change_s = self._workload.next_change_s(now_s)
        if self.backlog_bytes <= NOTHING_BYTES:
            self.backlog_bytes = 0.0
        if self.dirty_bytes <= NOTHING_BYTES:
            self.dirty_bytes = 0.0
        elif self.dirty_bytes >= self._page_cache_bytes - NOTHING_BYTES:
            self.dirty_bytes = self._page_cache_bytes
