"""A journal that cannot be written: no new changes, while reading goes on, and writing, when there is room again."""

import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.daemon.book.journal.batching import Limits
from adocd.daemon.book.journal.errors import (
    JournalError,
    JournalForeign,
    JournalFull,
    JournalUnopenable,
    JournalUnwritable,
)
from adocd.daemon.book.journal.journal import Journal, read_only
from adocd.daemon.book.journal.records import Intent
from tests.daemon.book.journal.support import (
    EVERYTHING,
    JOBS,
    A,
    B,
    buffer_size,
    counts,
    decision,
    fill_with_everything,
    intend,
    noise,
    opened,
    overwrite,
    pause,
    until_written,
    with_journal,
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 1 MiB, which only root can mount; everybody has the test with RLIMIT_FSIZE below."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this root may not mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


async def write_until_it_fails(journal: Journal) -> JournalError:
    for n in range(1000):
        try:
            await intend(journal, Intent(buffer_size("x" * 2000 + str(n)), "1", "2"))
        except JournalError as error:
            return error
    raise AssertionError("the disk never filled")


def test_a_full_disk_stops_changes_only_and_only_while_it_is_full(small_disk: Path) -> None:
    path = small_disk / "journal"

    async def use(journal: Journal) -> None:
        await fill_with_everything(journal)
        ballast = fill(small_disk)
        error = await write_until_it_fails(journal)
        assert isinstance(error, JournalFull)
        assert str(error) == f"the journal {path} cannot be written: the disk is full" == journal.problem
        before = await journal.tuned()
        assert await counts(journal) == {**EVERYTHING, "tuned": len(before)}
        # What was already announced needs no room, and does not mean that there is some.
        await intend(journal, Intent(buffer_size("family-0"), "0", "1"))
        assert journal.problem == str(error)
        journal.decided(A, decision(100), path=None)
        with pytest.raises(JournalFull):
            await journal.flush()
        assert (await journal.decisions(A))[-1].sequence == 100
        assert await journal.tuned() == before

        ballast.unlink()
        await intend(journal, Intent(JOBS, "2", "4"))
        await journal.flush()
        assert journal.lost_decisions == 0
        assert (await journal.tuned())[:-1] == before

    with_journal(path, use)


def test_the_journal_opens_and_reads_on_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "journal"
    with_journal(path, fill_with_everything)
    fill(small_disk)

    async def read(journal: Journal) -> None:
        assert await counts(journal) == EVERYTHING
        assert len(await journal.decisions()) == 50
        with pytest.raises(JournalFull):
            await journal.keep_pauses([replace(pause(), reason="x" * 10_000)])
        assert await counts(journal) == EVERYTHING
        journal.decided(A, decision(1), path=None)

    with_journal(path, read)  # its close does not fail either
    with_journal(path, read)


def test_decisions_wait_for_room_up_to_the_bound(small_disk: Path) -> None:
    async def run() -> None:
        limits = Limits(flush_period_s=0.02, batch=5, buffer=10)
        async with opened(small_disk / "journal", limits=limits) as journal:
            ballast = fill(small_disk)
            for n in range(30):
                journal.decided(B, decision(n, reason="x" * 5000), path=None)
                await asyncio.sleep(0.005)
            assert journal.waiting_decisions == 10
            assert journal.lost_decisions > 0
            ballast.unlink()
            await until_written(journal)
            found = [d.sequence for d in await journal.decisions(B)]
            assert found[-10:] == list(range(20, 30))
            assert len(found) + journal.lost_decisions == 30
            assert journal.problem is None

    asyncio.run(run())


def test_a_new_journal_on_a_full_disk_is_refused_and_leaves_nothing_half(small_disk: Path) -> None:
    ballast = fill(small_disk)
    with pytest.raises(JournalUnwritable):
        with_journal(small_disk / "journal", counts)
    assert not (small_disk / "journal").exists()
    ballast.unlink()
    with_journal(small_disk / "journal", fill_with_everything)


def test_with_any_little_room_a_journal_is_begun_or_rescued_wholly_or_not_at_all(small_disk: Path) -> None:
    path = small_disk / "journal"
    with_journal(path, fill_with_everything)
    overwrite(path, 0, noise(100))
    damaged = path.read_bytes()
    refused = 0
    for pages in (0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 100):
        for what, expected in (("begin", dict.fromkeys(EVERYTHING, 0)), ("rescue", EVERYTHING)):
            for left in small_disk.iterdir():
                left.unlink()
            if what == "rescue":
                path.write_bytes(damaged)
            ballast = fill(small_disk)
            os.truncate(ballast, max(0, ballast.stat().st_size - pages * 4096))
            try:
                assert with_journal(path, counts) == expected
            except (JournalUnwritable, JournalUnopenable):
                refused += 1
                assert [p.read_bytes() for p in small_disk.glob("journal")] == ([damaged] if what == "rescue" else [])
            ballast.unlink()
            assert with_journal(path, counts) == expected, (what, pages)
    assert 0 < refused < 32


def test_on_a_read_only_file_system_it_can_still_be_read(small_disk: Path) -> None:
    path = small_disk / "journal"
    with_journal(path, fill_with_everything)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(JournalUnopenable, match="cannot be opened for writing: Read-only file system"):
        with_journal(path, counts)
    contents = asyncio.run(read_only(path))
    assert (contents.rows, contents.unreadable) == (EVERYTHING, 0)


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size; the write then fails with EFBIG."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_write_error_stops_changes_only_while_it_lasts(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await fill_with_everything(journal)
        with file_size_limit((tmp_path / "journal-wal").stat().st_size):
            error = await write_until_it_fails(journal)
            tuned = await journal.tuned()
            with pytest.raises(JournalUnwritable):
                await journal.settled(A, dict.fromkeys(t.option_name for t in tuned))
            assert await counts(journal) == {**EVERYTHING, "tuned": len(tuned)}
        assert isinstance(error, JournalUnwritable)
        assert journal.problem is not None
        await journal.settled(A, dict.fromkeys(t.option_name for t in tuned))
        assert journal.problem is None

    with_journal(tmp_path / "journal", use)


def test_a_journal_removed_under_the_daemon_is_noticed(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await journal.keep_pauses([pause()])
        (tmp_path / "journal").rename(tmp_path / "elsewhere")
        with pytest.raises(JournalUnwritable, match="was removed by somebody else"):
            await journal.keep_pauses([])
        assert await journal.pauses() == (pause(),)

    with_journal(tmp_path / "journal", use)


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    for path, why in (
        (tmp_path / "directory", "is a directory"),
        (tmp_path / "file" / "journal", "cannot be opened for writing: Not a directory$"),
    ):
        with pytest.raises(JournalUnopenable, match=why):
            with_journal(path, counts)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "browser.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(JournalForeign, match="is a database of another program"):
        with_journal(path, counts)
    assert path.read_bytes() == before
