"""Samples and decisions as the daemon makes them, and as its REST sends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from adocd.model.decision import Setting
from adocd.model.decision_record import DecisionRecord
from adocd.model.knob import Knob
from adocd.model.sample import Sample
from tests.controllers.laws import Plant

_SAMPLE, _DECISION = TypeAdapter(Sample), TypeAdapter(DecisionRecord)


def sample(second: float, counters: Mapping[str, int | None] | None = None, **changes: Any) -> Sample:
    """Make a sample taken `second` seconds into the run, at 1000 writes/s and without a stall."""
    plant = Plant(write_buffer_size=str(64 << 20))
    plant.l0_files, plant.immutable_memtables = 3, 1
    made = plant.sample(1.0)
    counted = {"writes": round(1000 * (second + 1)), "stall_micros": 0} if counters is None else counters
    members: dict[str, Any] = {
        "sequence": round(second) + 1,
        "session": "b",
        "monotonic_s": 500.0 + second,
        "writes_per_s": 1000.0,
        "stopped_s": 0.0,
        "delayed_s": 0.0,
        "background_jobs": 2,
        "counters": replace(made.counters, **counted),
    }
    return replace(made, **(members | changes))


def sample_json(second: float, **changes: Any) -> dict[str, Any]:
    """Make the JSON of a sample."""
    made: dict[str, Any] = _SAMPLE.dump_python(sample(second, **changes), mode="json")
    return made


def decision(sequence: int, second: float, rule: str = "MMO", outcome: str = "applied") -> DecisionRecord:
    """Make a decision taken `second` seconds into the run."""
    return _DECISION.validate_python(
        {
            "sequence": sequence,
            "monotonic_s": 500.0 + second,
            "unix_s": 1_700_000_000.0 + second,
            "controller": "adoc",
            "settings": (
                Setting(Knob("background_jobs"), 1),
                Setting(Knob("batch_size"), 128 << 20, "default"),
                Setting(Knob("batch_size"), 64 << 20, "other"),
            ),
            "signal": "immutable_memtables",
            "rule": rule,
            "reason": "2 immutable memtables wait for their flush",
            "guards": (),
            "outcome": outcome,
        }
    )


def decision_json(sequence: int, second: float, outcome: str = "applied") -> dict[str, Any]:
    """Make the JSON of a decision."""
    made: dict[str, Any] = _DECISION.dump_python(decision(sequence, second, outcome=outcome), mode="json")
    return made
