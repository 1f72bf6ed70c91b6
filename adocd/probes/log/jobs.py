"""What flush and compaction jobs have logged so far, because their later lines do not repeat the earlier ones."""

from collections import deque
from dataclasses import dataclass

#: Most jobs remembered; a database runs as many as it has background threads. The oldest is forgotten first.
JOBS_MOST = 1024
#: An atomic flush of several column families is one job with a start and an end for each, in the same order.
_PARTS_MOST = 256


@dataclass(slots=True)
class Part:
    """One column family's part of a job; `started_s` is None while only a text line announced it."""

    column_family: str | None = None
    started_s: float | None = None
    written_bytes: int = 0
    input_bytes: int | None = None


class Jobs:
    """The running jobs, by number."""

    def __init__(self) -> None:
        self._parts: dict[int, deque[Part]] = {}

    def clear(self) -> None:
        """Forget all jobs, because a new session numbers its jobs from the start."""
        self._parts.clear()

    def announce(self, job: int, column_family: str) -> None:
        """Take from a text line the column family of the job's next start."""
        parts = self._of(job)
        if not parts or parts[-1].started_s is not None:
            parts.append(Part())
        parts[-1].column_family = column_family

    def begin(self, job: int | None, column_family: str | None, time_s: float) -> Part:
        """Open one column family's part of the job."""
        if job is None:
            return Part(column_family, time_s)
        parts = self._of(job)
        if not parts or parts[-1].started_s is not None:
            parts.append(Part())
        part = parts[-1]
        part.started_s = time_s
        part.column_family = column_family or part.column_family
        return part

    def wrote(self, job: int | None, size_bytes: int | None) -> None:
        """Add a file that the job made."""
        part = self.current(job)
        if part is not None and size_bytes is not None:
            part.written_bytes += size_bytes

    def current(self, job: int | None) -> Part | None:
        """Return the job's current part; None if the LOG lacks the job's start."""
        parts = self._parts.get(job) if job is not None else None
        return parts[-1] if parts else None

    def end(self, job: int | None) -> Part | None:
        """Close the part of the job that started first."""
        parts = self._parts.get(job) if job is not None else None
        if not parts or job is None:
            return None
        part = parts.popleft()
        if not parts:
            del self._parts[job]
        return part

    def _of(self, job: int) -> deque[Part]:
        parts = self._parts.get(job)
        if parts is None:
            if len(self._parts) >= JOBS_MOST:
                del self._parts[next(iter(self._parts))]
            parts = self._parts[job] = deque(maxlen=_PARTS_MOST)
        return parts
