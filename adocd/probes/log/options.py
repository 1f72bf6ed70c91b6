"""Options: the listing at the open, and changes by SetOptions() and SetDBOptions() (db/db_impl/db_impl.cc).

A change takes several lines of one thread, with other threads' lines in between: its start, one line per value, and the
outcome.
"""

import re
from collections.abc import Callable

from adocd.probes.log.events import LogEvent, OptionsChanged, OptionsListed, Outcome
from adocd.probes.log.lines import text

#: More options than any version has; further ones go into a separate event, or are dropped from a change.
_OPTIONS_MOST = 2048
#: Most threads changing options at once; beyond that, the one that started first ends as `unknown`.
_CHANGES_MOST = 64

_VALUE = re.compile(rb"([A-Za-z_][\w.\[\]]{0,127}) *: (.*)")
#: A line of the table factory's own listing, which has no stamp (table/block_based/block_based_table_factory.cc).
_FACTORY = re.compile(rb" +([a-z][\w.]{0,127}) ?:(.*)")
_BEGIN = re.compile(rb" on column family \[(.*)\], (inputs:|empty input)\s*")


#: The first line of a column family's listing (options/options.cc, ColumnFamilyOptions::Dump).
_FIRST_OF_FAMILY = "comparator"


class Listing:
    """The listing in progress: `Options.NAME: VALUE` lines, one after the other.

    A LOG's next files repeat the listings without the titles that name their column families
    (logging/auto_roll_logger.h repeats header lines alone). The first is then that of `default`, which RocksDB recovers
    first (db/version_set.cc), and of the others nobody knows whose they are.
    """

    def __init__(self, emit: Callable[[LogEvent], None]) -> None:
        self._emit = emit
        self._family: str | None = None
        self._time_s = 0.0
        self._values: dict[str, str] = {}
        #: How many listings of column families without a title there were.
        self._untitled = 0

    def begin(self, column_family: str | None) -> None:
        """Begin a listing for a column family; None for the database."""
        self.close()
        self._family, self._untitled = column_family, 0

    def put(self, line: bytes, time_s: float) -> bool:
        """Read `name: value`; False if it is something else."""
        name, colon, value = line.partition(b":")
        if not colon or not name or len(name) > 128:
            return False
        self._put(text(name.strip()), value, time_s)
        return True

    def put_factory(self, line: bytes, time_s: float) -> bool:
        """Read a line of the table factory's options; False if it is something else."""
        m = _FACTORY.fullmatch(line)
        if m is None:
            return False
        self._put("table_factory." + text(m[1]), m[2], time_s)
        return True

    def _put(self, name: str, value: bytes, time_s: float) -> None:
        if name == _FIRST_OF_FAMILY and (self._family is None or self._untitled):
            self.close()
            self._family, self._untitled = "default", self._untitled + 1
        if self._untitled > 1:
            return
        if not self._values:
            self._time_s = time_s
        self._values[name] = text(value.strip())
        if len(self._values) >= _OPTIONS_MOST:
            self.close()

    def close(self) -> None:
        """Emit an event with what has been gathered."""
        if self._values:
            self._emit(OptionsListed(self._time_s, self._family, self._values))
            self._values = {}


class _Change:
    __slots__ = ("column_family", "time_s", "values")

    def __init__(self, time_s: float, column_family: str | None) -> None:
        self.time_s = time_s
        self.column_family = column_family
        self.values: dict[str, str] = {}


class Changes:
    """Changes of options in progress, by thread."""

    def __init__(self, emit: Callable[[LogEvent], None]) -> None:
        self._emit = emit
        #: The threads from which values are expected.
        self.begun: dict[bytes, _Change] = {}
        self._done: dict[bytes, _Change] = {}

    def value(self, thread: bytes, rest: bytes) -> None:
        """Take a line that may be one of the values of this thread's change."""
        change = self.begun.get(thread)
        if change is not None and len(change.values) < _OPTIONS_MOST and (m := _VALUE.fullmatch(rest)):
            change.values[text(m[1])] = text(m[2]).strip()

    def line(self, time_s: float, thread: bytes, words: bytes, rest: bytes, family: bytes | None) -> bool:
        """Read a line that names SetOptions or SetDBOptions; False if it cannot be read."""
        if words.startswith(b"Unable to persist"):
            self._not_persisted(time_s, thread, rest)
            return True
        whole = words + rest
        if m := _BEGIN.fullmatch(rest):
            self._begin(time_s, thread, text(m[1]))
            if m[2] == b"empty input":
                self._end(time_s, thread, "unchanged", None)
        elif whole.startswith((b"SetDBOptions(), inputs", b"SetDBOptions(), empty", b"SetDBOptions(), input option")):
            if b"inputs" in rest or thread not in self.begun:
                self._begin(time_s, thread, None)
            if b"inputs" not in rest:
                self._end(time_s, thread, "unchanged", None)
        elif b"succeeded" in rest or b"failed" in rest:
            if thread not in self.begun:  # the LOG begins in the middle of the change
                own = None if words.startswith(b"SetDB") or family is None else text(family)
                self._begin(time_s, thread, own)
            outcome: Outcome = "failed" if b"failed" in rest else "succeeded"
            if outcome == "succeeded" and b"unable to persist" in rest:
                outcome = "not persisted"
            self._end(time_s, thread, outcome, text(rest.partition(b": ")[2]) or None)
        else:
            return False
        return True

    def close(self) -> None:
        """Emit the changes whose outcome is missing as `unknown`."""
        for thread in list(self.begun):
            self._end(self.begun[thread].time_s, thread, "unknown", None)
        self._done.clear()

    def _begin(self, time_s: float, thread: bytes, column_family: str | None) -> None:
        if thread in self.begun:
            self._end(self.begun[thread].time_s, thread, "unknown", None)
        elif len(self.begun) >= _CHANGES_MOST:
            oldest = next(iter(self.begun))
            self._end(self.begun[oldest].time_s, oldest, "unknown", None)
        self.begun[thread] = _Change(time_s, column_family)

    def _end(self, time_s: float, thread: bytes, outcome: Outcome, detail: str | None) -> None:
        change = self.begun.pop(thread)
        self._emit(OptionsChanged(time_s, change.column_family, change.values, outcome, detail))
        self._done[thread] = change
        if len(self._done) > _CHANGES_MOST:
            del self._done[next(iter(self._done))]

    def _not_persisted(self, time_s: float, thread: bytes, rest: bytes) -> None:
        change = self.begun.pop(thread, None) or self._done.get(thread) or _Change(time_s, None)
        detail = text(rest.partition(b"-- ")[2]).strip() or None
        self._emit(OptionsChanged(time_s, change.column_family, change.values, "not persisted", detail))
