"""Documents hold what must not be lost: one JSON object per row, each with a checksum.

SQLite has no checksums of its own, and a flipped digit in an original value would be sent to a live database. JSON is
written in ASCII so that it can hold any string: a program may give a column family any name.
"""

import dataclasses
import json
import sqlite3
import zlib
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from adocd.daemon.book.journal.records import JournaledPolicy, Override, Pause, Tuned

R = TypeVar("R", Tuned, JournaledPolicy, Override, Pause)
#: key, content, checksum, as in the table.
Row = tuple[Any, Any, Any]

_PUT = (
    "INSERT INTO documents (kind, key, content, checksum) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET content = excluded.content, checksum = excluded.checksum"
)
_SELECT = "SELECT key, content, checksum FROM documents WHERE kind = ? AND key >= ? AND key < ? ORDER BY rowid"
#: Sorts after anything that can follow the target in a key.
_AFTER = "~"


class WrongChecksum(sqlite3.DatabaseError):
    """A row's content does not match its checksum."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


@dataclass(frozen=True, slots=True)
class DocumentKind(Generic[R]):
    """One kind of document: its name in the table, its record type, and the members that form its key."""

    name: str
    record: type[R]
    key: tuple[str, ...]

    def put(self, connection: sqlite3.Connection, document: R) -> None:
        """Write a document, replacing the one with the same key."""
        connection.execute(_PUT, (self.name, *self.encode(document)))

    def get(self, connection: sqlite3.Connection, *key: str | None) -> R | None:
        """Return the document with this key; raises WrongChecksum."""
        sql = "SELECT key, content, checksum FROM documents WHERE kind = ? AND key = ?"
        row = connection.execute(sql, (self.name, dump(key))).fetchone()
        return None if row is None else self.decode(row)

    def delete(self, connection: sqlite3.Connection, *key: str | None) -> bool:
        """Delete the document with this key; returns whether there was one."""
        cursor = connection.execute("DELETE FROM documents WHERE kind = ? AND key = ?", (self.name, dump(key)))
        return cursor.rowcount > 0

    def all(self, connection: sqlite3.Connection, target: str | None = None) -> tuple[R, ...]:
        """Return the documents of one target or of all, in the order of their creation; raises WrongChecksum."""
        prefix = "[" if target is None else dump((target,))[:-1]
        # Fetch all at once: an unfinished statement would keep the file open after the connection is closed.
        rows = connection.execute(_SELECT, (self.name, prefix, prefix + _AFTER)).fetchall()
        return tuple(self.decode(row) for row in rows)

    def encode(self, document: R) -> Row:
        """Return a document's row, with its checksum."""
        key = dump(tuple(getattr(document, member) for member in self.key))
        content = dump(dataclasses.asdict(document))
        return key, content, _checksum(self.name, key, content)

    def decode(self, row: Row) -> R:
        """Return a row's document; raises WrongChecksum."""
        key, content, checksum = row
        if not isinstance(key, str) or not isinstance(content, str) or checksum != _checksum(self.name, key, content):
            raise WrongChecksum(f"a row of {self.name} has a wrong checksum")
        return self.record(**load(content))


TUNED = DocumentKind("tuned", Tuned, ("target", "scope", "name", "option"))
POLICIES = DocumentKind("policies", JournaledPolicy, ("target",))
OVERRIDES = DocumentKind("overrides", Override, ("target", "option", "column_family"))
PAUSES = DocumentKind("pauses", Pause, ("target",))
KINDS: dict[str, DocumentKind[Any]] = {kind.name: kind for kind in (TUNED, POLICIES, OVERRIDES, PAUSES)}


def dump(value: object) -> str:
    """Serialise a plain value as JSON in ASCII."""
    return json.dumps(value, separators=(",", ":"))


def load(content: str) -> dict[str, Any]:
    """Parse a record's members from JSON."""
    members: dict[str, Any] = json.loads(content)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}


def _checksum(kind: str, key: str, content: str) -> int:
    return zlib.crc32("\n".join((kind, key, content)).encode("utf-8", "surrogatepass"))
