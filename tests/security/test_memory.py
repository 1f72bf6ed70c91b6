"""What is refused leaves nothing behind: not for the collector of garbage, who comes seldom, and not in the memory."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import h11
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from adocd.api.limits import LimitedConnection
from adocd.targets.errors import Silent
from tests.api.harness import Service, with_service
from tests.cli.harness import log_of, script_serving
from tests.examples import units
from tests.examples.test_systemd import UNITS
from tests.security.refusals import REFUSALS, Address, refused, request
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

TIMES = 5
#: asyncio's transport, its socket, and what ties them together: some 500 bytes for each connection, and nothing of
#: what was sent. A request by TCP has a second one, to the daemon, and others may end meanwhile.
MOST_OBJECTS = 20
HOLDERS = (BaseException, types.FrameType, types.TracebackType, h11.Connection, LimitedConnection, RequestResponseCycle)
#: How often each refusal is asked for, and what all of them together may leave. One body that is kept is 1 MB.
ROUNDS = 2_000 if os.environ.get("ADOCD_SOAK") == "full" else 10
MOST_BYTES = 24 << 20


@contextlib.contextmanager
def _nothing_but_the_new() -> Iterator[None]:
    """Let the collector pass over what is there already, which takes it long each time, and come when asked alone.

    What it finds is kept for `_left_behind`.
    """
    before = gc.get_debug()
    gc.collect()
    gc.freeze()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield
    finally:
        gc.set_debug(before)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


def _left_behind(address: Address, sent: bytes) -> list[object]:
    """Make the request a few times, and return what only the collector of cyclic garbage finds."""
    refused(address, sent)  # what is made once
    gc.collect()
    gc.garbage.clear()
    gc.freeze()  # what is there has been looked at
    for _ in range(TIMES):
        refused(address, sent)
    gc.collect()
    left = list(gc.garbage)
    gc.garbage.clear()
    return left


def test_nothing_of_what_was_refused_waits_for_the_collector(tmp_path: Path) -> None:
    """Else every request's body, its text and what it was parsed to stay until 50,000 objects have come together."""
    seen = 0

    async def check(service: Service) -> None:
        nonlocal seen
        for side, address in (("unix", str(service.socket)), ("tcp", ("127.0.0.1", service.port))):
            for name, sent in REFUSALS.items():
                await asyncio.to_thread(refused, address, sent)
                left = await asyncio.to_thread(_left_behind, address, sent)
                while any(
                    isinstance(each, Silent) for each in left
                ):  # the daemon's own, to a database on a busy machine
                    left = await asyncio.to_thread(_left_behind, address, sent)
                kinds = Counter(type(each).__name__ for each in left)
                assert not [each for each in left if isinstance(each, HOLDERS)], f"{side}, {name}: {kinds}"
                assert len(left) <= TIMES * MOST_OBJECTS, f"{side}, {name}: {kinds}"
                seen += 1

    with _nothing_but_the_new():
        with_service(tmp_path, FakeDatabase(), check)
    assert seen == 2 * len(REFUSALS)


def test_refusals_leave_the_memory_as_it_was(run_dir: Path) -> None:
    """The resident sizes of the daemon and of its web process, under each refusal, again and again."""
    with script_serving(run_dir, "--port", "0") as daemon:
        (port,) = eventually(lambda: re.findall(r"127\.0\.0\.1:(\d+)", log_of(run_dir)), what="the port")
        addresses: list[Address] = [str(run_dir / "daemon.sock"), ("127.0.0.1", int(port))]
        eventually(lambda: refused(addresses[1], request("GET /healthz")) == 200, what="the web process answers")
        (web,) = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
        processes = (daemon.pid, int(web))
        _ask_all(addresses, 5)
        before = [_resident_bytes(pid) for pid in processes]
        answers = _ask_all(addresses, ROUNDS)
        grown = [_resident_bytes(pid) - size for pid, size in zip(processes, before, strict=True)]
        print(
            f"{sum(answers.values())} requests; the daemon grew by {grown[0]:,} bytes, its web process by {grown[1]:,}"
        )
        assert sum(answers.values()) == 2 * ROUNDS * len(REFUSALS)
        assert answers[400] + answers[413] + answers[422] > ROUNDS * len(REFUSALS), answers
        assert answers[500] == 0
        assert max(grown) < MOST_BYTES, grown
    assert "Traceback" not in log_of(run_dir)


def _ask_all(addresses: list[Address], rounds: int) -> Counter[int | None]:
    """Make every request so often, and count the answers by status."""
    answers: Counter[int | None] = Counter()
    for sent in REFUSALS.values():
        for address in addresses:
            for _ in range(rounds):
                answers[refused(address, sent)] += 1
    return answers


def _resident_bytes(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def test_the_service_has_a_bound_of_its_own() -> None:
    """Above what a thousand databases take (docs/cost.md), for the kernel to hold should all else fail."""
    (most,) = units.settings(UNITS / "adocd.service")["MemoryMax"]
    found = re.fullmatch(r"(\d+)G", most)
    assert found is not None
    assert 1.5 <= int(found[1]) <= 4
