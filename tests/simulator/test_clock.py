"""Virtual time."""

from __future__ import annotations

import asyncio
import threading
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

    virtual.run(run)
    assert woken == [("second", 1.0), ("hour", 3600.0), ("day", 86400.0)]


def test_timeouts_are_virtual() -> None:
    async def run(clock: Clock) -> float:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 600.0)
        return clock()

    assert virtual.run(run) == 600.0


def test_nobody_writes_the_result_out_in_words() -> None:
    """asyncio.Runner does so with its task's result at the end, and that of a run has a million values."""

    class Result:
        written = 0

        def __repr__(self) -> str:
            Result.written += 1
            return "a result"

    async def run(clock: Clock) -> Result:
        del clock
        return Result()

    assert isinstance(virtual.run(run), Result)
    assert Result.written == 0


def test_the_result_is_the_coroutines() -> None:
    async def run(clock: Clock) -> str:
        await asyncio.sleep(0)
        return f"at {clock():g}"

    assert virtual.run(run) == "at 0"


def test_what_runs_in_a_thread_takes_no_virtual_time() -> None:
    """A law may be called in a thread with a limit; its answer must not come late because time leaps."""

    async def run(clock: Clock) -> tuple[int, float]:
        answered = 0
        for _ in range(20):
            async with asyncio.timeout(2.0):
                answered += await asyncio.to_thread(lambda: time.sleep(0.005) or 1)  # type: ignore[func-returns-value]
            await asyncio.sleep(1.0)
        return answered, clock()

    assert virtual.run(run) == (20, 20.0)


def test_a_thread_that_hangs_holds_up_nothing_for_ever() -> None:
    ends = threading.Event()

    async def run(clock: Clock) -> float:
        threading.Thread(target=ends.wait, daemon=True).start()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.2)
        await asyncio.sleep(86400.0)
        return clock()

    began_s = time.perf_counter()
    assert virtual.run(run) == pytest.approx(86400.2)
    ends.set()
    assert time.perf_counter() - began_s >= 0.2, "while a thread runs, time does not leap"


def test_waiting_for_nothing_fails_instead_of_hanging() -> None:
    async def run(clock: Clock) -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingHappens, match="no timer is set"):
        virtual.run(run)
