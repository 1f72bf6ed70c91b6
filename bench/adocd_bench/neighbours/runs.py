"""One run: five load generators under the native agent on one capped device, and one daemon for all of them."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd.model.policy import Policy
from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.report.percentiles import percentiles
from adocd_bench.host.cap import Cap
from adocd_bench.host.noise import cpu_times, others_cpu
from adocd_bench.load.arrivals import constant
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.result import LoadResult, read_result
from adocd_bench.load.spec import ClosedArrivals, Drain, KeyChoice, LoadSpec, Mix, OpenArrivals, Work
from adocd_bench.neighbours.measured import HOT, DatabaseRun, Decided, NeighbourSecond, NeighbourSeen, Run
from adocd_bench.run.child import Child, child, wait_until
from adocd_bench.run.daemon import RunDaemon, serving
from adocd_bench.run.observe import Tick, Watched, settings_of
from adocd_bench.run.settle import Settling
from adocd_bench.run.workspace import run_directory

_MIB = 1 << 20
#: What a program has that opens many databases, such as Kafka Streams: small memtables, the rest RocksDB's defaults.
OPTIONS = {
    "write_buffer_size": 16 * _MIB,
    "target_file_size_base": 16 * _MIB,
    "max_bytes_for_level_base": 64 * _MIB,
}
MODEST = 4
_VALUE_BYTES, _RECORDS = 1000, 50_000_000
_CLIENTS = {True: 1, False: 4}
#: As many as `tide` has.
_MEMTABLES = 4
#: `tide` may owe what the device pays back in 600 s (its `pay_back_s`); what is due beside that takes some time, too.
_FOUND_WITHIN_S, _DRAIN_AT_MOST_S, _BESIDE_S = 30.0, 1200.0, 240.0
_LOOK_S, _POLL_S = 1.0, 0.1
#: For so long after their time operations of an open loop may still begin.
_OVERRUN_S = 30.0
_RUN, _DRAIN = "run", "drain"


@dataclass(frozen=True, slots=True)
class Arm:
    """What runs: a policy for every database, and whether the daemon's arbiter shares the device among them.

    `has_budget`: whether the memory budget is divided among the databases' own memtables.
    """

    name: str
    policy: Policy
    arbiter: bool
    has_budget: bool = False


ARMS = (
    Arm("default", Policy("fixed"), arbiter=False),
    Arm("default, same memory", Policy("fixed"), arbiter=False, has_budget=True),
    Arm("tide", Policy("tide"), arbiter=False),
    Arm("tide + arbiter", Policy("tide"), arbiter=True),
)


@dataclass(frozen=True, slots=True)
class Load:
    """How long clients write, and how many operations per second each modest database's clients want.

    `memory_mib` is the budget for the memtables of all databases; None for the daemon's default.
    """

    seconds: float
    rate_per_s: float
    seed: int = 1
    memory_mib: int | None = None

    @property
    def memory_bytes(self) -> int:
        """The budget as the daemon's configuration has it; 0 for its default."""
        return (self.memory_mib or 0) * _MIB

    @property
    def own_memtables(self) -> dict[str, int]:
        """The options with which a database's own memtables are its part of the budget."""
        if self.memory_mib is None:
            return {}
        return {
            "write_buffer_size": self.memory_mib * _MIB // len(names()) // _MEMTABLES,
            "max_write_buffer_number": _MEMTABLES,
        }

    def work(self, *, is_hot: bool) -> Work:
        """Build the measured phase: the hot database's clients wait for each operation, the others for their time."""
        steps = constant(self.rate_per_s, self.seconds)
        arrivals = (
            ClosedArrivals(seconds=self.seconds)
            if is_hot
            else OpenArrivals(steps, poisson=True, overrun_at_most_s=_OVERRUN_S)
        )
        keys = KeyChoice("uniform", _RECORDS)
        return Work(_RUN, arrivals, Mix(update=1.0), keys, _CLIENTS[is_hot], measured=True)


def names() -> tuple[str, ...]:
    """Name the databases, the hot one first."""
    return (HOT, *(f"modest-{number + 1}" for number in range(MODEST)))


def run(arm: Arm, repetition: int, load: Load, cap: Cap, *, drains: bool = True) -> Run:
    """Run one arm once; all databases are new, and gone afterwards. Raises BenchError.

    Without `drains` it ends with the clients, and leaves what is due.
    """
    for name in names():
        shutil.rmtree(cap.directory / name, ignore_errors=True)
    os.sync()
    before = cpu_times()
    try:
        with (
            run_directory() as room,
            serving(room, arm.policy, arbiter=arm.arbiter, memory_budget_bytes=load.memory_bytes) as daemon,
        ):
            options = OPTIONS | (load.own_memtables if arm.has_budget else {})
            found = _Running(room, daemon, load, cap, options).run(drains=drains)
    finally:
        for name in names():
            shutil.rmtree(cap.directory / name, ignore_errors=True)
    results, watched, drain_s, device_bytes = found
    measured = {name: result.measured for name, result in results.items()}
    began_s = min(each.begin_monotonic_s for each in measured.values())
    databases = tuple(_database(name, results[name], watched[name], began_s) for name in names())
    if arm.arbiter and not any(seen.shared for database in databases for seen in database.seen):
        raise RunFailed("the arbiter allotted nothing, because the databases' disks are not known")
    return Run(
        arm=arm.name,
        repetition=repetition,
        began_unix_s=min(each.begin_unix_s for each in measured.values()),
        measured_s=max(each.begin_monotonic_s + each.seconds for each in measured.values()) - began_s,
        drain_s=drain_s,
        device_bytes=device_bytes,
        others_cpu=round(others_cpu(before, cpu_times()).share, 3),
        databases=databases,
    )


_Found = tuple[dict[str, LoadResult], dict[str, Watched], float | None, tuple[int, int]]


class _Running:
    """The programs of one run."""

    def __init__(self, room: Path, daemon: RunDaemon, load: Load, cap: Cap, options: Mapping[str, int]) -> None:
        self._room, self._daemon, self._load, self._cap, self._options = room, daemon, load, cap, options
        self._watched = {name: Watched(daemon, cap.directory / name) for name in names()}

    def run(self, *, drains: bool) -> _Found:
        """Run all generators, settle their databases under the originals, and end them."""
        with contextlib.ExitStack() as stack:
            before = self._cap.written_bytes() or 0
            programs = [stack.enter_context(self._started(name)) for name in names()]
            self._watch_until(lambda: all(self._phase(program) == _DRAIN for program in programs), programs)
            ended_s, written = time.monotonic(), self._cap.written_bytes() or 0
            drain_s = self._settle(programs, ended_s) if drains else None
            drained = self._cap.written_bytes() or 0
            self._released.touch()
            wait_until(
                lambda: all(program.ended() for program in programs),
                "the load generators did not end",
                within_s=_BESIDE_S,
            )
            for watched in self._watched.values():
                watched.look_at_decisions()
            results = {name: read_result(self._result(name)) for name in names()}
        return results, self._watched, drain_s, (written - before, drained - written)

    @property
    def _released(self) -> Path:
        return self._room / "released"

    def _result(self, name: str) -> Path:
        return self._room / f"{name}.json"

    @contextlib.contextmanager
    def _started(self, name: str) -> Iterator[Child]:
        work = self._load.work(is_hot=name == HOT)
        spec = LoadSpec(
            self._cap.directory / name,
            self._result(name),
            (work, Drain(_DRAIN, _DRAIN_AT_MOST_S + _BESIDE_S, self._released)),
            create=True,
            options={**self._options, "use_direct_io_for_flush_and_compaction": True},
            statistics="tickers",
            value_bytes=_VALUE_BYTES,
            seed=self._load.seed + names().index(name),
        )
        file = self._room / f"{name}.load.json"
        file.write_text(spec.to_json(), encoding="utf-8")
        command = [sys.executable, "-m", "adocd", "exec", "--", str(GENERATOR.find_or_build()), str(file)]
        with child(name, self._cap.command(command), self._room) as started:
            yield started

    def _phase(self, program: Child) -> str:
        said = program.said().split()
        return said[-1] if said else ""

    def _watch_until(self, reached: Callable[[], bool], programs: Sequence[Child]) -> None:
        began_s = time.monotonic()
        while not reached():
            looked_s = time.monotonic()
            for watched in self._watched.values():
                watched.look()
            for program in programs:
                if not program.is_running(self._load.seconds + _BESIDE_S):
                    raise RunFailed(f"{GENERATOR.name} of {program.name} ended early: {program.last_words()}")
            missing = [name for name, watched in self._watched.items() if not watched.is_found()]
            if missing and time.monotonic() - began_s > _FOUND_WITHIN_S:
                raise RunFailed(f"the agent of {missing[0]} did not show up within {_FOUND_WITHIN_S:.0f} s")
            time.sleep(max(_POLL_S, looked_s + _LOOK_S - time.monotonic()))

    def _settle(self, programs: Sequence[Child], ended_s: float) -> float | None:
        """Have the originals restored everywhere, and wait until nothing is due; None if that takes too long."""
        with contextlib.ExitStack() as stack:
            settling = {
                name: stack.enter_context(Settling(self._room, watched_one.database, {}))
                for name, watched_one in self._watched.items()
            }
            looked_s = 0.0
            while time.monotonic() < ended_s + _DRAIN_AT_MOST_S:
                for name, one in settling.items():
                    one.look(self._watched[name])
                if time.monotonic() - looked_s > _LOOK_S:
                    looked_s = time.monotonic()
                    for watched in self._watched.values():
                        watched.look()
                quiet = [one.seen.quiet_s for one in settling.values()]
                if None not in quiet:
                    return max(0.0, max(each for each in quiet if each is not None) - ended_s)
                if any(program.ended() for program in programs):
                    raise RunFailed("a load generator ended before its database was settled")
                time.sleep(_POLL_S)
        return None


def _database(name: str, result: LoadResult, watched: Watched, began_s: float) -> DatabaseRun:
    measured = result.measured
    [operations] = measured.operations
    latency = percentiles(operations.processing if name == HOT else operations.total)
    if latency is None:
        raise RunFailed(f"nothing was measured of {name}")
    return DatabaseRun(
        name=name,
        operations=operations.count,
        not_started=measured.not_started,
        seconds=measured.seconds,
        latency=latency,
        by_second=tuple(NeighbourSecond(row.at_s, row.writes, row.longest_us) for row in measured.raw_seconds),
        seen=tuple(_seen(tick, began_s) for tick in watched.ticks if tick.sample.monotonic_s >= began_s),
        decided=tuple(
            Decided(round(each.monotonic_s - began_s, 2), each.rule, each.outcome, settings_of(each))
            for each in watched.decisions
        ),
    )


def _seen(tick: Tick, began_s: float) -> NeighbourSeen:
    sample = tick.sample
    [cf] = sample.column_families
    rates = (sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s)
    allowance = sample.allowance
    return NeighbourSeen(
        at_s=round(sample.monotonic_s - began_s, 2),
        condition=sample.condition,
        waited_fraction=sample.waited_fraction,
        l0_files=cf.l0_files,
        l0_bytes=0 if cf.level_bytes is None else cf.level_bytes[0],
        immutable_memtables=cf.immutable_memtables,
        pending_compaction_bytes=cf.pending_compaction_bytes,
        write_buffer_bytes=cf.options.write_buffer_size_bytes,
        memtables=cf.options.max_write_buffer_number,
        l0_trigger=cf.options.level0_file_num_compaction_trigger,
        jobs=sample.background_jobs,
        subcompactions=_number(sample.options.database.get("max_subcompactions")),
        delayed_write_rate=_number(sample.options.database.get("delayed_write_rate")),
        written_bytes_per_s=sample.written_bytes_per_s,
        background_bytes_per_s=None if None in rates else sum(rate or 0.0 for rate in rates),
        p99_s=None if sample.write_latency is None else sample.write_latency.p99_s,
        shared=None if allowance is None else allowance.in_words(),
        device_share=None if allowance is None else round(allowance.device_share, 3),
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
