"""How a librocksdb lays out an open database in memory: learned from the library itself, in a process of its own."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from adocd.process.attach.problem import AttachRefused

_TABLES = {
    "database": "_ZTVN7rocksdb6DBImplE",
    "handle": "_ZTVN7rocksdb22ColumnFamilyHandleImplE",
    "versions": "_ZTVN7rocksdb10VersionSetE",
}
#: Objects point behind the offset to the top and the type (Itanium C++ ABI, 2.5).
_TO_FUNCTIONS = 16
_AT_MOST_S = 60


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes, from the beginning of a DBImpl unless the name says otherwise.

    Attributes:
        size: of a DBImpl.
        name_at: dbname_, a std::string.
        handle_at: default_cf_handle_, the handle of the default column family.
        handle_backs: where that handle points back into the DBImpl: (offset in the handle, offset in the DBImpl).
        versions_at: versions_, the VersionSet.
        versions_backs: the same of the VersionSet.
        closing_at: bytes that are 0 until the database begins to close, and then 1 (shutting_down_).

    """

    size: int
    name_at: int
    handle_at: int
    handle_backs: tuple[tuple[int, int], ...]
    versions_at: int
    versions_backs: tuple[tuple[int, int], ...]
    closing_at: tuple[int, ...]


@dataclass(frozen=True)
class Tables:
    """Where the library's virtual tables are, as objects point to them, from the library's beginning."""

    database: int
    handle: int
    versions: int


def learned(library: Path) -> Layout:
    """Open a database with this library, in a process of its own, and look. Raises AttachRefused.

    What was learned of a file is kept as long as this process lives.
    """
    status = library.stat()
    return _learned(library, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache
def _learned(library: Path, _same_file: tuple[int, int, int, int]) -> Layout:
    done = subprocess.run(
        [sys.executable, "-m", "adocd.process.attach.learn", str(library)],
        capture_output=True, text=True, check=False, timeout=_AT_MOST_S,
    )  # fmt: skip
    try:
        return TypeAdapter(Layout).validate_json(done.stdout)
    except ValidationError:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise AttachRefused(
            f"the databases of {library} cannot be told from other memory ({said}): start the program under "
            "`adocd exec`"
        ) from None


def tables(library: Path) -> Tables:
    """Read the library's symbols. Raises AttachRefused if one is missing."""
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        if not isinstance(section, SymbolTableSection):
            raise AttachRefused(f"{library} has no symbols, so its databases cannot be told from other memory")
        found = {}
        for name, symbol in _TABLES.items():
            symbols = section.get_symbol_by_name(symbol)
            if not symbols:
                raise AttachRefused(
                    f"{library} does not export {symbol}, so its databases cannot be told from other memory: start the "
                    "program under `adocd exec`"
                )
            found[name] = int(symbols[0]["st_value"]) + _TO_FUNCTIONS
    return Tables(**found)
