"""What of RocksDB's stalls is seen, and how soon: `python -m adocd.bench.detection [--seconds N] [--json FILE]`.

Each of RocksDB's causes of stalls is made to occur (adocd.bench.detection_settings): with stock db_bench under the
native agent, and with rocksdict under the Python agent. While it runs, what a daemon would be told is written down,
once a second and ten times a second (detection_record); afterwards that is told to the watch (adocd.diagnosis.watch)
with the eyes of four detectors, and held against RocksDB's own words in the whole LOG (detection_score).
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd.bench.detection_record import Record, Taken, record
from adocd.bench.detection_score import DETECTORS, Outcome, confirmed, score
from adocd.bench.detection_settings import SETTINGS, Setting
from adocd.bench.detection_table import as_json, tables
from adocd.bench.errors import BenchError, RunFailed
from adocd.bench.process import child
from adocd.bench.workspace import choose_parent, run_directory, workspace
from adocd.diagnosis.stalls import StallFound
from adocd.diagnosis.watch.log import StallLog
from adocd.probes.log import read_log

#: How often a database is looked at; 1 Hz is the daemon's default.
PERIODS_S = (1.0, 0.1)
#: An upper bound of what one setting writes.
_ROOM_BYTES_PER_S = 30_000_000
_ROOM_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting: how each detector did at each period, and how many true stalls the agent's events confirm."""

    setting: Setting
    outcomes: tuple[Outcome, ...]
    true: int
    confirmed: int


def measure(setting: Setting, seconds: int, room: Path) -> Measured:
    """Run one setting, its database below `room`; raises RunFailed when its program or its agent does."""
    directory = room / setting.name.replace(" ", "-").replace(",", "")
    with run_directory() as sockets:
        command, environment = setting.command(directory, seconds), setting.environment(sockets)
        with child("program", command, environment, sockets) as program:
            records = asyncio.run(record(sockets, directory, PERIODS_S, program.ended))
            if program.process.returncode != 0:
                raise RunFailed(f"{setting.name}: the program failed: {program.last_words()}")
    for each in records:
        if sum(isinstance(entry, Taken) for entry in each.entries) < 2:
            raise RunFailed(f"{setting.name}: the agent did not answer twice; give it more --seconds")
    truth = _truth(directory / "LOG")
    finest: Record = min(records, key=lambda each: each.period_s)
    true, agreed = confirmed(finest, truth)
    outcomes = tuple(score(setting.name, each, detector, truth) for each in records for detector in DETECTORS)
    return Measured(setting, outcomes, true, agreed)


def _truth(log: Path) -> list[StallFound]:
    """Read every stall from the LOG of one session; db_bench opens a database twice, and the LOG is the second's."""
    stalls = StallLog()
    return stalls.take(read_log(log, rotated=False)) + stalls.close()


def run(settings: Sequence[Setting], seconds: int) -> list[Measured]:
    """Run all settings, one after the other; raises BenchError."""
    with workspace(choose_parent(None, _ROOM_BYTES + seconds * _ROOM_BYTES_PER_S)) as room:
        measured = []
        for setting in settings:
            sys.stderr.write(f"{setting.name}, {seconds} s\n")
            measured.append(measure(setting, seconds, room))
        return measured


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description="What of RocksDB's stalls is seen, and how soon.")
    parser.add_argument("--seconds", type=int, default=20, help="of each of the settings")
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
