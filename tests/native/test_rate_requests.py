"""A rate limit that comes down must not end a program whose librocksdb asserts the size of a request.

RocksDB reads GetSingleBurstBytes and then requests that much; if the rate comes down between the two, a library with
assertions aborts (GenericRateLimiter::Request in util/rate_limiter.cc). The two are less than a microsecond apart, so
nobody can wait here for that to happen; the tests see that requests are small enough before the rate is.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adocd.process.attach import attachment
from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient
from tests.support.changes import back, limiter
from tests.support.elf import loaded_library
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

MIB = 1 << 20
HIGH, LOW = 400 * MIB, 10 * MIB
ASKED = 2 * MIB
PERIODS_PER_S = 10
"""NewGenericRateLimiter refills ten times a second unless it is told otherwise."""
PLAIN = "compression=kNoCompression"


def asserts(native_programs: Path) -> bool:
    """Whether this machine's librocksdb has the assertion; Debian's does."""
    library = loaded_library(native_programs / "lifecycle", "librocksdb").read_bytes()
    return b"bytes <= refill_bytes_per_period_" in library or b"bytes <= GetSingleBurstBytes()" in library


def turn_down_and_up(host: Program, client: AgentClient, database: Path) -> tuple[int, int, int]:
    """Return how often a request was small while the rate was still high, and the sizes while it is low and high."""
    db = client.only_database()["id"]
    epoch, plan = client.acquire(db), [back(limiter(HIGH))]
    host.ask("watch_requests", database, ASKED)
    eventually(lambda: watched(host) == (0, ASKED), what="a request of full size")
    client.change(db, epoch, [limiter(LOW)], plan).ok()
    eventually(lambda: watched(host)[1] < ASKED, what="a smaller request")
    early, low = watched(host)
    client.change(db, epoch, [limiter(HIGH)], plan).ok()
    eventually(lambda: watched(host)[1] == ASKED, what="a request of full size again")
    host.ask("end_watch")
    return early, low, ASKED


def watched(host: Program) -> tuple[int, int]:
    early, last = map(int, host.ask("watched").split())
    return early, last


@pytest.mark.parametrize("rate", [HIGH, (1 << 63) - 1], ids=["a limit", "no limit"])
@pytest.mark.parametrize("added", [True, False], ids=["the agent's limiter", "the host's limiter"])
def test_requests_are_small_before_the_rate_is(
    start: Start, connect: Connect, directory: Path, native_programs: Path, added: bool, rate: int
) -> None:
    extra = {"ADOCD_AGENT_RATE_LIMITER": str(rate)} if added else {}
    host = start("lifecycle", **extra)
    host.ask("open", directory / "db", *([] if added else [f"rate_limiter={rate}"]))
    early, low, _ = turn_down_and_up(host, connect(host), directory / "db")
    assert low == LOW / PERIODS_PER_S
    assert (early > 0) is asserts(native_programs)


def test_in_a_program_that_was_attached_to_as_well(native_programs: Path, directory: Path, run_dir: Path) -> None:
    with Program([native_programs / "lifecycle"], environment(None, None)) as host:
        host.ask("open", directory / "db", f"rate_limiter={HIGH}")
        assert len(attachment.attach(host.pid, run_dir, {}).databases) == 1
        socket = attachment.socket_of(host.pid, run_dir)
        assert socket is not None
        with AgentClient(socket) as client:
            early, low, _ = turn_down_and_up(host, client, directory / "db")
        assert low == LOW / PERIODS_PER_S
        assert (early > 0) is asserts(native_programs)


def test_detaching_brings_a_rate_down_as_carefully(native_programs: Path, directory: Path, run_dir: Path) -> None:
    """Where it was not restored before, or a daemon has changed it once more since."""
    with Program([native_programs / "lifecycle"], environment(None, None)) as host:
        host.ask("open", directory / "db", f"rate_limiter={LOW}")
        attach_and_raise(host, run_dir)
        host.ask("watch_requests", directory / "db", ASKED)
        eventually(lambda: watched(host) == (0, ASKED), what="a request of full size")
        attachment.detach(host.pid, run_dir)
        eventually(lambda: watched(host)[1] == LOW / PERIODS_PER_S, what="a request of the original rate")
        early, _ = watched(host)
        host.ask("end_watch")
    assert (early > 0) is asserts(native_programs)


def test_a_database_that_closes_while_the_agent_detaches(native_programs: Path, directory: Path, run_dir: Path) -> None:
    """The agent lets go of one after the other, and the host must not destroy the one that is still to come."""
    with Program([native_programs / "lifecycle"], environment(None, None)) as host:
        for name in ("one", "another"):
            host.ask("open", directory / name, "more", f"rate_limiter={LOW}")
        attach_and_raise(host, run_dir)
        last = attachment.look(host.pid).databases[-1].directory  # as the agent has them in the order of addresses
        socket = attachment.socket_of(host.pid, run_dir)
        assert socket is not None
        with ThreadPoolExecutor() as executor:
            detaching = executor.submit(attachment.detach, host.pid, run_dir)
            eventually(lambda: not socket.exists(), every_s=0.001, what="the agent begins to end")
            host.ask("close", last)
            detaching.result()
        assert host.finish() == 0
        assert host.stderr() == ""


def attach_and_raise(host: Program, run_dir: Path) -> None:
    """Raise the rate of each database from LOW to HIGH."""
    attachment.attach(host.pid, run_dir, {})
    socket = attachment.socket_of(host.pid, run_dir)
    assert socket is not None
    with AgentClient(socket) as client:
        for database in client.databases():
            db = database["id"]
            client.change(db, client.acquire(db), [limiter(HIGH)], [back(limiter(LOW))]).ok()


def test_a_flush_requests_as_much_as_without_an_agent(start: Start, connect: Connect, directory: Path) -> None:
    """It goes before compactions only as far as its request reaches."""
    host = start("lifecycle")
    host.ask("open", directory / "db", PLAIN, f"rate_limiter={HIGH}")
    assert connect(host).only_database()["capabilities"]["rate_limiter"] is True
    host.ask("put", directory / "db", 4000, "default", 1000)
    host.ask("flush", directory / "db")
    requests, passed = map(int, host.ask("limiter", directory / "db").split())
    assert passed > 3 * MIB
    assert passed / requests > MIB / 2


def test_what_the_host_has_set_since_its_open_is_given_back(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db", f"rate_limiter={HIGH}")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("set_limiter", directory / "db", MIB // 2)
    client.change(db, client.acquire(db), [limiter(2 * MIB)], [back(limiter(MIB // 2))]).ok()
    client.delete_lease(db, force=True).ok(202)
    eventually(
        lambda: client.fresh_snapshot(db)["options"]["rate_limiter_bytes_per_s"] == MIB // 2,
        what="the host's limit to be restored",
    )
    assert client.fresh_snapshot(db)["restore"]["errors"] == []


def test_a_limiter_of_reads_is_left_alone(
    start: Start, connect: Connect, directory: Path, native_programs: Path
) -> None:
    """Some of its requests cannot be made smaller."""
    host = start("lifecycle")
    host.ask("open", directory / "db", f"rate_limiter_of_all={HIGH}")
    client = connect(host)
    database = client.only_database()
    turns = not asserts(native_programs)
    assert database["capabilities"]["rate_limiter"] is turns
    db = database["id"]
    answer = client.change(db, client.acquire(db), [limiter(LOW)], [back(limiter(HIGH))])
    assert answer.status == (200 if turns else 422)
