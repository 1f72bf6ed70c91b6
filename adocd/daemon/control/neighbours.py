"""What a daemon's targets share: the memory for their memtables, and their host processes."""

import platform
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from functools import partial

from adocd.daemon.change.guards.guard import Beside, MemoryInUse, TasksInUse
from adocd.daemon.control.sharing import DiskNeeds, Sharing
from adocd.model.allowance import Allowance
from adocd.model.database import Info
from adocd.model.process import GroupLimits
from adocd.probes.memory_limit import (
    cgroup_available_bytes,
    cgroup_limit_bytes,
    machine_available_bytes,
    machine_bytes,
)
from adocd.probes.tasks_limit import cgroup_tasks


@dataclass(frozen=True, slots=True)
class HostProcess:
    """The process that a database runs in; `limit_bytes` is its cgroup's memory limit, None without one.

    `pid` is what it calls itself, and `pid_here` what it is here; None on another host, or in a container that has its
    own host name or cannot be seen from here. A host name alone proves nothing: a container with the host's network has
    the host's.
    """

    host: str
    pid: int
    pid_here: int | None
    limit_bytes: int | None

    @classmethod
    def of(cls, info: Info) -> "HostProcess":
        """Look the process up."""
        here = info.pid_here if info.host == platform.node() else None
        return cls(info.host, info.pid, here, None if here is None else cgroup_limit_bytes(here))

    @property
    def identity(self) -> tuple[str, int, int | None]:
        """What tells it from all others: each of several containers may have a pid 1."""
        return self.host, self.pid, self.pid_here

    def limited_by(self, group: GroupLimits | None) -> "HostProcess":
        """Take over the memory limit, which an operator may have changed; None: unknown, so the last one stays."""
        if group is None or group.memory_bytes == self.limit_bytes:
            return self
        return replace(self, limit_bytes=group.memory_bytes)

    def group_memory(self) -> MemoryInUse:
        """Read how much memory its cgroups still have for it; unknown for one that is not here."""
        if self.pid_here is None:
            return MemoryInUse()
        return MemoryInUse(cgroup_available_bytes(self.pid_here), cgroup_limit_bytes(self.pid_here))

    def group_tasks(self) -> TasksInUse | None:
        """Read how many tasks its cgroups have and allow; None without a limit, or for a process that is not here."""
        tasks = None if self.pid_here is None else cgroup_tasks(self.pid_here)
        return None if tasks is None else TasksInUse(*tasks)


@dataclass(frozen=True, slots=True)
class Share:
    """What one target uses: its memtables' worst case with growth in flight, and whether it turns shared options.

    `promised_bytes` of that are growth of ours that the memtables do not take yet.
    """

    path: str
    process: HostProcess
    memtables_bytes: int
    turns_shared: bool
    promised_bytes: int = 0


class Neighbours:
    """The shares of all targets. Each loop puts its own share, and reads the others' in each cycle.

    `budget_bytes` limits the memtables of all targets together, None without a limit; `reads_memory` is whether to read
    this machine's free memory, which means nothing for simulated targets.
    """

    def __init__(self, budget_bytes: int | None = None, *, reads_memory: bool = True) -> None:
        self.budget_bytes = budget_bytes
        #: Shares out the disks and the budget.
        self.sharing = Sharing()
        self._reads_memory = reads_memory
        self._shares: dict[str, Share] = {}
        #: Sum over all shares, kept up to date: a thousand targets that each sum the others would do nothing else.
        self._memtables_bytes = 0
        #: The same by process.
        self._of_process: Counter[tuple[str, int, int | None]] = Counter()
        #: By process, the targets that turn options shared by all its databases.
        self._turning: dict[tuple[str, int, int | None], dict[str, str]] = {}

    def put(self, target_id: str, share: Share) -> None:
        """Store a target's share, replacing its last one."""
        if share == self._shares.get(target_id):
            return
        self._take_out(target_id)
        self._shares[target_id] = share
        self._memtables_bytes += share.memtables_bytes
        self._of_process[share.process.identity] += share.memtables_bytes
        if share.turns_shared:
            self._turning.setdefault(share.process.identity, {})[target_id] = share.path

    def remove(self, target_id: str) -> None:
        """Drop a closed target's share, and what it needed."""
        self.sharing.remove(target_id)
        self._take_out(target_id)

    def _take_out(self, target_id: str) -> None:
        share = self._shares.pop(target_id, None)
        if share is None:
            return
        key = share.process.identity
        self._memtables_bytes -= share.memtables_bytes
        self._of_process[key] -= share.memtables_bytes
        if not self._of_process[key]:
            del self._of_process[key]
        if share.turns_shared and (turning := self._turning.get(key)) is not None:
            turning.pop(target_id, None)
            if not turning:
                del self._turning[key]

    def memtables_beside(self, target_id: str) -> int:
        """Sum the worst case of all other targets' memtables, in bytes."""
        return self._memtables_beside((target_id,))

    def _memtables_beside(self, target_ids: Iterable[str]) -> int:
        shares = (self._shares.get(target_id) for target_id in target_ids)
        return self._memtables_bytes - sum(share.memtables_bytes for share in shares if share is not None)

    def allowance(self, target_id: str, needs: DiskNeeds) -> Allowance | None:
        """Store what a target needs now, and return what it may count on; None where it is alone on its disks."""
        self.sharing.put(target_id, needs)
        return self.sharing.allowance(target_id, self.budget_bytes, self._memtables_beside)

    def beside(self, target_id: str, process: HostProcess, written: Set[str] = frozenset()) -> Beside:
        """Return what a target's guards must know of its surroundings now; `written` are its column families lately."""
        turning = self._turning.get(process.identity, {})
        own = self._shares.get(target_id)
        own_bytes = own.memtables_bytes if own is not None and own.process.identity == process.identity else 0
        return Beside(
            budget_bytes=self.budget_bytes,
            memtables_bytes=self.memtables_beside(target_id),
            process_memtables_bytes=self._of_process[process.identity] - own_bytes,
            process_limit_bytes=process.limit_bytes,
            read_memory=partial(self._memory, process) if self._reads_memory else tuple,
            read_tasks=process.group_tasks,
            shared_with=next((path for other, path in turning.items() if other != target_id), None),
            written=written,
        )

    def _memory(self, process: HostProcess) -> tuple[MemoryInUse, ...]:
        """Read what a process may still take, of its cgroups and of this machine, where all that was set counts."""
        shares = self._shares.values()
        own = sum(share.promised_bytes for share in shares if share.process.identity == process.identity)
        here = sum(share.promised_bytes for share in shares if share.process.pid_here is not None)
        machine = MemoryInUse(machine_available_bytes(), machine_bytes())
        return replace(process.group_memory(), promised_bytes=own), replace(machine, promised_bytes=here)
