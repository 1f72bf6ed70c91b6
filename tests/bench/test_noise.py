"""What other programs took of the machine."""

import subprocess
import sys

import pytest

from adocd.bench.figures import disturbance
from adocd.bench.noise import CpuTimes, cpu_times, others_share

#: Burns 0.3 s of user time.
BURN = "import os\nwhile os.times().user < 0.3: sum(range(100_000))"


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (CpuTimes(20.0, 10.0, 10.0), 0.0),
        (CpuTimes(20.0, 15.0, 10.0), 0.25),
        (CpuTimes(20.0, 20.0, 0.0), 1.0),
        (CpuTimes(20.0, 5.0, 6.0), 0.0),  # the two clocks are not read at the same moment
        (CpuTimes(0.0, 0.0, 0.0), 0.0),
    ],
)
def test_the_share_is_what_was_busy_but_not_ours(after: CpuTimes, share: float) -> None:
    assert others_share(CpuTimes(0.0, 0.0, 0.0), after) == pytest.approx(share)


def test_a_child_that_was_waited_for_is_ours() -> None:
    before = cpu_times()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    after = cpu_times()
    assert after.ours_s - before.ours_s >= 0.3
    assert after.all_s > before.all_s


def test_a_busy_machine_is_said_and_a_quiet_one_is_not() -> None:
    assert disturbance(0.05) is None
    assert "40%" in (disturbance(0.4) or "")
