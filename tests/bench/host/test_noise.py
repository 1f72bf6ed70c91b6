"""What other programs took of the machine."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from adocd_bench.demo.figures import disturbance
from adocd_bench.host.noise import CpuTimes, cpu_times, others_share

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


def test_a_processor_that_was_stolen_is_others_and_a_guest_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another guest of the hypervisor takes cannot be had on demand: /proc/stat says it (proc(5))."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))

    def read(**seconds: float) -> CpuTimes:
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
        ticks = " ".join(str(round(seconds.get(name, 0) * ticks_per_s)) for name in names)
        (tmp_path / "stat").write_text(f"cpu  {ticks}\n")
        return cpu_times()

    idle = read()
    assert read(steal=3, idle=7).busy_s - idle.busy_s == pytest.approx(3.0)
    found = read(user=4, nice=2, steal=1, guest=4, system=5, idle=8)
    assert (found.all_s, found.busy_s) == (20.0, 7.0)
    stolen = replace(read(steal=3, idle=7), ours_s=idle.ours_s)
    assert others_share(idle, stolen) == pytest.approx(0.3)


def test_a_child_that_was_waited_for_is_ours() -> None:
    before = cpu_times()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    after = cpu_times()
    assert after.ours_s - before.ours_s >= 0.3
    assert after.all_s > before.all_s


def test_a_busy_machine_is_said_and_a_quiet_one_is_not() -> None:
    assert disturbance(0.05) is None
    assert "40%" in (disturbance(0.4) or "")
