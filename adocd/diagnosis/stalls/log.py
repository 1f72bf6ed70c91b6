"""The stalls in a LOG that is still being written: those open now, and each finished one once."""

from collections.abc import Iterable, Mapping

from adocd.probes.log.background import Led
from adocd.probes.log.events import LogEvent
from adocd.probes.log.stalls import OpenStall, StallFound, Stalls

#: No gap between stalls is bridged here: each is reported by itself.
_MERGED_WITHIN_S = 1e-9
_NOTHING_LED = Led(0, 0, 0, 0, 0, 0, None, None)


class StallLog:
    """Tracks stalls through a LOG's events as they come."""

    def __init__(self) -> None:
        self._stalls = Stalls(lambda _: _NOTHING_LED, lambda *_: None)
        #: The time of the newest line, in unix seconds.
        self.newest_s = 0.0

    @property
    def open(self) -> Mapping[str, OpenStall]:
        """The stalls open now, by column family."""
        return self._stalls.open

    def take(self, events: Iterable[LogEvent]) -> list[StallFound]:
        """Take new events; return the stalls that they end."""
        self._stalls.merged_within_s = _MERGED_WITHIN_S
        for event in events:
            self._stalls.take(event)
            self.newest_s = max(self.newest_s, event.time_s)
        return self._stalls.take_ended()

    def close(self) -> list[StallFound]:
        """End the open stalls at the LOG's last line, because nothing writes the LOG any more."""
        self._stalls.close(self.newest_s)
        return self._stalls.take_ended()
