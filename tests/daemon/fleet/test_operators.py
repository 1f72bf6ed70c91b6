"""Requests that meet: a policy ends the pause that its operator knew of, and no stop that was asked for since."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path

import pytest

from adocd.daemon.book.journal.records import Pause
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.several import Several
from adocd.model.policy import Policy
from adocd.model.selector import Selector
from tests.daemon.book.slow import held, turns
from tests.daemon.fleet.test_fleet import books, operators, states, with_fleet
from tests.daemon.harness import overflowing, until
from tests.support.fake_agent import FakeAgent

Asked = Callable[[Fleet, TargetLoop], Awaitable[object]]
FIXED = Policy("fixed")


def one(fleet: Fleet, loop: TargetLoop) -> Awaitable[object]:
    return operators[fleet].set_policy(loop, FIXED, "alice")


def several(fleet: Fleet, _: TargetLoop) -> Awaitable[object]:
    return Several(fleet, books[fleet], operators[fleet]).set_policy(Selector("*"), FIXED, "alice")


def reset_one(fleet: Fleet, loop: TargetLoop) -> Awaitable[object]:
    return operators[fleet].reset_policy(loop, "alice")


def reset_several(fleet: Fleet, _: TargetLoop) -> Awaitable[object]:
    return Several(fleet, books[fleet], operators[fleet]).reset_policy(Selector("*"), "alice")


def with_database(tmp_path: Path, body: Callable[[Fleet, TargetLoop], Awaitable[None]]) -> None:
    """Run the body beside a fleet that has attached one database."""

    async def inner(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [overflowing(tmp_path / "db")]):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            await body(fleet, loop)

    with_fleet(tmp_path, inner)


def stop(fleet: Fleet, loop: TargetLoop, how: str) -> list[asyncio.Task[object]]:
    """Pause or restore one or all, as Bob; the restore, which waits for the loop, goes on."""
    whose = None if how.endswith("all") else loop
    if how.startswith("pause"):
        operators[fleet].pause(whose, "bob paused it", "bob")
        return []
    return [asyncio.create_task(operators[fleet].restore(whose, "bob"))]


@pytest.mark.parametrize("waits_for", ["journal", "loop"])
@pytest.mark.parametrize("ask", [one, several])
def test_a_policy_ends_no_pause_or_restore_that_was_asked_for_after_it(
    tmp_path: Path, ask: Asked, waits_for: str
) -> None:
    async def asked(fleet: Fleet, loop: TargetLoop, before: str, meanwhile: str) -> None:
        """Ask for the policy, and for a stop while it waits; the stop is in force at the end."""
        operators[fleet].resume(None, "bob")
        await asyncio.gather(*(stop(fleet, loop, before) if before else ()))
        async with AsyncExitStack() as waiting:
            if waits_for == "journal":
                waiting.enter_context(held(books[fleet]))
            else:
                await waiting.enter_async_context(loop._turn)
            setting = asyncio.ensure_future(ask(fleet, loop))
            while waits_for == "loop" and books[fleet].policy_of(loop.id) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            await turns()
            restores = stop(fleet, loop, meanwhile) if meanwhile else []
            await turns()
        await asyncio.gather(setting, *restores)
        assert (books[fleet].pauses.of(loop.id) is not None) == bool(meanwhile), f"{before}, then {meanwhile}"

    async def body(fleet: Fleet, loop: TargetLoop) -> None:
        stops = ("", "pause", "restore", "pause all", "restore all")
        for before, meanwhile in product(stops, stops):
            await asked(fleet, loop, before, meanwhile)
            await operators[fleet].reset_policy(loop, "bob")

    with_database(tmp_path, body)


@pytest.mark.parametrize("ask", [reset_one, reset_several])
def test_a_reset_policy_ends_no_pause_of_the_user_adocd(tmp_path: Path, ask: Asked) -> None:
    """The packages' service has this user; its restores are not the daemon's own pauses."""

    async def body(fleet: Fleet, loop: TargetLoop) -> None:
        operators[fleet].pause(loop, "adocd paused it: a bulk load", "adocd")
        await ask(fleet, loop)
        assert books[fleet].pauses.of(loop.id) is not None
        await operators[fleet].restore(loop, "adocd")
        await ask(fleet, loop)
        assert books[fleet].pauses.of(loop.id) is not None

    with_database(tmp_path, body)


def test_a_pause_for_a_policy_that_was_not_understood_ends_with_a_version_that_knows_it(tmp_path: Path) -> None:
    async def body(fleet: Fleet, loop: TargetLoop) -> None:
        reason = "there is no controller 'adoc'; set or reset the policy"
        books[fleet].pauses.enter(Pause(loop.id, loop.path, "paused", reason, "adocd itself", 1.0))
        await books[fleet].set_policy(loop.id, loop.path, Policy("adoc"), "ann")
        assert fleet.policy_for(loop.id, loop.path).controller == "adoc"
        assert books[fleet].pauses.of(loop.id) is None
        books[fleet].pauses.enter(Pause(loop.id, loop.path, "paused", "ann paused it", "ann", 1.0))
        fleet.policy_for(loop.id, loop.path)
        assert books[fleet].pauses.of(loop.id) is not None, "a pause of hers stays"

    with_database(tmp_path, body)


@pytest.mark.parametrize("ask", [reset_one, reset_several])
@pytest.mark.parametrize("who", ["adocd", "adocd itself"], ids=["of an older version", "of this version"])
def test_a_reset_policy_ends_the_pause_for_a_policy_that_was_not_understood(
    tmp_path: Path, ask: Asked, who: str
) -> None:
    async def body(fleet: Fleet, loop: TargetLoop) -> None:
        reason = "there is no controller 'law-of-the-future'; set or reset the policy"
        books[fleet].pauses.enter(Pause(loop.id, loop.path, "paused", reason, who, 1.0))
        await ask(fleet, loop)
        assert books[fleet].pauses.of(loop.id) is None

    with_database(tmp_path, body)
