"""What the targets of a daemon have in common: the memory that their memtables may take, and their processes."""

import os
import platform
from dataclasses import dataclass

from adocd.daemon.change.guards.guard import Beside, Memory
from adocd.model.database import Info
from adocd.probes.memory_limit import available_bytes, cgroup_limit_bytes, memory_limit_bytes


@dataclass(frozen=True, slots=True)
class HostProcess:
    """The process that a database is in; `limit_bytes` is what its cgroup allows it of memory, None without a limit."""

    host: str
    pid: int
    limit_bytes: int | None

    @classmethod
    def of(cls, info: Info) -> "HostProcess":
        """Look a process up; another host's, in a container with a name of its own, cannot be looked up here."""
        return cls(info.host, info.pid, cgroup_limit_bytes(info.pid) if info.host == platform.node() else None)

    def memory(self) -> Memory:
        """Read what is free for it now; of another host's, what is free here."""
        pid = self.pid if self.host == platform.node() else os.getpid()
        return Memory(available_bytes(pid), memory_limit_bytes(pid))


@dataclass(frozen=True, slots=True)
class Share:
    """What one target takes of what is common: its memtables' worst case, growth on its way included, and its turns."""

    path: str
    process: HostProcess
    memtables_bytes: int
    turns_shared: bool


class Neighbours:
    """The shares of all targets. Each loop says its own, and reads in each cycle what the others take.

    `budget_bytes` is what the memtables of all together may take, None without a limit; `reads_memory` is whether the
    machine is asked what is free, which a simulated one has no part in.
    """

    def __init__(self, budget_bytes: int | None = None, *, reads_memory: bool = True) -> None:
        self.budget_bytes = budget_bytes
        self._reads_memory = reads_memory
        self._shares: dict[str, Share] = {}
        #: Of all shares; a thousand targets that each add up the others would do nothing else.
        self._memtables_bytes = 0
        #: Those that turn what their process's databases share, by process.
        self._turning: dict[tuple[str, int], dict[str, str]] = {}

    def put(self, target_id: str, share: Share) -> None:
        """Say what a target takes now."""
        if share == self._shares.get(target_id):
            return
        self.remove(target_id)
        self._shares[target_id] = share
        self._memtables_bytes += share.memtables_bytes
        if share.turns_shared:
            self._turning.setdefault((share.process.host, share.process.pid), {})[target_id] = share.path

    def remove(self, target_id: str) -> None:
        """Say that a target is closed."""
        share = self._shares.pop(target_id, None)
        if share is None:
            return
        self._memtables_bytes -= share.memtables_bytes
        key = (share.process.host, share.process.pid)
        if share.turns_shared and (turning := self._turning.get(key)) is not None:
            turning.pop(target_id, None)
            if not turning:
                del self._turning[key]

    def memtables_beside(self, target_id: str) -> int:
        """Sum the worst case of all other targets' memtables, in bytes."""
        share = self._shares.get(target_id)
        return self._memtables_bytes - (0 if share is None else share.memtables_bytes)

    def beside(self, target_id: str, process: HostProcess) -> Beside:
        """Say what the guards of a target must know, as it is now."""
        turning = self._turning.get((process.host, process.pid), {})
        return Beside(
            budget_bytes=self.budget_bytes,
            memtables_bytes=self.memtables_beside(target_id),
            process_limit_bytes=process.limit_bytes,
            read_memory=process.memory if self._reads_memory else Memory,
            shared_with=next((path for other, path in turning.items() if other != target_id), None),
        )
