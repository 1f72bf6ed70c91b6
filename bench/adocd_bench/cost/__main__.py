"""What control costs: `python -m adocd_bench.cost WHAT`, one of those below; JSON in the end.

`--keep FILE` keeps every single value, and `--again FILE` shows what kept values come to.

- attach [--on db_bench | embedded]: the host's CPU time per write on an in-memory load that never stalls, with the
  agent and a daemon whose policy is `fixed` against without either, in interleaved pairs; and the CPU time of the
  agent's own threads.
- snapshot [--on db_bench | embedded]: time from a request to its whole answer on a kept-alive connection, every answer
  a fresh snapshot: idle, under a stall, and with 100 column families (embedded: idle, and writing).
- daemon: CPU time and resident memory of `adocd serve` on one target at 1 Hz.
- fleet [--targets 1,10,100,1000]: the same on simulated targets (adocd_bench.fleet), and how late cycles are, under
  `fixed` and under `adoc`.
- reaction: from a stall's beginning, by RocksDB's LOG, to a change being sent and applied: db_bench under a cap and
  `adoc`.
- waking [--pairs 5]: from an event in RocksDB to a change being sent and applied, under `tide`, with events that wake
  the daemon between two ticks and without; and the daemon's CPU time.
- rate: what a change of the delayed write rate alone takes, and how much of that is RocksDB's own call.
- tools [--runs 10]: CPU time of adocctl's and adocd's quickest commands, beside a daemon with one database.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from adocd.api.client import RestClient
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError
from adocd.targets.run_dir import agent_sockets
from adocd_bench.cost.measured import (
    FILE,
    Attach,
    Daemon,
    Fleets,
    MeasuredCost,
    RateCost,
    Reactions,
    Snapshots,
    TimedSnapshots,
    Tools,
    Waking,
)
from adocd_bench.cost.programs import IDLE, IN_MEMORY, SNAPSHOT_CASES, Start
from adocd_bench.cost.reaction import reaction
from adocd_bench.cost.tools import tools
from adocd_bench.cost.waking import rates, waking
from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.fleet.measure import FleetPlan, fleets
from adocd_bench.host.process_cpu import process_cpu_s
from adocd_bench.run.child import child, wait_until
from adocd_bench.run.daemon import serving
from adocd_bench.run.workspace import run_directory

_MEMORY_ROOT = Path("/dev/shm")  # noqa: S108  # what is measured must not touch a disk
#: The agent renews its snapshot when a request finds it older than 50 ms.
_FRESH_S = 0.055
_WITHIN_S = 60.0
_KINDS = ("attach", "snapshot", "daemon", "fleet", "reaction", "waking", "rate", "tools")


def attach(pairs: int, writes: int, on: str) -> Attach:
    """Measure the cost of being attached to the program `on`: CPU microseconds per write, and shares."""
    without, attached, threads = [], [], []
    for number in range(2 * pairs):
        # A B B A: a drift of the machine's speed affects both equally.
        if (number + number // 2) % 2 == 0:
            without.append(_cpu_us_per_write(writes, on, attached=False)[0])
        else:
            cost_us, agent_cpu_s_per_s = _cpu_us_per_write(writes, on, attached=True)
            attached.append(cost_us)
            threads.append(agent_cpu_s_per_s)
    # Threads of a Python program have no names of their own in /proc (before Python 3.14).
    return Attach(on, writes, tuple(without), tuple(attached), () if on == "embedded" else tuple(threads))


def snapshot(count: int, on: str) -> Snapshots:
    """Measure the time of a snapshot of the program `on`; microseconds."""
    return Snapshots(on, {name: _snapshot_case(start, count) for name, start in SNAPSHOT_CASES[on].items()})


def daemon(seconds: float) -> Daemon:
    """Measure `adocd serve` on one target at 1 Hz: its share of a core, its resident memory."""
    with run_directory() as room, _database(room, IDLE), _serving(room, sampled=True) as process:
        began_s, began_cpu_s = time.monotonic(), process_cpu_s(process.pid)
        time.sleep(seconds)
        used_s, elapsed_s = process_cpu_s(process.pid) - began_cpu_s, time.monotonic() - began_s
        return Daemon(elapsed_s, used_s, process.memory_info().rss)


def _cpu_us_per_write(writes: int, on: str, *, attached: bool) -> tuple[float, float]:
    """Run the in-memory load once; return CPU microseconds per write, and the agent threads' CPU seconds per second."""
    with (
        tempfile.TemporaryDirectory(dir=_MEMORY_ROOT) as directory,
        run_directory() as room,
        contextlib.ExitStack() as stack,
    ):
        if attached:
            stack.enter_context(_serving(room, sampled=False))
        command, added = IN_MEMORY[on](directory, writes, attached=attached)
        environment = os.environ | {"ADOCD_RUN_DIR": str(room)} | added
        began_s = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        threads_s = 0.0
        while process.poll() is None:
            threads_s = max(threads_s, _agent_threads_cpu_s(process.pid))
            time.sleep(0.25)
            usage = _usage_of(process)
            if usage is not None:
                return (usage.ru_utime + usage.ru_stime) / writes * 1e6, threads_s / (time.monotonic() - began_s)
    raise RunFailed("the program ended before it was measured")


def _usage_of(process: subprocess.Popen[bytes]) -> resource.struct_rusage | None:
    """Reap the process if it has ended, for its own resource usage."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RunFailed(f"the program failed with status {process.returncode}")
    return usage


def _agent_threads_cpu_s(pid: int) -> float:
    """Sum the processor time of the agent's threads; from schedstat, in nanoseconds, for it is below a tick."""
    total_ns = 0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if (thread / "comm").read_text().startswith("adocd-"):
                total_ns += int((thread / "schedstat").read_text().split()[0])
    return total_ns / 1e9


def _snapshot_case(start: Start, count: int) -> TimedSnapshots:
    with run_directory() as room, _database(room, start):
        return asyncio.run(_time_snapshots(room, count))


async def _time_snapshots(room: Path, count: int) -> TimedSnapshots:
    (socket,) = agent_sockets(room)
    agent = Agent(socket)
    (database,) = await agent.databases()
    target = agent.target(database)
    request_us, collect_us, stopped = [], [], 0
    for _ in range(count):
        await asyncio.sleep(_FRESH_S)
        began_s = time.perf_counter()
        taken = await target.snapshot(None)
        request_us.append(round((time.perf_counter() - began_s) * 1e6, 3))
        collect_us.append(round(taken.collect_s * 1e6, 3))
        stopped += taken.properties.get("rocksdb.is-write-stopped", 0) > 0
    await target.close()
    await agent.close()
    return TimedSnapshots(tuple(request_us), tuple(collect_us), stopped)


@contextlib.contextmanager
def _database(room: Path, start: Start) -> Iterator[None]:
    """Run a program under its agent while the block runs, from its first write on.

    db_bench opens a database, destroys it and opens it again: a write says that it is past that.
    """
    with tempfile.TemporaryDirectory(dir=_MEMORY_ROOT) as directory:
        command, added = start(directory)
        with child("program", command, room, added) as program:
            wait_until(lambda: asyncio.run(_is_written(room)), "the program did not write", program, within_s=_WITHIN_S)
            yield


async def _is_written(room: Path) -> bool:
    for socket in agent_sockets(room):
        agent = Agent(socket)
        try:
            for database in await agent.databases():
                target = agent.target(database)
                try:
                    return ((await target.snapshot(None)).counters.writes or 0) > 0
                finally:
                    await target.close()
        except TargetError:
            return False
        finally:
            await agent.close()
    return False


@contextlib.contextmanager
def _serving(room: Path, *, sampled: bool) -> Iterator[psutil.Process]:
    """Run `adocd serve` under `fixed` while the block runs; `sampled`: from its first sample of a database on."""
    with serving(room) as served:
        if sampled:
            nothing = "adocd serve sampled nothing"
            wait_until(lambda: _is_sampled(served.rest), nothing, served.child, within_s=_WITHIN_S)
        yield psutil.Process(served.child.pid)


def _is_sampled(daemon: RestClient) -> bool:
    return any(target["writes_per_s"] is not None for target in daemon.get("/v1/targets")["targets"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description="What control costs.")
    parser.add_argument("what", choices=_KINDS)
    parser.add_argument(
        "--on", choices=list(IN_MEMORY), default="db_bench", help="attach, snapshot: the program to measure"
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--writes", type=int, default=3_000_000)
    parser.add_argument("--snapshots", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60, help="length of each run of those that take a time")
    parser.add_argument("--targets", type=_numbers, default=(1, 10, 100, 1000), help="fleet: how many, such as 1,100")
    parser.add_argument("--policies", type=_words, default=("fixed", "adoc"), help="fleet: laws to run under")
    parser.add_argument("--per-process", type=int, default=10, help="fleet: databases of one process")
    parser.add_argument("--runs", type=int, default=5, help="reaction, tools: how many")
    parser.add_argument("--profile", default="cap-50", help="reaction, waking, rate: the device profile")
    parser.add_argument("--directory", type=Path, help="reaction, waking, rate: directory for the database")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep every single value here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show what these values come to, and run nothing")
    asked = parser.parse_args()
    try:
        measured = FILE.read(asked.again) if asked.again else measure(asked)
        if asked.keep:
            FILE.write(asked.keep, measured, indent=None)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(json.dumps(measured.found.figures()) + "\n")


def measure(asked: argparse.Namespace) -> MeasuredCost:
    """Measure what is asked for; raises BenchError."""
    began_unix_s = time.time()
    return MeasuredCost(began_unix_s, os.cpu_count() or 1, _found(asked))


def _found(asked: argparse.Namespace) -> Attach | Snapshots | Daemon | Fleets | Reactions | Waking | RateCost | Tools:
    if asked.what == "reaction" and asked.on != "db_bench":
        raise BadArgument(f"reaction is measured on db_bench, whose LOG has every stall, and not on {asked.on}")
    if asked.what == "waking":
        return waking(asked.seconds, asked.pairs, asked.profile, asked.directory)
    if asked.what == "rate":
        return rates(asked.seconds, asked.profile, asked.directory)
    if asked.what == "attach":
        return attach(asked.pairs, asked.writes, asked.on)
    if asked.what == "snapshot":
        return snapshot(asked.snapshots, asked.on)
    return _others(asked)


def _others(asked: argparse.Namespace) -> Daemon | Fleets | Reactions | Tools:
    if asked.what == "fleet":
        plans = [
            FleetPlan(number, policy, asked.seconds, asked.per_process)
            for policy in asked.policies
            for number in asked.targets
        ]
        return Fleets(fleets(plans, sys.stderr.write))
    if asked.what == "reaction":
        return reaction(asked.seconds, asked.runs, asked.profile, asked.directory)
    if asked.what == "tools":
        with run_directory() as room, _database(room, IDLE), _serving(room, sampled=True):
            return tools(room, asked.runs)
    return daemon(asked.seconds)


if __name__ == "__main__":
    main()
