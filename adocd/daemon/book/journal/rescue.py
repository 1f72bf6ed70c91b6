"""Repairs a damaged journal: sets it aside, and creates a new one from what can be read. Blocking.

It may be killed at any moment: the new journal is first completed under a temporary name, and the next open finishes
an interrupted repair.
"""

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adocd.daemon.book.journal import content, file
from adocd.daemon.book.journal.documents import KINDS, Row
from adocd.daemon.book.journal.errors import SQLITE_ERRORS, JournalUnopenable
from adocd.daemon.book.journal.records import JournaledPolicy, Operation, Override, Pause, Tuned
from adocd.daemon.book.state_dir import sync_directory

#: Most rows tried one by one between the rows that can be read from either end.
_PROBED_ROWS = 20_000
_READING = ".reading-"


@dataclass(frozen=True, slots=True)
class Rescue:
    """How a damaged journal was repaired."""

    #: What was wrong, in one sentence.
    reason: str
    #: Where the damaged file is now; None if it is gone.
    set_aside: Path | None
    #: Number of rows in the new journal, by kind.
    rows: dict[str, int]
    #: Number of rows found but not readable; None if the process that counted them died.
    unreadable: int | None
    #: Whether the new journal was written from memory instead of from the readable rows.
    from_memory: bool = False

    def __str__(self) -> str:
        rows = ", ".join(f"{count} {'tuned options' if name == 'tuned' else name}" for name, count in self.rows.items())
        unreadable = f", {self.unreadable} rows unreadable" if self.unreadable else ""
        where = "" if self.set_aside is None else f"; it is now {self.set_aside}"
        source = "the daemon remembers" if self.from_memory else "could be read of it"
        lost = "decisions" if self.from_memory else "decisions and audit trail"
        went = "are gone with it" if self.set_aside is None else "stay in the old file"
        return f"{self.reason}{where}, and a new one begins with what {source}: {rows}{unreadable}; its {lost} {went}"


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything in a journal that must not be lost, the number of unreadable rows, and the audit trail."""

    tuned: tuple[Tuned, ...] = ()
    policies: tuple[JournaledPolicy, ...] = ()
    overrides: tuple[Override, ...] = ()
    pauses: tuple[Pause, ...] = ()
    unreadable: int = 0
    operations: tuple[Operation, ...] = ()

    @property
    def rows(self) -> dict[str, int]:
        """Return the number of documents by kind."""
        return {name: len(getattr(self, name)) for name in KINDS}


def set_aside(path: Path, reason: str, now_unix_s: float) -> Rescue:
    """Replace the damaged journal at `path`, which must not be open. Raises JournalUnwritable and JournalUnopenable."""
    contents = read(path, path.parent)
    file.create(_rescued(path), lambda connection: put(connection, replace(contents, operations=())))
    old = finish(path, now_unix_s)
    return Rescue(reason, old, contents.rows, contents.unreadable)


def begin_anew(path: Path, contents: Contents, reason: str, now_unix_s: float) -> Rescue:
    """Replace whatever is now at `path`, where this process has a journal open, with a journal of these contents.

    Do not write to the open journal after that. Raises JournalUnwritable and JournalUnopenable.
    """
    if path.is_dir():
        raise JournalUnopenable(f"the journal {path} is a directory")
    was_there = os.path.lexists(path)
    file.create(_rescued(path), lambda connection: put(connection, contents))
    old = finish(path, now_unix_s)
    return Rescue(reason, old if was_there else None, contents.rows, 0, from_memory=True)


def put(connection: sqlite3.Connection, contents: Contents) -> None:
    """Replace all documents with these, and write the audit trail."""
    connection.execute("DELETE FROM documents")
    for name, kind in KINDS.items():
        for document in getattr(contents, name):
            kind.put(connection, document)
    content.put_operations(connection, contents.operations, content.OPERATIONS_KEPT)


def is_used(connection: sqlite3.Connection) -> bool:
    """Whether a journal has anything: a new one has nothing."""
    sql = "SELECT 1 FROM documents UNION ALL SELECT 1 FROM operations UNION ALL SELECT 1 FROM decisions LIMIT 1"
    return connection.execute(sql).fetchone() is not None


def clean_up(path: Path) -> None:
    """Remove copies left by interrupted repairs; the caller must hold the lock."""
    for left_over in path.parent.iterdir():
        if left_over.name.startswith(f"{path.name}{_READING}"):
            shutil.rmtree(left_over, ignore_errors=True)


def is_unfinished(path: Path) -> bool:
    """Whether a repair was interrupted after the new journal was complete and before it was in place."""
    return os.path.exists(_rescued(path))


def newest(path: Path) -> Path:
    """Return the file that is the journal: of an unfinished repair, the new one."""
    return _rescued(path) if is_unfinished(path) else path


def finish(path: Path, now_unix_s: float) -> Path:
    """Move the old files aside and the new one into place; returns the old one's new name."""
    old = _free_name(path, now_unix_s)
    try:
        for source, destination in zip(file.with_sides(path), file.with_sides(old), strict=True):
            with suppress(FileNotFoundError):
                source.rename(destination)
        sync_directory(path.parent)
        _rescued(path).rename(path)
        sync_directory(path.parent)
    except OSError as error:
        raise JournalUnopenable(f"the damaged journal {path} cannot be set aside: {error.strerror}") from None
    return old


def read(path: Path, temporary: Path | None = None) -> Contents:
    """Read as much of a journal as possible, whatever its state, from a copy in the directory `temporary`.

    This needs neither the lock nor write access, but this process must not have the journal open: see
    journal.read_only. Raises JournalUnopenable if it cannot be read at all.
    """
    found: dict[tuple[str, str], Row] = {}
    operations: tuple[Operation, ...] = ()
    broken: set[tuple[Any, ...]] = set()
    try:
        path.stat()
        with tempfile.TemporaryDirectory(prefix=f"{path.name}{_READING}", dir=temporary) as directory:
            copy = Path(directory) / "journal"
            for source, destination in zip(file.with_sides(path), file.with_sides(copy), strict=True):
                if source.exists() and not source.name.endswith("-shm"):
                    with file.open_to_read(source) as stream, destination.open("xb") as copied:
                        shutil.copyfileobj(stream, copied)
            for attempt in (_as_it_is, _with_a_sound_first_page, _without_the_log):
                if (rows := attempt(copy)) is not None:
                    for name, *row in rows:
                        _sort_out(name, (row[0], row[1], row[2]), found, broken)
                    operations = _operations(copy)
                    break
    except OSError as error:
        raise JournalUnopenable(f"the journal {path} cannot be read: {error.strerror}") from None
    documents = {name: tuple(KINDS[name].decode(row) for (n, _), row in found.items() if n == name) for name in KINDS}
    return Contents(**documents, unreadable=len(broken), operations=operations)


def _sort_out(name: Any, row: Row, found: dict[tuple[str, str], Row], broken: set[tuple[Any, ...]]) -> None:
    try:
        KINDS[name].decode(row)
    except (KeyError, TypeError, ValueError, sqlite3.DatabaseError):
        broken.add((repr(name), *map(repr, row)))
    else:
        found.setdefault((name, row[0]), row)


def _as_it_is(copy: Path) -> list[tuple[Any, ...]] | None:
    """Return the rows that SQLite can find; None if it does not even find the table."""
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.text_factory = file.decode_text
            connection.execute("SELECT kind, key, content, checksum FROM documents LIMIT 0")
            return list(_rows(connection))
    except SQLITE_ERRORS:
        return None


def _operations(copy: Path) -> tuple[Operation, ...]:
    """Return the audit trail if it is intact; no option is restored from it."""
    with suppress(*SQLITE_ERRORS), closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.text_factory = file.decode_text
        return content.operations(connection)
    return ()


def _with_a_sound_first_page(copy: Path) -> list[tuple[Any, ...]] | None:
    """Read despite a broken header or table list, by substituting a new journal's first page, which never differs."""
    sound = copy.with_name("sound")
    file.create(sound, lambda _: None)
    with sound.open("rb") as source:
        page_bytes = int.from_bytes(source.read(18)[16:18], "big")
        source.seek(0)
        page = bytearray(source.read(page_bytes))
    pages = max(1, copy.stat().st_size // page_bytes)
    page[28:32] = pages.to_bytes(4, "big")  # the size in the header (sqlite.org/fileformat.html, 1.3.7)
    with copy.open("r+b") as destination:
        destination.write(page)
        destination.truncate(pages * page_bytes)
    return _as_it_is(copy)


def _without_the_log(copy: Path) -> list[tuple[Any, ...]] | None:
    """Read the state before the last changes, for when the log's copy of the first page is the broken one."""
    for side in file.with_sides(copy)[:-1]:
        side.unlink(missing_ok=True)
    return _with_a_sound_first_page(copy)


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the documents from both ends up to the broken part, and one by one within it, without an index."""
    sql = "SELECT rowid, kind, key, content, checksum FROM documents NOT INDEXED"
    reached: Counter[str] = Counter()
    for order in ("ASC", "DESC"):
        try:
            for rowid, *row in connection.execute(f"{sql} ORDER BY rowid {order}"):
                reached[order] = rowid
                yield tuple(row)
        except SQLITE_ERRORS:
            continue
        return
    for rowid in range(reached["ASC"] + 1, min(reached["DESC"] or _PROBED_ROWS, reached["ASC"] + _PROBED_ROWS)):
        with suppress(*SQLITE_ERRORS):
            yield from (tuple(row[1:]) for row in connection.execute(f"{sql} WHERE rowid = ?", (rowid,)))


def _rescued(path: Path) -> Path:
    return file.beside(path, ".rescued")


def _free_name(path: Path, now_unix_s: float) -> Path:
    when = datetime.fromtimestamp(now_unix_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    candidates = (file.beside(path, f".damaged-{when}{suffix}") for suffix in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(name for name in candidates if not any(os.path.lexists(part) for part in file.with_sides(name)))
