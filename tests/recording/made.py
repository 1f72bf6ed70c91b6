"""Recordings in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adocd.model.policy import Policy
from adocd.model.snapshot import ColumnFamilySnapshot, OptionValues, Snapshot
from adocd.recording.format import About, RecordingHeader, Rule
from adocd.recording.lines import LineFile
from adocd.recording.writer import Recorder
from tests.builders import CAPABILITIES, DATABASE_OPTIONS, FAMILY_OPTIONS, GIB, option_values, snapshot

HEADER = RecordingHeader(target="0123456789abcdef", path="/data/db", adocd="0.1.0", began_unix_s=1.7e9, tick_s=1.0)
ABOUT = About(
    session="s1",
    rocksdb_version="7.8.3",
    agent="native 1",
    capabilities=CAPABILITIES,
    column_families=("default",),
    originals=option_values(),
    memory_budget_bytes=16 * GIB,
)


def looks(count: int, *, immutable: int = 2, options: OptionValues | None = None, begin: int = 0) -> list[Snapshot]:
    """A snapshot a second, in each of which so many immutable memtables wait."""
    figures = {"rocksdb.num-immutable-mem-table": immutable, "rocksdb.num-files-at-level0": 0}
    return [
        snapshot(
            sequence=number + 1,
            monotonic_s=100.0 + number,
            options=options or option_values(),
            column_families={"default": ColumnFamilySnapshot(properties=figures)},
        )
        for number in range(begin, begin + count)
    ]


def with_options(**members: str) -> OptionValues:
    """RocksDB's defaults, except for these."""
    family = FAMILY_OPTIONS | {name: value for name, value in members.items() if name in FAMILY_OPTIONS}
    database = DATABASE_OPTIONS | {name: value for name, value in members.items() if name in DATABASE_OPTIONS}
    return OptionValues(database=database, column_families={"default": family})


def write(path: Path, snapshots: Sequence[Snapshot], about: About = ABOUT, *, ends: bool = True) -> Path:
    """Write a recording of these; a snapshot of another session is told as one."""
    recorder = Recorder(LineFile(path), HEADER)
    recorder.rule(Rule(Policy("fixed")))
    for each in snapshots:
        recorder.about(replace(about, session=each.session))
        recorder.snapshot(each, 1.7e9 + each.monotonic_s)
        recorder.file.flush()
    if ends:
        recorder.end("the time was over")
    recorder.close()
    return path
