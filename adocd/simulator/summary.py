"""A simulation in figures: its result and its course."""

from collections.abc import Sequence
from typing import Any

from adocd.model.policy import Policy
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.simulator.opening import SimulationRequest
from adocd.simulator.run import Simulation

#: Most columns in which a run is drawn.
COLUMNS = 72
Json = dict[str, Any]


def summary(asked: SimulationRequest, policy: Policy, simulation: Simulation) -> Json:
    """Return the result as JSON, without its course; everything except `elapsed_s` is the same each time."""
    seconds = simulation.simulated_s
    return {
        "policy": policy.controller,
        "parameters": dict(policy.parameters),
        "profile": asked.profile,
        "workload": asked.workload,
        "rate_limiter_bytes_per_s": asked.rate_limiter_bytes_per_s,
        "simulated_s": seconds,
        "elapsed_s": simulation.elapsed_s,
        "writes_per_s": simulation.writes / seconds,
        "stalled_fraction": sum(simulation.stalled_s.values()) / seconds,
        "stall_s": dict(simulation.stalled_s),
        "delayed_s": simulation.delayed_s,
        "stopped_s": simulation.stopped_s,
        "decisions": simulation.decision_count,
        "written_bytes": simulation.written_bytes,
        "write_amplification": _ratio(simulation.device_bytes, simulation.written_bytes),
    }


def over_time(samples: Sequence[Sample], seconds: float, columns: int = COLUMNS) -> list[Json]:
    """Divide a run into equal parts; each has the mean of its samples, or the last one for settings.

    A part without a sample is left out, so a run shorter than `columns` ticks has fewer parts.
    """
    parts: list[list[Sample]] = [[] for _ in range(columns)]
    for sample in samples:
        middle_s = sample.monotonic_s - sample.interval_s / 2
        parts[min(columns - 1, int(middle_s / seconds * columns))].append(sample)
    return [_part(part) for part in parts if part]


def _waited(sample: Sample) -> float:
    """Return the share of a sample's time that writers waited; RocksDB counts a long wait only when it is over."""
    going_on = 1.0 if sample.condition == "stopped" and not sample.writes_per_s else 0.0
    return max(sample.stalled_fraction or 0.0, sample.stopped_fraction, going_on)


def _part(samples: Sequence[Sample]) -> Json:
    families = [sample.column_families[0] for sample in samples]
    first, last = samples[0], samples[-1]
    return {
        "begin_s": first.monotonic_s - first.interval_s,
        "end_s": last.monotonic_s,
        "writes_per_s": _mean([sample.writes_per_s or 0.0 for sample in samples]),
        "stalled_fraction": min(1.0, _mean([_waited(sample) for sample in samples])),
        "l0_files": _mean([family.l0_files for family in families]),
        "pending_bytes": _mean([family.pending_compaction_bytes for family in families]),
        "background_jobs": last.background_jobs,
        "batch_bytes": _batch(families[-1]),
    }


def _batch(family: ColumnFamilySample) -> int:
    return family.options.write_buffer_size_bytes


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
