"""Provokes RocksDB's stalls, records what a daemon would receive, and compares that with RocksDB's LOG."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd.probes.log import read_log
from adocd.probes.log.stalls import StallFound
from adocd_bench.detection.record import Record, SnapshotTaken, record
from adocd_bench.detection.score import DETECTORS, DetectorOutcome, confirmed, score
from adocd_bench.detection.settings import StallSetting
from adocd_bench.errors import RunFailed
from adocd_bench.run.child import child
from adocd_bench.run.observe import stalls_in
from adocd_bench.run.workspace import choose_parent, run_directory, workspace

#: How often a database is sampled; 1 Hz is the daemon's default.
PERIODS_S = (1.0, 0.1)
#: An upper bound on what one setting writes.
_ROOM_BYTES_PER_S = 30_000_000
_ROOM_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class MeasuredSetting:
    """One setting: how each detector did at each period, and how many true stalls the agent's events confirm.

    `records` and `truth` are what that was worked out of.
    """

    setting: StallSetting
    outcomes: tuple[DetectorOutcome, ...]
    true: int
    confirmed: int
    records: tuple[Record, ...]
    truth: tuple[StallFound, ...]


def measure(setting: StallSetting, seconds: int, room: Path) -> MeasuredSetting:
    """Run one setting with its database below `room`; raises RunFailed if its program or its agent fails."""
    directory = room / setting.name.replace(" ", "-").replace(",", "")
    command, added = setting.command(directory, seconds), setting.environment()
    with run_directory() as sockets, child(directory.name, command, sockets, added) as program:
        records = asyncio.run(record(sockets, directory, PERIODS_S, program.ended))
        program.wait(0.0)
    for each in records:
        if sum(isinstance(entry, SnapshotTaken) for entry in each.entries) < 2:
            raise RunFailed(f"{setting.name}: the agent did not answer twice; give it more --seconds")
    # db_bench opens a database twice, and the LOG is the second session's.
    truth = stalls_in(read_log(directory / "LOG", rotated=False))
    finest: Record = min(records, key=lambda each: each.period_s)
    true, agreed = confirmed(finest, truth)
    outcomes = tuple(score(setting.name, each, detector, truth) for each in records for detector in DETECTORS)
    return MeasuredSetting(setting, outcomes, true, agreed, tuple(records), tuple(truth))


def run(settings: Sequence[StallSetting], seconds: int) -> list[MeasuredSetting]:
    """Run all settings, one after the other; raises BenchError."""
    with workspace(choose_parent(None, _ROOM_BYTES + seconds * _ROOM_BYTES_PER_S)) as room:
        measured = []
        for setting in settings:
            sys.stderr.write(f"{setting.name}, {seconds} s\n")
            measured.append(measure(setting, seconds, room))
        return measured
