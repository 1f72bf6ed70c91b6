"""What the agent adds to the host's options at open, and only when asked: a rate limiter, statistics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.changes import back, limiter
from tests.support.waiting import eventually

RATE = 50_000_000


def host_view(start: Start, directory: Path, name: str, **extra: str) -> dict[str, str]:
    """Return what the host itself sees of the options that a limiter is known to change."""
    host = start("lifecycle", **extra)
    host.ask("open", directory / name)
    options = (
        "bytes_per_sync",
        "delayed_write_rate",
        "wal_bytes_per_sync",
        "max_background_jobs",
        "stats_dump_period_sec",
    )
    view = {option: host.ask("get_db_option", directory / name, option) for option in options}
    assert all(value.isdecimal() for value in view.values()), view
    host.ask("put", directory / name, 100)
    host.ask("flush", directory / name)
    host.ask("close", directory / name)
    return view


def test_nothing_is_added_unasked(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    database = client.only_database()
    assert set(database["added_options"]) == {"listeners"}, "without a listener there are no events"
    assert database["capabilities"]["rate_limiter"] is False
    assert database["capabilities"]["statistics"] == "none"
    assert client.snapshot(database["id"])["tickers"] is None
    assert client.snapshot(database["id"])["histograms"] is None
    assert client.snapshot(database["id"])["options"]["rate_limiter_bytes_per_s"] is None


def test_the_agent_leaves_the_hosts_options_alone(start: Start, directory: Path, run_dir: Path) -> None:
    without = host_view(start, directory, "without", ADOCD_AGENT="off")
    assert list(run_dir.iterdir()) == []
    assert host_view(start, directory, "with") == without
    assert len(list(run_dir.iterdir())) == 1, "the agent was there"


def test_a_rate_limiter(start: Start, connect: Connect, directory: Path) -> None:
    """HAZARDS 11: RocksDB would change bytes_per_sync and delayed_write_rate along with it; both are pinned."""
    host = start("lifecycle", ADOCD_AGENT_RATE_LIMITER=str(RATE))
    host.ask("open", directory / "db")
    client = connect(host)
    database = client.only_database()
    db = database["id"]
    assert database["added_options"]["rate_limiter"] == str(RATE)
    assert database["capabilities"]["rate_limiter"] is True
    assert client.database(db)["originals"]["rate_limiter_bytes_per_s"] == RATE
    assert host.ask("get_db_option", directory / "db", "delayed_write_rate") == "16777216"
    assert host.ask("get_db_option", directory / "db", "bytes_per_sync") != "1048576"
    pinned = {"bytes_per_sync", "delayed_write_rate"} & set(database["added_options"])
    assert pinned == {"bytes_per_sync", "delayed_write_rate"}, "what was pinned is said"
    [step] = client.change(db, client.acquire(db), [limiter(RATE // 2)], [back(limiter(RATE))]).ok()["steps"]
    assert step["read_back"] == {"bytes_per_s": str(RATE // 2)}
    client.delete_lease(db, force=True).ok(202)
    eventually(
        lambda: client.fresh_snapshot(db)["options"]["rate_limiter_bytes_per_s"] == RATE, what="the rate to be restored"
    )


def test_a_limiter_for_every_database(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle", ADOCD_AGENT_RATE_LIMITER=str(RATE))
    for name in ("one", "two"):
        host.ask("open", directory / name)
    client = connect(host)
    one, two = (database["id"] for database in client.databases())
    client.change(one, client.acquire(one), [limiter(RATE // 2)], [back(limiter(RATE))]).ok()
    eventually(lambda: client.snapshot(one)["options"]["rate_limiter_bytes_per_s"] == RATE // 2, what="the new rate")
    assert client.fresh_snapshot(two)["options"]["rate_limiter_bytes_per_s"] == RATE, "each has its own"


@pytest.mark.parametrize("level", ["tickers", "all"])
def test_statistics(start: Start, connect: Connect, directory: Path, level: str) -> None:
    host = start("lifecycle", ADOCD_AGENT_STATISTICS=level)
    host.ask("open", directory / "db")
    client = connect(host)
    database = client.only_database()
    assert database["added_options"]["statistics"] == level
    assert database["capabilities"]["statistics"] == level
    host.ask("put", directory / "db", 100)
    snapshot = eventually(
        lambda: (found := client.snapshot(database["id"]))["tickers"]["rocksdb.number.keys.written"] == 100 and found,
        what="the tickers",
    )
    assert snapshot["counters"]["writes"] == 100
    if level == "tickers":
        assert snapshot["histograms"] is None
        return
    found = eventually(
        lambda: (totals := client.snapshot(database["id"])["histograms"].get("rocksdb.bytes.per.write")) and totals,
        what="the histograms",
    )
    assert found["count"] == 100
    assert found["sum"] == snapshot["tickers"]["rocksdb.bytes.written"]


def test_counters_without_statistics(start: Start, connect: Connect, directory: Path) -> None:
    """What can be had without Statistics is had: flushes from events, the rest says null."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("put", directory / "db", 100)
    host.ask("flush", directory / "db")
    counters = eventually(
        lambda: (found := client.snapshot(db)["counters"])["flushes"] == 1 and found, what="the flush"
    )
    assert counters["flush_written_bytes"] > 0
    assert counters["writes"] in (100, None)
    assert counters["written_bytes"] is None or counters["written_bytes"] >= 10_000
