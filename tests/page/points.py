"""Points of a target's history, as REST gives them."""

from __future__ import annotations

from typing import Any


def point(unix_s: float, interval_s: float = 1.0, **members: Any) -> dict[str, Any]:
    """Make a point at which nothing is held; `members` say what is else."""
    values: dict[str, Any] = {
        "unix_s": unix_s,
        "interval_s": interval_s,
        "writes_per_s": 1000.0,
        "written_bytes_per_s": 1e6,
        "flush_written_bytes_per_s": 1e6,
        "compaction_read_bytes_per_s": 2e6,
        "compaction_written_bytes_per_s": 2e6,
        "stopped_fraction": 0.0,
        "delayed_fraction": 0.0,
        "stalled_by_cause": {},
        "l0_files": 3,
        "l0_slowdown_trigger": 20,
        "l0_stop_trigger": 36,
        "immutable_memtables": 0,
        "memtables_bytes": 1 << 20,
        "pending_compaction_bytes": 0,
        "soft_pending_compaction_bytes_limit": 64 << 30,
        "hard_pending_compaction_bytes_limit": 0,
        "write_p50_s": 6.5e-6,
        "write_p99_s": 15e-6,
        "write_p99_9_s": 73e-6,
        "write_max_s": 0.012,
        "device_bytes_per_s": None,
        "device_busy_fraction": None,
        "knobs": {"background_jobs": 2},
        "controller": None,
    }
    return values | members


def held_points(begin: int, end: int, stopped: float, delayed: float = 0.0, **members: Any) -> list[dict[str, Any]]:
    """Make a point for each second after `begin` up to `end`, with the same shares of it held by level 0."""
    return [
        point(
            t, stopped_fraction=stopped, delayed_fraction=delayed, stalled_by_cause={"l0": stopped + delayed}, **members
        )
        for t in range(begin + 1, end + 1)
    ]


def decision(sequence: int = 1, unix_s: float = 100.0, **members: Any) -> dict[str, Any]:
    """Make a decision that was applied."""
    values: dict[str, Any] = {
        "sequence": sequence,
        "unix_s": unix_s,
        "controller": "adoc",
        "settings": [{"knob": "batch_size", "value": 64 << 20, "column_family": "default"}],
        "signal": "memory overflow",
        "rule": "adoc.memory",
        "reason": "a larger batch makes flushes fewer",
        "guards": [],
        "outcome": "applied",
        "elapsed_s": 0.031,
        "detail": None,
        "changes": [],
        "times": 1,
        "until_unix_s": None,
    }
    return values | members


def target(**members: Any) -> dict[str, Any]:
    """Make one of the list of targets, at which writes flow under adoc."""
    values: dict[str, Any] = {
        "id": "t1",
        "path": "/data/db",
        "state": "attached",
        "process": {"host": "h", "pid": 7, "program": "prog", "rocksdb_version": "7.8.3", "agent": "native 1"},
        "policy": {"controller": "adoc", "parameters": {}, "dry_run": False, "shaping": {"step_factor": 0.0}},
        "paused": None,
        "sentence": "adoc: 10 writes/s",
        "writes_per_s": 10.0,
        "condition": "normal",
        "stall": None,
        "decisions": 0,
    }
    return values | members


def stall(condition: str = "stopped", *causes: str) -> dict[str, Any]:
    """Make a stall in progress."""
    return {
        "condition": condition,
        "causes": [{"cause": cause, "column_family": "default"} for cause in causes or ("l0",)],
        "since_unix_s": 50.0,
        "noticed_unix_s": 50.5,
        "evidence": "properties",
        "why": "column family default has 36 level-0 files",
    }
