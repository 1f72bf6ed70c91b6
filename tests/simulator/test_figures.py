"""Figures that no change for speed may move: a run's, written down anew where the model itself was changed."""

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
        ("fixed", {}, 12_681_524, 0, (26.803659, 430.036015, 0.0), (33, 30, 134)),
        ("adoc", {}, 27_994_113, 47, (99.705357, 184.272204, 0.0), (18, 17, 15)),
        ("silk", {"bandwidth_bytes_per_s": CAP}, 23_910_835, 16, (75.305519, 254.767717, 0.0), (129, 121, 102)),
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
