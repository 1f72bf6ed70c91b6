"""Opens a database in this process, and prints how this librocksdb lays it out; `layout` runs it as a program.

RocksDB's internal headers are not installed anywhere, and the layout differs between builds. So it is learned from the
library itself: a database is opened through the C API, and its memory is searched for what must be in it. Whatever does
not come out the same three times is no part of the layout.
"""

import ctypes
import json
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

_ROUNDS = 3
_WORD = 8
_HANDLE, _VERSIONS = "_ZTVN7rocksdb22ColumnFamilyHandleImplE", "_ZTVN7rocksdb10VersionSetE"
_DATABASE = "_ZTVN7rocksdb6DBImplE"
#: A virtual table begins with the offset to the top and the type; objects point behind them (Itanium C++ ABI, 2.5).
_TO_FUNCTIONS = 2 * _WORD
_SET_BYTES = 512


class _Library:
    """The C API of a librocksdb (rocksdb/c.h), as far as it is needed."""

    def __init__(self, path: str) -> None:
        self._c = ctypes.CDLL(path)
        self._libc = ctypes.CDLL(None)
        self._libc.malloc_usable_size.argtypes = [ctypes.c_void_p]
        self._libc.malloc_usable_size.restype = ctypes.c_size_t
        for name in ("rocksdb_options_create", "rocksdb_open"):
            getattr(self._c, name).restype = ctypes.c_void_p
        self._c.rocksdb_options_set_create_if_missing.argtypes = [ctypes.c_void_p, ctypes.c_ubyte]
        self._c.rocksdb_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)]
        self._c.rocksdb_cancel_all_background_work.argtypes = [ctypes.c_void_p, ctypes.c_ubyte]
        self._c.rocksdb_close.argtypes = [ctypes.c_void_p]

    def table(self, symbol: str) -> int:
        """Return what objects of a class point to."""
        return ctypes.addressof(ctypes.c_char.in_dll(self._c, symbol)) + _TO_FUNCTIONS

    def open(self, name: str) -> int:
        """Open a database, and return the C API's handle of it."""
        options = self._c.rocksdb_options_create()
        self._c.rocksdb_options_set_create_if_missing(options, 1)
        error = ctypes.c_char_p()
        handle = self._c.rocksdb_open(options, name.encode(), ctypes.byref(error))
        if error.value:
            raise SystemExit(error.value.decode(errors="replace"))
        return int(handle)

    def begin_to_close(self, handle: int) -> None:
        """Do what every close does first."""
        self._c.rocksdb_cancel_all_background_work(handle, 0)

    def close(self, handle: int) -> None:
        """Close it."""
        self._c.rocksdb_close(handle)

    def size(self, address: int) -> int:
        """Return the size of an object on the heap."""
        return int(self._libc.malloc_usable_size(address))


def _words(address: int, size: int) -> tuple[int, ...]:
    return struct.unpack(f"{size // _WORD}Q", ctypes.string_at(address, size // _WORD * _WORD))


def _heap() -> list[tuple[int, int]]:
    ranges = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        if fields[1].startswith("rw"):
            begin, end = fields[0].split("-")
            ranges.append((int(begin, 16), int(end, 16)))
    return ranges


def _round(library: _Library, name: str) -> dict[str, Any]:
    """Look into one database: every place where something was found that a layout can be made of."""
    handle = library.open(name)
    database = _words(handle, _WORD)[0]  # struct rocksdb_t { DB* rep; }
    size = library.size(database)
    heap = _heap()
    words = _words(database, size)

    def objects(symbol: str) -> list[tuple[int, int]]:
        table = library.table(symbol)
        return [
            (at * _WORD, word)
            for at, word in enumerate(words)
            if any(begin <= word and word + _WORD <= end for begin, end in heap) and _words(word, _WORD)[0] == table
        ]

    (handle_at, family_handle), *more_handles = objects(_HANDLE)
    (versions_at, versions), *more_sets = objects(_VERSIONS)
    if more_handles or more_sets or words[0] != library.table(_DATABASE):
        raise SystemExit("a database of this librocksdb looks different from what adocd knows")
    names = [
        at * _WORD
        for at, word in enumerate(words[:-1])
        if words[at + 1] == len(name)
        and any(begin <= word and word + len(name) <= end for begin, end in heap)
        and ctypes.string_at(word, len(name)) == name.encode()
    ]

    def backs(address: int, at_most: int) -> list[list[int]]:
        held = _words(address, min(at_most, library.size(address)))
        return [[at * _WORD, word - database] for at, word in enumerate(held) if database <= word < database + size]

    found: dict[str, Any] = {
        "size": size,
        "name_at": names[0],
        "handle_at": handle_at,
        "handle_backs": backs(family_handle, 64),
        "versions_at": versions_at,
        "versions_backs": backs(versions, _SET_BYTES),
    }
    before = ctypes.string_at(database, size)
    library.begin_to_close(handle)
    after = ctypes.string_at(database, size)
    found["closing_at"] = [at for at in range(size) if before[at] == 0 and after[at] == 1]
    library.close(handle)
    return found


def _common(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    # An allocator may give more than was asked for.
    common: dict[str, Any] = {"size": min(each.pop("size") for each in rounds)}
    for name, first in rounds[0].items():
        others = [each[name] for each in rounds[1:]]
        if isinstance(first, list):
            kept = [entry for entry in first if all(entry in other for other in others)]
            if not kept:
                raise SystemExit(f"{name} is different each time")
            common[name] = kept
        elif all(other == first for other in others):
            common[name] = first
        else:
            raise SystemExit(f"{name} is different each time")
    return common


def main() -> None:
    """Print the layout as JSON, or end with a sentence."""
    library = _Library(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="adocd-layout-") as directory:
        # Longer than what a std::string keeps in itself, so that each name is on the heap.
        rounds = [_round(library, f"{directory}/database-that-has-a-long-name-{number}") for number in range(_ROUNDS)]
    sys.stdout.write(json.dumps(_common(rounds)) + "\n")


if __name__ == "__main__":
    main()
