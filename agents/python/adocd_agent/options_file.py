"""Option values from the OPTIONS file, because rocksdict has no call that reads them.

RocksDB writes a new OPTIONS-nnnnnn at open, at every SetOptions and when a column family is created or dropped; until
it is complete it has another name. It has the values in force of all column families (options/options_parser.cc).
"""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from adocd_agent.problems import DatabaseClosed

_NAME = re.compile(r"OPTIONS-[0-9]+", re.ASCII)
_SECTION = re.compile(r'\[([^" ]+)(?: "(.*)")?\]')
_ESCAPES = {"n": "\n", "r": "\r"}
_TRIES = 10
SETTLED_NS = 100_000_000
"""A directory's time stamp counts as final when it is this old: the file system's clock ticks in milliseconds."""


@dataclass(frozen=True)
class OptionsFile:
    """The contents of one OPTIONS file."""

    rocksdb_version: str
    database: dict[str, str]
    column_families: dict[str, dict[str, str]]


def parse(text: str) -> OptionsFile:
    """Read an OPTIONS file's text."""
    version = ""
    database: dict[str, str] = {}
    families: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if found := _SECTION.fullmatch(line):
            kind, argument = found.group(1), _unescape(found.group(2) or "")
            section = database if kind == "DBOptions" else {}
            if kind == "CFOptions":
                section = families.setdefault(argument, {})
            continue
        name, equals, value = line.partition("=")
        if equals:
            section[name] = _unescape(value)
            if name == "rocksdb_version":
                version = value
    return OptionsFile(version, database, families)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), text)


class OptionsReader:
    """The newest OPTIONS file of a database's directory, read again only when there is a newer one."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.RLock()
        self._listed_ns: int | None = None
        self._key: tuple[str, int, int] | None = None
        self._parsed: OptionsFile | None = None

    def read(self, *, fresh: bool = False) -> OptionsFile:
        """Return the newest file's contents; `fresh`: check even if the directory seems unchanged.

        Raises DatabaseClosed if there is no file: the directory was removed, which no open database survives.
        """
        with self._lock:
            for attempt in range(_TRIES):
                try:
                    return self._read(fresh=fresh or attempt > 0)
                except FileNotFoundError:  # RocksDB removed it between our listing and our reading: list again
                    continue
                except OSError:
                    break
            if self._parsed is not None:
                return self._parsed
            raise DatabaseClosed

    def _read(self, *, fresh: bool) -> OptionsFile:
        changed_ns = os.stat(self._directory).st_mtime_ns
        if self._parsed is not None and not fresh and changed_ns == self._listed_ns:
            return self._parsed
        newest = self._newest()
        status = newest.stat()
        key = (newest.name, status.st_mtime_ns, status.st_size)
        if self._parsed is None or key != self._key:
            self._parsed = parse(newest.read_text(encoding="utf-8", errors="surrogateescape"))
            self._key = key
        self._listed_ns = changed_ns if time.time_ns() - changed_ns > SETTLED_NS else None
        return self._parsed

    def _newest(self) -> Path:
        names = [found.group() for name in os.listdir(self._directory) if (found := _NAME.fullmatch(name))]
        if not names:
            raise FileNotFoundError(self._directory)
        return Path(self._directory, max(names, key=lambda name: int(name.partition("-")[2])))
