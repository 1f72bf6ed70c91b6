"""How a librocksdb lays out an open database in memory: learned from the library itself, in a process of its own."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from adocd.process.attach.problem import AttachRefused

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
        database_table: DBImpl's virtual table as objects point to it, from the library's beginning.
        handle_table: the same of a handle (ColumnFamilyHandleImpl).
        versions_table: the same of the VersionSet.

    """

    size: int
    name_at: int
    handle_at: int
    handle_backs: tuple[tuple[int, int], ...]
    versions_at: int
    versions_backs: tuple[tuple[int, int], ...]
    closing_at: tuple[int, ...]
    database_table: int
    handle_table: int
    versions_table: int


def learned(library: Path) -> Layout:
    """Open a database with this library, in a process of its own, and look. Raises AttachRefused.

    What was learned of a file is kept as long as this process lives.
    """
    status = library.stat()
    return _learned(library, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache
def _learned(library: Path, _same_file: tuple[int, int, int, int]) -> Layout:
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(Path(__file__).with_name("learn.py")), str(library)],
            capture_output=True, text=True, check=False, timeout=_AT_MOST_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _cannot_tell(library, f"looking took longer than {_AT_MOST_S} s") from None
    try:
        return TypeAdapter(Layout).validate_json(done.stdout)
    except ValidationError:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise _cannot_tell(library, said) from None


def _cannot_tell(library: Path, why: str) -> AttachRefused:
    return AttachRefused(
        f"the databases of {library} cannot be told from other memory ({why}): start the program under `adocd exec`"
    )
