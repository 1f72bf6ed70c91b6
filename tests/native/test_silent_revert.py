"""A change that RocksDB before 9.11 silently reverts (facebook/rocksdb#13294), and `repeat`, which heals that.

A job copies the column family's options when it begins, and installs that copy when it ends: into the active memtable,
the conditions for write stalls and the scores of compaction. What is shown comes from elsewhere, and stays new.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family
from tests.support.programs import Program
from tests.support.waiting import eventually

FIXED_IN = (9, 11)
KIB = 1 << 10
MIB = 1 << 20
Change = Callable[..., str]


def events(client: AgentClient, db: str, after: int, kind: str) -> list[Json]:
    return [event for event in client.fresh_snapshot(db, after)["events"] if event["kind"] == kind]


def begin_flush(host: Program, client: AgentClient, db: str) -> int:
    """Fill the memtable until a flush has begun, which does not end; the cursor before it."""
    cursor: int = client.fresh_snapshot(db)["last_event"]
    host.ask("hold_tables")

    def begun() -> bool:
        host.ask("put", 100 * KIB)
        return bool(events(client, db, cursor, "flush_begin"))

    eventually(begun, what="a flush begins")
    return cursor


def end_flush(host: Program, client: AgentClient, db: str, cursor: int) -> None:
    host.ask("let_tables_go")
    eventually(lambda: events(client, db, cursor, "flush_end"), what="the flush ends")


def changer(client: AgentClient, db: str, changed: Json, original: Json) -> Change:
    """Return what sends the change and says what became of it."""
    epoch = client.acquire(db)

    def change(*, repeat: bool | None = None) -> str:
        [step] = client.change(db, epoch, [changed], [back(original)], repeat=repeat).ok()["steps"]
        assert step["read_back"] == changed["options"], "what is shown is always the new value"
        outcome: str = step["outcome"]
        return outcome

    return change


@pytest.fixture
def broken(start: Start, connect: Connect, directory: Path) -> bool:
    """Tell whether this RocksDB reverts."""
    host = start("bad_disk", directory / "any", "0")
    version = connect(host).info()["rocksdb_version"]
    return tuple(int(part) for part in version.split(".")[:2]) < FIXED_IN


def test_a_write_buffer_size(start: Start, connect: Connect, directory: Path, broken: bool) -> None:
    host = start("bad_disk", directory / "db", "0", f"write_buffer_size={8 * MIB}")
    client = connect(host)
    db = client.only_database()["id"]
    change = changer(client, db, family(write_buffer_size=str(MIB)), family(write_buffer_size=str(8 * MIB)))
    host.ask("put", 7 * MIB)
    cursor = begin_flush(host, client, db)
    assert change() == "applied"
    end_flush(host, client, db, cursor)

    def switches() -> bool:
        """Write up to 2 MiB, and say whether a flush begins."""
        cursor = client.fresh_snapshot(db)["last_event"]
        for _ in range(20):
            host.ask("put", 100 * KIB)
            # A flush begins on a thread of its own.
            time.sleep(0.02)
            if events(client, db, cursor, "flush_begin"):
                return True
        return False

    assert switches() != broken, "the active memtable has the size from before"
    assert change() == "unchanged"
    assert switches() != broken, "and keeps it"
    assert change(repeat=True) == "applied"
    assert switches()


def test_automatic_compaction_that_is_off(start: Start, connect: Connect, directory: Path, broken: bool) -> None:
    """Switched off, it takes the L0 stalls with it; reverted, they are back, and no compaction would end them."""
    host = start(
        "bad_disk", directory / "db", "0", f"write_buffer_size={MIB}", "max_write_buffer_number=6",
        "level0_file_num_compaction_trigger=5", "level0_slowdown_writes_trigger=5", "level0_stop_writes_trigger=99",
    )  # fmt: skip
    client = connect(host)
    db = client.only_database()["id"]

    def flush() -> bool:
        host.ask("put", 100 * KIB)
        files: int = client.fresh_snapshot(db)["column_families"]["default"]["properties"][
            "rocksdb.num-files-at-level0"
        ]
        return files == 4

    def delayed() -> bool:
        condition: str = client.fresh_snapshot(db)["stall"]["condition"]
        return condition == "delayed"

    eventually(flush, what="four files of level 0")
    off, on = family(disable_auto_compactions="true"), family(disable_auto_compactions="false")
    change = changer(client, db, off, on)
    cursor = begin_flush(host, client, db)
    assert change() == "applied"
    end_flush(host, client, db, cursor)
    if broken:
        eventually(delayed, what="the fifth file slows writes down")
    time.sleep(0.2)
    assert delayed() == broken
    assert not events(client, db, cursor, "compaction_begin"), "the picking of compactions has the new value"
    assert change() == "unchanged"
    assert delayed() == broken
    assert change(repeat=True) == "applied"
    eventually(lambda: not delayed(), what="the change is in force again")
