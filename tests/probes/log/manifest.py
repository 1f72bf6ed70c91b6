"""How many bytes flushes and compactions wrote to a MANIFEST (db/log_format.h, db/version_edit.cc)."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

_BLOCK_BYTES = 1 << 15
_HEADER = struct.Struct("<IHB")
#: Tags of VersionEdit: what a flush's edits begin with, and only theirs.
_LOG_NUMBER, _PREV_LOG_NUMBER, _NEXT_FILE, _MIN_LOG_TO_KEEP = 2, 9, 3, 10
_LAST_SEQUENCE, _MAX_FAMILY = 4, 203
_DELETED_FILE, _NEW_FILE = 6, 103
_MET_AT_MOST = 3


def records_of_jobs(directory: Path, flushes: int) -> tuple[list[int], list[int]]:
    """Return the bytes of the records of the first so many flushes, and those of all compactions."""
    of_flushes: list[int] = []
    of_compactions: list[int] = []
    files = logs = 0
    for manifest in sorted(directory.glob("MANIFEST-*")):
        for record, size in _records(manifest.read_bytes()):
            tags = _tags(record)
            if tags[-1:] == [_NEW_FILE] and tags[0] == _LOG_NUMBER and files < flushes:
                files += 1
                of_flushes.append(size)
            elif tags == [_PREV_LOG_NUMBER, _NEXT_FILE, _MIN_LOG_TO_KEEP, _LAST_SEQUENCE] and logs < flushes:
                logs += 1  # the WAL that the flush made superfluous
                of_flushes.append(size)
            elif tags[-1:] == [_DELETED_FILE]:
                of_compactions.append(size)
    return of_flushes, of_compactions


def is_of_jobs(directory: Path, flushes: int, beside: int) -> bool:
    """Tell whether so many bytes beside their tables are what the flushes wrote to the MANIFEST.

    Of threads that meet there one writes the records of all (VersionSet::LogAndApply): on a busy machine three met.
    """
    by_flushes, by_compactions = records_of_jobs(directory, flushes)
    over, met = beside - sum(by_flushes), [*by_compactions, *(-each for each in by_flushes)]
    return any(sum(those) == over for many in range(_MET_AT_MOST + 1) for those in itertools.combinations(met, many))


def _records(data: bytes) -> Iterator[tuple[bytes, int]]:
    at, record, size = 0, b"", 0
    while at + _HEADER.size <= len(data):
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        if left < _HEADER.size:
            at += left
            continue
        _, length, kind = _HEADER.unpack_from(data, at)
        if kind == 0:
            return
        record += data[at + _HEADER.size : at + _HEADER.size + length]
        size += _HEADER.size + length
        at += _HEADER.size + length
        if kind in (1, 4):  # whole, or the last piece
            yield record, size
            record, size = b"", 0


def _tags(record: bytes) -> list[int]:
    """Return the tags up to the first that has no plain number."""
    at, tags = 0, []
    while at < len(record):
        tag, at = _varint(record, at)
        tags.append(tag)
        if tag not in (_LOG_NUMBER, _PREV_LOG_NUMBER, _NEXT_FILE, _MIN_LOG_TO_KEEP, _MAX_FAMILY, _LAST_SEQUENCE):
            break
        _, at = _varint(record, at)
    return tags


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
