"""A replay as JSON."""

from dataclasses import asdict
from typing import Any

from adocd.model.policy import Policy
from adocd.recording.found import NOTE, ReplayedDecision, ReplayResult
from adocd.recording.reader import Recording

Json = dict[str, Any]


def summary(recording: Recording, policy: Policy, found: ReplayResult) -> Json:
    """Return a replay's findings as JSON; the same recording and policy always give the same."""
    header = recording.header
    return {
        "policy": policy.controller,
        "parameters": dict(policy.parameters),
        "shaping": asdict(policy.shaping),
        "note": NOTE,
        "file": str(recording.path),
        "target": header.target,
        "path": header.path,
        "rocksdb_version": found.rocksdb_version,
        "recorded": {
            "adocd": header.adocd,
            "began_unix_s": header.began_unix_s,
            "tick_s": header.tick_s,
            "policies": found.recorded_policies,
            "decisions": len(found.recorded_decisions),
            "ended": recording.ended,
        },
        "samples": found.samples,
        "seconds": found.seconds,
        "sessions": found.sessions,
        "gaps": found.gaps,
        "missed": found.missed,
        "damaged_lines": recording.damaged_lines,
        "torn": recording.torn,
        "decisions": [_decided(decided) for decided in found.decisions],
        "not_listed": found.not_listed,
        "same_again": sum(decided.same_again for decided in found.decisions),
        "unchanged": found.unchanged,
        "idle": [asdict(idle) for idle in found.idle],
        "left_out": found.left_out,
    }


def _decided(decided: ReplayedDecision) -> Json:
    return asdict(decided) | {"guards": [str(note) for note in decided.guards]}
