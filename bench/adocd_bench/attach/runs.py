"""Attaches to a running program and detaches from it, as often as it is asked to."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from adocd.process.attach import attachment
from adocd.targets.agent import Agent
from adocd_bench.attach.measured import AttachAndDetach, Host, LongestWrites
from adocd_bench.attach.programs import Running
from adocd_bench.errors import RunFailed
from adocd_bench.run.workspace import run_directory

_SETTLE_S = 5.0


def again_and_again(program: Running, times: int, say: Callable[[str], None], settle_s: float = _SETTLE_S) -> Host:
    """Attach so many times, from `settle_s` seconds on.

    Raises RunFailed for a wrong database, AttachRefused, NativeError.
    """
    time.sleep(settle_s)  # what it opens, fills and starts at first is none of the attaching's
    found = []
    with run_directory() as run:
        for number in range(times):
            found.append(_once(program, run))
            say(f"{program.name}, {len(program.databases)} databases: {number + 1} of {times}")
    rss_bytes = psutil.Process(program.pid).memory_info().rss
    return Host(program.name, len(program.databases), rss_bytes, tuple(found))


def _once(program: Running, run: Path) -> AttachAndDetach:
    began_s = time.monotonic()
    found = {each.directory for each in attachment.look(program.pid).databases}
    look_s = time.monotonic() - began_s
    _require(program, found, "were found")

    program.longest_us()
    began_s = time.monotonic()
    attached = attachment.attach(program.pid, run, {})
    attach_s = time.monotonic() - began_s
    attach_us = program.longest_us()
    _require(program, {each.directory for each in attached.databases}, "were attached to")
    _require(program, asyncio.run(answering(program.pid, run)), "answer")

    program.longest_us()
    began_s = time.monotonic()
    attachment.detach(program.pid, run)
    detach_s = time.monotonic() - began_s
    detach_us = program.longest_us()

    time.sleep(attach_s)
    left_alone_us = program.longest_us()
    if attach_us is None or detach_us is None or left_alone_us is None:
        return AttachAndDetach(look_s, attach_s, detach_s)
    return AttachAndDetach(look_s, attach_s, detach_s, LongestWrites(attach_us, detach_us, left_alone_us))


def _require(program: Running, found: set[Path], what: str) -> None:
    if found != program.databases:
        raise RunFailed(f"{program.name} has {sorted(program.databases)} open, but {sorted(found)} {what}")


async def answering(pid: int, run: Path) -> set[Path]:
    """Ask each database for a snapshot through the agent; returns those that have levels."""
    socket = attachment.socket_of(pid, run)
    if socket is None:
        raise RunFailed(f"the agent in process {pid} has no socket")
    agent, answering = Agent(socket), set()
    try:
        for database in await agent.databases():
            target = agent.target(database)
            try:
                if (await target.snapshot(None)).column_families:
                    answering.add(Path(database.path))
            finally:
                await target.close()
    finally:
        await agent.close()
    return answering
