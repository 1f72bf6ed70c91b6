"""Proves from outside that an address is an open database. Pure: it only reads memory.

A call on anything else would end the host, so whatever is not proven is left alone. Memory may change or vanish while
it is read; then the proof fails.

An open database is the one object that fulfils all of this:

1. Its first word is DBImpl's virtual table. So is that of a freed one, and of a copy.
2. It has the handle of the default column family, of the handle's virtual table, which points back to this very object.
   A copy's handle points to the original. A close deletes the handle and sets the pointer to null
   (DBImpl::CloseHelper), which stays in the memory of a freed one.
3. It has a VersionSet that points back into it; the close deletes that too.
4. It has not begun to close (shutting_down_).
5. Its own LOG names its address. RocksDB begins a new LOG at each open, and names the address when the open has
   succeeded. So a database that is being opened is none, even where another one was before, and another LOG says so.
6. The process holds the LOCK of the directory that it names.
"""

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adocd.process.attach.layout import Layout

_WORD = 8
_LONGEST_NAME = 4096

#: Reads so many bytes at an address; None where there is no such memory.
ReadMemory = Callable[[int, int], bytes | None]


@dataclass(frozen=True, slots=True, order=True)
class ProvenDatabase:
    """An open database: its address, and its directory."""

    address: int
    directory: Path


@dataclass(frozen=True, slots=True)
class Proof:
    """What the proof needs of a process: its memory, and where its librocksdb begins."""

    read: ReadMemory
    layout: Layout
    base: int

    def name(self, address: int) -> str | None:
        """Return the name with which the database at this address was opened; None if no open database is there."""
        layout, body = self.layout, self.read(address, self.layout.size)
        if body is None or _word(body, 0) != self.base + layout.database_table:
            return None
        if any(body[at] != 0 for at in layout.closing_at):
            return None
        handle, versions = _word(body, layout.handle_at), _word(body, layout.versions_at)
        if not self._points_back(address, handle, layout.handle_table, layout.handle_backs):
            return None
        if not self._points_back(address, versions, layout.versions_table, layout.versions_backs):
            return None
        text, length = _word(body, layout.name_at), _word(body, layout.name_at + _WORD)
        name = self.read(text, length) if 0 < length <= _LONGEST_NAME else None
        return None if name is None else name.decode(errors="surrogateescape")

    def _points_back(self, address: int, pointee: int, table: int, backs: Sequence[tuple[int, int]]) -> bool:
        held = self.read(pointee, max(at for at, _ in backs) + _WORD)
        if held is None or _word(held, 0) != self.base + table:
            return False
        return all(_word(held, at) == address + into for at, into in backs)


def proven(
    proof: Proof,
    pointers: Mapping[int, Collection[Path]],
    locked: Iterable[Path],
    resolve: Callable[[str], Path],
    is_log_of: Callable[[Path, str], bool],
) -> list[ProvenDatabase]:
    """Return the open databases among the addresses that LOGs give, whose directories the process holds locked.

    Of two at one directory neither is proven: only one process, and in it one database, can hold a LOCK.
    """
    held = set(locked)
    found: dict[Path, list[int]] = {}
    for address, logs in pointers.items():
        name = proof.name(address)
        if name is None or not any(is_log_of(log, name) for log in logs):
            continue
        if (directory := resolve(name)) in held:
            found.setdefault(directory, []).append(address)
    return sorted(ProvenDatabase(each[0], directory) for directory, each in found.items() if len(each) == 1)


def _word(body: bytes, at: int) -> int:
    return int(struct.unpack_from("<Q", body, at)[0])
