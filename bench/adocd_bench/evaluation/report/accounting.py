"""What one run comes to: its figures, all side by side. What was not measured is None, never 0.

- Throughput is operations of the measured phase over its length. Over run and drain it is the same operations over the
  time until the compactions that they left were done as well.
- Stopped and delayed time by cause is from the stalls of RocksDB's LOG: how long the condition held, whether or not
  anybody wrote. A column family is held for one cause at a time, so the sum is no more than the phase where there is
  one. Of an open loop it is the time of its load, `phase_s`: what is late afterwards is done in a time that nobody
  chose. Writers' waiting is RocksDB's STALL_MICROS, how long they really waited, until the last of them was done.
- Done of what was offered are the operations that ended while others still arrived, not those done late.
- Write amplification is what flushes and compactions wrote over what users wrote; the WAL is left aside. At the end of
  the phase, and when it was drained: a law that only puts compaction off shows in the second.
- The debt is that of the phase's last sample. What the record has for its end is used only where there is no sample of
  the phase, for until 2026-11-28 that was of the first sample after it: often after the restore, which makes more due.
- Processor time of the database's process is that of the measured phase, and beside it all from its start to its end,
  with the load before and the drain after.
- Decisions count from the phase's begin on; those of the loading are none of the run's.
- The reaction is from a stall's begin in the measured phase to the next decision, whatever it was for.
- Reads after the phase have a figure only where compaction was off while they went on, as the bench has it: a law that
  switches it on again would have its reads of another database.
"""

import bisect
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adocd.model.stall import CAUSES
from adocd_bench.evaluation.raw import LatencyHistogram, Moved, Operations, RawDecision, RawRun, RawStall, Second
from adocd_bench.evaluation.report.acting import Acted, acted
from adocd_bench.evaluation.report.percentiles import Percentiles, mean_us, merged, percentiles

CONDITIONS = ("stopped", "delayed")
#: All kinds of operations together.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of one kind of operation, or of `ALL`."""

    kind: str
    count: int
    queueing: Percentiles | None
    processing: Percentiles | None
    total: Percentiles | None


@dataclass(frozen=True, slots=True)
class WorstSecond:
    """The worst whole second of the load, which in an open loop ends before the last of its operations is done.

    `operations` is the fewest that ended in one, at `at_s`; `of_offered` the smallest share of what was to start in
    one, None in a closed loop; `longest_us` the longest operation of all seconds, None where nobody says.
    """

    at_s: int
    operations: int
    of_offered: float | None
    longest_us: int | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run's figures; the module says what each counts.

    Attributes:
        held_s: condition (`stopped`, `delayed`) -> cause -> seconds of the phase.
        held_later_share: the share of the phase's second half in which writes were held, less that of its first half.
        waited_s: how long writers waited, together; None without the ticker.
        cores: processors that the database's process used in the mean of the measured phase; None where not told apart.
        cpu_us_per_operation: its processor time in that phase over the operations.
        cpu_s: its processor time in all.
        debt_bytes: pending compaction in the last sample of the measured phase.
        decided: rule and outcome -> decisions, in the measured phase and the drain; `decisions` are all of them.
        decisions_per_minute: of the measured phase.
        reaction_s: median from a stall's begin to the next decision, of stalls that had one; None without any.
        unanswered_stalls: stalls of the measured phase after which nothing was decided any more.
        apply_s: median from a change being sent to its being applied and read back, of these decisions.
        completed_share: operations that ended within the load's length over those that were to start in it; None in a
            closed loop, or where operations by second are not known.
        reads_after_per_s: reads after the phase that one reader does in a second (1 over the mean processing time);
            None where compaction was on meanwhile.
        acted: what the law did.

    """

    operations: int
    operations_by_kind: Mapping[str, int]
    throughput_per_s: float
    with_drain_per_s: float | None
    held_s: Mapping[str, Mapping[str, float]]
    stopped_share: float
    delayed_share: float
    held_later_share: float
    waited_s: float | None
    waited_share: float | None
    latencies: tuple[Latencies, ...]
    worst: WorstSecond | None
    write_amplification: float | None
    write_amplification_drained: float | None
    peak_memory_bytes: int
    cores: float | None
    cpu_us_per_operation: float | None
    cpu_s: float
    debt_bytes: int
    drain_s: float | None
    decided: Mapping[tuple[str, str], int]
    decisions: int
    decisions_per_minute: float
    reaction_s: float | None
    stalls: int
    unanswered_stalls: int
    apply_s: float | None
    daemon_cores: float
    daemon_memory_bytes: int
    completed_share: float | None
    reads_after_per_s: float | None
    acted: Acted

    def latency(self, kind: str) -> Latencies | None:
        """Find one kind's latencies; None where there were no such operations."""
        return next((found for found in self.latencies if found.kind == kind), None)

    def held_for(self, *causes: str) -> float:
        """Add up the seconds that writes were stopped or delayed for these causes."""
        return sum(by_cause.get(cause, 0.0) for by_cause in self.held_s.values() for cause in causes)


def figures(run: RawRun) -> RunFigures:
    """Work out a run's figures."""
    operations = sum(each.count for each in run.operations)
    held = _held(run)
    shares = {condition: _per(sum(held[condition].values()), run.phase_s) or 0.0 for condition in CONDITIONS}
    waited_s, cpu_s = run.at_end.stalled_s, run.database.measured_cpu_s
    # Between the phase's end and the clients' the bench may read; merges that had begun go on, and no other begins.
    clients_s = run.measured_s if run.settled is None else max(run.measured_s, run.settled.clients_ended_s)
    whole_s = None if run.drain_s is None else clients_s + run.drain_s
    decided = [each for each in run.decisions if each.at_s >= 0]
    in_phase = [each for each in decided if each.at_s <= run.phase_s]
    begun = [stall.begin_s for stall in run.stalls if 0 <= stall.begin_s < run.phase_s]
    answers = reactions(begun, decided)
    return RunFigures(
        operations=operations,
        operations_by_kind={each.kind: each.count for each in run.operations},
        throughput_per_s=_per(operations, run.measured_s) or 0.0,
        with_drain_per_s=None if whole_s is None else _per(operations, whole_s),
        held_s=held,
        stopped_share=shares["stopped"],
        delayed_share=shares["delayed"],
        held_later_share=_held_later(run),
        waited_s=waited_s,
        waited_share=None if waited_s is None else _per(waited_s, run.measured_s),
        latencies=_latencies(run.operations),
        worst=_worst(run.seconds, min(run.measured_s, run.phase_s)),
        write_amplification=_amplification(run.at_end),
        write_amplification_drained=None if run.drained is None else _amplification(run.drained),
        peak_memory_bytes=run.database.peak_rss_bytes,
        cores=None if cpu_s is None else _per(cpu_s, run.measured_s),
        cpu_us_per_operation=None if cpu_s is None else _per(cpu_s * 1e6, operations),
        cpu_s=run.database.cpu_s,
        debt_bytes=_debt(run),
        drain_s=run.drain_s,
        decided=dict(sorted(Counter((each.rule, each.outcome) for each in decided).items())),
        decisions=len(decided),
        decisions_per_minute=60 * (_per(len(in_phase), run.phase_s) or 0.0),
        reaction_s=_median(answers),
        stalls=len(begun),
        unanswered_stalls=len(begun) - len(answers),
        apply_s=_median([each.elapsed_s for each in decided if each.elapsed_s is not None]),
        daemon_cores=_per(run.daemon.cpu_s, run.wall_s) or 0.0,
        daemon_memory_bytes=run.daemon.peak_rss_bytes,
        completed_share=_completed(run),
        reads_after_per_s=None if compacted_while_read(run) else _reads_after(run.after),
        acted=acted(run),
    )


def reactions(begun_s: Iterable[float], decisions: Sequence[RawDecision]) -> list[float]:
    """Give the seconds from each stall's begin to the next decision; stalls that none followed are left out."""
    moments = sorted(each.at_s for each in decisions)
    places = ((begin_s, bisect.bisect_left(moments, begin_s)) for begin_s in begun_s)
    return [moments[place] - begin_s for begin_s, place in places if place < len(moments)]


def compacted_while_read(run: RawRun) -> bool:
    """Say whether compaction was on in some sample from the time of the reads after the phase.

    Older runs do not say when that was. One reader does one after the other, so they took what all of them took
    together; until the clients' end it is a little longer, for then the bench has switched compaction on for the drain.
    """
    begin_s, end_s = run.after_span_s or (run.measured_s, run.measured_s + _took_s(run.after))
    return bool(run.after) and any(each.compaction_enabled for each in run.samples if begin_s <= each.at_s <= end_s)


def asked_for(operations: Operations) -> bool:
    """Say whether there were such operations: done, or due and never started, which count as late as they were."""
    return operations.count > 0 or (operations.total is not None and len(operations.total.buckets) > 0)


def own_device_bytes(moved: Moved) -> int | None:
    """Add up what RocksDB itself wrote, its WAL included; None where a part is not counted."""
    parts = (moved.wal_bytes, moved.flush_written_bytes, moved.compaction_written_bytes)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _per(amount: float, by: float) -> float | None:
    return amount / by if by > 0 else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _held(run: RawRun) -> dict[str, dict[str, float]]:
    held: dict[str, dict[str, float]] = {condition: {} for condition in CONDITIONS}
    for stall in run.stalls:
        seconds = _within_s(stall, 0.0, run.phase_s)
        if seconds > 0 and stall.condition in held:
            by_cause = held[stall.condition]
            by_cause[stall.cause] = by_cause.get(stall.cause, 0.0) + seconds
    return {condition: dict(sorted(by_cause.items(), key=_in_order)) for condition, by_cause in held.items()}


def _held_later(run: RawRun) -> float:
    half_s = run.phase_s / 2
    held = [stall for stall in run.stalls if stall.condition in CONDITIONS]
    first_s, second_s = (sum(_within_s(stall, at_s, at_s + half_s) for stall in held) for at_s in (0.0, half_s))
    return _per(second_s - first_s, half_s) or 0.0


def _within_s(stall: RawStall, begin_s: float, end_s: float) -> float:
    return max(0.0, min(stall.end_s, end_s) - max(stall.begin_s, begin_s))


def _in_order(item: tuple[str, float]) -> tuple[int, str]:
    cause, _ = item
    return (CAUSES.index(cause) if cause in CAUSES else len(CAUSES), cause)


def _latencies(operations: Sequence[Operations]) -> tuple[Latencies, ...]:
    found = [
        Latencies(
            each.kind, each.count, percentiles(each.queueing), percentiles(each.processing), percentiles(each.total)
        )
        for each in sorted(operations, key=lambda each: each.kind, reverse=True)
        if asked_for(each)
    ]
    return (*found, _all(operations)) if found else ()


def _all(operations: Sequence[Operations]) -> Latencies:
    done = [each for each in operations if asked_for(each)]

    def together(histograms: Iterable[LatencyHistogram | None]) -> Percentiles | None:
        return percentiles(merged(histograms))

    return Latencies(
        ALL,
        sum(each.count for each in done),
        together(each.queueing for each in done),
        together(each.processing for each in done),
        together(each.total for each in done),
    )


def _worst(seconds: Sequence[Second], load_s: float) -> WorstSecond | None:
    # The last second may be a part of one, and once an open loop's load has ended only what is late is done: fewer
    # operations in these say nothing.
    whole = [second for second in seconds if second.at_s + 1 <= load_s]
    if not whole:
        return None
    fewest = min(whole, key=lambda second: (second.writes + second.reads, second.at_s))
    shares = [(second.writes + second.reads) / second.offered for second in whole if second.offered]
    longest = [second.longest_us for second in seconds if second.longest_us is not None]
    return WorstSecond(
        at_s=fewest.at_s,
        operations=fewest.writes + fewest.reads,
        of_offered=min(shares, default=None),
        longest_us=max(longest, default=None),
    )


def _amplification(moved: Moved) -> float | None:
    if moved.flush_written_bytes is None or moved.compaction_written_bytes is None or not moved.user_written_bytes:
        return None
    return (moved.flush_written_bytes + moved.compaction_written_bytes) / moved.user_written_bytes


def _debt(run: RawRun) -> int:
    seen = [each.pending_compaction_bytes for each in run.samples if 0 <= each.at_s <= run.measured_s]
    return seen[-1] if seen else run.at_end.pending_compaction_bytes


def _completed(run: RawRun) -> float | None:
    if run.workload.offered_per_s is None or not run.seconds:
        return None
    done = sum(second.writes + second.reads for second in run.seconds if second.at_s < run.phase_s)
    offered = [second.offered for second in run.seconds]
    known = [each for each in offered if each is not None]
    wanted = sum(known) if len(known) == len(offered) else run.workload.offered_per_s * run.phase_s
    return _per(done, wanted)


def _took_s(operations: Sequence[Operations]) -> float:
    return sum(each.count * (mean_us(each.processing) or 0.0) for each in operations) / 1e6


def _reads_after(after: Sequence[Operations]) -> float | None:
    mean = mean_us(merged(each.processing for each in after if each.kind == "read"))
    return None if not mean else 1e6 / mean
