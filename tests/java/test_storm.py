"""Databases and column families that come and go on many threads, under clients: nothing crashes, nothing leaks.

ADOCD_STORM=long lets each storm last ten minutes (`make java-storm`).
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm, attach_late
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

LONG = os.environ.get("ADOCD_STORM") == "long"
THREADS, SECONDS, PARTS = 8, 600 if LONG else 4, 4


def held(pid: int) -> tuple[int, int]:
    """Return how many descriptors and threads a process has."""
    proc = Path(f"/proc/{pid}")
    return len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has, the JVM's and RocksDB's together."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("late", [False, True], ids=["from_the_start", "attached_in_it"])
def test_databases_that_come_and_go(
    start_jvm: StartJvm, run_dir: Path, tmp_path: Path, java_agent: Path, late: bool
) -> None:
    program = start_jvm("-Xmx256m", agent=not late)
    (tmp_path / "storm").mkdir()
    program.ask("open", tmp_path / "db")  # it stays, and with it the socket
    socket_path = run_dir / f"agent-{program.pid}.sock"
    if late:
        with ThreadPoolExecutor() as beside:
            storm = beside.submit(program.ask, "storm", THREADS, 2, tmp_path / "storm")
            attach_late(program, java_agent, run_dir)
            assert int(storm.result()) > 0
        program.ask("put", tmp_path / "db", 1)
    wait_for_agent(socket_path)
    program.ask("storm", THREADS, 1, tmp_path / "storm")
    with AgentClient(socket_path) as client:
        eventually(lambda: len(client.databases()) == 1, what="the end of the first storm")
        before = held(program.pid)
        stop, strange, answers = threading.Event(), list[object](), [0]

        def ask() -> None:
            try:
                with AgentClient(socket_path) as another:
                    while not stop.is_set():
                        for database in another.databases():
                            target = f"/v1/databases/{database['id']}"
                            lease = another.put_lease(database["id"], f"asker {threading.get_ident()}")
                            for reply in (another.request("GET", f"{target}/snapshot"), lease):
                                if reply.status not in (200, 404, 409, 503):
                                    strange.append(reply)
                                answers[0] += 1
                            another.delete_lease(database["id"], force=True)
            except BaseException as error:  # a thread's exception would be lost
                strange.append(error)

        askers = [threading.Thread(target=ask) for _ in range(4)]
        for each in askers:
            each.start()
        opens, memory = 0, []
        for _ in range(PARTS):
            opens += int(program.ask("storm", THREADS, SECONDS // PARTS, tmp_path / "storm"))
            memory.append(resident_bytes(program.pid))
        stop.set()
        for each in askers:
            each.join()
        assert strange == []
        assert opens > THREADS
        assert answers[0] > opens / 2
        eventually(lambda: len(client.databases()) == 1, what="the end of the storm")
        eventually(
            lambda: all(now <= then + 6 for now, then in zip(held(program.pid), before, strict=True)),
            what=f"descriptors and threads as before, {before}",
        )
    if LONG:
        assert memory[-1] < memory[0] * 1.25, f"it grows: {memory} bytes resident after each quarter"
        print(f"resident after each quarter: {', '.join(f'{each >> 20} MiB' for each in memory)}; ", end="")
        print(f"{opens} opens by {THREADS} threads in {SECONDS} s, {answers[0]} answers")
