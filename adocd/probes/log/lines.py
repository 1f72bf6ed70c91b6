"""The form of a LOG's lines: one regular expression finds where each begins and what it is about.

A line begins with a stamp and the thread that wrote it (env/env_posix.cc and logging/env_logger.h, all versions):

    2026/11/20-20:04:10.315038 25884 [WARN] [db/column_family.cc:944] [default] Stopping writes because ...

Lines from a log buffer also have the time of the event itself (logging/log_buffer.cc). Lines without a stamp continue
the previous one: tables of the periodic dump, and options of the table factory.
"""

import re

STAMP = rb"\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6}"

#: Longer than any message: RocksDB's loggers cut at 30,000 bytes, newer ones at 65,536.
LINE_BYTES_MOST = 1 << 17

#: The kinds of messages: the parser dispatches on the last group that matched. Other messages are skipped, except
#: warnings and errors, for which the empty group `problem` is the last.
_ABOUT = rb"|".join(
    rb"(?P<%s>%s)" % (name, pattern)
    for name, pattern in (
        (b"event_log", rb"EVENT_LOG_v1 "),
        (b"option", rb" *Options\."),
        (b"table_factory", rb" *table_factory options:"),
        (b"listing", rb"-+ Options for column family \["),
        (b"stall", rb"(?:Stalling|Stopping) writes "),
        (b"pressure", rb"Increasing compaction threads "),
        (b"flushing", rb"Flushing memtable"),
        (b"compacting", rb"Compacting "),
        (b"memtable", rb"New memtable created with log file: "),
        (b"summary", rb"Level summary: "),
        (b"statistics", rb"STATISTICS:"),
        (b"malloc", rb"------- Malloc STATS"),
        (b"set_options", rb"SetOptions\(\)|SetDBOptions|Unable to persist options in Set"),
        (
            b"header",
            rb"RocksDB version: |Git sha |Compile date |Compile time |DB SUMMARY|DB Session ID: |DB ID: "
            rb"|CURRENT file: |IDENTITY file: |MANIFEST file: |SST files in |Write Ahead Log file in |Host name",
        ),
        (b"manual", rb"Manual (?:flush|compaction) "),
        (b"shutdown", rb"Shutdown"),
        (b"family_id", rb"(?:Column|Created column) family \["),
        (b"dropped", rb"Dropped column family with id "),
        (
            b"trouble",
            rb"ErrorHandler: |Waiting after background |Compaction error: |Background IO error |Resuming DB"
            rb"|Successfully resumed DB|Failed to resume DB|DB resume requested |Clear background error",
        ),
    )
)

#: The beginning of a line, after the end of the previous one.
HEAD = re.compile(
    rb"\n(?P<stamp>" + STAMP + rb") (?P<thread>[0-9a-fx]{1,24}) "
    rb"(?:\(Original Log Time (?P<original>" + STAMP + rb")\) )?"
    rb"(?:\[(?:DEBUG|INFO|HEADER|(?P<bad>WARN|ERROR|FATAL))\] )?"
    rb"(?:\[[^\[\]\n]*:\d+\] )?"
    rb"(?:\[(?!JOB )(?P<family>[^\]\n]*)\]:? )?"
    rb"(?:\[JOB (?P<job>\d{1,18})\] )?"
    rb"(?:" + _ABOUT + rb")?"
    rb"(?(bad)(?P<problem>))"
)

#: Another line that begins inside one whose end was lost: two writers at once, or a crash.
GLUED = re.compile(STAMP + rb" [0-9a-fx]{1,24} ")


def text(value: bytes) -> str:
    """Decode arbitrary bytes; a byte that is not UTF-8 becomes U+FFFD."""
    return value.decode("utf-8", "replace")
