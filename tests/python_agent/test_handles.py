"""What the agent makes of the handles that the host gives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rocksdict
from adocd_agent.option_state import OptionState
from adocd_agent.rocksdict_database import RocksdictDatabase
from adocd_agent.thread_pools import ThreadPools, count_threads

from tests.support.waiting import eventually


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Any]:
    """Open a database for writing."""
    opened = rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True))
    yield opened
    opened.close()


def serving(db: Any, **families: Any) -> RocksdictDatabase:
    return RocksdictDatabase(db, None, families, ThreadPools(rocksdict.Env))


def test_a_second_handle_is_told_from_a_second_column_family_of_its_name(db: Any) -> None:
    first = db.create_column_family("again", rocksdict.Options(raw_mode=True))
    database = serving(db, again=first)
    first[b"key"] = b"value"
    first.flush()
    assert database.is_known("again", db.get_column_family("again"))
    db.drop_column_family("again")
    second = db.create_column_family("again", rocksdict.Options(raw_mode=True))
    assert not database.is_known("again", second)
    database.add_column_family("again", second)
    assert database.is_known("again", second)
    second.close()


@pytest.mark.parametrize(("written", "given_back"), [(6, True), (5, False)])
def test_a_thread_pool_is_given_back_unless_the_host_has_set_it(db: Any, written: int, given_back: bool) -> None:
    database = serving(db)
    original = database.originals_of_pools()["low"]
    rocksdict.Env().set_low_priority_background_threads(6)
    database.end({("thread_pool", "low", "threads"): str(written)}, OptionState({}, {}, None, {"low": original}))
    wanted = original if given_back else 6
    eventually(lambda: count_threads()["low"] == wanted, what="threads that have nothing to do end")
    ThreadPools(rocksdict.Env).set("low", original)


@pytest.mark.parametrize("how", ["read_only", "secondary"])
def test_a_reader_beside_a_writer_of_the_same_process_is_not_changed(db: Any, tmp_path: Path, how: str) -> None:
    """That the process has the LOCK says nothing of this instance."""
    access = {
        "read_only": rocksdict.AccessType.read_only(error_if_log_file_exist=False),
        "secondary": rocksdict.AccessType.secondary(str(tmp_path / "secondary")),
    }[how]
    reader = rocksdict.Rdict(str(tmp_path / "db"), rocksdict.Options(raw_mode=True), access_type=access)
    files = sorted(tmp_path.joinpath("db").iterdir())
    assert serving(db).writable
    assert not serving(reader).writable
    assert sorted(tmp_path.joinpath("db").iterdir()) == files, "asking writes nothing"
    reader.close()
