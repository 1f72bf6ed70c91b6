"""The agent never stands in the way of a close, whichever way the host closes; and never flushes behind its back."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import rocksdict

from tests.python_agent.conftest import Scene
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family, threads
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

CHANGE, UNDO = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))


def test_reopen_right_after_close(scene: Scene) -> None:
    for _ in range(20):
        scene.ask("open", "statistics=yes")
        with scene.client() as client:
            client.snapshot(client.only_database()["id"])
        scene.ask("close")


def test_reopen_right_after_close_with_column_families(scene: Scene) -> None:
    for _ in range(10):
        scene.ask("open", "second", "third")
        with scene.client() as client:
            assert set(client.snapshot(client.only_database()["id"])["column_families"]) == {
                "default",
                "second",
                "third",
            }
        scene.ask("close")


def test_a_closed_database_is_unlisted_at_once(scene: Scene) -> None:
    scene.ask("open")
    with scene.client() as client:
        assert len(client.databases()) == 1
        scene.ask("close")
        assert client.databases() == []


def test_a_database_that_is_only_dropped_is_let_go(scene: Scene) -> None:
    for families in ((), ("second", "third")):
        scene.ask("open", *families)
        with scene.client() as client:
            client.acquire(client.only_database()["id"])
            scene.ask("forget")
            eventually(lambda: scene.program.try_ask("open_plain", scene.path) == "ok", what="the LOCK to be free")
            assert client.databases() == []
        scene.ask("close")


def test_a_database_that_is_only_dropped_is_restored_before(scene: Scene) -> None:
    """The agent has the last handles, so nobody else could."""
    scene.ask("open", "second")
    second = family("second", write_buffer_size="4194304"), back(family("second", write_buffer_size="67108864"))
    with scene.client() as client:
        db = client.only_database()["id"]
        client.change(db, client.acquire(db), [CHANGE, second[0]], [UNDO, second[1]]).ok()
        assert persisted(scene.path) == {"4194304"}
        scene.ask("forget")
        eventually(lambda: scene.program.try_ask("open_plain", scene.path) == "ok", what="the LOCK to be free")
        assert persisted(scene.path) == {"67108864"}


def test_a_handle_that_the_host_closes_is_unlisted(scene: Scene) -> None:
    scene.ask("open", "second")
    with scene.client() as client:
        db = client.only_database()["id"]
        scene.ask("drop_cf", "second")
        eventually(lambda: client.database(db)["column_families"] == ["default"], what="the shorter list")
        assert client.database(db)["unseen_column_families"] == []


def test_reading_never_flushes(scene: Scene) -> None:
    """Dropping an Rdict flushes its memtable, so the agent must not make any of its own."""
    scene.ask("open", "given")
    scene.ask("put", 100)
    scene.ask("put", 100, "given")
    with scene.client() as client:
        db = client.only_database()["id"]
        client.change(
            db,
            client.acquire(db),
            [family("given", max_write_buffer_number="5")],
            [back(family("given", max_write_buffer_number="2"))],
        ).ok()
        for _ in range(5):
            client.fresh_snapshot(db)
        families = client.fresh_snapshot(db)["column_families"]
        for name in ("default", "given"):
            assert families[name]["properties"]["rocksdb.num-files-at-level0"] == 0, name


def test_column_families_that_were_not_given_are_left_alone(scene: Scene) -> None:
    scene.ask("open", "other")
    scene.ask("detach")
    scene.ask("attach_alone")
    scene.ask("put", 100, "other")
    with scene.client() as client:
        described = client.only_database()
        assert described["column_families"] == ["default"]
        assert described["unseen_column_families"] == ["other"]
        db = described["id"]
        change = family("other", write_buffer_size="4194304")
        client.change(db, client.acquire(db), [change], [back(change)]).refused(422, "no_such_column_family")
        client.fresh_snapshot(db)
    assert scene.ask("property", "other", "rocksdb.num-files-at-level0") == "0"


def test_detach_gives_the_options_back(scene: Scene) -> None:
    scene.ask("open")
    with scene.client() as client:
        described = client.database(client.only_database()["id"])
        low = described["originals"]["thread_pools"]["low"]
        plan = [UNDO, back(threads("low", low), when=("default", "rocksdb.cur-size-all-mem-tables", 1))]
        db = described["id"]
        steps = client.change(db, client.acquire(db), [CHANGE, threads("low", low + 2)], plan).ok()["steps"]
        assert [step["outcome"] for step in steps] == ["applied"] * 2
        scene.ask("detach", 0)
        scene.ask("detach", 0)
        assert client.databases() == []
        scene.ask("attach")
        options = client.snapshot(client.only_database()["id"])["options"]
        assert options["column_families"]["default"]["write_buffer_size"] == "67108864"
        assert options["thread_pools"]["low"] == low, "though its condition never holds: nobody is there later"


def test_thread_pools_are_given_back_at_close(scene: Scene) -> None:
    """They belong to the process: the next database, too, starts from what they were."""
    scene.ask("open")
    with scene.client() as client:
        db = client.only_database()["id"]
        low = client.database(db)["originals"]["thread_pools"]["low"]
        client.change(db, client.acquire(db), [threads("low", low + 3)], [back(threads("low", low))]).ok()
        second = scene.path.with_name("second")
        scene.ask("open", path=second)
        other = next(one["id"] for one in client.databases() if one["id"] != db)
        assert client.database(other)["originals"]["thread_pools"]["low"] == low, "not what a lease made of it"
        assert client.snapshot(other)["options"]["thread_pools"]["low"] == low + 3
        scene.ask("close")
        eventually(lambda: client.fresh_snapshot(other)["options"]["thread_pools"]["low"] == low, what="the pool")
        scene.ask("close", path=second)


def test_options_are_given_back_when_the_process_ends(scene: Scene) -> None:
    """RocksDB writes live changes into its OPTIONS file, and rocksdict loads that file."""
    scene.ask("open")
    with scene.client() as client:
        db = client.only_database()["id"]
        client.change(db, client.acquire(db), [CHANGE], [UNDO]).ok()
    assert persisted(scene.path) == {"4194304"}
    assert scene.program.finish() == 0
    assert persisted(scene.path) == {"67108864"}
    assert not scene.socket_path.exists()


def persisted(path: Path) -> set[str]:
    """Read the write buffers' sizes that a program finds which loads the newest OPTIONS file."""
    newest = max(path.glob("OPTIONS-*"), key=lambda file: file.name)
    return set(re.findall(r"^ *write_buffer_size=(\d+)$", newest.read_text(), re.M))


def test_two_databases_in_one_process(scene: Scene) -> None:
    second = scene.path.with_name("second")
    scene.ask("open")
    scene.ask("open", path=second)
    with AgentClient(scene.socket_path) as client:
        assert {one["path"] for one in client.databases()} == {str(scene.path), str(second)}
        scene.ask("close", path=second)
        assert [one["path"] for one in client.databases()] == [str(scene.path)]


WITHOUT_WAL = """
import sys, rocksdict, adocd_agent
db = rocksdict.Rdict(sys.argv[1], rocksdict.Options(raw_mode=True))
write = rocksdict.WriteOptions()
write.disable_wal = True
db.set_write_options(write)
if sys.argv[2] == "attached":
    assert adocd_agent.attach(db).error is None
db[b"key"] = b"value"
"""


@pytest.mark.parametrize("how", ["alone", "attached"])
def test_what_is_in_the_memtable_alone_survives_the_end_of_the_process(tmp_path: Path, run_dir: Path, how: str) -> None:
    """An Rdict flushes when it is dropped; a reference that the agent kept for good would lose such writes."""
    arguments: list[str | Path] = [sys.executable, "-c", WITHOUT_WAL, tmp_path / "db", how]
    with Program(arguments, environment(None, run_dir), expect="") as program:
        assert program.finish() == 0
        assert program.stderr() == ""
    db = rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True))
    assert db[b"key"] == b"value"
    db.close()


#: As WITHOUT_WAL, in a worker, which ends by os._exit: atexit is skipped, and what the worker has as locals is gone.
WORKER = """
import multiprocessing, sys
import adocd_agent, rocksdict

def work(path):
    db = rocksdict.Rdict(path, rocksdict.Options(raw_mode=True))
    write = rocksdict.WriteOptions()
    write.disable_wal = True
    db.set_write_options(write)
    assert adocd_agent.attach(db).error is None
    db[b"key"] = b"value"

if __name__ == "__main__":
    worker = multiprocessing.get_context(sys.argv[2]).Process(target=work, args=(sys.argv[1],))
    worker.start()
    worker.join()
    sys.exit(worker.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_what_is_in_the_memtable_alone_survives_the_end_of_a_worker(tmp_path: Path, run_dir: Path, method: str) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    with Program([sys.executable, script, tmp_path / "db", method], environment(None, run_dir), expect="") as program:
        assert program.finish() == 0
        assert program.stderr() == ""
    db = rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True))
    assert db[b"key"] == b"value"
    db.close()
    assert list(run_dir.glob("agent-*")) == [], "and no socket is left"


def test_a_lease_after_the_restore_at_detach_is_refused(scene: Scene) -> None:
    scene.ask("open")
    with scene.client() as client:
        db = client.only_database()["id"]
        epoch = client.acquire(db)
        scene.ask("detach")
        refused = client.put_lease(db, "tester", epoch=epoch)
        assert refused.body["code"] in ("no_such_database", "database_closed")


def test_a_column_family_of_a_name_that_was_dropped(scene: Scene) -> None:
    scene.ask("open", "again")
    with scene.client() as client:
        db = client.only_database()["id"]
        scene.ask("drop_cf", "again")
        scene.ask("create_cf", "again")
        scene.ask("put", 100, "again")
        scene.ask("flush", "again")
        properties = client.fresh_snapshot(db)["column_families"]["again"]["properties"]
        assert properties["rocksdb.num-files-at-level0"] == 1, "the new one's"
    assert "no column family" in scene.program.try_ask("hand_over", scene.path, "missing", "again")


def test_a_column_family_of_a_name_that_was_dropped_has_its_own_originals(scene: Scene) -> None:
    """Even if nobody asked while there was none of that name."""
    scene.ask("open", "again")
    with scene.client() as client:
        db = client.only_database()["id"]
        change = family("again", write_buffer_size="4194304")
        undo = back(family("again", write_buffer_size="67108864"))
        client.change(db, client.acquire(db), [change], [undo]).ok()
        scene.ask("hand_over", "again", "again")
        assert original(client, "again") == "67108864", "it is the same one still"
        scene.ask("drop_cf", "again")
        scene.ask("create_cf", "again", "write_buffer_size=1048576")
        assert original(client, "again") == "1048576"


def test_a_restore_leaves_another_column_family_of_a_dropped_ones_name_alone(scene: Scene) -> None:
    scene.ask("open", "again")
    with scene.client() as client:
        db = client.only_database()["id"]
        change, undo = family("again", write_buffer_size="4194304"), family("again", write_buffer_size="67108864")
        client.change(db, client.acquire(db), [CHANGE, change], [UNDO, back(undo)]).ok()
        scene.ask("drop_cf", "again")
        scene.ask("create_cf", "again", "write_buffer_size=1048576")
        client.delete_lease(db, force=True).ok(202)
        restore = eventually(lambda: (r := client.snapshot(db)["restore"])["state"] == "done" and r, what="the restore")
        assert restore["errors"] == [
            "column_family again write_buffer_size=67108864: Column family 'again' is gone.",
        ]
        assert persisted(scene.path) == {"67108864", "1048576"}


def original(client: AgentClient, name: str) -> str:
    """Read the original size of a column family's write buffers."""
    found = client.database(client.only_database()["id"])["originals"]["column_families"][name]
    return str(found["write_buffer_size"])
