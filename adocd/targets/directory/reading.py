"""A LOG that is being followed: what it says of the database now, and of the stalls; from any thread."""

from pathlib import Path

from adocd.model.snapshot import Condition
from adocd.probes.log import LogFollower
from adocd.probes.log.background import Led
from adocd.probes.log.clock import zone_here
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    FlushFinished,
    Header,
    LogEvent,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
    Stall,
)
from adocd.probes.log.stalls import OpenStall, Stalls
from adocd.probes.log.state import LogState
from adocd.targets.directory.events import DirectoryEvents
from adocd.targets.errors import TargetError

#: Read at once: some 10 ms of one CPU, after which others have their turn.
_PIECE_BYTES = 512 << 10
#: What led to a stall is nobody's question here.
_NOTHING_LED = Led(0, 0, 0, 0, 0, 0, None, None)


class DirectoryReading:
    """Reads on at each `read`. Stalls last from the line that tells of one to the job or line that ends it.

    `stopped_s` and `delayed_s` are the seconds so far in which the worst condition of all column families was that; a
    LOG is up to 5 s late (adocd.probes.log.follow), so they are, too.
    """

    def __init__(self, log_path: Path, events: DirectoryEvents) -> None:
        self.state = LogState()
        self.events = events
        self.stopped_s = self.delayed_s = 0.0
        #: Options were listed or changed since somebody has set this to False.
        self.options_changed = True
        self._path = log_path
        self._follower = LogFollower(log_path, zone=zone_here(), poll_bytes_most=_PIECE_BYTES, whole_session=True)
        self._stalls = Stalls(lambda _line: _NOTHING_LED, self._held)

    def read(self) -> bool:
        """Read the next piece; whether that was the last that there is. Raises TargetError where it cannot be read."""
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
        """Whether there is no LOG any more."""
        return self._follower.is_gone

    @property
    def condition(self) -> Condition:
        """What writes are subject to, the worst of all column families."""
        held = {stall.condition for stall in self._stalls.open.values()}
        return "stopped" if "stopped" in held else "delayed" if "delayed" in held else "normal"

    @property
    def stalls(self) -> dict[str, OpenStall]:
        """The stalls in progress by column family."""
        return dict(self._stalls.open)

    def _take(self, event: LogEvent) -> None:
        session = self.state.session
        self.state.add(event)
        self.events.add(event)
        if isinstance(event, Stall):
            self._stalls.line(event)
        elif isinstance(event, FlushFinished | CompactionFinished):
            self._stalls.job(event)
        elif isinstance(event, MemtableSwitched):
            self._stalls.memtable(event)
        elif isinstance(event, OptionsChanged | OptionsListed):
            self.options_changed = True
        elif isinstance(event, Shutdown):
            self._stalls.close(event.time_s, ended=True)
        elif isinstance(event, Header) and self.state.session != session:
            self._stalls.close(event.time_s)
            self.stopped_s = self.delayed_s = 0.0

    def _held(self, begin_s: float, end_s: float, _causes: frozenset[Cause]) -> None:
        condition = self.condition
        if condition == "stopped":
            self.stopped_s += end_s - begin_s
        elif condition == "delayed":
            self.delayed_s += end_s - begin_s
