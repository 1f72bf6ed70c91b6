"""The outcome of a change: an error means "unknown", and what reads back decides."""

import pytest

from adocd.daemon.change.actuator import judge
from adocd.model.change import ColumnFamilyChange, DatabaseChange, StepResult

FAMILY = ColumnFamilyChange("default", {"write_buffer_size": "134217728"})
DATABASE = DatabaseChange({"max_background_jobs": "4"})
GOOD_FAMILY = StepResult("applied", 0.02, None, {"write_buffer_size": "134217728"})
GOOD_DATABASE = StepResult("applied", 0.02, None, {"max_background_jobs": "4"})


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ((GOOD_FAMILY, GOOD_DATABASE), "applied"),
        ((StepResult("unchanged", 0, None, {}), StepResult("unchanged", 0, None, {})), "unchanged"),
        (
            (
                GOOD_FAMILY,
                StepResult("error", 0.1, "IO error: No space left on device", {"max_background_jobs": "4"}),
            ),
            "applied-unpersisted",
        ),
        ((GOOD_FAMILY, StepResult("error", 0.1, "Invalid argument", {"max_background_jobs": "2"})), "rejected"),
        ((StepResult("error", 0.1, "Invalid argument", {"write_buffer_size": "67108864"}),), "rejected"),
        ((GOOD_FAMILY, StepResult("applied", 0.1, None, {"max_background_jobs": "2"})), "rejected"),
    ],
)
def test_judge(steps: tuple[StepResult, ...], outcome: str) -> None:
    assert judge((FAMILY, DATABASE), steps)[0] == outcome
