"""The wall clock set back an hour and forward a day: no decision, no lease and no expiry may depend on it."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.clock import WallClock
from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures
from tests.chaos.hosts import LAW, MIB, DbBench, agent_of, running
from tests.chaos.profile import FULL
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

pytestmark = pytest.mark.chaos

Json = Any
HOUR_S, DAY_S = 3600, 86400
TICK_S = 0.2
#: How long each setting of the clock is looked at: several leases and periods of the law.
LOOK_S = 5.0
#: Between two samples; ten times the period. Only where nothing else runs, so not in `make test`.
SAMPLES_WITHIN_S = 10 * TICK_S
#: Options that the law does not turn: the first is pinned all the time, the second at each setting of the clock.
PINNED, ALSO = "level0_stop_writes_trigger", "hard_pending_compaction_bytes_limit"
VALUE = "24"
#: Room for the law's first step and not for its second, which so is decided, and refused, as long as writes overflow.
BUDGET_BYTES = 4 * MIB


def test_the_wall_clock_decides_nothing(run_dir: Path, native_programs: Path, figures: Figures) -> None:
    """Samples keep their period, the lease its epoch, the override its time, and the law goes on."""
    clock = WallClock(run_dir, native_programs)
    daemon = Daemon(run_dir, *LAW, lease_ttl_s=2, tick_s=TICK_S, memory_budget_bytes=BUDGET_BYTES)
    daemon.environment = clock.environment
    # Memtables overflow at this rate on a machine that has nothing else to do, too, so the law always has to decide.
    with running(DbBench(run_dir, keys_per_s=40_000)) as host, agent_of(run_dir, host.pid) as agent, daemon.running():
        database = agent.only_database()["id"]
        eventually(lambda: daemon.target(database), what="the daemon has found the database")
        daemon.pin(database, PINNED, VALUE, for_s=HOUR_S)
        pinned_s = time.monotonic()
        eventually(lambda: value(agent, database, PINNED) == VALUE, what="the override is in force")
        eventually(lambda: daemon.target(database)["decisions"] > 0, what="the law decides")
        epoch = lease(agent, database)["epoch"]
        for ahead_s in (-HOUR_S, DAY_S):
            clock.set(ahead_s)
            assert abs(clock.read_s() - time.time() - ahead_s) < 5, "the clock was not set"
            gap_s, decisions = look_at(daemon, database)
            assert not FULL or gap_s < SAMPLES_WITHIN_S, "it stands still"
            assert lease(agent, database)["epoch"] == epoch
            assert value(agent, database, PINNED) == VALUE
            (override,) = daemon.ask("GET", f"/v1/targets/{database}/overrides")["overrides"]
            left_s = HOUR_S - (time.monotonic() - pinned_s)
            assert abs(override["remaining_s"] - left_s) < 5
            see_pinned_and_unpinned(daemon, agent, database)
            figures.add(
                f"wall clock {ahead_s:+d} s",
                f"samples at most {gap_s:.2f} s apart, {decisions} decisions in {LOOK_S} s",
            )
    assert "Traceback" not in daemon.log


def look_at(daemon: Daemon, database: str) -> tuple[float, int]:
    """Look for a while; returns the longest time between two samples, and how many decisions were taken."""
    before = daemon.target(database)
    time.sleep(LOOK_S)
    eventually(lambda: daemon.target(database)["decisions"] > before["decisions"], what="the law goes on deciding")
    samples = daemon.ask("GET", f"/v1/targets/{database}/samples?after={before['sample']['sequence']}")["samples"]
    assert samples, "it took no sample"
    moments = [before["sample"]["monotonic_s"], *(sample["monotonic_s"] for sample in samples), time.monotonic()]
    gap_s = max(after - moment for moment, after in itertools.pairwise(moments))
    return gap_s, daemon.target(database)["decisions"] - before["decisions"]


def lease(agent: AgentClient, database: str) -> Json:
    """Read the lease from the agent."""
    return agent.fresh_snapshot(database)["lease"]


def value(agent: AgentClient, database: str, option: str) -> str:
    """Read an option from the agent."""
    return str(agent.fresh_snapshot(database)["options"]["column_families"]["default"][option])


def see_pinned_and_unpinned(daemon: Daemon, agent: AgentClient, database: str) -> None:
    """Let an operator change something for some seconds by now."""
    before = value(agent, database, ALSO)
    daemon.pin(database, ALSO, str(int(before) // 2), for_s=5)
    eventually(lambda: value(agent, database, ALSO) != before, what="an override comes into force")
    eventually(lambda: value(agent, database, ALSO) == before, what="it goes when its time is over")
