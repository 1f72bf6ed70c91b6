"""Attaches to a JVM that works and detaches from it, again and again: what its puts notice."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from adocd.process.attach import attachment, jvm
from adocd.process.attach.jvm import RunningJvm
from adocd.targets.errors import TargetError
from adocd_bench.attach.runs import answering
from adocd_bench.errors import RunFailed
from adocd_bench.jvm.examples import RunningExample
from adocd_bench.jvm.measured import AttachedExample, AttachedOnce

#: The JVM compiles what runs often, at first.
_SETTLE_S = 20
_SEEN_WITHIN_S, _POLL_S = 15.0, 0.02


def again_and_again(
    program: RunningExample, jar: Path, room: Path, times: int, say: Callable[[str], None], settle_s: int = _SETTLE_S
) -> AttachedExample:
    """Attach so many times, from `settle_s` seconds after its first record on.

    Raises RunFailed where a database is not seen, or something else is; AttachRefused.
    """
    _wait_for(program, settle_s)
    found = jvm.running(program.pid)
    if found is None:
        raise RunFailed(f"{program.example.title} is no JVM")
    databases, once = found.locked(), []
    for number in range(times):
        once.append(_once(program, found, databases, jar, room))
        say(f"{program.example.title}: attached and detached {number + 1} of {times} times")
    seconds = program.seconds()
    return AttachedExample(
        program.example.name, len(databases), sum(each.records for each in seconds) / len(seconds), tuple(once)
    )


def _once(program: RunningExample, found: RunningJvm, databases: set[Path], jar: Path, room: Path) -> AttachedOnce:
    first = len(program.seconds())
    began_s = time.monotonic()
    jvm.attach(found, jar, room)
    attach_s = time.monotonic() - began_s
    _see(program, databases, room, began_s + _SEEN_WITHIN_S)
    seen_s = time.monotonic() - began_s
    # The second in which the search for databases ended is told when it is over.
    _wait_for(program, len(program.seconds()) + 1)
    attached = len(program.seconds())
    began_s = time.monotonic()
    jvm.detach(found, room)
    detach_s = time.monotonic() - began_s
    _wait_for(program, len(program.seconds()) + 1)
    detached = len(program.seconds())
    _wait_for(program, detached + attached - first)
    seconds = program.seconds()
    return AttachedOnce(
        attach_s=round(attach_s, 3),
        seen_s=round(seen_s, 3),
        detach_s=round(detach_s, 3),
        attach_ms=max(each.longest_put_ms for each in seconds[first:attached]),
        detach_ms=max(each.longest_put_ms for each in seconds[attached:detached]),
        left_alone_ms=max(each.longest_put_ms for each in seconds[detached : detached + attached - first]),
    )


def _see(program: RunningExample, databases: set[Path], room: Path, until_s: float) -> None:
    """Wait until the agent shows all databases, and each of them answers."""
    seen: set[Path] = set()
    while seen != databases:
        if time.monotonic() > until_s:
            raise RunFailed(f"{program.example.title} has {sorted(databases)} open, and the agent shows {sorted(seen)}")
        time.sleep(_POLL_S)
        with contextlib.suppress(TargetError):  # it has not begun to sample
            if attachment.socket_of(program.pid, room) is not None:
                seen = asyncio.run(answering(program.pid, room))


def _wait_for(program: RunningExample, seconds: int) -> None:
    """Wait until it has told so many seconds."""
    while len(program.seconds()) < seconds:
        if program.child.ended():
            raise RunFailed(f"{program.example.title} ended while it was attached to: {program.child.last_words()}")
        time.sleep(_POLL_S)
