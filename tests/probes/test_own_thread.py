"""Work on threads that nobody waits for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from adocd.probes.own_thread import OwnThread


def test_it_gives_what_the_work_gives() -> None:
    async def body() -> None:
        thread = OwnThread("a test")
        assert await thread.run(threading.get_ident, 1.0) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 // 0, 1.0)
        assert not thread.is_busy

    asyncio.run(body())


def test_one_at_a_time_also_after_impatience() -> None:
    release, begun = threading.Event(), []

    def work(name: str) -> str:
        begun.append(name)
        release.wait(10)
        return name

    async def body() -> None:
        thread = OwnThread("a test")
        for name in ("first", "second"):
            with pytest.raises(TimeoutError):
                await thread.run(lambda name=name: work(name), 0.05)  # type: ignore[misc]
        assert thread.is_busy
        assert begun == ["first"]
        release.set()
        assert await thread.run(lambda: work("third"), 5.0) == "third"
        assert begun == ["first", "third"]

    asyncio.run(body())


def test_a_cancelled_caller_leaves_it_alone() -> None:
    release = threading.Event()

    async def body() -> None:
        thread = OwnThread("a test")
        caller = asyncio.create_task(thread.run(lambda: release.wait(10), 10.0))
        await asyncio.sleep(0.05)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert thread.is_busy
        release.set()

    asyncio.run(body())


def test_a_program_ends_although_it_hangs() -> None:
    """With asyncio.to_thread it would not: asyncio.run and the interpreter wait for those threads."""
    program = """
import asyncio, threading
from adocd.probes.own_thread import OwnThread

async def body():
    for _ in range(64):
        try:
            await OwnThread("a test").run(threading.Event().wait, 0.01)
        except TimeoutError:
            pass
    print(await asyncio.to_thread(lambda: "others go on"))

asyncio.run(body())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "others go on\n"
