"""Parses RocksDB's LOG, 6.x to current, as a stream: bytes in, events out, in constant memory, never raising.

It is fast because it reads as little as possible: one regular expression finds the lines and what each is about, a
compiled parser reads the JSON, two expressions read the block of tickers, and every other message is skipped.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import pairwise
from re import Match

from adocd.probes.log import messages
from adocd.probes.log.clock import LocalClock
from adocd.probes.log.dump import Dump
from adocd.probes.log.event_log import EventLog
from adocd.probes.log.events import LogEvent
from adocd.probes.log.family_ids import FamilyIds
from adocd.probes.log.lines import GLUED, HEAD, LINE_BYTES_MOST, text
from adocd.probes.log.opens import Opens
from adocd.probes.log.options import Changes, Listing
from adocd.probes.log.steady import JUMP_S

#: Most bytes read at once; more is read in pieces of this size.
_PIECE_BYTES = 1 << 19
_STEPS_MOST = 10
_LISTED = frozenset({"option", "table_factory"})


@dataclass(frozen=True, slots=True)
class SteppedBack:
    """A line whose time is more than a minute before that of the lines above it; unix seconds."""

    line: int
    from_s: float
    to_s: float


class LogParser:
    """Reads a LOG: `feed` it bytes as they come, then call `finish`.

    Lines are stamped in the local time of the machine that wrote them. EVENT_LOG_v1 lines show its UTC offset; until
    the first one, `utc_offset_s` counts (seconds east of Greenwich), otherwise `zone`.

    `unread` counts lines that are not LOG lines, or damaged, by what they seem to be: no_stamp (with nothing to
    continue), binary, overlong, cut (another line begins inside), stamp (there is no such time), event_log, dump,
    stall, and the other messages by name. A message that is skipped because nothing here uses it is not unread.
    """

    def __init__(self, *, zone: tzinfo = UTC, utc_offset_s: int | None = None) -> None:
        self._out: list[LogEvent] = []
        self._clock = LocalClock(zone, utc_offset_s)
        self._events = EventLog()
        self._opens = Opens()
        self._families = FamilyIds()
        self._dump = Dump(self._emit, self._lost)
        self._listing = Listing(self._emit)
        self._changes = Changes(self._emit)
        self._unread: Counter[str] = Counter()
        #: Number of lines read.
        self.lines = 0
        #: The unfinished line, in pieces that are joined once its end has come.
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._skipping = False
        #: Whether something gathered may be completed by the next stamped line.
        self._gathering = False
        self._in_factory = False
        self._head: Match[bytes] | None = None
        self._now_s = 0.0
        #: Where times go back, at most `_STEPS_MOST`: the wall clock was set back, or stray lines got in.
        self.stepped_back: list[SteppedBack] = []
        #: The time of the last event or message.
        self._told_s = 0.0
        #: The line of this file, counted from 1, with which the block being read begins.
        self._block_line = 1

    @property
    def unread(self) -> Mapping[str, int]:
        """Number of lines that could not be read, by kind."""
        return dict(self._unread)

    @property
    def unread_lines(self) -> int:
        """Number of lines that could not be read."""
        return self._unread.total()

    @property
    def utc_offset_s(self) -> int | None:
        """The offset of local time, in seconds east of Greenwich, once an EVENT_LOG_v1 line has shown it."""
        return self._clock.offset_s

    @property
    def in_line(self) -> bool:
        """Whether the bytes so far end in the middle of a line."""
        return self._rest_bytes > 0 or self._skipping

    def told_offset(self, utc_offset_s: int) -> None:
        """Set the offset found further on in the file, for lines before the first EVENT_LOG_v1 line."""
        self._clock.tell(utc_offset_s)

    def feed(self, data: bytes) -> list[LogEvent]:
        """Read the next bytes; return the events that they complete."""
        for at in range(0, len(data), _PIECE_BYTES):
            self._piece(data[at : at + _PIECE_BYTES])
        return self._taken()

    def settle(self) -> list[LogEvent]:
        """Return what has been gathered although more may come, for a reader that has caught up with the writer."""
        self._listing.close()
        self._dump.close()
        self._gathering = False
        return self._taken()

    def finish(self) -> list[LogEvent]:
        """End the stream: read a last line without a line feed, and return what has been gathered."""
        if self._rest_bytes:
            self._piece(b"\n")
        self._skipping = False
        self._changes.close()
        self._block_line = 1
        return self.settle()

    def _emit(self, event: LogEvent) -> None:
        self._out.append(event)

    def _taken(self) -> list[LogEvent]:
        out, self._out = self._out, []
        return out

    def _piece(self, data: bytes) -> None:
        if self._skipping:
            end = data.find(b"\n")
            if end < 0:
                return
            self._skipping, data = False, data[end + 1 :]
        cut = data.rfind(b"\n") + 1
        if cut:
            self.lines += data.count(b"\n", 0, cut)
            block = b"\n" + b"".join(self._rest) + data[:cut]
            self._rest.clear()
            self._rest_bytes = 0
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n")
            self._block(block)
            self._block_line += block.count(b"\n") - 1
        if cut < len(data):
            self._rest.append(data[cut:])
            self._rest_bytes += len(data) - cut
            if self._rest_bytes > LINE_BYTES_MOST:
                self._rest.clear()
                self._rest_bytes = 0
                self._skipping = True
                self.lines += 1
                self._unread["overlong"] += 1

    def _block(self, block: bytes) -> None:
        """Read whole lines; `block` begins and ends with a line feed."""
        end = 0
        find, changes = block.find, self._changes.begun
        for m in HEAD.finditer(block):
            start, begin = m.span()
            if start > end:
                self._continued(block[end + 1 : start])
            self._head = m
            about = m.lastgroup
            end = find(b"\n", begin)
            if end - start - 1 > LINE_BYTES_MOST:
                self._unread["overlong"] += 1
                continue
            if self._gathering:
                self._complete(about)
            if about in _READ:
                rest = block[begin:end]
                if not self._read(about, m, rest):
                    self._damaged("stall" if m["stall"] else about, rest)
            elif find(block[start + 1 : start + 6], begin, end) >= 0:  # the year again: maybe another line
                self._damaged(None, block[begin:end])
            elif changes:
                self._changes.value(m["thread"], block[begin:end])
        if end < len(block) - 1:
            self._continued(block[end + 1 : -1])

    def _complete(self, about: str | None) -> None:
        """Close what a stamped line completes: the dump, and the listing unless it continues."""
        self._dump.close()
        self._gathering = about in _LISTED
        if not self._gathering:
            self._listing.close()

    def _continued(self, lines: bytes) -> None:
        """Read lines without a stamp."""
        if self._head is not None:
            now_s = self._clock.unix_s(self._head["stamp"])
            self._now_s = self._now_s if now_s is None else now_s
        self._gathering = True
        self._dump.read(lines, self._now_s)

    def _lost(self, kind: str, line: bytes) -> None:
        """Count a line without a stamp that belongs to no dump, unless it is the table factory's."""
        if len(line) > LINE_BYTES_MOST:
            kind = "overlong"
        elif self._in_factory and not self._dump.gathering and self._listing.put_factory(line, self._now_s):
            return
        elif GLUED.search(line):
            self._damaged(None, line)
            return
        elif kind == "no_stamp" and (b"\0" in line or not text(line[:256]).isprintable()):
            kind = "binary"
        self._unread[kind] += 1

    def _damaged(self, about: str | None, rest: bytes) -> None:
        """Count a line that could not be read, and read any lines that begin inside it after a lost end."""
        begins = [m.start() for m in GLUED.finditer(rest)]
        if not begins and about is None:
            return
        self._unread["cut" if begins or about is None else about] += 1
        for begin, end in pairwise([*begins, len(rest)]):
            line = b"\n" + rest[begin:end]
            m = HEAD.match(line)
            if m is None:
                continue
            if self._gathering:
                self._complete(m.lastgroup)
            if m.lastgroup in _READ:
                self._read(m.lastgroup, m, line[m.end() :])

    def _read(self, about: str | None, m: Match[bytes], rest: bytes) -> bool:
        """Read a stamped line about something; False if it cannot be read."""
        if about == "event_log":
            self._settle_open()
            event = self._events.read(rest)
            if event is None:
                return False
            if not event.damaged:
                self._clock.learn(m["original"] or m["stamp"], event.time_s)
                self._tell(m, event.time_s)
            self._out.append(event)
            return not event.damaged
        time_s = self._clock.unix_s(m["original"] or m["stamp"])
        if time_s is None:
            self._unread["stamp"] += 1
            return True
        self._now_s = time_s
        self._tell(m, time_s)
        return _HANDLERS[about or ""](self, m, rest, time_s)

    def _tell(self, m: Match[bytes], time_s: float) -> None:
        """Note a step back in time."""
        if self._told_s - time_s > JUMP_S and len(self.stepped_back) < _STEPS_MOST:
            line = self._block_line + m.string.count(b"\n", 0, m.start())
            self.stepped_back.append(SteppedBack(line, self._told_s, time_s))
        self._told_s = time_s

    def _option(self, _m: Match[bytes], rest: bytes, time_s: float) -> bool:
        self._gathering = True
        return self._listing.put(rest, time_s)

    def _table_factory(self, _m: Match[bytes], rest: bytes, time_s: float) -> bool:
        self._dump.end()
        self._in_factory = self._gathering = True
        return self._listing.put_factory(rest, time_s)

    def _begin_listing(self, _m: Match[bytes], rest: bytes, _time_s: float) -> bool:
        name, bracket, _ = rest.rpartition(b"]")
        self._listing.begin(text(name))
        return bool(bracket)

    def _statistics(self, _m: Match[bytes], _rest: bytes, time_s: float) -> bool:
        self._dump.begin_statistics(time_s)
        return True

    def _malloc(self, _m: Match[bytes], _rest: bytes, time_s: float) -> bool:
        self._dump.begin_malloc(time_s)
        return True

    def _settle_open(self) -> None:
        """Note an open without a session id before a job of it is read."""
        if self._opens.settle() is not None:
            self._events.jobs.clear()

    def _job_line(self, m: Match[bytes], _rest: bytes, _time_s: float) -> bool:
        self._settle_open()
        if m["family"] is not None and m["job"] is not None:
            self._events.jobs.announce(int(m["job"]), text(m["family"]))
        return True

    def _family_id(self, _m: Match[bytes], rest: bytes, _time_s: float) -> bool:
        self._families.named(rest)
        return True

    def _set_options(self, m: Match[bytes], rest: bytes, time_s: float) -> bool:
        if m["set_options"] == b"SetDBOptions":
            self._listing.begin(None)  # RocksDB lists all of them after the change
        return self._changes.line(time_s, m["thread"], m["set_options"], rest, m["family"])

    def _header(self, m: Match[bytes], rest: bytes, time_s: float) -> bool:
        event = messages.header(time_s, m["header"], rest)
        if event.name == "rocksdb_version":
            self._changes.close()
            self._dump.end()
            self._listing.begin(None)
            self._in_factory = False
        if self._opens.take(event) is not None:
            self._events.jobs.clear()  # jobs are numbered from 1 again; those of the same open go on in its next file
        self._out.append(event)
        return True

    def _problem(self, m: Match[bytes], rest: bytes, time_s: float) -> bool:
        """Read a line at warning level or above; a stall is one too."""
        for about in ("stall", "set_options"):
            if m[about] is not None:
                return _HANDLERS[about](self, m, rest, time_s)
        self._out.append(messages.oddly_named_stall(time_s, m, rest) or messages.problem(time_s, m, rest))
        return True

    def _event(self, event: LogEvent | None) -> bool:
        if event is None:
            return False
        self._out.append(event)
        return True


_HANDLERS: Mapping[str, Callable[[LogParser, Match[bytes], bytes, float], bool]] = {
    "option": LogParser._option,
    "table_factory": LogParser._table_factory,
    "listing": LogParser._begin_listing,
    "statistics": LogParser._statistics,
    "malloc": LogParser._malloc,
    "flushing": LogParser._job_line,
    "compacting": LogParser._job_line,
    "set_options": LogParser._set_options,
    "header": LogParser._header,
    "problem": LogParser._problem,
    "trouble": LogParser._problem,
    "stall": lambda p, m, rest, time_s: p._event(messages.stall(time_s, m["family"], m["stall"], rest)),
    "pressure": lambda p, m, rest, time_s: p._event(messages.pressure(time_s, m["family"], rest)),
    "memtable": lambda p, m, rest, time_s: p._event(messages.memtable(time_s, m["family"], rest)),
    "summary": lambda p, m, rest, time_s: p._event(messages.summary(time_s, m["family"], rest)),
    "manual": lambda p, m, rest, time_s: p._event(messages.manual(time_s, m["family"], m["manual"], rest)),
    "shutdown": lambda p, m, rest, time_s: p._event(messages.shutdown(time_s, m["shutdown"], rest)),
    "family_id": LogParser._family_id,
    "dropped": lambda p, _m, rest, time_s: p._event(p._families.dropped(time_s, rest)),
}
_READ = frozenset({"event_log", *_HANDLERS})
