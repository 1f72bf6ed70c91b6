"""The fake agent's script: each situation that it exists for really is what the daemon would meet.

That its answers are right otherwise is shown by tests/conformance.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, database, family, limiter
from tests.support.fake_agent import FakeAgent
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S, eventually

CHANGE, UNDO = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))


@pytest.fixture
def agent(run_dir: Path) -> Iterator[FakeAgent]:
    """Start a fake agent with one database."""
    with FakeAgent(run_dir, [FakeDatabase()]) as started:
        yield started


@pytest.fixture
def client(agent: FakeAgent) -> Iterator[AgentClient]:
    """Connect to it."""
    with AgentClient(agent.socket_path) as connected:
        yield connected


def shown(client: AgentClient, db: str) -> str:
    value: str = client.snapshot(db)["options"]["column_families"]["default"]["write_buffer_size"]
    return value


def test_a_slow_change_does_not_hold_up_reading(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    replies: list[str] = []

    def change() -> None:
        with AgentClient(agent.socket_path) as another:
            replies.extend(step["outcome"] for step in another.change(db, epoch, [CHANGE], [UNDO]).ok()["steps"])

    with agent.databases[0].hold_changes():
        changer = threading.Thread(target=change)
        changer.start()
        eventually(lambda: client.snapshot(db)["change_in_flight"], what="the change in flight")
        assert client.put_lease(db, "tester", epoch=epoch).status == 200
        assert replies == []
    changer.join(timeout=PATIENCE_S)
    assert replies == ["applied"]


def test_a_latency_is_kept(agent: FakeAgent, client: AgentClient) -> None:
    agent.databases[0].latency_s["column_family"] = 0.3
    db = client.only_database()["id"]
    [step] = client.change(db, client.acquire(db), [CHANGE], [UNDO]).ok()["steps"]
    assert step["elapsed_s"] >= 0.3


def test_an_error_with_and_without_effect(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    for applied, value in ((False, "67108864"), (True, "4194304")):
        agent.databases[0].fail_next("column_family", "IO error: No space left on device", applied=applied)
        [step] = client.change(db, epoch, [CHANGE], [UNDO]).ok()["steps"]
        assert step["outcome"] == "error"
        assert step["error"] == "IO error: No space left on device"
        assert step["read_back"] == {"write_buffer_size": value}


@pytest.mark.parametrize("kind", ["flush", "compaction"])
def test_a_job_reverts_what_is_in_force_and_a_repeat_heals_it(
    agent: FakeAgent, client: AgentClient, kind: Literal["flush", "compaction"]
) -> None:
    jobs = agent.databases[0].jobs
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    job = jobs.begin(kind)
    client.change(db, epoch, [CHANGE], [UNDO]).ok()
    assert jobs.in_force["default"]["write_buffer_size"] == "4194304"
    jobs.end(job)
    assert jobs.in_force["default"]["write_buffer_size"] == "67108864"
    assert shown(client, db) == "4194304"
    events = [event for event in client.snapshot(db, 0)["events"] if event.get("job") == job]
    assert [event["kind"] for event in events] == [f"{kind}_begin", f"{kind}_end"]
    client.change(db, epoch, [CHANGE], [UNDO], repeat=True).ok()
    assert jobs.in_force["default"]["write_buffer_size"] == "4194304"
    assert agent.databases[0].executed == [CHANGE, CHANGE]


def test_a_revert_that_shows(agent: FakeAgent, client: AgentClient) -> None:
    agent.databases[0].revert_after_s["write_buffer_size"] = 0.2
    db = client.only_database()["id"]
    [step] = client.change(db, client.acquire(db), [CHANGE], [UNDO]).ok()["steps"]
    assert step["read_back"] == {"write_buffer_size": "4194304"}
    eventually(lambda: shown(client, db) == "67108864", what="the revert")


def test_somebody_else_changes_an_option(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    agent.databases[0].set_option("write_buffer_size", "1048576", column_family="default")
    eventually(lambda: shown(client, db) == "1048576", what="the foreign change")


def test_hang_and_resume(agent: FakeAgent, client: AgentClient) -> None:
    agent.hang()
    with AgentClient(agent.socket_path, timeout_s=0.2) as impatient, pytest.raises(TimeoutError):
        impatient.info()
    agent.resume()
    assert client.info()["pid"] == agent.pid


def test_death_between_two_steps(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    agent.die_before_step(1)
    with pytest.raises((ConnectionError, OSError)):
        client.change(db, epoch, [CHANGE, family(max_write_buffer_number="5")], [UNDO, UNDO_BUFFERS])
    assert agent.databases[0].executed == [CHANGE]
    assert agent.socket_path.exists(), "a killed process leaves its socket's name behind"
    with AgentClient(agent.socket_path) as late, pytest.raises(ConnectionRefusedError):
        late.info()


UNDO_BUFFERS = back(family(max_write_buffer_number="2"))


def test_a_stuck_sampler_shows_in_the_age(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    first = client.snapshot(db)
    agent.databases[0].sampling.clear()
    stale = eventually(lambda: (s := client.snapshot(db))["age_s"] > 0.2 and s, what="an old snapshot")
    assert stale["sequence"] == first["sequence"]


def test_another_protocol_and_fewer_capabilities(run_dir: Path) -> None:
    lesser = FakeCapabilities(database_options=(), rate_limiter=False, thread_pools=("low",))
    made_up = FakeDatabase(rate_limiter_bytes_per_s=10**8)
    agent = FakeAgent(run_dir, [made_up], protocol="2.7", capabilities=lesser)
    with agent, AgentClient(agent.socket_path) as client:
        assert client.info()["protocol"] == "2.7"
        db = client.only_database()["id"]
        epoch = client.acquire(db)
        jobs = database(max_background_jobs="4")
        client.change(db, epoch, [jobs], [back(jobs)]).refused(422, "unsupported")
        client.change(db, epoch, [limiter(1)], [back(limiter(1))]).refused(422, "unsupported")
        assert not client.only_database()["capabilities"]["rate_limiter"]


def test_an_interceptor_answers_first(agent: FakeAgent, client: AgentClient) -> None:
    nothing: Json = {"databases": []}
    agent.intercept = lambda _method, target, _body: (200, nothing) if target == "/v1/databases" else None
    assert client.databases() == []
    assert client.info()["program"] == "fake"
    assert [target for _, target, _ in agent.requests] == ["/v1/databases", "/v1/info"]


def test_stall_in_progress_is_counted(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    agent.databases[0].measurements.stall("stopped")
    first = eventually(lambda: (s := client.snapshot(db, 0))["stall"]["condition"] == "stopped" and s, what="it")
    assert first["properties"]["rocksdb.is-write-stopped"] == 1
    eventually(lambda: client.snapshot(db)["stall"]["stopped_s"] > first["stall"]["stopped_s"], what="time in it")


def test_tuned_values_survive_a_reopen_only_where_the_host_loads_them(agent: FakeAgent, client: AgentClient) -> None:
    db = client.only_database()["id"]
    client.change(db, client.acquire(db), [CHANGE], [UNDO]).ok()
    agent.databases[0].reopen(keep_options=True)
    eventually(lambda: shown(client, db) == "4194304", what="the tuned value")
    agent.databases[0].reopen()
    eventually(lambda: shown(client, db) == "67108864", what="the host's own value")
