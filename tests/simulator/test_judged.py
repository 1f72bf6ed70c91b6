"""A policy that hurts, with and without `--judge`, on a simulated database: the daemon's own loop."""

from __future__ import annotations

import asyncio

import pytest

from adocd.daemon.change.judge import TAKE_BACK
from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy, Shaping
from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock
from adocd.simulator.database import Setup
from adocd.simulator.device import MB, device
from adocd.simulator.run import Scene
from adocd.simulator.target import SimulatedTarget
from adocd.simulator.workload import workload
from adocd.targets.errors import Silent

LIMIT = 210 * MB
#: The limiter so low that flushes fall behind a load that was none.
HARM = {"rate_limit": 2 * MB}


def lived(judge_s: float) -> tuple[list[DecisionRecord], dict[float, int | None]]:
    """Watch for a minute, then let `manual` do harm for five; return its decisions, and the limiter over time."""
    setup = Setup(device("cap-210"), workload("constant", 6.0 * MB), rate_limiter_bytes_per_s=LIMIT)

    async def follow(clock: Clock) -> tuple[list[DecisionRecord], dict[float, int | None]]:
        scene = Scene(clock, setup, Policy("fixed"))
        ticking = asyncio.create_task(scene.loop.run())
        await asyncio.sleep(60)
        await scene.loop.set_policy(Policy("manual", HARM, shaping=Shaping(judge_s=judge_s)))
        limits = {}
        for _ in range(300):
            await asyncio.sleep(1)
            limits[clock()] = scene.database.limiter.bytes_per_s if scene.database.limiter else None
        ticking.cancel()
        await scene.loop.stop()
        return list(scene.loop.remembered.decisions), limits

    return virtual.run(follow)


def test_what_hurts_is_taken_back_and_rests() -> None:
    decisions, limits = lived(judge_s=30.0)
    (taken,) = [each for each in decisions if each.rule == TAKE_BACK]
    assert taken.outcome == "applied"
    assert [(setting.knob, setting.value) for setting in taken.settings] == [("rate_limit", LIMIT)]
    assert taken.signal.startswith("writers waited 0 % before and ")
    refused = [each for each in decisions if each.outcome == "refused" and each.sequence > taken.sequence]
    assert refused
    assert all("judge: rate_limit has made things worse" in each.guards[0] for each in refused)
    # It hurt for as long as one trial takes, and a flush.
    assert 25 <= sum(limit == HARM["rate_limit"] for limit in limits.values()) <= 45


def test_what_hurts_is_taken_back_although_its_first_sending_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an agent that did not answer in time: the law's value would stay, and its knob would rest."""
    change, failed = SimulatedTarget.change, list[tuple[Change, ...]]()

    async def fails_once(
        target: SimulatedTarget,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
        lift_rate_limit: bool = False,
    ) -> tuple[StepResult, ...]:
        if not failed and str(LIMIT) in {value for each in changes for value in each.sets().values()}:
            failed.append(changes)
            raise Silent("the agent did not answer within 2 s")
        return await change(
            target, holder, epoch, changes, restore_plan, repeat=repeat, lift_rate_limit=lift_rate_limit
        )

    monkeypatch.setattr(SimulatedTarget, "change", fails_once)
    decisions, limits = lived(judge_s=30.0)
    assert [each.outcome for each in decisions if each.rule == TAKE_BACK] == ["failed", "applied"]
    assert list(limits.values())[-1] == LIMIT
    assert 25 <= sum(limit == HARM["rate_limit"] for limit in limits.values()) <= 50


def test_without_the_judge_it_goes_on() -> None:
    decisions, limits = lived(judge_s=0.0)
    assert TAKE_BACK not in {each.rule for each in decisions}
    assert list(limits.values())[-1] == HARM["rate_limit"]
