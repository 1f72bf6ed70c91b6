"""Samples as the daemon's REST would send them."""

from typing import Any

from adocd_bench.demo.daemon_client import Sample


def sample_json(second: int, **changes: Any) -> dict[str, Any]:
    """Make the JSON of a sample taken `second` seconds into the run, at 1000 writes/s and without a stall."""
    return {
        "sequence": second + 1,
        "session": "b",
        "monotonic_s": 500.0 + second,
        "interval_s": 1.0,
        "writes_per_s": 1000.0,
        "written_bytes_per_s": 1_016_000.0,
        "stalled_fraction": 0.0,
        "condition": "normal",
        "counters": {"writes": 1000 * (second + 1), "written_bytes": 1, "stall_micros": 0, "flushes": 0},
        "stopped_s": 0.0,
        "delayed_s": 0.0,
        "background_jobs": 2,
        "column_families": [
            {
                "name": "default",
                "l0_files": 3,
                "immutable_memtables": 1,
                "options": {"write_buffer_size_bytes": 64 << 20},
            }
        ],
        "overflow": [],
    } | changes


def sample(second: int, **changes: Any) -> Sample:
    """Make a sample from `sample_json`."""
    return Sample.model_validate(sample_json(second, **changes))


def decision_json(sequence: int, second: float, rule: str = "MMO") -> dict[str, Any]:
    """Make the JSON of a decision taken `second` seconds into the run."""
    return {
        "sequence": sequence,
        "monotonic_s": 500.0 + second,
        "controller": "adoc",
        "settings": [
            {"knob": "background_jobs", "value": 1, "column_family": None},
            {"knob": "batch_size", "value": 128 << 20, "column_family": "default"},
            {"knob": "batch_size", "value": 64 << 20, "column_family": "other"},
        ],
        "signal": "immutable_memtables",
        "rule": rule,
        "reason": "2 immutable memtables wait for their flush",
        "guards": [],
        "outcome": "applied",
    }
