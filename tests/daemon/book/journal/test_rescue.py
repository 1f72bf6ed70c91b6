"""Setting a damaged journal aside is itself killed, repeated and interrupted, without harm."""

import shutil
from pathlib import Path

import pytest

from adocd.daemon.book.journal import file, opening, rescue
from adocd.daemon.book.journal.errors import JournalUnopenable
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Intent
from tests.daemon.book.journal.support import (
    EVERYTHING,
    JOBS,
    NOW_UNIX_S,
    counts,
    fill_with_everything,
    intend,
    noise,
    overwrite,
    with_journal,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    with_journal(path, fill_with_everything)
    return path


@pytest.mark.parametrize("done", range(5))
def test_a_rescue_that_is_killed_is_finished_by_the_next_open(
    path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The kill comes after so many renames: the new file's to its waiting place, the log, the database, the new one."""

    class Killed(BaseException):
        """Nothing in the code handles this."""

    count = 0
    rename = Path.rename

    def rename_or_die(source: Path, target: Path) -> Path:
        nonlocal count
        if count == done:
            raise Killed
        count += "sound" not in target.name  # the one in the temporary directory is none of these
        return rename(source, target)

    overwrite(path, 0, noise(100))
    monkeypatch.setattr(Path, "rename", rename_or_die)
    if done < 4:
        with pytest.raises(Killed):
            opening.open_or_rescue(path, lambda: NOW_UNIX_S)
    monkeypatch.setattr(Path, "rename", rename)

    async def use(journal: Journal) -> None:
        assert journal.rescue is not None
        assert journal.rescue.rows == EVERYTHING == await counts(journal)
        assert str(journal.rescue).count("80 tuned") == 1

    with_journal(path, use)


def test_two_rescues_within_a_second_do_not_overwrite_each_other(path: Path) -> None:
    for _ in range(3):
        overwrite(path, 0, noise(100))
        with_journal(path, counts)
    names = sorted(p.name for p in path.parent.glob("*damaged*"))
    assert names == [f"journal.damaged-20300317T174640Z{suffix}" for suffix in ("", "-2", "-3")]


def test_the_copy_of_a_killed_rescue_is_removed(path: Path) -> None:
    copy = path.with_name("journal.reading-x")
    copy.mkdir()
    (copy / "journal").touch()
    with_journal(path, counts)
    assert sorted(p.name for p in path.parent.iterdir()) == ["journal", "journal.lock"]


def test_reading_needs_neither_lock_nor_a_sound_file(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "journal"

    async def copy_while_open(journal: Journal) -> None:
        await intend(journal, Intent(JOBS, "2", "4"))
        copy.parent.mkdir()
        for part in (path, file.beside(path, "-wal")):
            shutil.copyfile(part, copy.with_name(part.name))

    with_journal(path, copy_while_open)
    before = {part.name: part.read_bytes() for part in copy.parent.iterdir()}
    assert rescue.read(copy).rows == {**EVERYTHING, "tuned": 81}, "the log counts, too"
    assert {part.name: part.read_bytes() for part in copy.parent.iterdir()} == before
    overwrite(path, 0, noise(100))
    assert rescue.read(path).rows == {**EVERYTHING, "tuned": 81}
    with pytest.raises(JournalUnopenable, match="cannot be read: No such file or directory"):
        rescue.read(path.with_name("nowhere"))
