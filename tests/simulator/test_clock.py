"""Virtual time."""

from __future__ import annotations

import asyncio
import time

import pytest

from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock, NothingHappens


def test_sleeps_take_virtual_time_alone_and_in_order() -> None:
    woken: list[tuple[str, float]] = []

    async def run(clock: Clock) -> None:
        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append((name, clock()))

        await asyncio.gather(sleeper("day", 86400.0), sleeper("second", 1.0), sleeper("hour", 3600.0))

    began_s = time.perf_counter()
    virtual.run(run)
    assert woken == [("second", 1.0), ("hour", 3600.0), ("day", 86400.0)]
    assert time.perf_counter() - began_s < 10


def test_timeouts_are_virtual() -> None:
    async def run(clock: Clock) -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 600.0)
        return clock()

    assert virtual.run(run) == 600.0


def test_the_result_is_the_coroutines() -> None:
    async def run(clock: Clock) -> str:
        await asyncio.sleep(0)
        return f"at {clock():g}"

    assert virtual.run(run) == "at 0"


def test_waiting_for_nothing_fails_instead_of_hanging() -> None:
    async def run(clock: Clock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingHappens, match="no timer is set"):
        virtual.run(run)
