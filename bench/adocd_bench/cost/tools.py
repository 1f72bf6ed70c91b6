"""What the commands cost to start: user and system CPU time of each, run as processes beside a daemon."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from adocd_bench.cost.measured import Tools
from adocd_bench.errors import RunFailed
from adocd_bench.host.noise import cpu_times, others_share

#: `targets` draws a table only if there is a database to show.
COMMANDS = ("adocctl --help", "adocctl targets", "adocctl --version", "adocd --help", "adocd exec -- true")


def tools(room: Path, runs: int) -> Tools:
    """Measure each command `runs` times, in turn, so that a drift of the machine's speed affects all equally."""
    environment = dict(os.environ) | {"ADOCD_RUN_DIR": str(room), "COLUMNS": "120"}
    measured: dict[str, list[float]] = {command: [] for command in COMMANDS}
    before = cpu_times()
    for number in range(runs + 1):
        for command, taken in measured.items():
            cpu_s = _cpu_s(command, environment)
            if number > 0:  # the first may have to compile Python's files
                taken.append(cpu_s)
    return Tools({command: tuple(taken) for command, taken in measured.items()}, others_share(before, cpu_times()))


def _cpu_s(command: str, environment: dict[str, str]) -> float:
    name, *words = command.split()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [Path(sys.executable).with_name(name), *words], env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RunFailed(f"{command} ended with {done.returncode}: {done.stderr.strip()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
