"""Databases and column families that come and go on many threads, under clients: nothing crashes, nothing leaks."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

LONG = os.environ.get("ADOCD_STORM") == "long"
THREADS, SECONDS = 8, 60 if LONG else 4


def held(pid: int) -> tuple[int, int]:
    """Return how many descriptors and threads a process has."""
    proc = Path(f"/proc/{pid}")
    return len(list((proc / "fd").iterdir())), len(list((proc / "task").iterdir()))


@pytest.mark.timeout(300)
def test_databases_that_come_and_go(start_jvm: StartJvm, run_dir: Path, tmp_path: Path) -> None:
    program = start_jvm("-Xmx256m")
    (tmp_path / "storm").mkdir()
    program.ask("open", tmp_path / "db")  # it stays, and with it the socket
    socket_path = run_dir / f"agent-{program.pid}.sock"
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
        opens = int(program.ask("storm", THREADS, SECONDS, tmp_path / "storm"))
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
        print(f"{opens} opens by {THREADS} threads in {SECONDS} s, {answers[0]} answers")
