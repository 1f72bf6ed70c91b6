"""Stock db_bench as a load: closed loops, with its histograms.

A histogram of db_bench's has buckets that are half as wide as their values (rocksdb/monitoring/histogram.cc), and
counts from the call to its return. Its report file is begun with each benchmark and gets a line a second, so the last
line's time less its number of seconds is when the measured one began. After it db_bench waits 5 s and then until no
flush or compaction runs or is due; when the last one ended the LOG tells.

In readwhilewriting one thread writes beside one that reads, and db_bench leaves the writer out of its results: the
number of writes is RocksDB's ticker's, and there are no latencies of them. The lines of its report file count both;
what of it were writes is worked out from the ticker, a reading a second.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.code_hash import file_hash
from adocd_bench.evaluation.counted import Counted
from adocd_bench.evaluation.loads.program import LoadJob, LoadOutcome
from adocd_bench.evaluation.raw import LatencyHistogram, OperationKind, Operations, Second
from adocd_bench.programs.db_bench import DbBench
from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES, Fill, last_line, operations_by_second
from adocd_bench.run.observe import ObservedRun
from adocd_bench.run.settle import SETTLED_WITHIN_S

Benchmark = Literal["fillrandom", "overwrite", "readwhilewriting"]
#: What loads the records.
_LOAD = "filluniquerandom"
#: What follows the measured benchmark. The first wait may end before the restore, with nothing due under the law's
#: options; the second begins with 5 s more.
_DRAIN = ("flush", "waitforcompaction", "waitforcompaction")
ENTRY_BYTES = KEY_BYTES + VALUE_BYTES
#: Extra time for loading, and for the drain, which the bench cuts off.
_BESIDE_S, _DRAIN_S = 900.0, SETTLED_WITHIN_S + 60.0
_KINDS: Mapping[Benchmark, OperationKind] = {"fillrandom": "write", "overwrite": "write", "readwhilewriting": "read"}
_BUCKET = re.compile(r"^[(\[]\s*(\d+),\s*(\d+)\s*\]\s+(\d+)", re.MULTILINE)
_MAX = re.compile(r"^Min: \d+\s+Median: [0-9.]+\s+Max: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DbBenchLoad:
    """One of db_bench's benchmarks; with `records` they are loaded first, each once, and the load is not measured.

    Without `drained` it ends with the measured phase.
    """

    bench: DbBench
    benchmark: Benchmark
    seconds: int
    records: int | None = None
    drained: bool = True
    name: str = "db_bench"
    offered_per_s: float | None = None
    offered_bytes: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Name it with the RocksDB it came with."""
        return f"db_bench {self.bench.rocksdb_version}"

    def at_most_s(self, job: LoadJob) -> float:
        """Allow for the load and the drain."""
        return job.seconds + _BESIDE_S + _DRAIN_S

    @property
    def loaded_bytes(self) -> int:
        """Say what is loaded."""
        return (self.records or 0) * ENTRY_BYTES

    def command(self, job: LoadJob) -> list[str]:
        """Take the demo's command line; of a flag that is given twice the last counts."""
        fill = Fill(job.database, job.seconds, job.seed, self._report(job))
        load = [_LOAD, "waitforcompaction"] if self.records else []
        flags: dict[str, object] = {
            "benchmarks": ",".join([*load, self.benchmark, *(_DRAIN if self.drained else ())]),
            "histogram": 1,
            "threads": 1,
            **job.scheme.options,
        }
        if self.records:
            flags["num"] = self.records
        if job.scheme.rate_limiter_bytes_per_s is not None:
            flags["rate_limiter_bytes_per_sec"] = job.scheme.rate_limiter_bytes_per_s
            flags["rate_limiter_auto_tuned"] = int(job.scheme.auto_tuned)
        return [*self.bench.command(fill), *(f"--{name}={value}" for name, value in flags.items())]

    def is_preparing(self, job: LoadJob) -> bool:
        """Look whether the measured benchmark has begun its report, after the result of the load.

        db_bench writes to its output at once only what a benchmark's result is, and nothing of the wait between them.
        """
        if self.records is None:
            return False
        said, report = self._said(job), self._report(job)
        if f"\n{self.benchmark} " in said:
            return False
        loaded = f"\n{_LOAD} " in said and report.exists()
        return not loaded or report.stat().st_mtime <= self._output(job).stat().st_mtime

    def is_settling(self, job: LoadJob) -> bool:
        """Look for the measured benchmark's result, which db_bench writes as soon as it has it."""
        return self.drained and f"\n{self.benchmark} " in self._said(job)

    @property
    def ends_by_itself(self) -> bool:
        """Wait for compactions, without a limit; by then the results are written, for db_bench flushes its output."""
        return True

    @property
    def gathers(self) -> bool:
        """Return False: its benchmarks run one right after the other."""
        return False

    def is_gathered(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Return False: it never waits."""
        return False

    def begin(self, job: LoadJob) -> None:
        """Do nothing: it begins by itself."""

    def is_to_read(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Return False: nothing is read afterwards."""
        return False

    def admit_reads(self, job: LoadJob) -> None:
        """Do nothing."""

    def release(self, job: LoadJob) -> None:
        """Do nothing: it ends by itself."""

    def environment(self) -> Mapping[str, str]:
        """Add tickers only; db_bench's own statistics would also time every operation."""
        return {"ADOCD_AGENT_STATISTICS": "tickers"}

    def outcome(self, job: LoadJob, observed: ObservedRun) -> LoadOutcome:
        """Read db_bench's output, its report file and the LOG."""
        seconds, operations = result(observed.said, self.benchmark)
        histogram = histogram_of(observed.said, self.benchmark)
        report = self._report(job)
        if not report.exists():
            raise RunFailed("db_bench wrote no report file")
        lines = by_second(report)
        if not lines:
            raise RunFailed("db_bench reported no single second: give it more --seconds")
        begin_unix_s = report.stat().st_mtime - len(lines)
        begin_s = begin_unix_s - observed.unix_minus_monotonic_s
        counted = Counted(observed.ticks, begin_s)
        mine = Operations(_KINDS[self.benchmark], operations, histogram)
        every: tuple[Operations, ...] = (mine,)
        rows = [Second(at_s, writes, 0) for at_s, writes in enumerate(lines)]
        if self.benchmark == "readwhilewriting":
            every = (Operations("write", round(counted.at_end_of(seconds, "writes") or 0), None), mine)
            rows = _shared(lines, counted)
        return LoadOutcome(
            operations=every,
            seconds=tuple(_with_rest(rows[: int(seconds)], every)),
            begin_monotonic_s=begin_s,
            measured_s=seconds,
            clients_ended_monotonic_s=begin_s + seconds if self.drained else None,
            rocksdb_version=self.bench.rocksdb_version,
            program_hash=file_hash(Path(self.bench.path)),
        )

    def _said(self, job: LoadJob) -> str:
        output = self._output(job)
        return output.read_text(encoding="utf-8") if output.exists() else ""

    def _output(self, job: LoadJob) -> Path:
        return job.room / f"{self.name}.out"

    def _report(self, job: LoadJob) -> Path:
        return job.room / "seconds.csv"


def result(said: str, benchmark: str) -> tuple[float, int]:
    """Read a benchmark's seconds and operations; raises RunFailed when there is no result."""
    match = re.search(rf"^{benchmark}\s*:.*? ops/sec ([0-9.]+) seconds (\d+) operations", said, re.MULTILINE)
    if match is None:
        raise RunFailed(f"db_bench reported no result of {benchmark}; the last it said was: {last_line(said)}")
    return float(match[1]), int(match[2])


def histogram_of(said: str, benchmark: str) -> LatencyHistogram | None:
    """Read the histogram that follows a benchmark's result; None where there is none."""
    _, _, rest = said.partition(f"\n{benchmark} ")
    part = rest.partition("\nwaitforcompaction(")[0]
    longest = _MAX.search(part)
    if longest is None:
        return None
    # A bucket excludes its lower bound and includes its upper one, except the first, which includes 0.
    buckets = tuple((int(low) + (low != "0"), int(high), int(count)) for low, high, count in _BUCKET.findall(part))
    return LatencyHistogram(buckets, int(longest[1]))


def by_second(report: Path) -> list[int]:
    """Read the operations of each second; one that db_bench's clock skipped has none of its own."""
    found = operations_by_second(report)
    return [found.get(second, 0) for second in range(1, max(found, default=0) + 1)]


def _with_rest(rows: list[Second], every: Sequence[Operations]) -> list[Second]:
    """Add the operations after the last line: db_bench writes no line for the second in which it ends."""
    done = {each.kind: each.count for each in every}
    writes = done.get("write", 0) - sum(row.writes for row in rows)
    reads = done.get("read", 0) - sum(row.reads for row in rows)
    return [*rows, Second(len(rows), max(0, writes), max(0, reads))] if writes > 0 or reads > 0 else rows


def _shared(lines: Sequence[int], counted: Counted) -> list[Second]:
    """Tell writes from reads by the ticker."""
    edges = [counted.at(second, "writes") or 0.0 for second in range(len(lines) + 1)]
    rows = []
    for at_s, (operations, (before, after)) in enumerate(zip(lines, itertools.pairwise(edges), strict=True)):
        writes = min(operations, round(after - before))
        rows.append(Second(at_s, writes, operations - writes))
    return rows
