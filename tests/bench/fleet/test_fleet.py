"""Simulated databases keep the admin protocol, and a daemon of fifty of them is on time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.fleet.database import FleetDatabase
from adocd_bench.fleet.figures import FleetFigures, FleetLoad
from adocd_bench.fleet.measure import FleetPlan, fleets
from adocd_bench.fleet.measured import jitters
from adocd_bench.fleet.server import FleetAgent, serve

from adocd.model.change import ColumnFamilyChange, DatabaseChange, RestoreStep
from adocd.targets.agent import Agent, AgentTarget
from adocd.targets.errors import Closed, Refused
from adocd.targets.http import UnixHttpConnection
from adocd.targets.run_dir import agent_sockets
from tests.support.contract import check_answer
from tests.support.waiting import PATIENCE_S

CHANGE = ColumnFamilyChange("default", {"write_buffer_size": "1048576"})
BACK = RestoreStep(ColumnFamilyChange("default", {"write_buffer_size": "67108864"}))


def with_target(tmp_path: Path, body: Callable[[Agent, AgentTarget], Awaitable[None]]) -> None:
    async def run() -> None:
        stalling = FleetLoad(stall_every_s=0.4, stall_s=0.2, write_bytes_per_s=1_000_000_000)
        database = FleetDatabase(tmp_path / "db", "here", stalling, "1-1-1")
        serving = asyncio.create_task(serve(FleetAgent([database], "here"), tmp_path))
        while not agent_sockets(tmp_path):  # noqa: ASYNC110 - another task makes it
            await asyncio.sleep(0.01)
        agent = Agent(agent_sockets(tmp_path)[0])
        _, (described,) = await agent.listing()
        target = agent.target(described)
        await body(agent, target)
        await target.close()
        await agent.close()
        await asyncio.sleep(0.05)  # the server's ends of the connections go, too
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving

    asyncio.run(run())


def test_every_answer_is_one_of_the_contracts(tmp_path: Path) -> None:
    async def body(agent: Agent, target: AgentTarget) -> None:
        (database,) = await agent.databases()
        path = f"/v1/databases/{database.id}"
        lease = {"holder": "me", "ttl_s": 5}
        change = {"scope": "column_family", "column_family": "default", "options": {"write_buffer_size": "1048576"}}
        wanted = {"holder": "me", "epoch": 1, "changes": [change], "restore_plan": [{"change": change}]}
        lacking = wanted | {"restore_plan": []}
        asked: list[tuple[str, str, object]] = [
            ("GET", "/v1/info", None),
            ("GET", "/v1/databases", None),
            ("GET", path, None),
            ("PATCH", f"{path}/options", wanted),
            ("PUT", f"{path}/lease", lease),
            ("PUT", f"{path}/lease", lease | {"holder": "you"}),
            ("PUT", f"{path}/lease", lease | {"epoch": 7}),
            ("PATCH", f"{path}/options", lacking),
            ("PATCH", f"{path}/options", wanted),
            ("GET", f"{path}/snapshot?events_after=0", None),
            ("DELETE", f"{path}/lease?holder=me&epoch=1", None),
            ("GET", f"{path}/snapshot", None),
            ("GET", "/v1/databases/0000000000000000", None),
            ("GET", "/v1/nothing", None),
            ("POST", "/v1/info", None),
        ]
        connection = UnixHttpConnection(agent.socket)
        for method, where, content in asked:
            status, answer = await connection.request(method, where, body=content, timeout_s=PATIENCE_S)
            kind = "application/json" if status < 400 else "application/problem+json"
            check_answer(method, where, status, kind, json.loads(answer))
        await connection.close()

    with_target(tmp_path, body)


def test_a_lease_is_the_holders_and_its_way_back_is_gone(tmp_path: Path) -> None:
    async def body(agent: Agent, target: AgentTarget) -> None:
        with pytest.raises(Refused, match="Nobody holds the lease"):
            await target.change("me", 1, (CHANGE,), (BACK,))
        lease = await target.hold_lease("me", 0.5, None)
        with pytest.raises(Refused, match="does not name write_buffer_size"):
            await target.change("me", lease.epoch, (CHANGE,), ())
        jobs = DatabaseChange({"max_background_jobs": "many"})
        with pytest.raises(Refused, match="max_background_jobs takes a whole number"):
            await target.change("me", lease.epoch, (jobs,), (RestoreStep(jobs),))
        (step,) = await target.change("me", lease.epoch, (CHANGE,), (BACK,))
        assert (step.outcome, step.read_back) == ("applied", {"write_buffer_size": "1048576"})
        assert (await target.snapshot(None)).restore.state == "armed"
        await asyncio.sleep(0.6)
        after = await target.snapshot(0)
        assert after.options.column_families["default"]["write_buffer_size"] == "67108864"
        assert (after.lease, after.restore.state) == (None, "done")
        kinds = [event.kind for event in after.events]
        assert [kind for kind in kinds if kind.startswith(("lease", "restore", "options"))] == [
            "lease_acquired", "options_changed", "lease_expired", "restore_begin", "restore_step", "restore_end",
        ]  # fmt: skip
        gone = agent.target(replace((await agent.databases())[0], id="0" * 16))
        with pytest.raises(Closed):
            await gone.snapshot(None)
        await gone.close()

    with_target(tmp_path, body)


def test_figures_grow_and_stall(tmp_path: Path) -> None:
    figures = FleetFigures(FleetLoad(write_bytes_per_s=1_000_000, stall_every_s=10, stall_s=4), 0.0)
    conditions = []
    for now_s in range(1, 41):
        figures.advance(float(now_s), 3_000_000, 2)
        conditions.append(figures.condition)
    assert conditions[:10] == ["normal"] * 5 + ["stopped"] * 4 + ["normal"]
    assert conditions[10:20] == ["normal"] * 5 + ["delayed"] * 4 + ["normal"]
    assert figures.held_s == {"stopped": pytest.approx(8.0), "delayed": pytest.approx(8.0)}
    assert (figures.memtable_stops, figures.l0_slowdowns) == (2, 2)
    assert figures.written_bytes == 32_000_000
    assert (figures.flushes, figures.compactions > 2) == (10, True)


def test_jitter_is_the_distance_from_the_nearest_grid() -> None:
    assert jitters([], 1.0) == []
    assert jitters([0.999, 2.001, 3.0, 3.999], 1.0) == pytest.approx([0.0005, 0.0015, 0.0005, 0.0005], abs=1e-9)
    late = jitters([10.5, 11.5, 12.8, 13.5], 1.0)
    assert sorted(late) == pytest.approx([0.0, 0.0, 0.0, 0.3])


def test_fifty_targets_are_measured() -> None:
    """How late they are is for `python -m adocd_bench.fleet` to say, on a machine that does nothing else."""
    said: list[str] = []
    (measured,) = fleets([FleetPlan(50, "adoc", seconds=3, settle_s=0.5)], said.append)
    figures = measured.figures()
    expected = 50 * figures["seconds"]
    assert 0.5 * expected < figures["cycles"] + figures["cycles_missed"] < 1.5 * expected
    assert figures["jitter_ms"]["max"] > 0, "no two cycles are at exactly the same distance"
    assert 0 <= figures["jitter_ms"]["p50"] <= figures["jitter_ms"]["p99"] <= figures["jitter_ms"]["max"]
    assert figures["jitter_ms"]["max"] > 0, "no clock is that exact: nothing was measured"
    assert "SIMULATED" in said[0]
    assert said[1].startswith("| 50 | adoc |")
