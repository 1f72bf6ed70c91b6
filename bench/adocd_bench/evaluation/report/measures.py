"""The figures that are compared between runs: a name, a unit, which way is better, and where each is found."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from adocd_bench.evaluation.report.accounting import ALL, RunFigures

Unit = Literal["per_s", "share", "us", "s", "bytes", "bytes_per_s", "count", "times", "cores", "us_per_operation"]
Spans = Literal["queueing", "processing", "total"]
_KINDS = ("write", "read", "scan", ALL)
_SPANS: tuple[Spans, ...] = ("queueing", "processing", "total")
#: Member of `Percentiles` -> how it is called.
POINTS = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9", "p9999_us": "p99.99", "max_us": "max"}


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a run; `more_is_better` is None where neither way is.

    `drained`: it is over run and drain, so a drain that was cut off leaves it unknown.
    """

    name: str
    title: str
    unit: Unit
    more_is_better: bool | None
    of: Callable[[RunFigures], float | None]
    drained: bool = False


def latency(kind: str, span: Spans, point: str) -> str:
    """Name the measure of a latency, such as `all_total_p99_us`."""
    return f"{kind}_{span}_{point}"


def _latency(kind: str, span: Spans, point: str, figures: RunFigures) -> float | None:
    found = figures.latency(kind)
    percentiles = getattr(found, span) if found else None
    return None if percentiles is None else float(getattr(percentiles, point))


def _worst(member: str, figures: RunFigures) -> float | None:
    value = getattr(figures.worst, member) if figures.worst else None
    return None if value is None else float(value)


def _own() -> list[Measure]:
    less, more = False, True
    return [
        Measure(
            "with_drain_per_s",
            "operations/s over run, restore and drain",
            "per_s",
            more,
            lambda f: f.with_drain_per_s,
            drained=True,
        ),
        Measure("throughput_per_s", "operations/s in the phase", "per_s", more, lambda f: f.throughput_per_s),
        Measure("operations", "operations in all", "count", more, lambda f: f.operations),
        Measure("completed_share", "done in time of what was offered", "share", more, lambda f: f.completed_share),
        Measure("worst_second", "worst second, operations", "count", more, partial(_worst, "operations")),
        Measure("worst_of_offered", "worst second, of offered", "share", more, partial(_worst, "of_offered")),
        Measure("longest_us", "longest operation", "us", less, partial(_worst, "longest_us")),
        Measure("held_share", "stopped or delayed", "share", less, lambda f: f.stopped_share + f.delayed_share),
        Measure("controlled_share", "under control", "share", None, lambda f: f.acted.controlled_share),
        Measure("stopped_share", "stopped", "share", less, lambda f: f.stopped_share),
        Measure("delayed_share", "delayed", "share", less, lambda f: f.delayed_share),
        Measure(
            "held_later_share", "held in the second half, less the first", "share", less, lambda f: f.held_later_share
        ),
        Measure("held_s", "stopped or delayed", "s", less, lambda f: f.held_for(*_all_causes(f))),
        Measure("memtable_l0_held_s", "held for memtables or L0", "s", less, lambda f: f.held_for("memtable", "l0")),
        Measure("pending_held_s", "held for pending bytes", "s", less, lambda f: f.held_for("pending_bytes")),
        Measure("waited_share", "writers waited", "share", less, lambda f: f.waited_share),
        Measure("write_amplification", "write amplification", "times", less, lambda f: f.write_amplification),
        Measure(
            "write_amplification_drained",
            "after the drain",
            "times",
            less,
            lambda f: f.write_amplification_drained,
            drained=True,
        ),
        Measure("peak_memory_bytes", "peak memory", "bytes", less, lambda f: f.peak_memory_bytes),
        Measure("cores", "processors used", "cores", None, lambda f: f.cores),
        Measure(
            "cpu_us_per_operation", "CPU per operation", "us_per_operation", less, lambda f: f.cpu_us_per_operation
        ),
        Measure("cpu_s", "CPU with load and drain", "s", less, lambda f: f.cpu_s, drained=True),
        Measure("debt_bytes", "compaction debt at the end", "bytes", less, lambda f: f.debt_bytes),
        Measure("drain_s", "time to drain it", "s", less, lambda f: f.drain_s, drained=True),
        Measure("decisions", "decisions", "count", None, lambda f: f.decisions, drained=True),
        Measure("decisions_per_minute", "decisions a minute", "count", None, lambda f: f.decisions_per_minute),
        Measure("reaction_s", "stall's begin to decision", "s", less, lambda f: f.reaction_s),
        Measure("apply_s", "sent to applied", "s", less, lambda f: f.apply_s),
        Measure("stalls", "stalls", "count", less, lambda f: f.stalls),
        Measure("unanswered_stalls", "without a decision after", "count", less, lambda f: f.unanswered_stalls),
        Measure("daemon_cores", "daemon's processors", "cores", less, lambda f: f.daemon_cores),
        Measure("daemon_memory_bytes", "daemon's peak memory", "bytes", less, lambda f: f.daemon_memory_bytes),
        Measure("reads_after_per_s", "reads/s afterwards", "per_s", more, lambda f: f.reads_after_per_s),
    ]


def _all_causes(figures: RunFigures) -> set[str]:
    return {cause for by_cause in figures.held_s.values() for cause in by_cause}


def _latencies() -> list[Measure]:
    return [
        Measure(
            latency(kind, span, point),
            f"{said} of {span} latency ({kind})",
            "us",
            False,
            partial(_latency, kind, span, point),
        )
        for kind in _KINDS
        for span in _SPANS
        for point, said in POINTS.items()
    ]


#: All measures, by name.
MEASURES = {measure.name: measure for measure in (*_own(), *_latencies())}
#: What a scheme is ranked by: in a closed loop work that was only put off counts, and an open loop's throughput is what
#: was offered, unless it failed.
RANK_CLOSED, RANK_OPEN = "with_drain_per_s", latency(ALL, "total", "p99_us")
#: Beside it where the loop is closed: the measured phase alone.
RANK_PHASE = "throughput_per_s"
