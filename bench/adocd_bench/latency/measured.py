"""What was measured, as it is kept."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from adocd.model.latency import WriteLatency
from adocd_bench.results import ResultFile


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of the same load, one after the other: CPU microseconds (user and system) of the process per write."""

    off_us_per_write: float
    on_us_per_write: float

    @property
    def ratio(self) -> float:
        """How many times the CPU of a write it takes with the sampler."""
        return self.on_us_per_write / self.off_us_per_write


@dataclass(frozen=True, slots=True)
class ToldLatencies:
    """Write latencies in microseconds, as somebody gives them."""

    count: int
    p50_us: float
    p99_us: float
    p99_9_us: float
    max_us: float


@dataclass(frozen=True, slots=True)
class HistogramsAgree:
    """The same writes, by the program's own histogram and by the agent's sampler."""

    program: str
    threads: int
    its_own: ToldLatencies
    sampler: ToldLatencies


@dataclass(frozen=True, slots=True)
class Measured:
    """A whole run; `writes` of each process; `busy` is the machine's load average (1 min) when it began."""

    began_unix_s: float
    cpus: int
    busy: float
    writes: int
    #: By how many threads wrote.
    pairs: dict[int, tuple[Pair, ...]]
    agreements: tuple[HistogramsAgree, ...]


FILE = ResultFile(TypeAdapter(Measured))


def of_sampler(found: WriteLatency) -> ToldLatencies:
    """Take a window of the sampler's."""
    p50, p99, p99_9, worst = (
        round((figure or 0.0) * 1e6, 3) for figure in (found.p50_s, found.p99_s, found.p99_9_s, found.max_s)
    )
    return ToldLatencies(found.count or 0, p50, p99, p99_9, worst)
