"""What control costs: `python -m adocd_bench.cost attach|snapshot|daemon|fleet|reaction|tools`; JSON in the end.

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
- tools [--runs 10]: CPU time of adocctl's and adocd's quickest commands, beside a daemon with one database.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from adocd.api.client import RestClient
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError
from adocd.targets.run_dir import agent_sockets
from adocd_bench.cost.programs import IDLE, IN_MEMORY, SNAPSHOT_CASES, Start
from adocd_bench.cost.reaction import reaction
from adocd_bench.cost.tools import tools
from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.fleet.measure import FleetPlan, fleets
from adocd_bench.run.child import child, wait_until
from adocd_bench.run.daemon import serving
from adocd_bench.run.workspace import run_directory

_MEMORY_ROOT = Path("/dev/shm")  # noqa: S108  # what is measured must not touch a disk
#: The agent renews its snapshot when a request finds it older than 50 ms.
_FRESH_S = 0.055
_WITHIN_S = 60.0


def attach(pairs: int, writes: int, on: str) -> dict[str, object]:
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
    ratios = [a / b for a, b in zip(attached, without, strict=True)]
    measured = {
        "on": on,
        "pairs": pairs,
        "writes": writes,
        "without_us_per_write": _spread(without),
        "attached_us_per_write": _spread(attached),
        "ratio": _spread(ratios),
    }
    # Threads of a Python program have no names of their own in /proc (before Python 3.14).
    return measured if on == "embedded" else measured | {"agent_threads_cpu_s_per_s": _spread(threads)}


def snapshot(count: int, on: str) -> dict[str, object]:
    """Measure the time of a snapshot of the program `on`; microseconds."""
    cases = SNAPSHOT_CASES[on]
    return {"on": on, "count": count} | {name: _snapshot_case(start, count) for name, start in cases.items()}


def daemon(seconds: float) -> dict[str, object]:
    """Measure `adocd serve` on one target at 1 Hz: its share of a core, its resident memory."""
    with run_directory() as room, _database(room, IDLE), _serving(room, sampled=True) as process:
        began_s, began = time.monotonic(), process.cpu_times()
        time.sleep(seconds)
        ended, elapsed_s = process.cpu_times(), time.monotonic() - began_s
        used_s = ended.user + ended.system - began.user - began.system
        return {
            "seconds": round(elapsed_s, 1),
            "share_of_a_core": round(used_s / elapsed_s, 5),
            "resident_mib": round(process.memory_info().rss / 2**20, 1),
        }


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


def _snapshot_case(start: Start, count: int) -> dict[str, float]:
    with run_directory() as room, _database(room, start):
        timed = asyncio.run(_time_snapshots(room, count))
    return _spread(timed.request_us) | {
        "p99.9": round(statistics.quantiles(timed.request_us, n=1000)[-1], 1),
        "collect_p50": round(statistics.median(timed.collect_us), 1),
        "collect_p99.9": round(statistics.quantiles(timed.collect_us, n=1000)[-1], 1),
        "stopped_fraction": round(timed.stopped / count, 3),
    }


@dataclass
class _Timed:
    """Microseconds of every request and of taking every snapshot, and how many saw writes stopped."""

    request_us: list[float] = field(default_factory=list)
    collect_us: list[float] = field(default_factory=list)
    stopped: int = 0


async def _time_snapshots(room: Path, count: int) -> _Timed:
    (socket,) = agent_sockets(room)
    agent = Agent(socket)
    (database,) = await agent.databases()
    target = agent.target(database)
    timed = _Timed()
    for _ in range(count):
        await asyncio.sleep(_FRESH_S)
        began_s = time.perf_counter()
        taken = await target.snapshot(None)
        timed.request_us.append((time.perf_counter() - began_s) * 1e6)
        timed.collect_us.append(taken.collect_s * 1e6)
        timed.stopped += taken.properties.get("rocksdb.is-write-stopped", 0) > 0
    await target.close()
    await agent.close()
    return timed


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


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 5),
        "p50": round(statistics.median(values), 5),
        "max": round(max(values), 5),
    }


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description="What control costs.")
    parser.add_argument("what", choices=["attach", "snapshot", "daemon", "fleet", "reaction", "tools"])
    parser.add_argument(
        "--on", choices=list(IN_MEMORY), default="db_bench", help="attach, snapshot: the program to measure"
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--writes", type=int, default=3_000_000)
    parser.add_argument("--snapshots", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60, help="daemon, fleet, reaction: length of each run")
    parser.add_argument("--targets", type=_numbers, default=(1, 10, 100, 1000), help="fleet: how many, such as 1,100")
    parser.add_argument("--policies", type=_words, default=("fixed", "adoc"), help="fleet: laws to run under")
    parser.add_argument("--per-process", type=int, default=10, help="fleet: databases of one process")
    parser.add_argument("--runs", type=int, default=5, help="reaction, tools: how many")
    parser.add_argument("--profile", default="cap-50", help="reaction: the device profile")
    parser.add_argument("--directory", type=Path, help="reaction: directory for its database")
    asked = parser.parse_args()
    try:
        if asked.what == "attach":
            measured = attach(asked.pairs, asked.writes, asked.on)
        elif asked.what == "snapshot":
            measured = snapshot(asked.snapshots, asked.on)
        elif asked.what == "fleet":
            plans = [
                FleetPlan(number, policy, asked.seconds, asked.per_process)
                for policy in asked.policies
                for number in asked.targets
            ]
            measured = fleets(plans, sys.stderr.write)
        elif asked.what == "reaction":
            if asked.on != "db_bench":
                raise BadArgument(f"reaction is measured on db_bench, whose LOG has every stall, and not on {asked.on}")
            measured = reaction(asked.seconds, asked.runs, asked.profile, asked.directory)
        elif asked.what == "tools":
            with run_directory() as room, _database(room, IDLE), _serving(room, sampled=True):
                measured = tools(room, asked.runs)
        else:
            measured = daemon(asked.seconds)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main()
