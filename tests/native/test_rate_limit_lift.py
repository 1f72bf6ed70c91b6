"""A rate limit that a lease has lowered is its owner's while a call waits (lift_rate_limit)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family, limiter
from tests.support.programs import Program
from tests.support.waiting import PATIENCE_S, always, eventually

MIB = 1 << 20
OWNERS, LOW = 100 * MIB, 2 * MIB
CHANGE = family(max_write_buffer_number="4")
PLAN = [back(limiter(OWNERS)), back(family(max_write_buffer_number="2"))]
STAYS_S = 1.2
"""More than twice what a call may take before it waits."""


class Hanging:
    """A database with a rate limit and a lease, whose changes can be made to hang."""

    def __init__(self, host: Program, client: AgentClient, directory: Path) -> None:
        self.host, self.client, self.path = host, client, directory / "db"
        host.ask("open", self.path, "write_buffer_size=65536", f"rate_limiter={OWNERS}")
        self.db = client.only_database()["id"]
        self.epoch = client.acquire(self.db, ttl_s=60)

    def begin(self, rate: int | None, *more: Json, lift: bool | None = True) -> tuple[threading.Thread, list[Json]]:
        """Turn the limit to `rate`, if given, and send a change that waits; its answer comes into the list."""
        if rate is not None:
            self.client.change(self.db, self.epoch, [limiter(rate)], PLAN).ok()
        self.host.ask("stall", self.path)
        answers: list[Json] = []

        def send() -> None:
            with AgentClient(self.client.socket_path, timeout_s=60) as another:
                changes = [CHANGE, *more]
                answers.append(another.change(self.db, self.epoch, changes, PLAN, lift_rate_limit=lift).ok())

        changer = threading.Thread(target=send)
        changer.start()
        eventually(lambda: self.client.snapshot(self.db)["change_in_flight"], what="the change in flight")
        return changer, answers

    @contextlib.contextmanager
    def change(self, rate: int | None, *more: Json, lift: bool | None = True) -> Iterator[None]:
        """Do the same, and end the stop at the end of the block."""
        changer, answers = self.begin(rate, *more, lift=lift)
        yield
        assert answers == [], "the change did not hang: the test shows nothing"
        self.host.ask("unstall", self.path)
        changer.join(timeout=PATIENCE_S)
        eventually(lambda: not self.client.fresh_snapshot(self.db)["change_in_flight"], what="the end of the change")

    def limit(self) -> int:
        """Return the limit in force, bytes/s."""
        return int(self.client.fresh_snapshot(self.db)["options"]["rate_limiter_bytes_per_s"])

    def lifted(self) -> list[Json]:
        """Return the events that tell of it."""
        return [e for e in self.client.fresh_snapshot(self.db, 0)["events"] if e["kind"] == "rate_limit_lifted"]


@pytest.fixture
def hanging(start: Start, connect: Connect, directory: Path) -> Hanging:
    """Start a host with such a database."""
    host = start("lifecycle")
    return Hanging(host, connect(host), directory)


def test_it_is_the_owners_until_the_call_returns(hanging: Hanging) -> None:
    with hanging.change(LOW):
        eventually(lambda: hanging.limit() == OWNERS, what="the owner's limit")
        always(lambda: hanging.limit() == OWNERS, for_s=0.5, what="it stays there")
        assert hanging.client.database(hanging.db)["capabilities"]["lifts_rate_limit"] is True
    assert hanging.limit() == LOW
    (event,) = hanging.lifted()
    assert event["elapsed_s"] >= 0.5


def test_the_next_step_of_the_same_change_sets_another_one(hanging: Hanging) -> None:
    with hanging.change(LOW, limiter(MIB)):
        eventually(lambda: hanging.limit() == OWNERS, what="the owner's limit")
    assert hanging.limit() == MIB
    hanging.client.delete_lease(hanging.db, force=True).ok(202)
    eventually(lambda: hanging.client.fresh_snapshot(hanging.db)["restore"]["state"] == "done", what="the restore")
    assert hanging.limit() == OWNERS


@pytest.mark.parametrize(
    ("rate", "lift"), [(LOW, False), (LOW, None), (2 * OWNERS, True), (OWNERS, True)],
    ids=["not asked for", "an older daemon", "it is higher than the owner's", "it is the owner's"],
)  # fmt: skip
def test_otherwise_it_stays(hanging: Hanging, rate: int, lift: bool | None) -> None:
    with hanging.change(rate, lift=lift):
        always(lambda: hanging.limit() == rate, for_s=STAYS_S, what="the limit stays")
    assert hanging.limit() == rate
    assert hanging.lifted() == []


def test_what_its_owner_sets_meanwhile_is_not_overwritten(hanging: Hanging) -> None:
    with hanging.change(LOW):
        eventually(lambda: hanging.limit() == OWNERS, what="the limit is lifted")
        hanging.host.ask("set_limiter", hanging.path, 50 * MIB)
    always(lambda: hanging.limit() == 50 * MIB, for_s=0.5, what="it stays there")


def test_what_its_owner_has_set_before_is_not_lifted(hanging: Hanging) -> None:
    hanging.client.change(hanging.db, hanging.epoch, [limiter(LOW)], PLAN).ok()
    hanging.host.ask("set_limiter", hanging.path, MIB)
    with hanging.change(None):
        always(lambda: hanging.limit() == MIB, for_s=STAYS_S, what="the limit stays")
    assert hanging.limit() == MIB
    assert hanging.lifted() == []


def test_a_close_leaves_the_owners_limit(hanging: Hanging) -> None:
    """Another database of the process shares the limiter, and shows it when the first one is gone."""
    hanging.host.ask("open_like", hanging.path.with_name("beside"), hanging.path)
    changer, answers = hanging.begin(LOW)
    eventually(lambda: hanging.limit() == OWNERS, what="the limit is lifted")
    assert answers == [], "the change did not hang: the test shows nothing"
    hanging.host.ask("close", hanging.path)
    changer.join(timeout=PATIENCE_S)
    hanging.db = hanging.client.only_database()["id"]
    assert hanging.limit() == OWNERS


def test_a_restore_that_begins_meanwhile_leads_back_to_the_owners(hanging: Hanging) -> None:
    with hanging.change(LOW):
        eventually(lambda: hanging.limit() == OWNERS, what="the limit is lifted")
        hanging.client.delete_lease(hanging.db, force=True).ok(202)
    eventually(lambda: hanging.client.fresh_snapshot(hanging.db)["restore"]["state"] == "done", what="the restore")
    assert hanging.client.fresh_snapshot(hanging.db)["restore"]["errors"] == []
    always(lambda: hanging.limit() == OWNERS, for_s=0.5, what="it stays there")
