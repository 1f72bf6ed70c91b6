"""Detection of stalls: `python -m adocd_bench.detection [--seconds N] [--keep FILE | --again FILE]`.

Provokes each of RocksDB's stall causes (adocd_bench.detection.settings): with stock db_bench under the native agent,
and with rocksdict under the Python agent. During a run it records what a daemon would receive, at 1 Hz and at 10 Hz
(adocd_bench.detection.record). Afterwards it replays the record to the watch (adocd.diagnosis.stalls) for each of four
detectors and compares the result with the stalls in RocksDB's own LOG (adocd_bench.detection.score).
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from adocd_bench.detection.measure import run
from adocd_bench.detection.measured import FILE, KeptSetting, MeasuredDetection, kept
from adocd_bench.detection.settings import SETTINGS
from adocd_bench.detection.table import tables
from adocd_bench.errors import BenchError
from adocd_bench.host.noise import cpu_times, others_share

AGENTS = ("native", "python")


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description="What of RocksDB's stalls is seen, and how soon.")
    parser.add_argument("--seconds", type=int, default=20, help="length of each setting's run")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep every stall's figures here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    asked = parser.parse_args()
    try:
        found = FILE.read(asked.again) if asked.again else measure(asked.seconds)
        if asked.keep:
            FILE.write(asked.keep, found, indent=None)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(page(found))


def measure(seconds: int) -> MeasuredDetection:
    """Run all settings; raises BenchError."""
    began_unix_s, before = time.time(), cpu_times()
    settings = kept(run(SETTINGS, seconds))
    return MeasuredDetection(began_unix_s, os.cpu_count() or 1, seconds, others_share(before, cpu_times()), settings)


def page(found: MeasuredDetection) -> str:
    """Show what was measured, in Markdown, by agent."""
    return "\n".join(_section(agent, [each for each in found.settings if each.agent == agent]) for agent in AGENTS)


def _section(agent: str, of_it: Sequence[KeptSetting]) -> str:
    told = f"The {agent} agent: {sum(each.true for each in of_it)} stalls"
    if agent == "native":  # the Python agent has no stall events
        told += f", of which its events confirm {sum(each.confirmed for each in of_it)}"
    return f"{told}\n\n{tables([outcome for each in of_it for outcome in each.scores()])}"


if __name__ == "__main__":
    main()
