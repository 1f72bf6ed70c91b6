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
#: How much of an object is looked at for where it points back.
_HANDLE_BYTES, _SET_BYTES = 64, 512


class _About(ctypes.Structure):
    """What the dynamic linker knows of an address: Dl_info (dladdr(3))."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


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
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(self._c, symbol)) + _TO_FUNCTIONS
        except ValueError:
            raise SystemExit(f"it does not export {symbol}") from None

    def from_the_beginning(self, address: int) -> int:
        """Return how far an address is from the library's beginning in memory."""
        about = _About()
        if not self._libc.dladdr(ctypes.c_void_p(address), ctypes.byref(about)):
            raise SystemExit("where it is in memory is not known")
        return address - int(about.base)

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
    if words[0] != library.table(_DATABASE):
        raise SystemExit("a database of this librocksdb is no DBImpl")

    def on_the_heap(address: int, length: int) -> bool:
        return any(begin <= address and address + length <= end for begin, end in heap)

    def objects(symbol: str, at_most: int) -> dict[int, list[tuple[int, int]]]:
        """Return where a pointer to an object of this class is, and where that object points back."""
        table = library.table(symbol)
        found = {}
        for at, word in enumerate(words):
            if on_the_heap(word, _WORD) and _words(word, _WORD)[0] == table:
                held = _words(word, min(at_most, library.size(word)))
                found[at * _WORD] = [
                    (place * _WORD, back - database)
                    for place, back in enumerate(held)
                    if database <= back < database + size
                ]
        return found

    found: dict[str, Any] = {
        "size": size,
        "names": [
            at * _WORD
            for at, word in enumerate(words[:-1])
            if words[at + 1] == len(name)
            and on_the_heap(word, len(name))
            and ctypes.string_at(word, len(name)) == name.encode()
        ],
        "handle": objects(_HANDLE, _HANDLE_BYTES),
        "versions": objects(_VERSIONS, _SET_BYTES),
    }
    before = ctypes.string_at(database, size)
    library.begin_to_close(handle)
    after = ctypes.string_at(database, size)
    found["closing_at"] = [at for at in range(size) if before[at] == 0 and after[at] == 1]
    library.close(handle)
    return found


def _in_all(rounds: list[dict[str, Any]], name: str) -> list[Any]:
    return [each for each in rounds[0][name] if all(each in other[name] for other in rounds[1:])]


def _pointer(rounds: list[dict[str, Any]], name: str) -> tuple[int, list[tuple[int, int]]]:
    """Return where the one pointer to such an object is. A word that was never set may point to one by chance."""
    places = _in_all(rounds, name)
    if len(places) != 1:
        raise SystemExit(f"its pointer to the {name} is in {len(places)} places")
    (at,) = places
    backs = [back for back in rounds[0][name][at] if all(back in other[name][at] for other in rounds[1:])]
    if not backs:
        raise SystemExit(f"its {name} does not point back")
    return at, backs


def _common(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    names, closing_at = _in_all(rounds, "names"), _in_all(rounds, "closing_at")
    if not names or not closing_at:
        raise SystemExit("its name was not found" if closing_at else "nothing shows that it closes")
    handle_at, handle_backs = _pointer(rounds, "handle")
    versions_at, versions_backs = _pointer(rounds, "versions")
    return {
        "size": min(each["size"] for each in rounds),  # an allocator may give more than was asked for
        "name_at": names[0],
        "handle_at": handle_at,
        "handle_backs": handle_backs,
        "versions_at": versions_at,
        "versions_backs": versions_backs,
        "closing_at": closing_at,
    }


def main() -> None:
    """Print the layout as JSON, or end with a sentence."""
    library = _Library(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="adocd-layout-") as directory:
        # Longer than what a std::string keeps in itself, so that each name is on the heap.
        rounds = [_round(library, f"{directory}/database-that-has-a-long-name-{number}") for number in range(_ROUNDS)]
    tables = {"database_table": _DATABASE, "handle_table": _HANDLE, "versions_table": _VERSIONS}
    where = {name: library.from_the_beginning(library.table(symbol)) for name, symbol in tables.items()}
    sys.stdout.write(json.dumps(_common(rounds) | where) + "\n")


if __name__ == "__main__":
    main()
