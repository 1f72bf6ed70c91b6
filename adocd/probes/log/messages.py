"""Text messages: stalls, memtables, levels, manual flushes and compactions, and errors.

The wordings are those of db/column_family.cc, db/db_impl/*.cc and db/error_handler.cc, the same from 6.0 to 10.x
unless noted.
"""

import re
from re import Match

from adocd.probes.log.events import (
    Cause,
    CompactionPressure,
    Condition,
    HeaderLine,
    LevelSummary,
    LoggedProblem,
    LoggedStall,
    ManualJob,
    MemtableSwitched,
    Shutdown,
)
from adocd.probes.log.lines import text
from adocd.probes.log.numbers import number

_MEMTABLES = re.compile(
    rb"because we have (\d{1,18}) immutable memtables \(waiting for flush\), max_write_buffer_number is set to "
    rb"(\d{1,18})(?: rate (\d{1,20}))?\s*"
)
_L0 = re.compile(rb"because we have (\d{1,18}) level-0 files(?: rate (\d{1,20}))?\s*")
_PENDING = re.compile(rb"because of estimated pending compaction bytes (\d{1,20})(?: rate (\d{1,20}))?\s*")
#: Beginnings of the wordings above: a line with one of these that does not match is damaged; any other is new to us.
_KNOWN = (b"because we have ", b"because of estimated")
_ODD_NAME = re.compile(rb"\[(.{0,512})\] ((?:Stalling|Stopping) writes )(because .*)")

_SUMMARY = re.compile(
    rb".{0,200}?files\[([\d ]{1,2000})\](?: max score (-?[\w.]{1,32}))?"
    rb"(?:, estimated pending compaction bytes (\d{1,20}))?\s*"
)
_MEMTABLE = re.compile(rb"#(\d{1,18})\. Immutable memtables: (\d{1,18})\.\s*")

_HEADERS = {
    b"RocksDB version: ": "rocksdb_version",
    b"Git sha ": "git_sha",
    b"Compile date ": "compile_date",
    b"Compile time ": "compile_time",
    b"DB SUMMARY": "db_summary",
    b"DB Session ID: ": "db_session_id",
    b"DB ID: ": "db_id",
    b"CURRENT file: ": "current_file",
    b"IDENTITY file: ": "identity_file",
    b"MANIFEST file: ": "manifest_file",
    b"SST files in ": "sst_files",
    b"Write Ahead Log file in ": "wal_files",
    b"Host name": "host_name",
}
_LEVELS = {b"WARN": "warning", b"ERROR": "error", b"FATAL": "fatal"}


def stall(time_s: float, family: bytes | None, verb: bytes, rest: bytes) -> LoggedStall | None:
    """Read `Stalling writes because ...` or `Stopping writes because ...`; None if it is damaged."""
    if family is None:
        return None
    condition: Condition = "delayed" if verb.startswith(b"Stalling") else "stopped"
    name = text(family)
    if m := _MEMTABLES.fullmatch(rest):
        return LoggedStall(time_s, name, condition, "memtable", int(m[1]), int(m[2]), _rate(m[3]))
    if m := _L0.fullmatch(rest):
        return LoggedStall(time_s, name, condition, "l0", int(m[1]), None, _rate(m[2]))
    if m := _PENDING.fullmatch(rest):
        return LoggedStall(time_s, name, condition, "pending_bytes", int(m[1]), None, _rate(m[2]))
    if _is_news(rest):
        return LoggedStall(time_s, name, condition, "other", None, None, None)
    return None


def oddly_named_stall(time_s: float, m: Match[bytes], rest: bytes) -> LoggedStall | None:
    """Read a stall of a column family whose name contains brackets."""
    if b" writes because " not in rest:
        return None
    family = m["family"]
    odd = _ODD_NAME.fullmatch(rest if family is None else b"[" + family + b"] " + rest)
    return None if odd is None else stall(time_s, odd[1], odd[2], odd[3])


def pressure(time_s: float, family: bytes | None, rest: bytes) -> CompactionPressure | None:
    """Read `Increasing compaction threads because ...`; None if it is damaged."""
    if family is None:
        return None
    cause: Cause = "other"
    figure: int | None = None
    if m := _L0.fullmatch(rest):
        cause, figure = "l0", int(m[1])
    elif m := _PENDING.fullmatch(rest):
        cause, figure = "pending_bytes", int(m[1])
    elif not _is_news(rest):
        return None
    return CompactionPressure(time_s, text(family), cause, figure)


def memtable(time_s: float, family: bytes | None, rest: bytes) -> MemtableSwitched | None:
    """Read `New memtable created with log file: #8. Immutable memtables: 0.`; None if it is damaged."""
    m = _MEMTABLE.fullmatch(rest)
    return None if m is None or family is None else MemtableSwitched(time_s, text(family), int(m[1]), int(m[2]))


def summary(time_s: float, family: bytes | None, rest: bytes) -> LevelSummary | None:
    """Read `Level summary: files[1 0 0] max score 0.25, estimated pending compaction bytes 0`."""
    m = _SUMMARY.fullmatch(rest)
    if m is None or family is None:
        return None
    levels = m[1].split()
    if any(len(each) > 18 for each in levels):
        return None
    score = number(m[2]) if m[2] else None
    return LevelSummary(time_s, text(family), tuple(map(int, levels)), score, int(m[3]) if m[3] else None)


def header(time_s: float, words: bytes, rest: bytes) -> HeaderLine:
    """Read a line from the start of a session."""
    value = text(rest).strip()
    if words.endswith(b" in "):
        value = value.removesuffix(":").strip()
    return HeaderLine(time_s, _HEADERS[words], value.lstrip(": "))


def manual(time_s: float, family: bytes | None, words: bytes, rest: bytes) -> ManualJob:
    """Read a message about a manual flush or compaction."""
    what = "flush" if words == b"Manual flush " else "compaction"
    name = None if family is None else text(family)
    return ManualJob(time_s, name, "flush" if what == "flush" else "compaction", text(words + rest).strip())


def shutdown(time_s: float, words: bytes, rest: bytes) -> Shutdown:
    """Read a message about the close."""
    return Shutdown(time_s, text(words + rest).strip())


def problem(time_s: float, m: Match[bytes], rest: bytes) -> LoggedProblem:
    """Read a warning or error, or a message of the error handler without a level."""
    trouble = m["trouble"]
    family = m["family"]
    level = _LEVELS.get(m["bad"] or b"WARN", "warning")
    return LoggedProblem(
        time_s,
        "fatal" if level == "fatal" else "error" if level == "error" else "warning",
        None if family is None else text(family),
        text((trouble or b"") + rest).strip(),
        trouble is not None or b"ackground" in rest,
    )


def _is_news(rest: bytes) -> bool:
    """Tell another version's wording from a damaged known one."""
    return rest.startswith(b"because ") and not any(rest.startswith(k) or k.startswith(rest) for k in _KNOWN)


def _rate(value: bytes | None) -> int | None:
    return None if value is None else int(value)
