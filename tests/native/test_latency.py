"""The time of the host's writes, measured at the one door that all of them come through."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.waiting import eventually

WRITES = 20_000
SLOW_NS = 20_000_000


@pytest.mark.parametrize(
    "way", ["put", "batch", "pipelined", "unordered", "threads", "transaction", "write_prepared", "optimistic"]
)
def test_each_way_to_write_is_counted_once(start: Start, connect: Connect, directory: Path, way: str) -> None:
    program = start("write_ways", way, directory / "db")
    client = connect(program)
    database = client.only_database()
    assert database["capabilities"]["write_latency"] == "sampled"
    found = client.fresh_snapshot(database["id"])["write_latency"]
    # 2,500 are expected in the sample; the standard deviation of their number is below 30.
    assert sum(found["counts"]) == pytest.approx(WRITES, rel=0.2)
    assert found["values_ns"] == sorted(set(found["values_ns"]))
    assert len(found["values_ns"]) == len(found["counts"])
    program.send("close")
    assert program.finish() == 0
    assert program.lines[-1] == "closed"
    assert program.stderr() == ""


def test_the_one_write_that_a_stall_held_is_in_it(start: Start, connect: Connect, directory: Path) -> None:
    """One writer waits while writes are stopped: 7 of 8 times it is not in the sample, and it still counts."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "write_buffer_size=65536")
    client = connect(host)
    db = client.only_database()["id"]
    for _ in range(3):
        before = worst_ns(client.fresh_snapshot(db)["write_latency"])
        host.ask("stall", directory / "db")
        stopped_s = time.monotonic()
        # Longer than the stall before, so that this one is the new worst.
        enough = functools.partial(lasted, stopped_s, 0.3 + 1.1 * before / 1e9)
        eventually(enough, what="the stall to have lasted some time")
        during = client.fresh_snapshot(db)["write_latency"]
        assert worst_ns(during) <= max(before, 0.3e9), "it counts when it ends"
        lasted_s = time.monotonic() - stopped_s
        host.ask("unstall", directory / "db")
        after = client.fresh_snapshot(db)["write_latency"]
        assert worst_ns(after) >= 0.9 * lasted_s * 1e9
        assert slow(after) > slow(during)


def test_off_by_a_switch(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle", ADOCD_AGENT_LATENCY="off")
    host.ask("open", directory / "db")
    host.ask("put", directory / "db", 1000)
    client = connect(host)
    database = client.only_database()
    assert database["capabilities"]["write_latency"] == "off"
    assert client.info()["capabilities"]["write_latency"] == "off"
    assert client.fresh_snapshot(database["id"])["write_latency"] is None


def test_each_open_of_each_database_has_its_own(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    for name in ("one", "two"):
        host.ask("open", directory / name)
    host.ask("put", directory / "one", 5000)
    client = connect(host)
    ids = {Path(database["path"]).name: database["id"] for database in client.databases()}
    assert sum(client.fresh_snapshot(ids["one"])["write_latency"]["counts"]) == pytest.approx(5000, rel=0.5)
    assert client.fresh_snapshot(ids["two"])["write_latency"]["counts"] == []
    host.ask("close", directory / "one")
    host.ask("open", directory / "one")
    assert client.fresh_snapshot(ids["one"])["write_latency"]["counts"] == [], "counted from the open"
    host.ask("put", directory / "two", 5000)
    assert sum(client.fresh_snapshot(ids["two"])["write_latency"]["counts"]) == pytest.approx(5000, rel=0.5)


def lasted(since_s: float, least_s: float) -> bool:
    return time.monotonic() - since_s > least_s


def worst_ns(found: dict[str, list[int]]) -> int:
    return max(found["values_ns"], default=0)


def slow(found: dict[str, list[int]]) -> int:
    pairs = zip(found["values_ns"], found["counts"], strict=True)
    return sum(count for value, count in pairs if value >= SLOW_NS)
