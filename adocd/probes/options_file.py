"""Options that no agent reports, from the OPTIONS file in the database's directory.

RocksDB writes a new OPTIONS-nnnnnn at open, at every SetOptions and SetDBOptions, and when a column family is created
or dropped; until it is complete it has another name. It has the options in force of all column families, including the
immutable ones, in an INI format with backslash escapes (options/options_parser.cc,
examples/rocksdb_option_file_example.ini). It does not contain objects such as a rate limiter.
"""

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.files import read_text

_NAME = re.compile(r"OPTIONS-([0-9]{1,19})", re.ASCII)
_SECTION = re.compile(r'\[([^" ]+)(?: "(.*)")?\]')
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r"}
#: Attempts: RocksDB deletes an old file as soon as there is a new one.
_TRIES = 5
#: About 4 KB per column family; RocksDB could not have written a larger OPTIONS file in reasonable time.
_LARGEST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class OptionsFile:
    """The contents of an OPTIONS file: option values as RocksDB writes them."""

    database: Mapping[str, str]
    column_families: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that could not be read, and why in a few words."""

    path: str
    why: str


def newest(directory: Path, db_identity: str) -> OptionsFile | Unreadable:
    """Read the newest OPTIONS file of the database at `directory`; blocks on I/O.

    In a container the same path may be another database or none, so a database whose IDENTITY is not `db_identity` is
    not read.
    """
    if holds_another(directory, db_identity):
        why = "it is another database's directory here, as it can be where that one is in a container"
        return Unreadable(str(directory), why)
    return newest_of(directory)


def holds_another(directory: Path, db_identity: str) -> bool:
    """Whether the directory, as seen from here, has another database's IDENTITY; blocks on I/O.

    Without such a file, which the program may have disabled, it counts as this database's.
    """
    found = read_text(directory / "IDENTITY")
    return not isinstance(found, Missing) and found.strip() != db_identity.strip()


def newest_of(directory: Path) -> OptionsFile | Unreadable:
    """Read the newest OPTIONS file in this directory, whichever database it belongs to; blocks on I/O."""
    nothing = failure = Unreadable(str(directory), "there is no OPTIONS file")
    for _ in range(_TRIES):
        path = directory
        try:
            names = [found for entry in directory.iterdir() if (found := _NAME.fullmatch(entry.name))]
            if not names:
                return nothing
            path = directory / max(names, key=lambda found: int(found[1])).group()
            if path.stat().st_size > _LARGEST_BYTES:
                return Unreadable(str(path), f"it is larger than {_LARGEST_BYTES >> 20} MiB")
            return parse(path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            failure = Unreadable(str(path), _why(path, error))
            if not isinstance(error, FileNotFoundError):
                break
    return failure


def parse(text: str) -> OptionsFile:
    """Parse an OPTIONS file's text; ignores lines that are neither a section nor an option."""
    database: dict[str, str] = {}
    families: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith("#"):
            continue
        if found := _SECTION.fullmatch(line):
            kind, argument = found[1], _unescape(found[2] or "")
            section = database if kind == "DBOptions" else {}
            if kind == "CFOptions":
                section = families.setdefault(argument, {})
            continue
        name, equals, value = line.partition("=")
        if equals:
            section[name] = _unescape(value)
    return OptionsFile(database, families)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text) if "\\" in text else text


def _why(path: Path, error: OSError) -> str:
    why = error.strerror or type(error).__name__
    try:
        status = path.stat()
    except OSError:
        return why
    return f"{why} ({stat.filemode(status.st_mode)}, owner {status.st_uid}, group {status.st_gid})"
