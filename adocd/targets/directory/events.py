"""Turns the LOG's flushes and compactions into numbered events like an agent's, and keeps the last ones."""

from collections import deque
from collections.abc import Callable

from adocd.model.snapshot import Event
from adocd.probes.log.events import CompactionFinished, CompactionStarted, FlushFinished, FlushStarted, LogEvent

#: As many as an agent keeps.
_EVENTS_MOST = 1024


class DirectoryEvents:
    """Keeps the last events; `monotonic_s` converts unix seconds into the daemon's monotonic clock."""

    def __init__(self, monotonic_s: Callable[[float], float]) -> None:
        self._monotonic_s = monotonic_s
        self._events: deque[Event] = deque(maxlen=_EVENTS_MOST)
        #: Each running job's reason, which only its first LOG line gives.
        self._reasons: dict[int, str] = {}
        self.last = 0

    def add(self, event: LogEvent) -> None:
        """Add an event from the LOG."""
        if isinstance(event, FlushStarted):
            self._begun(event.job, event.reason)
            self._put("flush_begin", event, reason=event.reason)
        elif isinstance(event, FlushFinished):
            self._put("flush_end", event, bytes=event.written_bytes, elapsed_s=event.elapsed_s)
        elif isinstance(event, CompactionStarted):
            self._begun(event.job, event.reason)
            self._put("compaction_begin", event, reason=event.reason, read_bytes=event.input_bytes)
        elif isinstance(event, CompactionFinished):
            self._put(
                "compaction_end",
                event,
                read_bytes=event.input_bytes,
                written_bytes=event.written_bytes,
                output_level=event.output_level,
                elapsed_s=event.elapsed_s,
            )

    def after(self, sequence: int | None) -> tuple[tuple[Event, ...], int]:
        """Return the events after a number, and how many of those are lost; no events without a number."""
        if sequence is None:
            return (), 0
        found = tuple(event for event in self._events if event.sequence > sequence)
        return found, max(0, self.last - sequence) - len(found)

    def _begun(self, job: int | None, reason: str | None) -> None:
        if job is not None and reason is not None:
            self._reasons[job] = reason
            if len(self._reasons) > _EVENTS_MOST:
                del self._reasons[next(iter(self._reasons))]

    def _put(
        self,
        kind: str,
        event: FlushStarted | FlushFinished | CompactionStarted | CompactionFinished,
        *,
        reason: str | None = None,
        bytes: int | None = None,  # noqa: A002
        read_bytes: int | None = None,
        written_bytes: int | None = None,
        output_level: int | None = None,
        elapsed_s: float | None = None,
    ) -> None:
        self.last += 1
        self._events.append(
            Event(
                self.last,
                self._monotonic_s(event.time_s),
                kind,
                column_family=event.column_family,
                job=event.job,
                reason=reason or self._reasons.get(event.job or -1),
                bytes=bytes,
                read_bytes=read_bytes,
                written_bytes=written_bytes,
                output_level=output_level,
                elapsed_s=elapsed_s,
            )
        )
