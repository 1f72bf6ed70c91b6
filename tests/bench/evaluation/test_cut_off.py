"""A drain that takes too long: a program that only ends by itself is ended, and what its clients did counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.evaluation import one, raw
from adocd_bench.evaluation.circumstances import base_options
from adocd_bench.evaluation.loads.closed_loop import DbBenchLoad
from adocd_bench.evaluation.loads.program import LoadJob, LoadOutcome
from adocd_bench.host.cap import Cap
from adocd_bench.host.device import parse_profile
from adocd_bench.host.own_devices import OwnDevices
from adocd_bench.programs.db_bench import DbBench
from adocd_bench.run import settle
from adocd_bench.run.observe import ObservedRun

from tests.bench.evaluation.builders import MACHINE, wanted_run
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase

_DATABASE_WIDE = {"max_background_jobs", "delayed_write_rate"}


@dataclass
class Endless:
    """A load like db_bench, whose phase is over at once and whose compactions never end; its database is a fake."""

    agents: ExitStack
    name: str = "endless"
    version: str = "endless 1"
    seconds: int = 1
    arguments: Mapping[str, Any] = field(default_factory=dict)
    offered_per_s: float | None = None
    offered_bytes: int | None = None
    loaded_bytes: int = 0
    ends_by_itself: bool = True
    begun_s: float = 0.0
    polls: int = 0
    agent: FakeAgent | None = None

    def at_most_s(self, job: LoadJob) -> float:  # noqa: ARG002
        """Allow for more than the test takes."""
        return 60.0

    def command(self, job: LoadJob) -> list[str]:
        """Serve the fake database, and wait."""
        options = {name: str(value) for name, value in base_options(1).items()}
        job.database.mkdir()
        (job.database / "LOG").touch()
        database = FakeDatabase(
            job.database,
            options={name: value for name, value in options.items() if name not in _DATABASE_WIDE},
            database_options={name: value for name, value in options.items() if name in _DATABASE_WIDE},
        )
        database.measurements.column_families["default"]["rocksdb.compaction-pending"] = 1
        self.agent = self.agents.enter_context(FakeAgent(job.room, [database]))
        self.begun_s = time.monotonic()
        return ["/bin/sh", "-c", "echo 7 operations; exec sleep 60"]

    def is_preparing(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Load nothing."""
        return False

    @property
    def gathers(self) -> bool:
        """Wait for nobody."""
        return False

    def is_gathered(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Wait for nobody."""
        return False

    def begin(self, job: LoadJob) -> None:
        """Do nothing."""

    def is_to_read(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Read nothing afterwards."""
        return False

    def admit_reads(self, job: LoadJob) -> None:
        """Do nothing."""

    def is_settling(self, job: LoadJob) -> bool:  # noqa: ARG002
        """Wait until the daemon knows the database and the bench has looked twice since: a look is five polls."""
        self.polls += bool(self.agent and self.agent.requests)
        return self.polls > 12

    def release(self, job: LoadJob) -> None:
        """Do nothing."""

    def environment(self) -> Mapping[str, str]:
        """Need none."""
        return {}

    def outcome(self, job: LoadJob, observed: ObservedRun) -> LoadOutcome:  # noqa: ARG002
        """Read what was said before it was ended."""
        done = raw.Operations("write", int(observed.said.split()[0]), None)
        return LoadOutcome((done,), (), self.begun_s, 0.1, self.begun_s + 0.1, "7.8.3")


@pytest.fixture
def agents() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_program_that_would_drain_for_hours_is_ended_and_its_phase_is_kept(
    agents: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run failed, "did not end within", and failed again each time that its plan was continued."""
    monkeypatch.setattr(settle, "SETTLED_WITHIN_S", 3.0)
    monkeypatch.setattr(os, "sync", lambda: None)  # it would wait for whatever else the disk has to do
    cap = Cap(parse_profile("uncapped"), tmp_path)
    made = one.run(wanted_run(), Endless(agents), cap, MACHINE, OwnDevices())
    assert [each.count for each in made.operations] == [7]
    assert (made.drain_s, made.drained, made.cut_off) == (None, None, True)
    assert made.settled is not None
    assert (made.settled.quiet_s, made.settled.compaction_pending) == (None, 1)
    assert 3.0 <= made.wall_s < 30.0


def test_db_bench_has_as_long_to_drain_as_the_bench_waits_whatever_its_load_took(tmp_path: Path) -> None:
    load = DbBenchLoad(DbBench("db_bench", "7.8.3"), "overwrite", 60, 1000)
    assert load.ends_by_itself
    job = LoadJob(tmp_path / "db", tmp_path, 60, 1, wanted_run().scheme)
    assert load.at_most_s(job) > 60 + 900 + settle.SETTLED_WITHIN_S
