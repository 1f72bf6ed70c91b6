"""Every way to open a database comes through the agent, or is left alone by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.changes import back, family
from tests.support.waiting import eventually


@pytest.mark.parametrize("way", ["db", "db_cf", "c_api", "c_api_cf", "transaction", "optimistic", "ttl"])
def test_a_database_is_seen_once_and_can_be_changed(start: Start, connect: Connect, directory: Path, way: str) -> None:
    program = start("open_paths", way, directory / "db")
    client = connect(program)
    database = client.only_database()
    assert database["path"] == str((directory / "db").resolve())
    assert database["db_identity"] == (directory / "db" / "IDENTITY").read_text().strip()
    families = ["default", "second"] if way.endswith("_cf") else ["default"]
    assert sorted(database["column_families"]) == families
    assert client.snapshot(database["id"])["session"] == database["session"]
    epoch = client.acquire(database["id"])
    before = client.database(database["id"])["originals"]["column_families"][families[-1]]["write_buffer_size"]
    change = family(families[-1], write_buffer_size="4194304")
    undo = back(family(families[-1], write_buffer_size=before))
    [step] = client.change(database["id"], epoch, [change], [undo]).ok()["steps"]
    assert step["outcome"] == "applied"
    program.send("close")
    assert program.finish() == 0
    assert program.lines[-1] == "closed"
    assert program.stderr() == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], ["db"]), (["db_path", "db_path"], ["0", "1"]), (["db_path", "cf_path"], ["1"])],
    ids=["its own directory", "db_paths", "cf_paths go before db_paths"],
)
def test_where_its_files_are_is_told(
    start: Start, connect: Connect, directory: Path, given: list[str], expected: list[str]
) -> None:
    host = start("lifecycle")
    paths = [f"{name}={directory}/{number}/" for number, name in enumerate(given)]
    host.ask("open", directory / "db", "second", *paths)
    database = connect(host).only_database()
    assert database["data_paths"] == [str((directory / name).resolve()) for name in expected]
    assert database["wal_dir"] == str((directory / "db").resolve())


def test_options_that_no_call_changes_are_those_of_the_column_family(
    start: Start, connect: Connect, directory: Path
) -> None:
    """Laws turn other knobs under another compaction style, so it must be the host's, not a default."""
    opened = {
        "compaction_style": "kCompactionStyleUniversal",
        "num_levels": "3",
        "min_write_buffer_number_to_merge": "2",
    }
    host = start("lifecycle")
    host.ask(
        "open", directory / "db", "max_write_buffer_number=4", *(f"{name}={value}" for name, value in opened.items())
    )
    client = connect(host)
    found = client.snapshot(client.only_database()["id"])["options"]["column_families"]["default"]
    assert found.items() >= opened.items()


@pytest.mark.parametrize("way", ["read_only", "secondary"])
def test_a_database_that_is_not_written_is_left_alone(
    start: Start, connect: Connect, directory: Path, way: str
) -> None:
    program = start("open_paths", way, directory / "db")
    eventually(lambda: connect(program).databases() == [], what="the database that was written before to be gone")
    program.send("close")
    assert program.finish() == 0
    assert program.lines[-1] == "closed"
    assert program.stderr() == ""


def test_an_open_that_fails_leaves_no_trace(start: Start, directory: Path, run_dir: Path) -> None:
    program = start("open_paths", "fails", directory / "db")
    assert list(run_dir.iterdir()) == [], "no database was opened: no socket"
    assert program.finish() == 0
    assert program.stderr() == ""


def test_automatic_compaction_of_a_transaction_database(start: Start, connect: Connect, directory: Path) -> None:
    """TransactionDB::Open opens with it off and switches it on before it returns: on is the original, and is owed."""
    client = connect(start("open_paths", "transaction", directory / "db"))
    db = client.only_database()["id"]
    originals = client.database(db)["originals"]["column_families"]["default"]
    assert originals["disable_auto_compactions"] == "false"
    epoch = client.acquire(db)
    off, on = family(disable_auto_compactions="true"), family(disable_auto_compactions="false")
    [step] = client.change(db, epoch, [off], [back(on)]).ok()["steps"]
    assert step["outcome"] == "applied"
    another, undo = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))
    problem = client.change(db, epoch, [another], [undo]).refused(422, "plan_incomplete")
    assert problem["option"] == "disable_auto_compactions"
