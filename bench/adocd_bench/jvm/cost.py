"""What the agent costs: processor time of its threads for each record, at a steady pace, beside a daemon that watches.

All that the agent does at a steady pace, it does on threads of its own; there is nothing of it on reads and writes. So
their time is the cost. The difference between runs with and without the agent would be smaller than what two runs of
one kind differ by: the JVM compiles at other moments, and RocksDB flushes at others.
"""

import time
from pathlib import Path

from adocd.probes.files import text_or
from adocd_bench.errors import RunFailed
from adocd_bench.host.usage import cpu_s_of
from adocd_bench.jvm.examples import Example, options, running
from adocd_bench.jvm.measured import CostRun
from adocd_bench.run.daemon import serving
from adocd_bench.run.workspace import run_directory, workspace

#: Far below what the program can put, so that no stall and no queue is in the figure.
RECORDS_PER_S = 5000
_POLL_S = 1.0
_AGENTS = "adocd-"


class AgentThreads:
    """Adds up the processor time of a JVM's agent threads from the moment at which it is made; some end in between."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._tasks = proc / str(pid) / "task"
        self._used_s: dict[str, float] = {}
        self.look()
        self._before_s = sum(self._used_s.values())

    def look(self) -> None:
        """Read what each has used so far (proc_pid_stat(5))."""
        for task in self._tasks.iterdir() if self._tasks.is_dir() else ():
            if text_or(task / "comm").startswith(_AGENTS):
                self._used_s[task.name] = cpu_s_of(task) or self._used_s.get(task.name, 0.0)

    @property
    def cpu_s(self) -> float:
        """Their time since then, in seconds."""
        return sum(self._used_s.values()) - self._before_s


def run(example: Example, classpath: str, agent: Path, parent: Path, stores: int, seconds: int) -> CostRun:
    """Run it at a steady pace beside a daemon that watches. Raises RunFailed where it does not see every store."""
    asked = options(seconds=seconds, stores=stores, records_per_s=RECORDS_PER_S, limited=False)
    with (
        workspace(parent) as space,
        run_directory() as room,
        serving(room) as daemon,
        running(example, classpath, space / "state", room, agent, *asked) as program,
    ):
        threads, found = AgentThreads(program.pid), 0
        while not program.child.ended():
            listed = daemon.ask("/v1/targets")
            found = max(found, 0 if listed is None else len(listed["targets"]))
            threads.look()
            time.sleep(_POLL_S)
        total = program.total()
    if found != stores:
        raise RunFailed(f"{example.title} has {stores} stores, and the daemon saw {found}")
    return CostRun(
        stores=stores,
        records=total.records,
        seconds=total.seconds,
        cpu_s=total.cpu_s,
        agent_cpu_s=round(threads.cpu_s, 2),
    )
