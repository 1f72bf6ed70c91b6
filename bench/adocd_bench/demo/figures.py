"""Pure functions that compute the demo's figures from what was measured."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from adocd.model.decision_record import DecisionRecord
from adocd.model.sample import Sample
from adocd_bench.errors import RunFailed
from adocd_bench.programs.fill import FillReport
from adocd_bench.results import ResultFile
from adocd_bench.run.observe import settings_of

_MICROS_PER_S = 1_000_000
_MAX_DISAGREEMENT = 0.02
_MAX_OTHERS_CPU = 0.1


@dataclass(frozen=True)
class DecisionNote:
    """One decision as it is shown: `after_s` is seconds since the half's first sample."""

    after_s: float
    rule: str
    signal: str
    reason: str
    outcome: str | None
    settings: dict[str, Any]


@dataclass(frozen=True)
class HalfFigures:
    """One half's result.

    Attributes:
        policy: the only difference between the halves.
        seconds: how long the program wrote, by its own account.
        writes: how many writes it made.
        writes_per_s: the mean, by its own account.
        worst_second_writes_per_s: the fewest writes in a whole second of its report file.
        writes_by_second: the writes of each whole second of its report file.
        stalled_fraction: share of the time the writer waited (increase of STALL_MICROS over elapsed time).
        stopped_fraction: share of the time that writes were seen stopped; RocksDB reports a stop for full memtables
            only when it is over, so between two samples one can be missed and this is a lower bound.
        delayed_fraction: share of the time that writes were seen delayed; the same holds.
        decisions: what the law decided, oldest first.
        others_cpu_fraction: share of the machine's processors that other programs took meanwhile.

    """

    policy: str
    seconds: float
    writes: int
    writes_per_s: float
    worst_second_writes_per_s: float
    stalled_fraction: float
    stopped_fraction: float
    delayed_fraction: float
    decisions: tuple[DecisionNote, ...] = ()
    others_cpu_fraction: float = 0.0
    writes_by_second: tuple[int, ...] = ()

    def decisions_by_rule(self) -> dict[str, int]:
        """Count the decisions of each rule, the most frequent first."""
        return dict(Counter(note.rule for note in self.decisions).most_common())

    def as_json(self) -> dict[str, Any]:
        """Make the half's JSON object."""
        return {
            "writes_per_s": round(self.writes_per_s, 1),
            "stalled_fraction": round(self.stalled_fraction, 6),
            "worst_second_writes_per_s": round(self.worst_second_writes_per_s, 1),
            "stopped_fraction": round(self.stopped_fraction, 6),
            "delayed_fraction": round(self.delayed_fraction, 6),
            "seconds": round(self.seconds, 3),
            "writes": self.writes,
            "others_cpu_fraction": round(self.others_cpu_fraction, 6),
            "decisions_by_rule": self.decisions_by_rule(),
            "decisions": [vars(note) | {"after_s": round(note.after_s, 3)} for note in self.decisions],
        }


@dataclass(frozen=True)
class DemoFacts:
    """What both halves had in common; `profile` is the device profile that was in force."""

    on: str
    seconds: int
    profile: str
    device: str | None
    directory: str
    rocksdb_version: str
    seed: int


@dataclass(frozen=True)
class DemoResult:
    """The demo's result."""

    facts: DemoFacts
    fixed: HalfFigures
    adoc: HalfFigures
    warnings: tuple[str, ...] = field(default=())

    @property
    def throughput_ratio(self) -> float | None:
        """Writes per second with `adoc` over those with `fixed`; None when `fixed` wrote nothing."""
        return self.adoc.writes_per_s / self.fixed.writes_per_s if self.fixed.writes_per_s else None

    @property
    def stall_reduction(self) -> float | None:
        """Share of the stalled time that is gone with `adoc`; negative when there is more, None without any."""
        if not self.fixed.stalled_fraction:
            return None
        return 1 - self.adoc.stalled_fraction / self.fixed.stalled_fraction

    def as_json(self) -> dict[str, Any]:
        """Make the JSON object that `--json` prints as the last line."""
        return {
            "fixed": self.fixed.as_json(),
            "adoc": self.adoc.as_json(),
            "throughput_ratio": _rounded(self.throughput_ratio),
            "stall_reduction": _rounded(self.stall_reduction),
            **vars(self.facts),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class MeasuredDemo:
    """The result as it is kept, and when it was measured."""

    began_unix_s: float
    cpus: int
    result: DemoResult


FILE = ResultFile(TypeAdapter(MeasuredDemo), option="--keep")


def half_figures(
    policy: str,
    report: FillReport,
    writes_by_second: Sequence[int],
    samples: Sequence[Sample],
    decisions: Sequence[DecisionRecord],
) -> HalfFigures:
    """Work out one half's figures; `samples` are those of the program's last session, oldest first.

    Raises RunFailed when too little was measured to say anything.
    """
    if len(samples) < 2:
        raise RunFailed(f"the daemon took {len(samples)} samples of the program with {policy}: too few to measure")
    if not writes_by_second:
        raise RunFailed(f"the program reported no single second of its run with {policy}")
    # Samples taken after the last write, while the database closes, would dilute the shares.
    first = samples[0]
    last = [sample for sample in samples if sample.monotonic_s <= first.monotonic_s + report.seconds][-1]
    elapsed_s = last.monotonic_s - first.monotonic_s
    if elapsed_s <= 0:
        raise RunFailed(f"the daemon's samples with {policy} do not advance in time")
    if first.counters.stall_micros is None or last.counters.stall_micros is None:
        raise RunFailed(f"the agent cannot read how long writers waited with {policy}: the program has no statistics")
    stalled_s = (last.counters.stall_micros - first.counters.stall_micros) / _MICROS_PER_S
    return HalfFigures(
        policy=policy,
        seconds=report.seconds,
        writes=report.writes,
        writes_per_s=report.writes_per_s,
        worst_second_writes_per_s=float(min(writes_by_second)),
        stalled_fraction=stalled_s / elapsed_s,
        stopped_fraction=(last.stopped_s - first.stopped_s) / elapsed_s,
        delayed_fraction=(last.delayed_s - first.delayed_s) / elapsed_s,
        decisions=tuple(decision_note(decision, first.monotonic_s) for decision in decisions),
        writes_by_second=tuple(writes_by_second),
    )


def decision_note(decision: DecisionRecord, start_s: float) -> DecisionNote:
    """Shorten a decision to what is shown."""
    return DecisionNote(
        after_s=decision.monotonic_s - start_s,
        rule=decision.rule,
        signal=decision.signal,
        reason=decision.reason,
        outcome=decision.outcome,
        settings=settings_of(decision),
    )


def disagreement(report: FillReport, writes_by_second: Sequence[int], samples: Sequence[Sample]) -> str | None:
    """Compare the program's count of writes with RocksDB's ticker; a warning when they differ by more than 2 %.

    The last sample may precede the last write by an interval, or by more where the daemon got little of the processors;
    the comparison allows for what can be written in that time at the best second's rate.
    """
    ticked = samples[-1].counters.writes
    if ticked is None:
        return None
    interval_s = max((sample.interval_s for sample in samples), default=1.0)
    seen_s = samples[-1].monotonic_s - samples[0].monotonic_s
    unseen = max(writes_by_second) * max(interval_s, report.seconds - seen_s)
    too_many = ticked > report.writes * (1 + _MAX_DISAGREEMENT)
    too_few = ticked + unseen < report.writes * (1 - _MAX_DISAGREEMENT)
    if not (too_many or too_few):
        return None
    return (
        f"the program counted {report.writes} writes and RocksDB's ticker {ticked}, more than "
        f"{_MAX_DISAGREEMENT:.0%} apart"
    )


def disturbance(others_cpu_fraction: float) -> str | None:
    """Return a warning if other programs used so much CPU that the figures mean little."""
    if others_cpu_fraction <= _MAX_OTHERS_CPU:
        return None
    return f"other programs took {others_cpu_fraction:.0%} of this machine's processors meanwhile, so measure again"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
