"""What control costs: `python -m adocd.bench.cost attach | snapshot | daemon`, JSON on the last line.

- attach: the host's CPU time per write on an in-memory load that never stalls, with the agent and a daemon whose
  policy is `fixed` against without either, in interleaved pairs; and the CPU time of the agent's own threads.
- snapshot: time from a request to its whole answer on a kept-alive connection, every answer a fresh snapshot: idle,
  under a stall, and with 100 column families.
- daemon: CPU time and resident memory of `adocd serve` on one target at 1 Hz.
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
from pathlib import Path

import psutil

from adocd.bench.daemon_client import DaemonClient
from adocd.bench.db_bench import find_db_bench
from adocd.bench.errors import BenchError, RunFailed
from adocd.bench.process import child
from adocd.bench.workspace import run_directory
from adocd.targets.agent import Agent
from adocd.targets.run_dir import agent_sockets

#: An in-memory load: no write-ahead log, memtables that hold all of it, on a file system in memory.
_IN_MEMORY = ("--benchmarks=fillrandom", "--disable_wal=1", "--value_size=100", "--write_buffer_size=4294967296")
_MEMORY_ROOT = Path("/dev/shm")  # noqa: S108  # what is measured must not touch a disk
#: The agent renews its snapshot when a request finds it older than 50 ms.
_FRESH_S = 0.055
#: Flushes at 100 kB/s behind memtables of 1 MiB: writes are stopped nearly all the time.
_STALLED = (
    "--benchmarks=fillrandom",
    "--value_size=1000",
    "--write_buffer_size=1048576",
    "--rate_limiter_bytes_per_sec=100000",
)
_IDLE = ("--benchmarks=fillrandom", "--value_size=1000", "--benchmark_write_rate_limit=1000000")
_ENOUGH = ("--num=1000000000", "--duration=100000")


def attach(pairs: int, writes: int) -> dict[str, object]:
    """Measure the cost of being attached; microseconds of CPU a write, and shares."""
    without, attached, threads = [], [], []
    for number in range(2 * pairs):
        # A B B A: a drift of the machine's speed falls on both alike.
        if (number + number // 2) % 2 == 0:
            without.append(_cpu_us_per_write(writes, attached=False)[0])
        else:
            cost_us, agent_cpu_s_per_s = _cpu_us_per_write(writes, attached=True)
            attached.append(cost_us)
            threads.append(agent_cpu_s_per_s)
    ratios = [a / b for a, b in zip(attached, without, strict=True)]
    return {
        "pairs": pairs,
        "writes": writes,
        "without_us_per_write": _spread(without),
        "attached_us_per_write": _spread(attached),
        "ratio": _spread(ratios),
        "agent_threads_cpu_s_per_s": _spread(threads),
    }


def snapshot(count: int) -> dict[str, object]:
    """Measure the time of a snapshot; microseconds."""
    cases = {
        "idle": _IDLE,
        "stalled": _STALLED,
        "100_column_families": (*_IDLE, "--num_column_families=100"),
    }
    return {"count": count} | {name: _snapshot_case(flags, count) for name, flags in cases.items()}


def daemon(seconds: float) -> dict[str, object]:
    """Measure `adocd serve` on one target at 1 Hz: its share of a core, its resident memory."""
    with run_directory() as room, _database(room, _IDLE), _serving(room) as process:
        began_s, began = time.monotonic(), process.cpu_times()
        time.sleep(seconds)
        ended, elapsed_s = process.cpu_times(), time.monotonic() - began_s
        used_s = ended.user + ended.system - began.user - began.system
        return {
            "seconds": round(elapsed_s, 1),
            "share_of_a_core": round(used_s / elapsed_s, 5),
            "resident_mib": round(process.memory_info().rss / 2**20, 1),
        }


def _cpu_us_per_write(writes: int, *, attached: bool) -> tuple[float, float]:
    """Run the in-memory load once; CPU microseconds a write, and CPU seconds a second of the agent's threads."""
    with (
        tempfile.TemporaryDirectory(dir=_MEMORY_ROOT) as directory,
        run_directory() as room,
        contextlib.ExitStack() as stack,
    ):
        command = [find_db_bench().path, *_IN_MEMORY, f"--num={writes}", f"--db={directory}/db", "--seed=1"]
        environment = _environment(room)
        if attached:
            stack.enter_context(_serving(room, wait_for_target=False))
            environment |= {"LD_PRELOAD": _agent_library()}
        began_s = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        threads_s = 0.0
        while process.poll() is None:
            threads_s = max(threads_s, _agent_threads_cpu_s(process.pid))
            time.sleep(0.25)
            usage = _usage_of(process)
            if usage is not None:
                return (usage.ru_utime + usage.ru_stime) / writes * 1e6, threads_s / (time.monotonic() - began_s)
    raise RunFailed("db_bench ended before it was measured")


def _usage_of(process: subprocess.Popen[bytes]) -> resource.struct_rusage | None:
    """Reap the process if it has ended, for its own resource usage."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RunFailed(f"db_bench failed with status {process.returncode}")
    return usage


def _agent_threads_cpu_s(pid: int) -> float:
    """Sum the processor time of the agent's threads; from schedstat, in nanoseconds, for it is below a tick."""
    total_ns = 0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if (thread / "comm").read_text().startswith("adocd-"):
                total_ns += int((thread / "schedstat").read_text().split()[0])
    return total_ns / 1e9


def _snapshot_case(flags: Sequence[str], count: int) -> dict[str, float]:
    with run_directory() as room, _database(room, flags):
        micros, ages = asyncio.run(_time_snapshots(room, count))
    return _spread(micros) | {
        "p99.9": round(statistics.quantiles(micros, n=1000)[-1], 1),
        "collect_p50": round(statistics.median(ages), 1),
        "collect_p99.9": round(statistics.quantiles(ages, n=1000)[-1], 1),
    }


async def _time_snapshots(room: Path, count: int) -> tuple[list[float], list[float]]:
    (socket,) = agent_sockets(room)
    agent = Agent(socket)
    (database,) = await agent.databases()
    target = agent.target(database)
    micros, collects = [], []
    for _ in range(count):
        await asyncio.sleep(_FRESH_S)
        began_s = time.perf_counter()
        taken = await target.snapshot(None)
        micros.append((time.perf_counter() - began_s) * 1e6)
        collects.append(taken.collect_s * 1e6)
    await target.close()
    await agent.close()
    return micros, collects


@contextlib.contextmanager
def _database(room: Path, flags: Sequence[str]) -> Iterator[None]:
    """Run db_bench under the agent while the block runs."""
    with tempfile.TemporaryDirectory(dir=_MEMORY_ROOT) as directory:
        command = [find_db_bench().path, *flags, *_ENOUGH, f"--db={directory}/db"]
        environment = _environment(room) | {"LD_PRELOAD": _agent_library()}
        with child("db_bench", command, environment, room) as bench:
            deadline_s = time.monotonic() + 60
            while not agent_sockets(room):
                if bench.ended() or time.monotonic() > deadline_s:
                    raise RunFailed(f"db_bench did not come up: {bench.last_words()}")
                time.sleep(0.05)
            time.sleep(3)  # db_bench opens, destroys and opens again; then a stall needs its first memtables
            yield


@contextlib.contextmanager
def _serving(room: Path, *, wait_for_target: bool = True) -> Iterator[psutil.Process]:
    (room / "adocd.toml").touch()
    command = [sys.executable, "-m", "adocd", "serve", "--policy", "fixed", "--config", str(room / "adocd.toml")]
    with child("serve", command, _environment(room), room) as served:
        client = DaemonClient(room / "daemon.sock")
        deadline_s = time.monotonic() + 60
        while not client.is_healthy():
            if served.ended() or time.monotonic() > deadline_s:
                raise RunFailed(f"adocd serve did not come up: {served.last_words()}")
            time.sleep(0.05)
        if wait_for_target:
            time.sleep(5)
        yield psutil.Process(served.process.pid)


def _agent_library() -> str:
    shown = subprocess.run(
        [sys.executable, "-m", "adocd", "agent", "path"], capture_output=True, text=True, check=False
    )
    if shown.returncode != 0:
        raise RunFailed(shown.stderr.strip())
    return shown.stdout.strip()


def _environment(room: Path) -> dict[str, str]:
    return dict(os.environ) | {"ADOCD_RUN_DIR": str(room)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "min": round(min(values), 5),
        "p50": round(statistics.median(values), 5),
        "max": round(max(values), 5),
    }


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description="What control costs.")
    parser.add_argument("what", choices=["attach", "snapshot", "daemon"])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--writes", type=int, default=3_000_000)
    parser.add_argument("--snapshots", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    try:
        if asked.what == "attach":
            measured = attach(asked.pairs, asked.writes)
        elif asked.what == "snapshot":
            measured = snapshot(asked.snapshots)
        else:
            measured = daemon(asked.seconds)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main()
