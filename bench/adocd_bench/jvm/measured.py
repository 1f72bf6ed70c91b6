"""What was measured of RocksDB in a JVM, as it is kept, and the tables of it."""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from adocd.model.in_words import count, share
from adocd.model.in_words import time as duration
from adocd_bench.results import ResultFile


@dataclass(frozen=True, slots=True)
class AttachedOnce:
    """One attachment and its end.

    `seen_s` is when every database answered through the agent, since the attachment began. The longest puts are those
    of the whole seconds in which it was attached, was detached, and of as many seconds as the attachment took in which
    it was left alone (ms).
    """

    attach_s: float
    seen_s: float
    detach_s: float
    attach_ms: float
    detach_ms: float
    left_alone_ms: float


@dataclass(frozen=True, slots=True)
class AttachedExample:
    """A program to which it was attached again and again; nothing but its databases was ever shown by the agent."""

    program: str
    databases: int
    records_per_s: float
    times: tuple[AttachedOnce, ...]


@dataclass(frozen=True, slots=True)
class LawRun:
    """One run of a program under a law, with its own rate limiter.

    Attributes:
        program: the example.
        law: as in `adocctl controllers`.
        seconds: how long records were put.
        records: how many.
        by_second: in each second.
        stopped_s: how long RocksDB stopped writes, as the agent saw it ten times a second.
        delayed_s: how long it delayed them.
        longest_put_ms: the longest put.
        rules: how often each rule of the law was applied.
        l0_files: files in level 0 at the end (under universal compaction: sorted runs, about).
        pending_compaction_bytes: RocksDB's estimate at the end.

    """

    program: str
    law: str
    seconds: float
    records: int
    by_second: tuple[int, ...]
    stopped_s: float
    delayed_s: float
    longest_put_ms: float
    rules: dict[str, int]
    l0_files: int
    pending_compaction_bytes: int

    @property
    def records_per_s(self) -> float:
        """The mean."""
        return self.records / self.seconds


@dataclass(frozen=True, slots=True)
class CostRun:
    """One paced run: processor time of RocksDB's process, and of the agent's threads in it."""

    stores: int
    records: int
    seconds: float
    cpu_s: float
    agent_cpu_s: float

    @property
    def agent_us(self) -> float:
        """Processor time of the agent for each record (µs)."""
        return self.agent_cpu_s / self.records * 1e6


@dataclass(frozen=True, slots=True)
class MeasuredJvm:
    """Everything; `busy` is the machine's load average (1 min) when it began."""

    began_unix_s: float
    cpus: int
    busy: float
    java: str
    attached: tuple[AttachedExample, ...] = ()
    laws: tuple[LawRun, ...] = ()
    cost: tuple[CostRun, ...] = ()


FILE = ResultFile(TypeAdapter(MeasuredJvm))


def tables(found: MeasuredJvm) -> str:
    """Show what was measured, in Markdown."""
    shown = [
        *([attached_table(found.attached)] if found.attached else []),
        *([laws_table(found.laws)] if found.laws else []),
        *([cost_table(found.cost)] if found.cost else []),
    ]
    return "\n\n".join(shown) + "\n"


def attached_table(found: Sequence[AttachedExample]) -> str:
    """Show what programs notice of being attached to: medians, with the longest."""
    return "\n".join([
        "| program | databases | records/s | attached and detached | attach | all databases seen | detach "
        "| longest put: left alone | while it is attached | while it is detached |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {each.program} | {each.databases} | {count(each.records_per_s)} | {len(each.times)} times "
            f"| {_columns(each.times)} |"
            for each in found
        ),
    ])  # fmt: skip


def laws_table(found: Sequence[LawRun]) -> str:
    """Show each run, in the order in which they were made."""
    return "\n".join([
        "| program | law | records/s | worst second | writes stopped | delayed | longest put | the law applied "
        "| level-0 files at the end |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {each.program} | `{each.law}` | {count(each.records_per_s)} | {count(min(each.by_second))} "
            f"| {share(each.stopped_s / each.seconds)} | {share(each.delayed_s / each.seconds)} "
            f"| {duration(each.longest_put_ms / 1e3)} | {_rules(each)} | {each.l0_files} |"
            for each in found
        ),
    ])  # fmt: skip


def cost_table(found: Sequence[CostRun]) -> str:
    """Show the agent's cost by the number of stores: medians, with the least and the most."""
    rows = []
    for stores in sorted({each.stores for each in found}):
        mine = [each for each in found if each.stores == stores]
        agent = statistics.median(each.agent_cpu_s / each.seconds for each in mine)
        process = statistics.median(each.agent_cpu_s / each.cpu_s for each in mine)
        rows.append(
            f"| {stores} | {count(statistics.median(each.records / each.seconds for each in mine))} "
            f"| {_spread([each.agent_us for each in mine])} | {share(agent)} | {share(process)} |"
        )
    return "\n".join([
        "| stores | records/s | the agent, µs a record | the agent, of one core | the agent, of the process's time |",
        "|---|---|---|---|---|",
        *rows,
    ])  # fmt: skip


def ratios(found: Sequence[LawRun], program: str, law: str, of: Callable[[LawRun], float]) -> list[float]:
    """Return a figure under a law, divided by that of `fixed`, in each pair."""
    mine = [each for each in found if each.program == program]
    with_law = [of(each) for each in mine if each.law == law]
    without = [of(each) for each in mine if each.law == "fixed"]
    return [one / other for one, other in zip(with_law, without, strict=True)]


def _columns(times: Sequence[AttachedOnce]) -> str:
    columns = (
        [each.attach_s for each in times],
        [each.seen_s for each in times],
        [each.detach_s for each in times],
        [each.left_alone_ms / 1e3 for each in times],
        [each.attach_ms / 1e3 for each in times],
        [each.detach_ms / 1e3 for each in times],
    )
    return " | ".join(_median_and_worst(each) for each in columns)


def _median_and_worst(values_s: Sequence[float]) -> str:
    return f"{duration(statistics.median(values_s))} ({duration(max(values_s))})"


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _rules(run: LawRun) -> str:
    applied = Counter(run.rules).most_common()
    return ", ".join(f"{rule} {'once' if times == 1 else f'{times} times'}" for rule, times in applied) or "nothing"
