"""Every value that a cost rests on is kept, and what is printed is worked out of what is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.cost.__main__ import main
from adocd_bench.cost.measured import (
    FILE,
    Attach,
    Daemon,
    Fleets,
    MeasuredCost,
    ReactedTo,
    Reactions,
    Snapshots,
    TimedSnapshots,
    Tools,
)
from adocd_bench.fleet.measured import FleetMeasured

FLEET = FleetMeasured(
    targets=2,
    policy="adoc",
    elapsed_s=10.0,
    tick_s=1.0,
    cpu_s=0.5,
    simulated_cpu_s=1.0,
    resident_bytes=64 << 20,
    bounds_s=(0.1, 1.0),
    durations=(15, 1, 0),
    lateness=(12, 3, 1),
    collections=(1, 1, 0),
    times_s=((0.5, 1.5, 2.75), ()),
    others_cpu_fraction=0.25,
)
STALLS = (
    ReactedTo(1, "memtable", "stopped", 10.0, 12.0, 0.5, 1.0, None),
    ReactedTo(1, "memtable", "stopped", 20.0, 22.0, 0.25, None, None),
    ReactedTo(2, "l0", "delayed", 10.0, 12.0, None, None, "too early"),
)
CASES: list[tuple[Attach | Snapshots | Daemon | Fleets | Reactions | Tools, dict[str, Any]]] = [
    (
        Attach("db_bench", 9, (4.0, 8.0, 5.0), (5.0, 4.0, 5.0), (0.1, 0.3, 0.2)),
        {
            "pairs": 3,
            "without_us_per_write": {"min": 4.0, "p50": 5.0, "max": 8.0},
            "attached_us_per_write": {"min": 4.0, "p50": 5.0, "max": 5.0},
            "ratio": {"min": 0.5, "p50": 1.0, "max": 1.25},
            "agent_threads_cpu_s_per_s": {"min": 0.1, "p50": 0.2, "max": 0.3},
        },
    ),
    (
        Snapshots("db_bench", {"idle": TimedSnapshots((3.0, 1.0, 2.0), (0.3, 0.1, 0.2), 1)}),
        {
            "count": 3,
            "idle": {
                "min": 1.0,
                "p50": 2.0,
                "max": 3.0,
                "p99.9": 4.0,
                "collect_p50": 0.2,
                "collect_p99.9": 0.4,
                "stopped_fraction": 0.333,
            },
        },
    ),
    (Daemon(20.0, 0.5, 3 << 20), {"seconds": 20.0, "share_of_a_core": 0.025, "resident_mib": 3.0}),
    (
        Reactions("cap-50", 30, 2, STALLS, 0.5),
        {
            "stalls": 3,
            "stalls_by_cause": {"memtable stopped": 2, "l0 delayed": 1},
            "answered": 2,
            "sent_s": {"p50": 0.375, "p90": 0.5, "max": 0.5},
            "applied_s": {"p50": 1.0, "p90": 1.0, "max": 1.0},
            "not_answered": {"too early": 1},
        },
    ),
    (Tools({"adocd": (0.2, 0.1, 0.4)}, 0.5), {"runs": 3, "cpu_s": {"adocd": {"min": 0.1, "p50": 0.2, "max": 0.4}}}),
]


@pytest.mark.parametrize(("found", "figures"), CASES, ids=lambda case: getattr(case, "kind", ""))
def test_what_is_printed_comes_of_what_is_kept(
    found: Attach | Snapshots | Daemon | Fleets | Reactions | Tools, figures: dict[str, Any], tmp_path: Path
) -> None:
    measured = MeasuredCost(1.0, 2, found)
    FILE.write(tmp_path / "kept.json", measured)
    assert FILE.read(tmp_path / "kept.json") == measured
    assert figures.items() <= found.figures().items()


def test_a_fleet(tmp_path: Path) -> None:
    measured = MeasuredCost(1.0, 2, Fleets((FLEET,)))
    FILE.write(tmp_path / "kept.json", measured)
    assert FILE.read(tmp_path / "kept.json") == measured
    figures = FLEET.figures()
    assert (figures["share_of_a_core"], figures["ms_per_target_and_second"], figures["resident_mib"]) == (0.05, 25, 64)
    # 20 were due, and one of each target may lie on either side of the window's edges.
    assert (figures["cycles"], figures["cycles_missed"]) == (16, 2)
    assert figures["jitter_ms"] == {"p50": 0.0, "p99": 250.0, "max": 250.0}
    assert (figures["began_within_100_ms"], figures["simulated_share_of_a_core"]) == (0.75, 0.1)
    assert (figures["garbage_collections"], figures["garbage_pause_within_ms"]) == (2, 1000.0)


def test_the_command_keeps_what_it_measures_and_shows_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A daemon and a real db_bench for a second."""

    def printed(*arguments: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["adocd_bench.cost", *arguments])
        main()
        found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return found

    kept = tmp_path / "daemon.json"
    measured = printed("daemon", "--seconds", "1", "--keep", str(kept))
    assert measured["share_of_a_core"] > 0
    assert measured["resident_mib"] > 1
    assert printed("daemon", "--again", str(kept)) == measured
