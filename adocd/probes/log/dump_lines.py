"""The lines of the statistics dump (db/internal_stats.cc), by their first words.

All wordings since 6.x: 8.0 renamed the stall counts (`Stalls(count)` became `Write Stall (count)`), 9.x added a line
about pending bytes, and the compaction table gained columns, so columns are read by name.
"""

import re
from collections.abc import Callable

from adocd.probes.log.dump_events import CompactionRow
from adocd.probes.log.numbers import GIB, MIB, number, size_bytes, span_s

Figures = dict[str, float]
#: Reads the rest of a line into cumulative and interval figures; False if it cannot.
Reader = Callable[[bytes, Figures, Figures], bool]

_N = rb"([-+\w.]{1,32})"
_WRITES = re.compile(
    _N + rb" writes, " + _N + rb" keys, " + _N + rb" (?:commit groups|batches), " + _N + rb" writes per "
    rb"(?:commit group|batch), ingest: " + _N + rb" ([GM]B), " + _N + rb" MB/s\s*"
)
_WAL = re.compile(
    _N
    + rb" writes, "
    + _N
    + rb" syncs, "
    + _N
    + rb" writes per sync, written: "
    + _N
    + rb" ([GM]B), "
    + _N
    + rb" MB/s\s*"
)
_STALL = re.compile(rb"(\d{1,9}):(\d{1,3}):([\d.]{1,12}) H:M:S, " + _N + rb" percent\s*")
_COMPACTION = re.compile(
    _N + rb" GB write, " + _N + rb" MB/s write, " + _N + rb" GB read, " + _N + rb" MB/s read, " + _N + rb" seconds\s*"
)
_UPTIME = re.compile(_N + rb" total, " + _N + rb" interval\s*")
_BOTH = re.compile(rb"cumulative " + _N + rb", interval " + _N + rb"\s*")
_OLD_STALL = re.compile(rb"(?<!\d)(\d{1,20}) ([a-z0-9_ ]{1,64}?)(?:, ?|\s{0,8}$)")
_NEW_STALL = re.compile(rb"([a-z0-9-]{1,64}): (\d{1,20})(?:, ?|\s{0,8}$)")

#: RocksDB's names, old and new, of its stall counts, with the names in agents/admin-api.yaml.
_STALL_COUNTS = {
    b"level0_slowdown": "l0_slowdowns",
    b"level0_slowdown_with_compaction": "l0_slowdowns_with_compaction",
    b"level0_numfiles": "l0_stops",
    b"level0_numfiles_with_compaction": "l0_stops_with_compaction",
    b"stop for pending_compaction_bytes": "pending_bytes_stops",
    b"slowdown for pending_compaction_bytes": "pending_bytes_slowdowns",
    b"memtable_compaction": "memtable_stops",
    b"memtable_slowdown": "memtable_slowdowns",
    b"l0-file-count-limit-delays": "l0_slowdowns",
    b"cf-l0-file-count-limit-delays-with-ongoing-compaction": "l0_slowdowns_with_compaction",
    b"l0-file-count-limit-stops": "l0_stops",
    b"cf-l0-file-count-limit-stops-with-ongoing-compaction": "l0_stops_with_compaction",
    b"pending-compaction-bytes-stops": "pending_bytes_stops",
    b"pending-compaction-bytes-delays": "pending_bytes_slowdowns",
    b"memtable-limit-stops": "memtable_stops",
    b"memtable-limit-delays": "memtable_slowdowns",
    b"total-delays": "total_slowdowns",
    b"total-stops": "total_stops",
    b"write-buffer-manager-limit-stops": "write_buffer_manager_stops",
}


def _put(into: Figures, **values: float | None) -> bool:
    into.update((name, value) for name, value in values.items() if value is not None)
    return True


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _writes(rest: bytes, into: Figures) -> bool:
    m = _WRITES.fullmatch(rest)
    return m is not None and _put(
        into,
        writes=number(m[1]),
        keys=number(m[2]),
        commit_groups=number(m[3]),
        writes_per_commit_group=number(m[4]),
        ingest_bytes=size_bytes(m[5], m[6]),
        ingest_bytes_per_s=_times(number(m[7]), MIB),
    )


def _wal(rest: bytes, into: Figures) -> bool:
    m = _WAL.fullmatch(rest)
    return m is not None and _put(
        into,
        wal_writes=number(m[1]),
        wal_syncs=number(m[2]),
        wal_writes_per_sync=number(m[3]),
        wal_written_bytes=size_bytes(m[4], m[5]),
        wal_bytes_per_s=_times(number(m[6]), MIB),
    )


def _stall(rest: bytes, into: Figures) -> bool:
    m = _STALL.fullmatch(rest)
    return m is not None and _put(into, stall_s=span_s(m[1], m[2], m[3]), stall_percent=number(m[4]))


def _compaction(rest: bytes, into: Figures) -> bool:
    m = _COMPACTION.fullmatch(rest)
    return m is not None and _put(
        into,
        compaction_write_bytes=_times(number(m[1]), GIB),
        compaction_write_bytes_per_s=_times(number(m[2]), MIB),
        compaction_read_bytes=_times(number(m[3]), GIB),
        compaction_read_bytes_per_s=_times(number(m[4]), MIB),
        compaction_s=number(m[5]),
    )


def _uptime(rest: bytes, cumulative: Figures, interval: Figures) -> bool:
    m = _UPTIME.fullmatch(rest)
    return m is not None and _put(cumulative, uptime_s=number(m[1])) and _put(interval, uptime_s=number(m[2]))


def _both(name: str, factor: float) -> Reader:
    def read(rest: bytes, cumulative: Figures, interval: Figures) -> bool:
        m = _BOTH.fullmatch(rest)
        if m is None:
            return False
        _put(cumulative, **{name: _times(number(m[1]), factor)})
        return _put(interval, **{name: _times(number(m[2]), factor)})

    return read


def _cumulative(read: Callable[[bytes, Figures], bool]) -> Reader:
    return lambda rest, cumulative, _interval: read(rest, cumulative)


def _interval(read: Callable[[bytes, Figures], bool]) -> Reader:
    return lambda rest, _cumulative, interval: read(rest, interval)


#: By the text before the first colon.
READERS: dict[bytes, Reader] = {
    b"Uptime(secs)": _uptime,
    b"Cumulative writes": _cumulative(_writes),
    b"Interval writes": _interval(_writes),
    b"Cumulative WAL": _cumulative(_wal),
    b"Interval WAL": _interval(_wal),
    b"Cumulative stall": _cumulative(_stall),
    b"Interval stall": _interval(_stall),
    b"Cumulative compaction": _cumulative(_compaction),
    b"Interval compaction": _interval(_compaction),
    b"Flush(GB)": _both("flush_bytes", GIB),
    b"AddFile(GB)": _both("add_file_bytes", GIB),
    b"AddFile(Total Files)": _both("add_file_total_files", 1),
    b"AddFile(L0 Files)": _both("add_file_l0_files", 1),
    b"AddFile(Keys)": _both("add_file_keys", 1),
}


def stall_counts(rest: bytes, counts: dict[str, int], interval: Figures) -> bool:
    """Read `Stalls(count): 3 level0_slowdown, ...` and `Write Stall (count): l0-file-count-limit-delays: 3, ...`."""
    found = False
    for count, word in _OLD_STALL.findall(rest):
        known = _STALL_COUNTS.get(word)
        if known is not None:
            counts[known], found = int(count), True
        elif word == b"total count":
            interval["stalls"] = float(count)
    for word, count in _NEW_STALL.findall(rest):
        known = _STALL_COUNTS.get(word)
        if known is not None:
            counts[known], found = int(count), True
    return found


def compaction_row(columns: list[bytes], line: bytes) -> CompactionRow | None:
    """Read `  L0      1/0    1.73 MB   0.2 ...` under `Level    Files   Size     Score ...`; None if cut or damaged."""
    cells = line.split()
    # Size takes two cells, number and unit.
    if len(cells) != len(columns) + 1 or len(cells) < 5:
        return None
    files, slash, being_compacted = cells[1].partition(b"/")
    size = size_bytes(cells[2], cells[3])
    if not slash or size is None or not files.isdigit() or not being_compacted.isdigit() or len(cells[1]) > 32:
        return None
    values = (
        (name.decode("ascii", "replace"), number(cell)) for name, cell in zip(columns[3:], cells[4:], strict=True)
    )
    return CompactionRow(
        cells[0].decode("ascii", "replace"),
        int(files),
        int(being_compacted),
        size,
        {name: value for name, value in values if value is not None},
    )
