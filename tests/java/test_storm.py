"""Databases and column families that come and go on many threads, under clients: nothing crashes, nothing leaks.

ADOCD_STORM=long lets each storm last ten minutes (`make java-storm`), a number that many seconds.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import command
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.programs import Program
from tests.support.waiting import PATIENCE_S, eventually

PROFILE = os.environ.get("ADOCD_STORM", "4")
SECONDS = 600 if PROFILE == "long" else int(PROFILE)
THREADS, PARTS = 8, 4
#: How many column families each thread drops before it closes a database. A short storm has both in one.
DROPS = (3,) if SECONDS < 60 else (3, 0)
#: Clients that only ask, each this often at most, and those that change options.
ASKERS, CALLS_PER_S, CHANGERS = 8, 150, 2
#: How long the agent stays each time before it is detached, and stays away (s).
STAYS_S, AWAY_S = 1.5, 0.2
#: By how much the memory may grow from the first quarter of a long storm to its end. A database that is never given
#: back has tens of kilobytes, and there are some hundred opens a second.
GROWTH = 1.25


def held(pid: int) -> tuple[int, int]:
    """Return how many descriptors and threads a process has."""
    proc = Path(f"/proc/{pid}")
    return len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has, the JVM's and RocksDB's together."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Clients:
    """Clients of an agent that may come and go: some ask quickly, some change options under a lease."""

    def __init__(self, socket_path: Path) -> None:
        self.counted: Counter[str] = Counter()
        self.strange: list[object] = []
        self._socket_path = socket_path
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run them during the block; fails with what none of them should have got."""
        work = [self._ask] * ASKERS + [self._change] * CHANGERS
        threads = [threading.Thread(target=self._while_it_storms, args=(each,)) for each in work]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._stop.set()
            for each in threads:
                each.join()
        assert self.strange == []

    def _while_it_storms(self, work: Any) -> None:
        while not self._stop.is_set():
            try:
                work()
            except OSError:  # the agent is away
                time.sleep(0.02)
            except BaseException as error:  # a thread's exception would be lost
                self.strange.append(error)
                return

    def _ask(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(str(self._socket_path))
            while not self._stop.is_set():
                for database in json.loads(self._asked(connection, "/v1/databases"))["databases"]:
                    for what in ("/snapshot", "", "/snapshot"):
                        self._asked(connection, f"/v1/databases/{database['id']}{what}")

    def _asked(self, connection: socket.socket, target: str) -> bytes:
        """Ask as fast as Python can: nothing of the answer is looked at but its status and its length."""
        due_s = time.monotonic() + 1 / CALLS_PER_S
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: adocd\r\n\r\n".encode())
        head, length, body = b"", 0, b""
        while not length or len(body) < length:
            received = connection.recv(1 << 20)
            if not received:
                raise ConnectionResetError
            head, body = (head, body + received) if length else (head + received, b"")
            if not length and b"\r\n\r\n" in head:
                head, _, body = head.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
        status = head[9:12]
        if status not in (b"200", b"404", b"409", b"503"):
            self.strange.append((target, head, body))
        self.counted["answers"] += 1
        time.sleep(max(0.0, due_s - time.monotonic()))
        return body

    def _change(self) -> None:
        """Change an option of each database under a lease, and let it restore that."""
        me = f"changer {threading.get_ident()}"
        plan = [back(family(write_buffer_size=str(64 << 20)))]
        with AgentClient(self._socket_path) as client:
            while not self._stop.is_set():
                for database in client.databases():
                    replies = [client.put_lease(database["id"], me)]
                    if replies[0].status == 200:
                        body = {"holder": me, "epoch": replies[0].body["epoch"], "restore_plan": plan,
                                "changes": [family(write_buffer_size=str(8 << 20))]}  # fmt: skip
                        replies.append(client.request("PATCH", f"/v1/databases/{database['id']}/options", body))
                        self.counted["changes"] += replies[1].status == 200
                        replies.append(client.delete_lease(database["id"], force=True))
                    self.strange += [each for each in replies if each.status not in (200, 202, 404, 409, 503)]
                    self.counted["answers"] += len(replies)


def attach_and_detach(program: Program, run_dir: Path, stop: threading.Event, counted: Counter[str]) -> None:
    """Attach and detach by the command, until the storm is over; the agent is away at the end."""
    socket_path = run_dir / f"agent-{program.pid}.sock"
    while not stop.is_set():
        command("adocd", "attach", str(program.pid), run_dir=run_dir).ok()
        counted["attaches"] += 1
        eventually(lambda: stop.is_set() or socket_path.exists(), what="the agent to see a database")
        stop.wait(STAYS_S)

        def detached() -> bool:
            said = command("adocd", "detach", str(program.pid), run_dir=run_dir)
            # One of the changers has just changed something, or the restore of that is running.
            assert said.status == 0 or "try again" in said.err, said
            return said.status == 0

        eventually(detached, what="the agent to be detached")
        counted["detaches"] += 1
        stop.wait(AWAY_S)


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("drops", DROPS, ids="drops_{}".format)
@pytest.mark.parametrize("late", [False, True], ids=["from_the_start", "attached_again_and_again"])
def test_databases_that_come_and_go(
    start_jvm: StartJvm, run_dir: Path, tmp_path: Path, java_agent: Path, late: bool, drops: int
) -> None:
    """The heap has its size from the start, so that the memory that grows is not Java's."""
    program = start_jvm("-Xms128m", "-XX:+AlwaysPreTouch", agent=not late)
    (tmp_path / "storm").mkdir()
    program.ask("open", tmp_path / "db")
    clients, memory, stop = Clients(run_dir / f"agent-{program.pid}.sock"), list[int](), threading.Event()
    counted = clients.counted

    def storm(seconds: float) -> None:
        counted["opens"] += int(program.ask("storm", THREADS, f"{seconds}", drops, tmp_path / "storm"))
        memory.append(resident_bytes(program.pid))

    if late:  # what the first attachment leaves: the JVM's own socket, and the agent's jar
        command("adocd", "attach", str(program.pid), run_dir=run_dir).ok()
        command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
    before, began_s = held(program.pid), time.monotonic()
    with ThreadPoolExecutor() as beside, clients.running():
        if late:
            attaching = beside.submit(attach_and_detach, program, run_dir, stop, counted)
        try:
            while len(memory) < PARTS or not (counted["changes"] and counted["attaches"] >= 2 * late):
                assert len(memory) < 20 * PARTS, f"the agent is hardly ever there: {counted}"
                if late and attaching.done():
                    break  # it has failed
                storm(SECONDS / PARTS)
        finally:
            stop.set()
        if late:
            attaching.result()
    took_s = time.monotonic() - began_s
    assert counted["opens"] > THREADS
    assert counted["answers"] > counted["changes"] > 0
    assert counted["detaches"] == counted["attaches"]
    assert (counted["attaches"] > 0) == late
    eventually(
        lambda: all(now <= then + 6 for now, then in zip(held(program.pid), before, strict=True)),
        what=f"descriptors and threads as before, {before}",
    )
    grown = ", ".join(f"{each >> 20} MiB" for each in memory)
    if SECONDS >= 60:
        assert memory[-1] < memory[0] * GROWTH, f"it grows, quarter by quarter: {grown}"
    print(
        f"{took_s:.0f} s: {counted['opens']} opens by {THREADS} threads, {counted['opens'] * drops} column families "
        f"dropped, {counted['answers'] / took_s:.0f} answers/s, {counted['changes']} changes, "
        f"{counted['attaches']} attaches, {counted['detaches']} detaches, {before} descriptors and threads before and "
        f"{held(program.pid)} after; resident after each quarter: {grown}"
    )
