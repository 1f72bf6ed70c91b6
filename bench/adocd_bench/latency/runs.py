"""Runs a program under the native agent, and reads what its sampler has counted when the program has written all."""

import asyncio
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from adocd.model.latency import LatencyTotals, sampled
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError
from adocd.targets.run_dir import agent_sockets
from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.report.percentiles import percentile_us
from adocd_bench.latency.measured import HistogramsAgree, ToldLatencies, of_sampler
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.result import read_result
from adocd_bench.load.spec import ClosedArrivals, Drain, KeyChoice, LoadSpec, Mix, Work
from adocd_bench.programs.db_bench import agent_library, find_db_bench
from adocd_bench.run.child import Child, child
from adocd_bench.run.workspace import run_directory

_MEMORY_ROOT = Path("/dev/shm")  # noqa: S108  # what is measured must not touch a disk
#: The least CPU per write that db_bench has: no log, and memtables that hold everything.
_LEAST = ("--disable_wal=1", "--write_buffer_size=4294967296")
#: Small memtables and few of them: some writes take a thousand times as long as most.
_UNEVEN = ("--write_buffer_size=4194304", "--max_background_jobs=2")
_AT_MOST_S = 900.0
_BETWEEN_LOOKS_S = 0.1
_PERCENTILES = re.compile(r"Percentiles: P50: (\S+) P75: \S+ P99: (\S+) P99\.9: (\S+)")
_COUNT, _MAX = re.compile(r"^Count: (\d+)", re.MULTILINE), re.compile(r"Max: (\d+)")


def cpu_us_per_write(writes: int, threads: int, *, sampler: bool) -> float:
    """Run stock db_bench in memory once, and return its CPU microseconds per write, all its threads together."""
    with tempfile.TemporaryDirectory(dir=_MEMORY_ROOT) as directory, run_directory() as room:
        command = [*_db_bench(directory, writes // threads, threads), *_LEAST]
        environment = os.environ | _agent(room, on=sampler)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RunFailed(f"db_bench failed with status {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) / (writes // threads * threads) * 1e6


def of_db_bench(writes: int, threads: int, parent: Path | None) -> HistogramsAgree:
    """Compare with db_bench's own histogram, whose buckets are up to 50 % wide; reads keep it open after the writes."""
    with tempfile.TemporaryDirectory(dir=parent) as directory, run_directory() as room:
        command = [*_db_bench(directory, writes // threads, threads), *_UNEVEN, "--histogram"]
        command[1] += ",readrandom"
        with child("db_bench", [*command, "--reads=200000"], room, _agent(room, on=True)) as program:
            totals = _last_totals(room, program)
            said = program.said()
    percentiles, count, worst = _PERCENTILES.search(said), _COUNT.search(said), _MAX.search(said)
    if percentiles is None or count is None or worst is None:
        raise RunFailed("db_bench printed no histogram")
    p50, p99, p99_9 = map(float, percentiles.groups())
    its_own = ToldLatencies(int(count[1]), p50, p99, p99_9, float(worst[1]))
    return HistogramsAgree("db_bench", threads, its_own, of_sampler(sampled(totals, None)))


def of_generator(writes: int, threads: int, parent: Path | None) -> HistogramsAgree:
    """Compare with the load generator's histogram, whose buckets are within 0.1 % of a value."""
    with tempfile.TemporaryDirectory(dir=parent) as directory, run_directory() as room:
        result = room / "result.json"
        phases = (
            Work(
                "write", ClosedArrivals(count=writes), Mix(update=1.0), KeyChoice("uniform", writes), threads,
                measured=True,
            ),
            Drain("drain", at_most_s=60.0),
        )  # fmt: skip
        options: Mapping[str, int] = {"write_buffer_size": 4 << 20, "max_background_jobs": 2}
        spec = LoadSpec(Path(directory, "db"), result, phases, create=True, options=options, value_bytes=100)
        file = room / "load.json"
        file.write_text(spec.to_json(), encoding="utf-8")
        with child(GENERATOR.name, [str(GENERATOR.find_or_build()), str(file)], room, _agent(room, on=True)) as program:
            totals = _last_totals(room, program)
        [operations] = read_result(result).measured.operations
    histogram = operations.processing
    if histogram is None:
        raise RunFailed("the load generator measured nothing")
    p50, p99, p99_9 = (percentile_us(histogram, fraction) or 0.0 for fraction in (0.5, 0.99, 0.999))
    its_own = ToldLatencies(operations.count, p50, p99, p99_9, float(histogram.max_us))
    return HistogramsAgree(GENERATOR.name, threads, its_own, of_sampler(sampled(totals, None)))


def _db_bench(directory: str, num: int, threads: int) -> list[str]:
    path = find_db_bench().path
    flags = ("--value_size=100", f"--num={num}", f"--threads={threads}", "--seed=1", f"--db={directory}/db")
    return [path, "--benchmarks=fillrandom", *flags]


def _agent(room: Path, *, on: bool) -> dict[str, str]:
    words = {True: "on", False: "off"}
    return {"LD_PRELOAD": agent_library(), "ADOCD_RUN_DIR": str(room), "ADOCD_AGENT_LATENCY": words[on]}


def _last_totals(room: Path, program: Child) -> LatencyTotals:
    """Return what the sampler had counted when it was last asked, some of a second before the program's end."""
    last: LatencyTotals | None = None
    while program.is_running(_AT_MOST_S):
        last = asyncio.run(_totals(room)) or last
        time.sleep(_BETWEEN_LOOKS_S)
    if last is None:
        raise RunFailed(f"{program.name} ended before its agent was asked")
    return last


async def _totals(room: Path) -> LatencyTotals | None:
    for socket in agent_sockets(room):
        agent = Agent(socket)
        try:
            for database in await agent.databases():
                target = agent.target(database)
                try:
                    return (await target.snapshot(None)).write_latency
                finally:
                    await target.close()
        except TargetError:
            return None
        finally:
            await agent.close()
    return None


def interleaved(pairs: int) -> Sequence[tuple[bool, bool]]:
    """Say for each pair in which order its runs go, off first or on first: a drift of the machine affects both."""
    return [(False, True) if number % 2 == 0 else (True, False) for number in range(pairs)]
