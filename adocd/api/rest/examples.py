"""Examples of answers for the OpenAPI document, by operation; a test holds each to its schema."""

from collections.abc import Mapping
from typing import Any

_TARGET = "3f2a9c4b7d10e586"
_PATH = "/var/lib/shop/db"
_UNIX_S = 1795307618.25
_STORE = "/var/lib/kafka-streams/orders/0_3/rocksdb/balances"
_MIB = 1 << 20
_SHAPING = {"step_factor": 0.0, "pacing_s": 0.0, "refractory_s": 0.0, "judge_s": 0.0}
_POLICY = {"controller": "adoc", "parameters": {"threads_max": 8}, "dry_run": False, "shaping": _SHAPING}
_JOURNAL = {"path": "/var/lib/adocd/journal.sqlite", "problem": None, "rescued": None, "lost_decisions": 0}
_OVERRIDE = {
    "target": _TARGET,
    "option": "write_buffer_size",
    "column_family": None,
    "value": "134217728",
    "remaining_s": 3599.8,
    "reason": "a bulk load",
    "who": "alice",
    "unix_s": _UNIX_S,
    "ineffective": None,
}
_STALL = {
    "condition": "delayed",
    "causes": [{"cause": "l0", "column_family": "default", "condition": "delayed"}],
    "since_unix_s": _UNIX_S - 3,
    "noticed_unix_s": _UNIX_S - 2.9,
    "evidence": "stall events",
    "why": "writes were delayed: column family default has 21 files in level 0, and 20 begin the slowdown",
}
_LISTED = {
    "id": _TARGET,
    "path": _PATH,
    "state": "attached",
    "process": {
        "host": "db1",
        "pid": 4711,
        "program": "shop",
        "user": "shop",
        "rocksdb_version": "7.8.3",
        "agent": "native 0.1.0",
        "protocol": "1.8",
    },
    "policy": _POLICY,
    "paused": None,
    "sentence": "adoc: 52,310 writes/s, writes delayed, L0 overflow",
    "writes_per_s": 52310.0,
    "condition": "delayed",
    "stall": _STALL,
    "decisions": 17,
    "labels": {},
}
_DECISION = {
    "sequence": 17,
    "monotonic_s": 81234.5,
    "unix_s": _UNIX_S,
    "controller": "adoc",
    "settings": [{"knob": "background_jobs", "value": 6, "column_family": None}],
    "signal": "21 files in level 0, and 20 begin the slowdown",
    "rule": "adoc.level0",
    "reason": "level 0 overflows: more threads merge it",
    "guards": [],
    "outcome": "applied",
    "elapsed_s": 0.021,
    "detail": None,
    "changes": [
        {
            "option": {"scope": "database", "option": "max_background_jobs", "name": None},
            "before": "4",
            "value": "6",
        }
    ],
    "times": 1,
    "until_unix_s": None,
}
_JOURNALED = {name: value for name, value in _DECISION.items() if name != "monotonic_s"} | {
    "target": _TARGET,
    "path": _PATH,
    "run": "adocd@db1:815:1.25",
    "changes": [{"option": "max_background_jobs", "before": "4", "value": "6"}],
}
_POINT = {
    "unix_s": _UNIX_S,
    "interval_s": 1.0,
    "writes_per_s": 52310.0,
    "written_bytes_per_s": 53_565_440,
    "flush_written_bytes_per_s": 50_331_648,
    "compaction_read_bytes_per_s": 90_177_536,
    "compaction_written_bytes_per_s": 88_080_384,
    "stopped_fraction": 0.0,
    "delayed_fraction": 0.62,
    "stalled_by_cause": {"l0": 0.62},
    "l0_files": 21,
    "l0_slowdown_trigger": 20,
    "l0_stop_trigger": 36,
    "immutable_memtables": 1,
    "memtables_bytes": 100 * _MIB,
    "pending_compaction_bytes": 7_516_192_768,
    "soft_pending_compaction_bytes_limit": 68_719_476_736,
    "hard_pending_compaction_bytes_limit": 274_877_906_944,
    "device_bytes_per_s": 241_172_480,
    "device_busy_fraction": 0.97,
    "knobs": {"background_jobs": 4, "write_buffer_size": 64 * _MIB, "rate_limiter_bytes_per_sec": None},
}
_PAUSED = {"paused": "alice paused it: maintenance", "was_paused": False, "warning": None}
_RESUMED = {"paused": None, "was_paused": True, "warning": None}
_RESTORED: dict[str, Any] = {
    "restored": {_TARGET: {"state": "running", "steps_left": 2, "waiting_for": None, "errors": []}},
    "unlike": {},
    "failed": {},
    "warning": None,
}
_REMOVED = {"removed": True, "warning": None}
_OPERATION = {
    "id": 42,
    "unix_s": _UNIX_S,
    "who": "alice",
    "what": "pause",
    "target": _TARGET,
    "path": _PATH,
    "sentence": "alice paused it: maintenance",
}
_LAW = {
    "name": "adoc",
    "summary": "Tunes threads and batch size by the overflow of memory, level 0 or redundancy",
    "source": "Yu et al., FAST'23",
    "period_s": 1.0,
    "knobs": ["background_jobs", "batch_size"],
    "needs": "",
    "parameters": {"threads_max": 20, "batch_max_bytes": 512 * _MIB},
    "limits": {"threads_max": [1, None], "batch_max_bytes": [1 * _MIB, None]},
    "default": False,
}
_FINDING = {
    "rule": "old-thread-options",
    "severity": "useless",
    "subject": "max_background_flushes",
    "column_families": [],
    "reason": "max_background_flushes is 4, so max_background_jobs has no effect",
    "fix": "leave it out of the options, and set max_background_jobs",
    "source": "options.h",
}
_VERDICT = {
    "kind": "helps",
    "title": "The tuner helps",
    "sentence": "Writes were held for 38 % of the 15 min before adoc began (40 min ago), and 2.1 % of the last 15 min. "
    "Writes per second: 41,200 before, 52,310 since.",
    "before": {"measured_s": 900.0, "share": 0.38, "by_cause": {"l0": 0.31, "memtable": 0.07}, "writes_per_s": 41200.0},
    "since": {"measured_s": 900.0, "share": 0.021, "by_cause": {"memtable": 0.021}, "writes_per_s": 52310.0},
    "pinned": None,
}

_KEPT = {
    "id": "81560d9d192522fb", "path": "/data/old", "policy": True, "paused": False, "overrides": 1, "originals": [],
}  # fmt: skip

ANSWERS: Mapping[str, Any] = {
    "health": {"status": "ok", "version": "0.1.0", "pid": 815, "targets": 1, "journal": _JOURNAL, "web_problem": None},
    "listControllers": {"controllers": [_LAW], "problems": {}},
    "listTargets": {"targets": [_LISTED], "kept": [_KEPT], "problems": {}, "journal": _JOURNAL, "web_problem": None},
    "forgetTarget": {"forgotten": _KEPT},
    "getHistory": {
        "target": _TARGET,
        "resolution_s": 2.0,
        "from_unix_s": _UNIX_S - 900,
        "to_unix_s": _UNIX_S,
        "points": [_POINT],
    },
    "listDecisions": {"decisions": [_DECISION], "next_before": 17},
    "listDecisionsOfAllRuns": {"decisions": [_JOURNALED]},
    "getPolicy": _POLICY,
    "setPolicy": _POLICY,
    "resetPolicy": {"controller": "fixed", "parameters": {}, "dry_run": False, "shaping": _SHAPING},
    "setPolicies": {
        "policy": _POLICY,
        "done": {_TARGET: _STORE},
        "failed": {"81560d9d192522fb": "/var/lib/kafka-streams/orders/0_4/rocksdb/balances is held by adocd@db2:4711"},
        "closed": {},
    },
    "resetPolicies": {"policy": None, "done": {_TARGET: _STORE}, "failed": {}, "closed": {}},
    "comparePolicy": {
        "etag": '"4c9184f37cff01bc"',
        "changes": [{"field": "parameters.threads_max", "now": 20, "wanted": 8}],
        "refused": None,
    },
    "listOverrides": {"overrides": [_OVERRIDE]},
    "setOverride": _OVERRIDE,
    "removeOverride": _REMOVED,
    "listOverridesOfAll": {"overrides": [_OVERRIDE | {"target": None}]},
    "setOverrideOfAll": _OVERRIDE | {"target": None},
    "removeOverrideOfAll": _REMOVED,
    "pause": _PAUSED,
    "resume": _RESUMED,
    "restore": _RESTORED,
    "pauseAll": _PAUSED,
    "resumeAll": _RESUMED,
    "restoreAll": _RESTORED,
    "lint": {"target": _TARGET, "path": _PATH, "findings": [_FINDING]},
    "getVerdict": {"target": _TARGET, "path": _PATH, "verdict": _VERDICT},
    "listOperations": {"operations": [_OPERATION], "next_before": None},
}
