"""The workloads, by name: which program makes them, and with what."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adocd.bench.db_bench import find_db_bench
from adocd.bench.errors import BadOption
from adocd.bench.evaluation.closed_loop import Benchmark, ClosedLoop
from adocd.bench.evaluation.program import LoadProgram

#: What is loaded before the measured phase, at scale 1: 4 GB, sixteen times level 1.
RECORDS = 4_000_000
ALIASES: Mapping[str, str] = {"read-while-writing": "readwhilewriting"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a workload is asked for with; `rate_per_s` makes a closed loop open, and None leaves it to the workload."""

    seconds: int
    scale: int
    rate_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload; `program` makes what runs it, or raises ProgramMissing with what to install."""

    name: str
    title: str
    program: Callable[[Asked], LoadProgram]


def _db_bench(name: Benchmark, title: str, *, loaded: bool) -> Workload:
    def program(asked: Asked) -> LoadProgram:
        if asked.rate_per_s is not None:
            raise BadOption(f"{name} is a closed loop of db_bench's and takes no --rate: choose an open one")
        records = max(1, RECORDS // asked.scale) if loaded else None
        return ClosedLoop(find_db_bench(), name, records, arguments={"records": records} if records else {})

    return Workload(name, title, program)


_ALL = (
    _db_bench("fillrandom", "random writes as fast as they go (db_bench)", loaded=False),
    _db_bench("overwrite", "random overwrites of loaded records as fast as they go (db_bench)", loaded=True),
    _db_bench("readwhilewriting", "one thread writes, one reads loaded records (db_bench)", loaded=True),
)
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _ALL}


def workload(name: str) -> Workload:
    """Find a workload by its name; raises BadOption that lists those there are."""
    known = ALIASES.get(name, name)
    if known not in WORKLOADS:
        raise BadOption(f"there is no workload {name!r}: use some of {', '.join(WORKLOADS)}")
    return WORKLOADS[known]
