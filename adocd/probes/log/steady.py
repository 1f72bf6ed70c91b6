"""Event times that do not jump back: for durations across a stray line, or across a wall clock that was set back."""

from dataclasses import replace

from adocd.probes.log.events import LogEvent

#: A larger step means a stray line, a wall clock that was set, another database's LOG or a quiet hour (s); lines are
#: out of order by far less.
JUMP_S = 60.0


class SteadyTime:
    """Counts on from the last time when times go back, until a line returns to the time before.

    So a stray line of another day takes no time, and after a clock was set back the durations stay right; the times of
    day are then later than the LOG's by what the clock was set back. An event far ahead waits for the next one, which
    shows whether it is a stray line too.
    """

    def __init__(self) -> None:
        #: What is added to the LOG's times (s).
        self._offset_s = 0.0
        #: The latest steady time, in unix seconds; None before the first event.
        self._now_s: float | None = None
        self._ahead: LogEvent | None = None

    def take(self, event: LogEvent) -> list[LogEvent]:
        """Take the next event; return those whose steady time is known now, each at that time."""
        known = []
        if self._ahead is not None:
            goes_on = event.time_s >= self._ahead.time_s - JUMP_S
            is_stray = not goes_on and self._step_s(event) >= -JUMP_S
            known.append(_at(self._ahead, self._now_s or 0.0) if is_stray else self._counted(self._ahead))
            self._ahead = None
        if self._step_s(event) > JUMP_S and not self._returns(event):
            self._ahead = event
        else:
            known.append(self._counted(event))
        return known

    def end(self) -> list[LogEvent]:
        """Return the event that still waits, if one does: the last one of the LOG."""
        ahead, self._ahead = self._ahead, None
        return [] if ahead is None else [self._counted(ahead)]

    def _counted(self, event: LogEvent) -> LogEvent:
        if self._now_s is not None and self._step_s(event) < -JUMP_S:
            self._offset_s = self._now_s - event.time_s
        elif self._returns(event):
            self._offset_s = 0.0
        steady_s = event.time_s + self._offset_s
        self._now_s = steady_s if self._now_s is None else max(self._now_s, steady_s)
        return _at(event, steady_s)

    def _step_s(self, event: LogEvent) -> float:
        """Return how far the event is ahead of the latest time (s); below 0 behind it."""
        return 0.0 if self._now_s is None else event.time_s + self._offset_s - self._now_s

    def _returns(self, event: LogEvent) -> bool:
        """Whether this is the way back from stray lines, or from a clock that was wrong for a while."""
        is_jump = bool(self._offset_s) and self._step_s(event) > JUMP_S
        return is_jump and self._now_s is not None and event.time_s >= self._now_s - JUMP_S


def _at(event: LogEvent, time_s: float) -> LogEvent:
    return event if time_s == event.time_s else replace(event, time_s=time_s)
