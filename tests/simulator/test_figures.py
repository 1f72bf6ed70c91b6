"""Figures that no change for speed may move: a run's, written down before the daemon's cycle was made cheaper."""

from __future__ import annotations

import pytest

from adocd.model.policy import ParameterValue, Policy
from adocd.simulator.database import Setup
from adocd.simulator.device import MB, device
from adocd.simulator.run import run
from adocd.simulator.workload import ClosedLoop

CAP = 210 * MB


@pytest.mark.parametrize(
    ("law", "parameters", "writes", "decisions", "waited_s", "level_files"),
    [
        ("fixed", {}, 16_252_105, 0, (36.567232, 379.964559, 0.0), (19, 57, 171)),
        ("adoc", {}, 29_359_836, 39, (140.133943, 120.118691, 0.0), (13, 12, 27)),
        ("silk", {"bandwidth_bytes_per_s": CAP}, 28_534_477, 21, (69.985996, 207.891456, 0.0), (129, 129, 157)),
    ],
)
def test_a_run_comes_to_the_same_to_the_last_write(
    law: str,
    parameters: dict[str, ParameterValue],
    writes: int,
    decisions: int,
    waited_s: tuple[float, float, float],
    level_files: tuple[int, int, int],
) -> None:
    setup = Setup(
        device("cap-210"), ClosedLoop(90 * MB), rate_limiter_bytes_per_s=CAP if law == "silk" else None
    )  # fmt: skip
    found = run(setup, Policy(law, parameters), seconds=600.0)
    assert (found.writes, found.decision_count) == (writes, decisions)
    assert tuple(found.stalled_s[cause] for cause in ("memtable", "l0", "pending_bytes")) == pytest.approx(waited_s)
    assert found.samples[-1].column_families[0].level_files[:3] == level_files
