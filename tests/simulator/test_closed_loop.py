"""The unchanged daemon on a simulated database."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from pathlib import Path

import pytest

from adocd.controllers.registry import PolicyError
from adocd.controllers.tide.parameters import TideParameters
from adocd.daemon.watch import decision_log
from adocd.model.options import BYTES_PER_SYNC_OFF
from adocd.model.policy import Policy
from adocd.simulator.clock import Clock
from adocd.simulator.opening import BadSimulation, SimulationRequest, opened
from adocd.simulator.run import Scene, Simulation, run
from adocd.simulator.summary import summary
from tests.support.growth import grows_with_the_work

from .scenes import MIB, setup, with_scene

ADOC, FIXED = Policy("adoc"), Policy("fixed")
PROFILES = ("cap-100", "cap-210", "cap-490")


def waited_s(simulation: Simulation) -> float:
    return sum(simulation.stalled_s.values())


def test_an_hour_of_the_daemon_costs_what_its_quarters_do() -> None:
    """5 s are promised, on one core (docs/simulator.md); that nothing grows with what was before is seen here."""
    found = []
    grows_with_the_work(lambda seconds: found.append(run(setup(), FIXED, seconds=seconds)), 900)
    assert len(found[-1].samples) == 3599
    assert found[-1].decision_count == 0


@pytest.mark.parametrize(("workload", "policy"), [("closed-loop", FIXED), ("burst", ADOC)], ids=["fixed", "adoc"])
def test_the_same_run_is_the_same_run(policy: Policy, workload: str) -> None:
    asked = SimulationRequest(workload=workload, seconds=600.0)

    def once() -> dict[str, object]:
        found = summary(asked, policy, run(opened(asked), policy, seconds=asked.seconds))
        return {name: value for name, value in found.items() if name != "elapsed_s"}

    assert once() == once()


@pytest.mark.parametrize("profile", PROFILES)
def test_adoc_writes_more_and_waits_less_than_left_alone(profile: str) -> None:
    """What the paper reports of every device (adoc-fast23, 6.2), in direction, not in size."""
    fixed, adoc = (run(setup(profile), policy, seconds=1800.0) for policy in (FIXED, ADOC))
    assert adoc.writes > 1.2 * fixed.writes
    assert waited_s(adoc) < 0.95 * waited_s(fixed)
    assert {"adoc.level0", "adoc.memory"} <= {record.rule for record in adoc.decisions}


@pytest.mark.parametrize("profile", ["cap-100", "cap-210"])
def test_an_hours_flood_under_tide_writes_more_and_stops_less_than_under_adoc(profile: str) -> None:
    tide, adoc = (run(setup(profile), policy, seconds=3600.0) for policy in (Policy("tide"), ADOC))
    assert tide.writes > 1.05 * adoc.writes
    assert tide.stopped_s < adoc.stopped_s / 4
    assert {"tide.flood", "tide.brim"} <= {record.rule for record in tide.decisions}


def test_in_an_hours_flood_tide_writes_more_where_level_0_may_hold_more() -> None:
    """docs/tide.md has these figures."""
    whole, half = (run(setup("cap-100"), Policy("tide", {"pay_back_s": s}), seconds=3600.0) for s in (600.0, 300.0))
    assert [round(each.writes / 3600, -3) for each in (whole, half)] == [16_000, 12_000]
    assert TideParameters().pay_back_s == 600


@pytest.mark.parametrize("profile", ["cap-100", "cap-210", "cap-490"])
def test_a_flood_of_twenty_minutes_under_tide_never_comes_near_a_stop(profile: str) -> None:
    """Each merge writes more than the one before it, and on the fastest device more is pending than the soft limit."""
    fast = SimulationRequest(
        profile=profile, rate_bytes_per_s=480e6, flush_bytes_per_s=480e6, compaction_bytes_per_s=480e6
    )
    found = run(opened(fast), Policy("tide"), seconds=1200.0)
    minutes = [found.samples[at : at + 60] for at in range(60, 1140, 60)]
    written = [sum(sample.written_bytes_per_s or 0.0 for sample in each) / len(each) for each in minutes]
    assert min(written) > 0.2 * found.written_bytes / found.simulated_s
    assert found.stopped_s < 30


@pytest.mark.parametrize(
    ("switch", "moves", "stays"), [("tune_batch", "jobs", "batch"), ("tune_threads", "batch", "jobs")]
)
def test_the_reduced_forms_turn_one_knob_alone(switch: str, moves: str, stays: str) -> None:
    found = run(setup(), Policy("adoc", {switch: False}), seconds=1200.0)
    seen: dict[str, set[int | None]] = {
        "jobs": {sample.background_jobs for sample in found.samples},
        "batch": {sample.column_families[0].options.write_buffer_size_bytes for sample in found.samples},
    }
    assert len(seen[moves]) > 1
    assert len(seen[stays]) == 1


def test_the_daemon_sees_what_the_database_does() -> None:
    """Rates over all samples add up to what was written; waits, posted when they end, to what was waited."""
    found = run(setup(), FIXED, seconds=1800.0)
    written = sum((sample.written_bytes_per_s or 0) * sample.interval_s for sample in found.samples)
    assert min(found.written_bytes, waited_s(found)) > 0
    assert written == pytest.approx(found.written_bytes, rel=0.01)
    waited = sum((sample.stalled_fraction or 0) * sample.interval_s for sample in found.samples)
    assert waited == pytest.approx(waited_s(found), rel=0.01)
    assert found.delayed_s + found.stopped_s >= waited_s(found)


def test_changes_are_applied_read_back_and_go_back_at_a_clean_stop() -> None:
    async def body(scene: Scene, clock: Clock) -> None:
        ticking = asyncio.create_task(scene.loop.run())
        await asyncio.sleep(600.0)
        assert scene.database.options.max_background_jobs > 2
        applied = [record for record in scene.loop.remembered.decisions if record.outcome == "applied"]
        assert applied
        assert all(record.elapsed_s is not None and record.elapsed_s >= 0.017 for record in applied)
        sample = scene.loop.status.sample
        assert sample is not None
        assert sample.background_jobs == scene.database.options.max_background_jobs
        await end(ticking)
        await scene.loop.stop()
        # SetDBOptions waits while writes are stopped, and large memtables stop them for long.
        for _ in range(40):
            if (await scene.target.snapshot(0)).restore.state in ("none", "done"):
                break
            await asyncio.sleep(1.0)
        assert scene.database.options == dataclasses.replace(setup().database, bytes_per_sync=BYTES_PER_SYNC_OFF)
        assert scene.database.shown == setup().family
        assert clock() < 660

    with_scene(setup(), ADOC, body)


def test_a_daemon_that_dies_loses_its_lease_and_the_originals_come_back() -> None:
    async def body(scene: Scene, clock: Clock) -> None:
        ticking = asyncio.create_task(scene.loop.run())
        await asyncio.sleep(300.0)
        assert scene.database.options.max_background_jobs > 2
        await end(ticking)
        await asyncio.sleep(60.0)
        snapshot = await scene.target.snapshot(0)
        assert (snapshot.lease, snapshot.restore.state) == (None, "done")
        assert "lease_expired" in {event.kind for event in snapshot.events}
        assert scene.database.options.max_background_jobs == 2
        assert scene.database.shown == setup().family
        assert clock() == 360.0

    with_scene(setup(), ADOC, body)


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_a_delay_keeps_its_brake_when_adoc_steps_threads() -> None:
    """HAZARDS 6: the same call carries the rate in force, and gives it back when the delay is over."""
    found = run(setup(), ADOC, seconds=1200.0)
    carried = [
        change
        for record in found.decisions
        if record.rule == "adoc.level0"
        for change in record.changes
        if change.option.option == "delayed_write_rate"
    ]
    assert carried
    assert all(int(change.value) < 16 * MIB for change in carried)
    assert "actuator.delayed_write_rate" in {record.rule for record in found.decisions}


def test_a_carried_rate_rises_again_while_the_delay_goes_on() -> None:
    """In RocksDB's own steps of a quarter, and never beyond the owner's."""
    found = run(setup(), Policy("adoc", {"tune_batch": False}), seconds=1800.0)
    rises = [
        (int(change.before), int(change.value))
        for record in found.decisions
        if record.signal == "RocksDB has raised the delayed rate to its ceiling"
        for change in record.changes
        if change.option.option == "delayed_write_rate"
    ]
    assert rises
    assert all(before < after <= min(16 * MIB, before * 1.26) for before, after in rises)


def test_a_dry_run_decides_and_changes_nothing() -> None:
    found = run(setup(), Policy("adoc", dry_run=True), seconds=300.0)
    assert {record.outcome for record in found.decisions} == {"dry-run"}
    left_alone = run(setup(), FIXED, seconds=300.0)
    assert (found.writes, found.stalled_s) == (left_alone.writes, left_alone.stalled_s)


def test_a_law_that_does_not_exist_is_refused() -> None:
    with pytest.raises(PolicyError, match="there is no controller 'nobody'"):
        run(setup(), Policy("nobody"), seconds=10.0)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (SimulationRequest(profile="hdd"), "no device profile 'hdd'"),
        (SimulationRequest(workload="storm"), "no workload 'storm'"),
        (SimulationRequest(rate_bytes_per_s=-1.0), "more than 0 bytes/s"),
        (SimulationRequest(seconds=0.0), "not 0"),
        (SimulationRequest(seconds=float("nan")), "not nan"),
        (SimulationRequest(tick_s=0.0), "a tick takes"),
        (SimulationRequest(options={"compression": "x"}), "no option compression"),
        (SimulationRequest(options={"write_buffer_size": "12"}), "must be 1 MiB to 4 GiB"),
        (SimulationRequest(options={"max_background_jobs": "many"}), "does not take 'many'"),
        (SimulationRequest(options={"level0_stop_writes_trigger": "3"}), "compaction <= slowdown <= stop"),
        (SimulationRequest(rate_limiter_bytes_per_s=1), "must be at least 1 MiB/s, not 1 bytes/s"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(asked: SimulationRequest, words: str) -> None:
    with pytest.raises(BadSimulation, match=words):
        opened(asked)


def test_a_recording_has_every_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that the daemon's log of decisions no longer has, as after some hours."""
    monkeypatch.setattr(decision_log, "_KEPT", 5)
    found = run(setup(), ADOC, seconds=600.0, record=tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    recorded = [line["content"]["sequence"] for line in lines if line.get("kind") == "decision"]
    assert len(found.decisions) == 5
    assert recorded == list(range(1, found.decision_count + 1))
