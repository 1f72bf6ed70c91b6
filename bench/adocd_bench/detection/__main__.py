"""Detection of stalls, how many and how soon: `python -m adocd_bench.detection [--seconds N] [--json FILE]`.

Provokes each of RocksDB's stall causes (adocd_bench.detection.settings): with stock db_bench under the native agent,
and with rocksdict under the Python agent. During a run it records what a daemon would receive, at 1 Hz and at 10 Hz
(adocd_bench.detection.record). Afterwards it replays the record to the watch (adocd.diagnosis.stalls) for each of four
detectors and compares the result with the stalls in RocksDB's own LOG (adocd_bench.detection.score).
"""

import argparse
import json
import sys
from pathlib import Path

from adocd_bench.detection.measure import run
from adocd_bench.detection.settings import SETTINGS
from adocd_bench.detection.table import as_json, tables
from adocd_bench.errors import BenchError


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description="What of RocksDB's stalls is seen, and how soon.")
    parser.add_argument("--seconds", type=int, default=20, help="length of each setting's run")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    asked = parser.parse_args()
    try:
        measured = run(SETTINGS, asked.seconds)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    for agent in ("native", "python"):
        of_it = [each for each in measured if each.setting.agent == agent]
        outcomes = [outcome for each in of_it for outcome in each.outcomes]
        sys.stdout.write(f"The {agent} agent: {sum(each.true for each in of_it)} stalls")
        if agent == "native":  # the Python agent has no stall events
            sys.stdout.write(f", of which its events confirm {sum(each.confirmed for each in of_it)}")
        sys.stdout.write(f"\n\n{tables(outcomes)}\n")
    if asked.json is not None:
        asked.json.write_text(json.dumps([as_json(o) for each in measured for o in each.outcomes], indent=1) + "\n")


if __name__ == "__main__":
    main()
