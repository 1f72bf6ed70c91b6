"""A loop that events wake between two ticks: on a simulated database, in virtual time, and on a fake agent."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Set
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.daemon.control import pace
from adocd.model.capabilities import Capabilities
from adocd.model.knob import MIB
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock
from adocd.simulator.database import FAMILY, Setup, SimulatedDatabase
from adocd.simulator.device import device
from adocd.simulator.run import Scene as SimulatedScene
from adocd.simulator.target import SimulatedTarget
from adocd.simulator.workload import workload
from adocd.targets.errors import Silent
from tests.daemon.harness import Scene, loop_settings, outcomes, until, with_agent, write_buffer_size
from tests.daemon.laws import Theirs
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase


class Wakes(Theirs):
    """Asked at stalls as well as in its period."""

    name = "wakes"
    period_s = 1.0
    wakes = frozenset({"stall"})


@pytest.fixture(autouse=True)
def _their_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.LAWS, "wakes", Wakes)


class WaitingTarget(SimulatedTarget):
    """A simulated database whose stalls are told at once: one begins at each of `stalls_s`."""

    def __init__(self, database: SimulatedDatabase, clock: Clock) -> None:
        super().__init__(database, clock)
        self.stalls_s: list[float] = []
        self.looked_s: list[float] = []
        self.waited: list[tuple[float, frozenset[str]]] = []
        self.error: Exception | None = None
        self._now = clock

    @property
    def capabilities(self) -> Capabilities:
        """Everything, and to wait."""
        return replace(super().capabilities, waits_for=("stall", "memtables_wait"))

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Note when it was asked for."""
        self.looked_s.append(self._now())
        while self.stalls_s and self.stalls_s[0] <= self._now():
            self._stall()
        return await super().snapshot(events_after)

    async def wait(self, events_after: int, kinds: Set[str], timeout_s: float) -> bool:
        """Wait for the next of the stalls."""
        self.waited.append((self._now(), frozenset(kinds)))
        if self.error is not None:
            raise self.error
        found, _ = self.database.events.after(events_after)
        if any(event.kind in kinds for event in found):
            return True
        left_s = self.stalls_s[0] - self._now() if self.stalls_s else timeout_s + 1
        await asyncio.sleep(max(0.0, min(left_s, timeout_s)))
        if left_s > timeout_s:
            return False
        self._stall()
        return True

    def _stall(self) -> None:
        self.stalls_s.pop(0)
        self.database.emit("stall", column_family=FAMILY, condition="delayed", previous="normal")


def lived(
    policy: str, stalls_s: list[float], seconds: float, error: Exception | None = None
) -> tuple[WaitingTarget, SimulatedScene]:
    """Run the loop on a database with these stalls."""

    async def body(clock: Clock) -> tuple[WaitingTarget, SimulatedScene]:
        scene = SimulatedScene(clock, Setup(device("cap-210"), workload("constant", 1e6)), Policy(policy))
        target = WaitingTarget(scene.database, clock)
        target.stalls_s, target.error = stalls_s, error
        scene.loop.attach(target, target.info())
        running = asyncio.create_task(scene.loop.run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.wait({running})
        await scene.loop.stop()
        return target, scene

    return virtual.run(body)


def rounded(times_s: list[float]) -> list[float]:
    return [round(at_s, 2) for at_s in times_s]


def test_a_stall_is_looked_at_at_once_and_the_ticks_stay_where_they_are() -> None:
    target, scene = lived("wakes", [2.35, 3.97, 5.04], 7.5)
    # At 3.97 the next tick is too close to come as well; 5.04 is too close to the tick before it.
    assert rounded(target.looked_s)[:10] == [0.0, 1.0, 2.0, 2.35, 3.0, 3.97, 5.0, 5.1, 6.0, 7.0]
    assert {kinds for _, kinds in target.waited} == {frozenset({"stall"})}
    lateness = scene.loop._settings.vitals.lateness
    assert sum(lateness.counts) == 6, "of cycles that were due; nobody expected the others"
    assert lateness.sum == pytest.approx(0.0, abs=1e-3)


def test_a_condition_that_comes_and_goes_cannot_make_it_spin() -> None:
    target, _ = lived("wakes", [2 + number / 200 for number in range(400)], 4.5)
    flapping = [at_s for at_s in target.looked_s if 2 <= at_s <= 4]
    assert 15 <= len(flapping) <= 21
    gaps = [later - earlier for earlier, later in itertools.pairwise(flapping)]
    assert min(gaps) >= pace.apart_s(1.0) - 1e-6
    assert {1.0, 2.0, 3.0} <= set(rounded(target.looked_s)), "and the ticks stay"


def test_without_a_law_that_wants_it_nobody_waits() -> None:
    target, _ = lived("fixed", [1.5, 2.5], 4.5)
    assert target.waited == []
    assert rounded(target.looked_s)[:5] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_an_agent_that_fails_to_wait_leaves_the_ticks() -> None:
    target, _ = lived("wakes", [1.5, 2.5], 4.5, Silent("too many requests wait already"))
    assert rounded(target.looked_s)[:5] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(target.waited) == 5, "once a tick: no more"


def test_over_a_socket_a_stall_is_followed_by_a_change_before_the_next_tick(tmp_path: Path) -> None:
    """The loop counts how late each due cycle began, so what it has not counted was not due."""
    database = FakeDatabase(tmp_path / "db")
    settings = loop_settings(tick_s=10.0, spreads=False)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("wakes"), settings)
        running = asyncio.create_task(loop.run())
        await until(lambda: any("/wait?" in target for _, target, _ in scene.agent.requests), "the loop waits")
        assert outcomes(loop) == []
        database.measurements.stall("delayed")
        await until(lambda: outcomes(loop) == ["applied"], "the change")
        assert write_buffer_size(database) == str(32 * MIB)
        assert sum(settings.vitals.lateness.counts) == 0
        running.cancel()
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_an_older_agent_is_never_asked_to_wait(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        scene.agent.capabilities = FakeCapabilities(waits_for=())
        loop = await scene.attach(Policy("wakes"))
        running = asyncio.create_task(loop.run())
        await until(lambda: outcomes(loop) == ["applied"], "a change at a tick")
        assert not any("/wait" in target for _, target, _ in scene.agent.requests)
        running.cancel()
        await loop.stop()

    with_agent(database, tmp_path, body)
