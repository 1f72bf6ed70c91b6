"""A process that cannot start another thread: a raise of its thread pools fails, and the program goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import Json
from tests.support.changes import back, database, threads

JOBS = database(max_background_jobs="20"), database(max_background_jobs="2")
POOL = threads("low", 20), threads("low", 2)


@pytest.mark.parametrize(("change", "undo"), [JOBS, POOL], ids=["jobs", "pool"])
def test_a_raise_that_cannot_be_carried_out_leaves_the_pools_as_they_were(
    native_agent_library: Path,
    native_programs: Path,
    start: Start,
    connect: Connect,
    directory: Path,
    change: Json,
    undo: Json,
) -> None:
    """With the limit left high, RocksDB's next flush would end the program."""
    limit = directory / "no more threads"
    preloaded = f"{native_agent_library}:{native_programs / 'libno_more_threads.so'}"
    host = start("lifecycle", LD_PRELOAD=preloaded, NO_MORE_THREADS_FILE=str(limit))
    host.ask("open", directory / "db", "max_background_jobs=2")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    # The agent's own thread for changes starts with the first one.
    client.change(db, epoch, [undo], [back(undo)]).ok()
    before = client.fresh_snapshot(db)["options"]["thread_pools"]
    limit.touch()
    (step,) = client.change(db, epoch, [change], [back(undo)]).ok()["steps"]
    assert step["outcome"] == "error"
    assert "cannot start another thread" in step["error"]
    assert client.fresh_snapshot(db)["options"]["thread_pools"] == before
    host.ask("put", directory / "db", 1000)
    host.ask("flush", directory / "db")
    host.ask("compact", directory / "db")
    limit.unlink()
    (step,) = client.change(db, epoch, [change], [back(undo)]).ok()["steps"]
    assert step["outcome"] == "applied"
    host.ask("flush", directory / "db")
