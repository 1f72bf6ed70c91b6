"""What the agent costs: processor time of a record at a steady pace, with and without agent and daemon."""

import time
from pathlib import Path

from adocd_bench.errors import RunFailed
from adocd_bench.host.usage import usage_of
from adocd_bench.jvm.examples import Example, options, running
from adocd_bench.jvm.measured import CostRun
from adocd_bench.run.daemon import serving
from adocd_bench.run.workspace import run_directory, workspace

#: Far below what the program can put, so that no stall and no queue is in the figure.
RECORDS_PER_S = 5000
_POLL_S = 0.2


def run(example: Example, classpath: str, agent: Path | None, parent: Path, stores: int, seconds: int) -> CostRun:
    """Run it at a steady pace; with the agent, beside a daemon that watches. Raises RunFailed."""
    asked = options(seconds=seconds, stores=stores, records_per_s=RECORDS_PER_S, limited=False)
    with (
        workspace(parent) as space,
        run_directory() as room,
        serving(room) as daemon,
        running(example, classpath, space / "state", room, agent, *asked) as program,
    ):
        before = usage_of(daemon.child.pid)
        found = 0
        while not program.child.ended():
            listed = daemon.ask("/v1/targets")
            found = max(found, 0 if listed is None else len(listed["targets"]))
            after = usage_of(daemon.child.pid)
            time.sleep(_POLL_S if found < stores else 1.0)
        total = program.total()
    if agent is not None and found != stores:
        raise RunFailed(f"{example.title} has {stores} stores, and the daemon saw {found}")
    if before is None or after is None:
        raise RunFailed("adocd serve ended during the run")
    return CostRun(stores, agent is not None, total.records, total.seconds, total.cpu_s, after.cpu_s - before.cpu_s)
