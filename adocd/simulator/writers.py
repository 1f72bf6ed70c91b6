"""The clients: what they want to write, what of it they may, and what waits where."""

from adocd.simulator.device import CLIENT_BYTES_PER_S
from adocd.simulator.jobs import Flow
from adocd.simulator.workload import WriteDemand
from adocd.simulator.write_controller import WriteController

#: Less is nothing: what a float leaves of a byte.
NOTHING_BYTES = 0.5


class Writers:
    """All clients of a database together.

    `backlog_bytes` is what those of an open loop wait to write. `dirty_bytes` is what of the WAL waits in the page
    cache for the device: a write that is not synced is done once it is there, until the cache is full of them.
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
        """Say what they would write if nothing held them up; those of an open loop first what has waited."""
        arrival = self._arrival_bytes_per_s
        return max(arrival, CLIENT_BYTES_PER_S) if self.backlog_bytes > NOTHING_BYTES else arrival

    def admitted_bytes_per_s(self) -> float:
        """Say what of that the write controller lets through."""
        if self._controller.condition == "stopped":
            return 0.0
        wanted = self.wanted_bytes_per_s()
        return min(wanted, self._controller.rate_bytes_per_s) if self._controller.condition == "delayed" else wanted

    def waiting_share(self) -> float:
        """Say which share of the time they wait for the write controller."""
        wanted = self.wanted_bytes_per_s()
        if wanted <= 0 or self._controller.condition == "normal":
            return 0.0
        return 1 - self.admitted_bytes_per_s() / wanted

    def next_s(self, now_s: float, flow: Flow) -> float:
        """Say when something changes for them, as long as the flow stays as it is."""
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
        """Let time pass."""
        self.dirty_bytes += (flow.dirties - flow.wal) * seconds
        if not self._workload.closed:
            arrived = self._arrival_bytes_per_s * seconds
            self.backlog_bytes = max(0.0, self.backlog_bytes + arrived - flow.writes * seconds)

    def look(self, now_s: float) -> None:
        """Take in what is due now, and round what floats have left over."""
        if now_s >= self._change_s:
            self._arrival_bytes_per_s = self._workload.rate(now_s)
            self._change_s = self._workload.next_change_s(now_s)
        if self.backlog_bytes <= NOTHING_BYTES:
            self.backlog_bytes = 0.0
        if self.dirty_bytes <= NOTHING_BYTES:
            self.dirty_bytes = 0.0
        elif self.dirty_bytes >= self._page_cache_bytes - NOTHING_BYTES:
            self.dirty_bytes = self._page_cache_bytes
