"""Follows a LOG: the database's present state and its stalls. Usable from any thread."""

from pathlib import Path

from adocd.model.snapshot import Condition
from adocd.probes.log import LogFollower
from adocd.probes.log.background import Led
from adocd.probes.log.clock import zone_here
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    FlushFinished,
    HeaderLine,
    LogEvent,
    LoggedStall,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
)
from adocd.probes.log.stalls import OpenStall, Stalls
from adocd.probes.log.state import LogState
from adocd.targets.directory.events import DirectoryEvents
from adocd.targets.errors import TargetError

#: Bytes read at a time: some 10 ms of one CPU, then other threads get a turn.
_PIECE_BYTES = 512 << 10
#: A placeholder, because what led to a stall is not needed here.
_NOTHING_LED = Led(0, 0, 0, 0, 0, 0, None, None)


class DirectoryReading:
    """Reads the next piece at each `read`. A stall lasts from its LOG line to the job or line that ends it.

    `stopped_s` and `delayed_s` are the seconds so far in which the worst of all column families was in that condition;
    like the LOG they are up to 5 s late (adocd.probes.log.follow).
    """

    def __init__(self, log_path: Path, events: DirectoryEvents) -> None:
        self.state = LogState()
        self.events = events
        self.stopped_s = self.delayed_s = 0.0
        #: Whether options were listed or changed since the reader last set this to False.
        self.options_changed = True
        self._path = log_path
        self._follower = LogFollower(log_path, zone=zone_here(), poll_bytes_most=_PIECE_BYTES, whole_session=True)
        self._stalls = Stalls(lambda _line: _NOTHING_LED, self._held)

    def read(self) -> bool:
        """Read the next piece; returns whether it was the last one. Raises TargetError if the LOG cannot be read."""
        events = self._follower.poll()
        error = self._follower.error
        if error is not None:
            raise TargetError(
                f"{self._path} cannot be read: {error.strerror}; adocd's user needs leave to read it and its directory"
            )
        for event in events:
            self._take(event)
        self._stalls.take_ended()
        return self._follower.caught_up

    @property
    def is_gone(self) -> bool:
        """Whether the LOG was deleted."""
        return self._follower.is_gone

    @property
    def condition(self) -> Condition:
        """The write condition, the worst of all column families."""
        held = {stall.condition for stall in self._stalls.open.values()}
        return "stopped" if "stopped" in held else "delayed" if "delayed" in held else "normal"

    @property
    def stalls(self) -> dict[str, OpenStall]:
        """The stalls in progress, by column family."""
        return dict(self._stalls.open)

    def _take(self, event: LogEvent) -> None:
        session = self.state.session
        self.state.add(event)
        self.events.add(event)
        if isinstance(event, LoggedStall):
            self._stalls.line(event)
        elif isinstance(event, FlushFinished | CompactionFinished):
            self._stalls.job(event)
        elif isinstance(event, MemtableSwitched):
            self._stalls.memtable(event)
        elif isinstance(event, OptionsChanged | OptionsListed):
            self.options_changed = True
        elif isinstance(event, Shutdown):
            self._stalls.close(event.time_s, ended=True)
        elif isinstance(event, HeaderLine) and self.state.session != session:
            self._stalls.close(event.time_s)
            self.stopped_s = self.delayed_s = 0.0

    def _held(self, begin_s: float, end_s: float, _causes: frozenset[Cause]) -> None:
        condition = self.condition
        if condition == "stopped":
            self.stopped_s += end_s - begin_s
        elif condition == "delayed":
            self.delayed_s += end_s - begin_s
