"""A damaged journal is set aside, and as much of it as can be read begins the new one."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adocd.daemon.book.journal import file
from adocd.daemon.book.journal.errors import JournalDamaged
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Intent
from tests.daemon.book.journal.support import (
    EVERYTHING,
    JOBS,
    A,
    counts,
    decision,
    fill_with_everything,
    intend,
    noise,
    opened,
    overwrite,
    with_journal,
)

Damage = Callable[[Path], None]
PAGE_BYTES = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    with_journal(path, fill_with_everything)
    return path


def page_of(path: Path, needle: bytes) -> int:
    return path.read_bytes().index(needle) // PAGE_BYTES * PAGE_BYTES


#: How to damage it, and whether all, some or nothing of what must not be lost can be read after that.
DAMAGES: dict[str, tuple[Damage, str]] = {
    "a garbage header": (lambda path: overwrite(path, 0, noise(100)), "all"),
    "a garbage first page": (lambda path: overwrite(path, 0, noise(PAGE_BYTES)), "all"),
    "another application's header": (lambda path: overwrite(path, 68, b"\0\0\0\1"), "all"),
    "noise in a page of decisions": (lambda path: overwrite(path, page_of(path, b"because"), noise(500)), "all"),
    "noise in a page of documents": (
        lambda path: overwrite(path, page_of(path, b"family-20") + 8, noise(PAGE_BYTES - 8)),
        "some",
    ),
    "one digit of one original": (
        lambda path: void(path.write_bytes(path.read_bytes().replace(b'"original":"7"', b'"original":"8"', 1))),
        "all but one",
    ),
    "truncated by half": (lambda path: cut_to(path, 0.5), "some"),
    "only the first page": (lambda path: cut_to(path, PAGE_BYTES / path.stat().st_size), "nothing"),
    "zero-length": (lambda path: cut_to(path, 0), "nothing"),
    "a text file": (lambda path: void(path.write_text("# notes\n" * 1000)), "nothing"),
    "a short text file": (lambda path: void(path.write_text("x")), "nothing"),
    "zeros": (lambda path: void(path.write_bytes(bytes(path.stat().st_size))), "nothing"),
    "the table is gone": (lambda path: execute(path, "DROP TABLE documents"), "nothing"),
}


def cut_to(path: Path, share: float) -> None:
    with path.open("r+b") as stream:
        stream.truncate(round(path.stat().st_size * share))


def execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)


def void(_: object) -> None:
    """Take a result nobody wants."""


@pytest.mark.parametrize("name", DAMAGES)
def test_it_is_set_aside_and_read_as_far_as_possible(path: Path, name: str) -> None:
    damage, readable = DAMAGES[name]
    damage(path)
    damaged = path.read_bytes()

    async def use(journal: Journal) -> None:
        assert journal.rescue is not None
        found = await counts(journal)
        assert found == journal.rescue.rows
        total, whole = sum(found.values()), sum(EVERYTHING.values())
        low, high = {"all": (whole, whole), "all but one": (whole - 1,) * 2, "some": (1, whole - 1), "nothing": (0, 0)}[
            readable
        ]
        assert low <= total <= high, found
        for tuned in await journal.tuned():
            number = int((tuned.name or "").removeprefix("family-"))
            assert (tuned.original, tuned.sent) == (str(number), (str(number + 1),)), "nothing is made up"
        aside = path.with_name("journal.damaged-20300317T174640Z")
        assert journal.rescue.set_aside == aside
        assert f"it is now {aside}, and a new one begins with what could be read of it: " in str(journal.rescue)
        assert aside.stat().st_mode & 0o777 == 0o600
        await intend(journal, Intent(JOBS, "2", "4"))

    with_journal(path, use)
    kept = path.with_name("journal.damaged-20300317T174640Z").read_bytes()
    assert kept == damaged
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "journal",
        "journal.damaged-20300317T174640Z",
        "journal.lock",
    ]

    async def sound_again(journal: Journal) -> None:
        assert journal.rescue is None
        assert JOBS in [tuned.option_name for tuned in await journal.tuned(A)]

    with_journal(path, sound_again)


def test_noise_anywhere_never_stops_the_opening_nor_makes_anything_up(path: Path) -> None:
    sound = path.read_bytes()
    dice = random.Random(2)  # noqa: S311
    for _ in range(30):
        path.write_bytes(sound)
        for _ in range(dice.choice([1, 3, 20])):
            overwrite(path, dice.randrange(len(sound) - 64), dice.randbytes(dice.choice([1, 4, 64])))
        # A number that says "newer schema", or a whole other application, is left alone, as it must be.
        overwrite(path, 60, sound[60:72])
        asyncio.run(open_and_compare(path))
        for left in path.parent.glob("journal.*damaged*"):
            left.unlink()


async def open_and_compare(path: Path) -> None:
    async with opened(path) as journal:
        for tuned in await journal.tuned():
            number = int((tuned.name or "").removeprefix("family-"))
            assert (tuned.original, tuned.sent) == (str(number), (str(number + 1),))
        found = await counts(journal)
        assert all(found[name] <= EVERYTHING[name] for name in found)


def test_a_damaged_log_loses_what_it_had_and_no_more(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal", tmp_path / "copy" / "journal"
    with_journal(path, fill_with_everything)

    async def crash(journal: Journal) -> None:
        for n in range(10):
            await intend(journal, Intent(JOBS, "2", str(n)))
        copy.parent.mkdir()
        for part in (path, file.beside(path, "-wal")):
            shutil.copyfile(part, copy.with_name(part.name))

    async def see(journal: Journal) -> None:
        assert journal.rescue is None
        (tuned,) = [t for t in await journal.tuned() if t.option_name == JOBS]
        assert tuned.original == "2"
        assert tuned.sent == tuple(str(n) for n in range(len(tuned.sent)))
        assert 0 < len(tuned.sent) < 10

    with_journal(path, crash)
    log = file.beside(copy, "-wal")
    overwrite(log, log.stat().st_size // 2, noise(100))
    with_journal(copy, see)


def test_damage_found_while_it_is_open_stops_writing_until_the_next_open(path: Path) -> None:
    async def use(journal: Journal) -> None:
        overwrite(path, page_of(path, b"family-20") + 8, noise(PAGE_BYTES - 8))
        await journal._worker.read(lambda connection: connection.execute("PRAGMA shrink_memory").close())
        with pytest.raises(JournalDamaged, match=r"is damaged \("):
            await journal.tuned()
        assert journal.problem is not None
        with pytest.raises(JournalDamaged):
            await intend(journal, Intent(JOBS, "2", "4"))
        journal.decided(A, decision(1), path=None)
        assert journal.lost_decisions == 1

    async def again(journal: Journal) -> None:
        assert journal.rescue is not None
        assert journal.rescue.rows["policies"] == 3 or journal.rescue.rows["tuned"] > 0
        await intend(journal, Intent(JOBS, "2", "4"))

    with_journal(path, use)
    with_journal(path, again)
