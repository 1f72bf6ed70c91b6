"""Follows a LOG: the database's present state and its stalls. Usable from any thread."""

from collections.abc import Callable, Collection
from math import inf
from pathlib import Path

from adocd.model.snapshot import Condition
from adocd.probes.log import LogFollower
from adocd.probes.log.background import Led
from adocd.probes.log.clock import zone_here
from adocd.probes.log.events import Cause, LogEvent, OptionsChanged, OptionsListed
from adocd.probes.log.stalls import OpenStall, Stalls
from adocd.probes.log.state import LogState
from adocd.targets.directory.events import DirectoryEvents
from adocd.targets.errors import TargetError

#: Bytes read at a time: some 10 ms of one CPU, then other threads get a turn.
_PIECE_BYTES = 512 << 10
#: A placeholder, because what led to a stall is not needed here.
_NOTHING_LED = Led(0, 0, 0, 0, 0, 0, None, None)
#: How late a line can be where the LOG was read to its end before (s): RocksDB holds back what it logs for up to 5 s,
#: and for 10 s if nothing more is logged.
_LATE_S = 10.0


class DirectoryReading:
    """Reads the next piece at each `read`. A stall lasts from its LOG line to the job or line that ends it.

    `clock` is the daemon's monotonic clock, and `monotonic_s` converts a LOG's unix seconds into its time.
    """

    def __init__(self, log_path: Path, clock: Callable[[], float], monotonic_s: Callable[[float], float]) -> None:
        self.state = LogState()
        self.events = DirectoryEvents(monotonic_s)
        self._clock, self._monotonic_s = clock, monotonic_s
        #: The seconds of each condition that are over, up to `_counted_s` by our clock, and what was told of them.
        self._held_s: dict[Condition, float] = {}
        self._told_s: dict[Condition, float] = {}
        self._counted_s = clock()
        #: When the LOG was last read to its end, by our clock.
        self._reached_s = -inf
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
        before_s = self._stalls.now_s
        for event in events:
            self._take(event)
        self._stalls.take_ended()
        now_s = self._clock()
        if self._stalls.now_s != before_s:
            # A line of an unknown time zone, or at the end of summer time, can seem to be hours away.
            counted_s = max(self._monotonic_s(self._stalls.now_s), self._reached_s - _LATE_S)
            self._counted_s = min(now_s, counted_s)
        if self._follower.caught_up:
            self._reached_s = now_s
        return self._follower.caught_up

    def keep(self, families: Collection[str]) -> None:
        """End the stalls of all other column families, because they were dropped."""
        self._stalls.keep(families)

    def held_s(self, condition: Condition, now_s: float) -> float:
        """Return the seconds so far in which that was the condition, the worst of all column families.

        The stall in progress counts up to `now_s` by our clock, although the LOG is some seconds late. If it proves to
        have been over by then, the sum stands still until it is right again: it never falls.
        """
        going_on_s = max(0.0, now_s - self._counted_s) if condition == self.condition else 0.0
        held_s = self._held_s.get(condition, 0.0) + going_on_s
        self._told_s[condition] = max(self._told_s.get(condition, 0.0), held_s)
        return self._told_s[condition]

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
        self._stalls.take(event)
        if isinstance(event, OptionsChanged | OptionsListed):
            self.options_changed = True
        if self.state.session != session:
            self._held_s, self._told_s = {}, {}

    def _held(self, begin_s: float, end_s: float, _causes: frozenset[Cause]) -> None:
        condition = self.condition
        self._held_s[condition] = self._held_s.get(condition, 0.0) + end_s - begin_s
