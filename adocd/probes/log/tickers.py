"""The block STATISTICS: one line per ticker and histogram (monitoring/statistics.cc, StatisticsImpl::ToString).

It is the largest part of a LOG with frequent dumps, so two regular expressions read the whole block.
"""

import re
from collections.abc import Callable

from adocd.probes.log.dump_events import LoggedHistogram, StatisticsDump
from adocd.probes.log.events import LogEvent

# A literal first character makes the search fast: the line feed before the line.
_TICKER = re.compile(rb"\n ?([\w.:-]{1,128}) COUNT : (\d{1,20})[ \r]{0,8}(?=\n)")
_N = rb"(\d{1,32}(?:\.\d{1,16})?)"
_HISTOGRAM = re.compile(
    rb"\n ?([\w.:-]{1,128}) P50 : %b P95 : %b P99 : %b P100 : %b COUNT : (\d{1,20}) SUM : (\d{1,20})[ \r]{0,8}(?=\n)"
    % (_N, _N, _N, _N)
)
#: Histograms come last.
_FIRST_HISTOGRAM = b" P50 : "
#: Most histograms of a database never get a value.
_EMPTY = LoggedHistogram(0, 0, {50.0: 0.0, 95.0: 0.0, 99.0: 0.0, 100.0: 0.0})
#: RocksDB has some 300; further ones go into a separate event.
_NAMES_MOST = 4096


class TickerBlock:
    """The block STATISTICS in progress."""

    def __init__(self, emit: Callable[[LogEvent], None]) -> None:
        self._emit = emit
        self._time_s = 0.0
        self._tickers: dict[str, int] = {}
        self._histograms: dict[str, LoggedHistogram] = {}

    def begin(self, time_s: float) -> None:
        """Open a block; what was gathered so far belongs to the previous one."""
        self.close()
        self._time_s = time_s

    def read(self, lines: bytes) -> bytes:
        """Read whole lines; return those that are neither ticker nor histogram."""
        if len(self._tickers) + len(self._histograms) > _NAMES_MOST:
            self.close()
        lines = b"\n" + lines + b"\n"
        first = lines.find(_FIRST_HISTOGRAM)
        parting = lines.rfind(b"\n", 0, first) if first >= 0 else len(lines) - 1
        found = self._read_tickers(lines, parting + 1) + self._read_histograms(lines, parting)
        if found == lines.count(b"\n") - 1:
            return b""
        self._read_tickers(lines, len(lines))
        self._read_histograms(lines, 0)
        return _HISTOGRAM.sub(b"", _TICKER.sub(b"", lines))[1:-1]

    def _read_tickers(self, lines: bytes, end: int) -> int:
        found = _TICKER.findall(lines, 0, end)
        self._tickers.update([(name.decode("ascii", "replace"), int(count)) for name, count in found])
        return len(found)

    def _read_histograms(self, lines: bytes, begin: int) -> int:
        found = _HISTOGRAM.findall(lines, begin)
        for name, p50, p95, p99, p100, count, total in found:
            self._histograms[name.decode("ascii", "replace")] = (
                _EMPTY
                if count == b"0"
                else LoggedHistogram(
                    int(count), int(total), {50.0: float(p50), 95.0: float(p95), 99.0: float(p99), 100.0: float(p100)}
                )
            )
        return len(found)

    def close(self) -> None:
        """Emit an event with what has been gathered."""
        if self._tickers or self._histograms:
            self._emit(StatisticsDump(self._time_s, self._tickers, self._histograms))
            self._tickers, self._histograms = {}, {}
