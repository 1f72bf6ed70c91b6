"""A database observed by its directory alone: which one it is, and whether it is open; real ones, without an agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from adocd_agent.identity import database_id as agents_id

from adocd.targets.directory.place import DirectoryPlace, NoDatabase, Place, database_id
from adocd.targets.directory.target import Directory
from tests.support.observed import TALKATIVE, db_bench
from tests.support.programs import Program
from tests.targets.following import ended, followed, run

# -- which database it is


def test_its_id_is_the_one_of_agents(program: Program, database: Path, tmp_path: Path) -> None:
    program.ask("open_plain", database)
    (tmp_path / "link").symlink_to(tmp_path)
    place = DirectoryPlace(tmp_path / "link" / "db").look()
    identity = (database / "IDENTITY").read_text().strip()
    assert place.id == agents_id(os.uname().nodename, str(database), identity)
    assert (place.path, place.db_identity, place.log_path) == (database, identity, database / "LOG")
    assert database_id("ä\udcff", "/x", "y") == agents_id("ä\udcff", "/x", "y")


def test_what_is_no_database_is_said_in_one_sentence(program: Program, database: Path) -> None:
    place = DirectoryPlace(database)
    no_directory = f"{database} is no directory; a database there is followed once it is there"
    with pytest.raises(NoDatabase, match=no_directory):
        place.look()
    database.touch()
    with pytest.raises(NoDatabase, match=no_directory):
        place.look()
    database.unlink()
    database.mkdir()
    with pytest.raises(NoDatabase, match=r"has no LOG \(.*/db/LOG\); a RocksDB database there is followed once"):
        place.look()
    (database / "LOG").touch()
    with pytest.raises(NoDatabase, match="has no IDENTITY file"):
        place.look()
    (database / "LOG").unlink()
    program.ask("open_plain", database)
    assert place.look().is_open


def test_without_identity_the_log_names_it(program: Program, database: Path) -> None:
    program.ask("open_plain", database)
    program.ask("close", database)
    before = DirectoryPlace(database).look()
    (database / "IDENTITY").unlink()
    assert DirectoryPlace(database).look() == before


def test_a_log_in_another_directory(program: Program, database: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    program.ask("open_plain", database, f"db_log_dir={logs}", *TALKATIVE)
    assert not (database / "LOG").exists()

    async def body() -> None:
        target = await followed(database)
        assert [target.place.log_path] == list(logs.iterdir())
        assert (await target.detail()).session != "unknown"

    run(body())


@pytest.mark.parametrize("named_after", ["{real}", "{real}/", "{given}", "{given}/", "{above}"])
def test_the_log_in_another_directory_has_the_path_as_the_program_wrote_it(tmp_path: Path, named_after: str) -> None:
    """RocksDB turns each byte that is no letter into an underscore; of a relative path it takes the cwd alone."""
    real, logs = tmp_path / "dätä" / "db", tmp_path / "logs"
    real.mkdir(parents=True)
    logs.mkdir()
    given = tmp_path / "link"
    given.symlink_to(real.parent)
    (real / "IDENTITY").write_text("identity")
    (real / "OPTIONS-000005").write_text(f"[DBOptions]\n  db_log_dir={logs}\n")
    with pytest.raises(NoDatabase, match=f"has no LOG .{logs}/.*_d__t___db_LOG"):
        DirectoryPlace(given / "db").look()
    written = named_after.format(real=real, given=given / "db", above=real.parent).removeprefix("/").replace("ä", "__")
    log = logs / (written.replace("/", "_") + "_LOG")
    log.touch()
    assert DirectoryPlace(given / "db").look().log_path == log


def test_the_log_that_the_program_has_open_counts_where_its_name_does_not_tell(
    program: Program, database: Path, tmp_path: Path
) -> None:
    """The program came to it by a link that nobody told adocd of; a LOG of an earlier open is there as well."""
    (tmp_path / "link").symlink_to(tmp_path)
    logs = tmp_path / "logs"
    logs.mkdir()
    program.ask("open_plain", tmp_path / "link" / "db", f"db_log_dir={logs}")
    (log,) = logs.iterdir()
    assert "link" in log.name
    assert DirectoryPlace(database).look().log_path == log
    (logs / (str(database)[1:].replace("/", "_") + "_LOG")).touch()
    assert DirectoryPlace(database).look().log_path == log


# -- whether it is open


def test_who_has_it_open(program: Program, database: Path) -> None:
    program.ask("open_plain", database)
    place = DirectoryPlace(database).look()
    assert place.is_open
    assert place.holder is not None
    assert place.holder.pid == program.pid
    program.ask("close", database)
    assert _open(DirectoryPlace(database).look()) == (False, None)


def _open(place: Place) -> tuple[bool, object]:
    return place.is_open, place.holder


def test_close_and_open(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        first = await followed(database)
        session = (await first.snapshot(None)).session
        assert (await first.snapshot(None)).session == session
        program.ask("close", database)
        assert "nobody has it open any more" in await ended(first)
        program.ask("open_plain", database)
        second = await followed(database)
        assert (await second.snapshot(None)).session != session
        assert second.place.id == first.place.id

    run(body())


def test_opened_anew_between_two_looks(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        target = await followed(database)
        await target.snapshot(None)
        program.ask("close", database)
        program.ask("open_plain", database)
        assert "it was opened anew" in await ended(target)

    run(body())


def test_a_kill_closes_it(database: Path) -> None:
    async def body() -> None:
        with db_bench(database) as program:
            target = await followed(database)
            await target.snapshot(None)
            program.process.kill()
            program.process.wait()
            assert "nobody has it open any more" in await ended(target)

    run(body())


def test_where_processes_are_hidden_it_is_open_while_its_log_is_written(
    program: Program, database: Path, tmp_path: Path
) -> None:
    nothing = tmp_path / "proc"
    nothing.mkdir()
    now_s = 0.0
    place = DirectoryPlace(database, proc=nothing, clock=lambda: now_s)

    def look(after_s: float, *, written: bool) -> bool:
        nonlocal now_s
        now_s += after_s
        if written:
            with (database / "LOG").open("a") as log:
                log.write("\n")
        return place.look().is_open

    program.ask("open_plain", database)
    assert not look(0, written=False)
    assert not look(0.5, written=True), "that may have been all"
    assert look(2, written=True)
    assert look(50, written=False)
    assert not look(20, written=False)
    assert not look(1, written=True)
    assert look(2, written=True)
    place.closed()
    assert not look(1, written=False)

    async def body() -> None:
        target = await Directory(database, proc=nothing).open(place.look())
        assert (target.info.pid, target.info.program) == (0, "unknown")
        program.ask("close", database)
        assert "its LOG says that it was closed" in await ended(target)

    run(body())
