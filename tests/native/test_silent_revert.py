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


class Levels:
    """A database with 8 MiB in level 1 and three files above it, whose base level the agent has changed to 32 MiB.

    The last compaction has ended and keeps its slot, as it does while it deletes what it has read: none begins.
    """

    def __init__(self, host: Program, client: AgentClient) -> None:
        self._host, self._client, self.db = host, client, client.only_database()["id"]
        host.ask("hold_deletions")
        for _ in range(8):
            self._put_file()
        eventually(lambda: self._files(0) == 0 and self._files(1) >= 6, what="level 0 is merged into level 1")
        for _ in range(3):
            self._put_file()
        # The first step sets what is set: as in adocd's plan it waits for level 0, and the next one for the flush.
        is_merged, is_flushed = ("rocksdb.num-files-at-level0", 20), ("rocksdb.num-immutable-mem-table", 1)
        self._plan = [
            back(family(max_bytes_for_level_base=str(size)), when=("default", *condition))
            for size, condition in ((32 * MIB, is_merged), (MIB, is_flushed))
        ]
        self._epoch = client.acquire(self.db)
        self.change_base(32 * MIB)

    def change_base(self, size_bytes: int) -> None:
        """Let the agent set the base level, with a restore plan that waits for the flush."""
        changed = family(max_bytes_for_level_base=str(size_bytes))
        [step] = self._client.change(self.db, self._epoch, [changed], self._plan).ok()["steps"]
        assert step["outcome"] == "applied"

    def base_bytes(self) -> int:
        """Return the base level that is shown."""
        shown = self._client.fresh_snapshot(self.db)["options"]["column_families"]["default"]
        return int(shown["max_bytes_for_level_base"])

    def waits_for_flush(self) -> bool:
        """Whether the restore has come to the step that waits for the flush."""
        restore = self._client.fresh_snapshot(self.db)["restore"]
        return bool(restore["state"] == "waiting" and "num-immutable-mem-table" in restore["waiting_for"])

    def first_merged(self) -> int:
        """Let a compaction begin, and return the level out of which the first one is."""
        cursor: int = self._client.fresh_snapshot(self.db)["last_event"]
        self._host.ask("let_deletions_go")
        begun = eventually(
            lambda: events(self._client, self.db, cursor, "compaction_begin"), what="a compaction begins"
        )
        level: int = begun[0]["base_level"]
        return level

    def _files(self, level: int) -> int:
        properties = self._client.fresh_snapshot(self.db)["column_families"]["default"]["properties"]
        files: int = properties[f"rocksdb.num-files-at-level{level}"]
        return files

    def _put_file(self) -> None:
        cursor: int = self._client.fresh_snapshot(self.db)["last_event"]
        self._host.ask("put", MIB)
        eventually(lambda: events(self._client, self.db, cursor, "flush_end"), what="a flush")


@pytest.fixture
def levels_host(start: Start, directory: Path) -> Program:
    return start(
        "bad_disk", directory / "db", "0", f"write_buffer_size={MIB}", "max_write_buffer_number=6",
        f"max_bytes_for_level_base={64 * MIB}", f"target_file_size_base={MIB}", "level0_file_num_compaction_trigger=8",
        "level_compaction_dynamic_level_bytes=false", "compression=kNoCompression", "max_background_jobs=2",
    )  # fmt: skip


def test_a_base_level_that_comes_back_during_a_flush(levels_host: Program, connect: Connect, broken: bool) -> None:
    """Level 0 is due by the base level in force, level 1 by the flush's: so all of level 1 is merged with level 0."""
    client = connect(levels_host)
    levels = Levels(levels_host, client)
    cursor = begin_flush(levels_host, client, levels.db)
    levels.change_base(MIB)
    end_flush(levels_host, client, levels.db, cursor)
    assert levels.first_merged() == (0 if broken else 1)


def test_a_restore_that_waits_for_the_flush(levels_host: Program, connect: Connect) -> None:
    """Then level 1 moves down before level 0 is merged."""
    client = connect(levels_host)
    levels = Levels(levels_host, client)
    cursor = begin_flush(levels_host, client, levels.db)
    client.delete_lease(levels.db, force=True).ok(202)
    eventually(levels.waits_for_flush, what="only the flush is left to wait for")
    assert levels.base_bytes() == 32 * MIB
    end_flush(levels_host, client, levels.db, cursor)
    eventually(lambda: levels.base_bytes() == MIB, what="the base level comes back")
    assert levels.first_merged() == 1
