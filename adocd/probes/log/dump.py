"""The periodic statistics dump: lines without a stamp, section by section (DBImpl::DumpStats, db/internal_stats.cc).

Lines of other threads can interrupt a section; the rest then makes one more event of the same section. An event is
complete when the next section or the next stamped line begins.
"""

import re
from collections.abc import Callable

from adocd.probes.log.dump_events import (
    ColumnFamilyStats,
    CompactionRow,
    CompactionStats,
    DbStats,
    ReadLatency,
)
from adocd.probes.log.dump_lines import READERS, Figures, compaction_row, stall_counts
from adocd.probes.log.events import LogEvent
from adocd.probes.log.lines import text
from adocd.probes.log.numbers import number
from adocd.probes.log.tickers import TickerBlock

#: A column family has at most 64 levels or so; further rows go into a separate event.
_ROWS_MOST = 256

_SECTION = re.compile(
    rb"\*\* (?:(DB Stats) \*\*|(Compaction Stats) \[(.*)\] \*\*|(File Read Latency Histogram By Level) \[(.*)\] \*\*"
    rb"|(Level (\d{1,3})|Blob file) read latency histogram \(micros\):)\s*"
)
_COUNT = re.compile(rb"Count: (\d{1,20}) Average: ([-+\w.]{1,32})  StdDev: ([-+\w.]{1,32})\s*")
_MIN = re.compile(rb"Min: ([-+\w.]{1,32})  Median: ([-+\w.]{1,32})  Max: ([-+\w.]{1,32})\s*")
_PERCENTILE = re.compile(rb"P([\d.]{1,8}): ([-+\w.]{1,32})(?:\s|$)")
#: Horizontal rules, and lines about caches and blob files, which nothing here uses.
_PASSED_OVER = (b"----", b"Block cache ", b"Blob file count:")
_STALLS = frozenset((b"Stalls(count)", b"Write Stall (count)"))
_COUNTED = _STALLS | {b"interval", b"Estimated pending compaction bytes"}
#: First characters of a histogram's bucket line.
_BUCKET = frozenset((b"[ ", b"( "))


class Dump:
    """The dump in progress. It calls `unread(kind, line)` for lines it cannot read, and `emit` with events."""

    def __init__(self, emit: Callable[[LogEvent], None], unread: Callable[[str, bytes], None]) -> None:
        self._emit, self._unread = emit, unread
        self._section = ""
        self._time_s = 0.0
        self._family = ""
        self._columns: list[bytes] = []
        self._by_priority = False
        self._rows: list[CompactionRow] = []
        self._cumulative: Figures = {}
        self._interval: Figures = {}
        self._stall_counts: dict[str, int] = {}
        self._pending_bytes: int | None = None
        self._level: int | None = None
        self._count: tuple[int, float | None, float | None] | None = None
        self._spread: tuple[float | None, float | None, float | None] = (None, None, None)
        self._percentiles: dict[float, float] = {}
        self._tickers = TickerBlock(emit)

    @property
    def gathering(self) -> bool:
        """Whether a section is open, or was before other lines interrupted it."""
        return bool(self._section)

    def end(self) -> None:
        """Leave the section: the following lines do not belong to it."""
        self._open("", 0.0)

    def begin_statistics(self, time_s: float) -> None:
        """Open the block STATISTICS; its lines follow."""
        self._open("statistics", time_s)
        self._tickers.begin(time_s)

    def begin_malloc(self, time_s: float) -> None:
        """Open the allocator's report (dump_malloc_stats), which is skipped."""
        self._open("malloc", time_s)

    def read(self, lines: bytes, time_s: float) -> None:
        """Read whole lines without a stamp; the last one lacks its line feed."""
        if self._section == "statistics":
            tickers, mark, others = lines.partition(b"\n** ")
            rest = self._tickers.read(tickers)
            lines = rest + mark + others
        if not lines:
            return
        for line in lines.split(b"\n"):
            if line[:2] in _BUCKET and self._section == "latency":
                continue
            if line and not line.isspace() and not self._line(line, time_s):
                self._unread("dump" if self._section else "no_stamp", line)

    def close(self) -> None:
        """Emit an event with what has been gathered."""
        if self._section == "statistics":
            self._tickers.close()
        elif self._section == "db":
            if self._cumulative or self._interval or self._stall_counts:
                self._emit(DbStats(self._time_s, self._cumulative, self._interval, self._stall_counts))
        elif self._section == "column_family":
            self._close_column_family()
        elif self._section == "compaction" and self._rows:
            by_priority, rows = self._by_priority, tuple(self._rows)
            self._emit(CompactionStats(self._time_s, self._family, "priority" if by_priority else "level", rows))
        elif self._section == "latency" and self._count is not None:
            self._emit(
                ReadLatency(self._time_s, self._family, self._level, *self._count, *self._spread, self._percentiles)
            )
        self._cumulative, self._interval, self._stall_counts, self._rows = {}, {}, {}, []
        self._pending_bytes, self._count, self._spread, self._percentiles = None, None, (None, None, None), {}

    def _close_column_family(self) -> None:
        if self._cumulative or self._interval or self._stall_counts or self._pending_bytes is not None:
            self._emit(
                ColumnFamilyStats(
                    self._time_s,
                    self._family,
                    self._cumulative,
                    self._interval,
                    self._stall_counts,
                    self._pending_bytes,
                )
            )

    def _open(self, section: str, time_s: float) -> None:
        self.close()
        self._section, self._time_s = section, time_s

    def _line(self, line: bytes, time_s: float) -> bool:
        if line.startswith(b"** "):
            return self._begin_section(line, time_s)
        if self._section == "malloc" or line.startswith(_PASSED_OVER):
            return True
        if self._section == "latency":
            return self._latency(line)
        if self._section == "compaction" and self._row(line):
            return True
        return self._section != "" and self._figures(line)

    def _begin_section(self, line: bytes, time_s: float) -> bool:
        m = _SECTION.fullmatch(line)
        if m is None:
            return False
        if m[1]:
            self._open("db", time_s)
        elif m[2]:
            self._open("compaction", time_s)
            self._family, self._columns = text(m[3]), []
        elif m[4]:
            self._open("latency", time_s)
            self._family = text(m[5])
        else:
            self._open("latency", time_s)
            self._level = int(m[7]) if m[7] else None
        return True

    def _row(self, line: bytes) -> bool:
        if line.startswith((b"Level ", b"Priority ")):
            self._columns, self._by_priority = line.split(), line.startswith(b"P")
            return True
        row = compaction_row(self._columns, line)
        if row is None:
            return False
        self._rows.append(row)
        if len(self._rows) >= _ROWS_MOST:
            self.close()
        return True

    def _figures(self, line: bytes) -> bool:
        name, colon, rest = line.partition(b": ")
        reader = READERS.get(name)
        if not colon or (reader is None and name not in _COUNTED):
            return False
        if self._section == "compaction":  # the lines after the tables are about the same column family
            self._open("column_family", self._time_s)
        if self._section not in ("db", "column_family"):
            return False
        if reader is not None:
            return reader(rest, self._cumulative, self._interval)
        if name in _STALLS:
            return stall_counts(rest, self._stall_counts, self._interval)
        figure = number(rest.split(b" ", 1)[0].strip())
        if figure is not None and name == b"interval":
            self._interval["stalls"] = figure
        elif figure is not None:
            self._pending_bytes = int(figure)
        return figure is not None

    def _latency(self, line: bytes) -> bool:
        if m := _COUNT.fullmatch(line):
            self._count = int(m[1]), number(m[2]), number(m[3])
        elif m := _MIN.fullmatch(line):
            self._spread = number(m[1]), number(m[2]), number(m[3])
        elif line.startswith(b"Percentiles: "):
            for percent, value in _PERCENTILE.findall(line):
                at, figure = number(percent), number(value)
                if at is not None and figure is not None:
                    self._percentiles[at] = figure
        else:
            return False
        return True
