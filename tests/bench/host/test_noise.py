"""What other programs took of the machine."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from adocd_bench.demo.figures import disturbance
from adocd_bench.host import noise
from adocd_bench.host.noise import CpuTimes, cpu_times, others_cpu, others_share

#: Burns 0.3 s of user time, and 0.3 s of the kernel's.
BURN = "import os\nwhile os.times().user < 0.3: sum(range(100_000))\nwhile os.times().system < 0.3: os.urandom(100_000)"
NONE = CpuTimes(0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("after", "user", "kernel", "signed"),
    [
        (CpuTimes(20.0, 10.0, 0.0, 10.0, 0.0), 0.0, 0.0, 0.0),
        (CpuTimes(20.0, 15.0, 0.0, 10.0, 0.0), 0.25, 0.0, 0.25),
        (CpuTimes(20.0, 10.0, 5.0, 10.0, 1.0), 0.0, 0.2, 0.2),
        (CpuTimes(20.0, 12.0, 5.0, 10.0, 4.0), 0.1, 0.05, 0.15),
        (CpuTimes(20.0, 15.0, 5.0, 0.0, 0.0), 0.75, 0.25, 1.0),
        (CpuTimes(20.0, 5.0, 0.0, 6.0, 0.0), 0.0, 0.0, -0.05),  # the two clocks are not read at the same moment
        (CpuTimes(20.0, 9.0, 6.0, 10.0, 4.0), 0.0, 0.05, 0.05),  # what is too much of one is too little of the other
        (CpuTimes(20.0, 13.0, 3.0, 10.0, 4.0), 0.1, 0.0, 0.1),
        (NONE, 0.0, 0.0, 0.0),
    ],
)
def test_the_share_is_what_was_busy_but_not_ours(after: CpuTimes, user: float, kernel: float, signed: float) -> None:
    found = others_cpu(NONE, after)
    assert [found.user, found.kernel, found.signed] == pytest.approx([user, kernel, signed])
    assert others_share(NONE, after) == pytest.approx(user + kernel)


def test_what_proc_stat_says_that_was_stolen_or_the_kernels_is_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another guest of the hypervisor takes cannot be had on demand: /proc/stat says it (proc(5))."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    monkeypatch.setattr(noise, "_ours", lambda: (0.0, 0.0))  # there is no process in that directory

    def read(**seconds: float) -> CpuTimes:
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
        ticks = " ".join(str(round(seconds.get(name, 0) * ticks_per_s)) for name in names)
        (tmp_path / "stat").write_text(f"cpu  {ticks}\n")
        return cpu_times()

    # Guests' time is part of user time, and waiting for a device is not busy.
    found = read(user=4, nice=2, steal=1, guest=4, system=5, irq=1, softirq=2, idle=4, iowait=1)
    assert (found.all_s, found.user_s, found.kernel_s) == (20.0, 7.0, 8.0)
    none = read()
    for name in ("user", "nice", "system", "irq", "softirq", "steal"):
        busy = others_share(none, read(**{name: 300, "idle": 700}))
        assert busy == pytest.approx(0.3), name
    assert others_share(none, read(iowait=300, idle=700)) == 0.0


def test_a_child_that_was_waited_for_is_ours() -> None:
    before = cpu_times()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    after = cpu_times()
    assert after.our_user_s - before.our_user_s >= 0.3
    assert after.our_kernel_s - before.our_kernel_s >= 0.3
    assert after.all_s > before.all_s


def test_a_child_that_still_runs_is_ours_with_what_it_started() -> None:
    before = cpu_times()
    wrapped = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", wrapped], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.poll() is None
        running = cpu_times()
        child.communicate(b"\n")
    assert round(running.our_user_s - before.our_user_s, 6) >= 0.3
    assert round(running.our_kernel_s - before.our_kernel_s, 6) >= 0.3
    assert cpu_times().our_user_s - before.our_user_s < 2 * (running.our_user_s - before.our_user_s), "counted once"


def test_a_busy_machine_is_said_and_a_quiet_one_is_not() -> None:
    assert disturbance(0.05) is None
    assert "40%" in (disturbance(0.4) or "")
