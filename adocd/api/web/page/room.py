"""One target's state while somebody looks at it, read once for all visitors."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from adocd.api.web.page.charts import spec
from adocd.api.web.page.charts.span import SHORT_S, ChartSpan
from adocd.api.web.page.model import decisions, history
from adocd.api.web.page.model.history import Point
from adocd.targets.errors import TargetError

Get = Callable[[str], Awaitable[tuple[int, bytes]]]

#: How often to read what changes slowly.
_SLOWLY_S = 10.0
_MINUTE_S = 60.0
#: A target that could not be read for so long is shown as stale.
STALE_S = 5.0
#: A last point that lies so far in the future shows that somebody has set the wall clock back.
_AHEAD_S = 2.0
#: Decisions to know, and the newest ones to read again now and then: no event tells of a repeat.
_DECISIONS, _REPEATED = 500, 20


class Room:
    """One target's figures, decisions and settings as of the last tick; `version` grows with every refresh."""

    def __init__(self, target: str, get: Get) -> None:
        self.target = target
        self.visitors = 0
        self.version = 0
        #: Grows with every new decision, and with every new version of one.
        self.decisions_version = 0
        #: Why it could not be read the last time; None if it could.
        self.trouble: str | None = None
        self.missing: str | None = None
        self.detail: dict[str, Any] | None = None
        self.points: list[Point] = []
        #: When the points were last read; None before.
        self.read_unix_s: float | None = None
        self.decisions: list[dict[str, Any]] = []
        self.overrides: list[dict[str, Any]] = []
        #: The audit trail, newest first, and whether there is more of it.
        self.operations: list[dict[str, Any]] = []
        self.has_older_operations = False
        #: What lint found; None where it could not look, as in a closed database.
        self.findings: list[dict[str, Any]] | None = None
        #: Whether the tuner helps or hurts; None before the first figures.
        self.verdict: dict[str, Any] | None = None
        #: What stalled since the daemon found the target, and why; None before it is read.
        self.diagnosis: dict[str, Any] | None = None
        self._get = get
        self._long: dict[int, tuple[float, list[Point]]] = {}
        self._slow_at_s = float("-inf")
        self._loaded = False
        self._heard_s = time.monotonic()

    @property
    def path(self) -> str:
        """The target's path in REST."""
        return f"/v1/targets/{quote(self.target, safe='')}"

    @property
    def silence_s(self) -> float:
        """Seconds since everything that was due was read."""
        return time.monotonic() - self._heard_s

    @property
    def lost(self) -> bool:
        """Whether what is shown is older than STALE_S, although the daemon may answer others."""
        return self.silence_s > STALE_S and (self.detail is not None or self.trouble is not None)

    async def refresh(self, now_s: float) -> None:
        """Read what is new at `now_s` of the monotonic clock; raises what fails, and notes it in `trouble`."""
        try:
            await self._read_all(now_s)
        except Exception as error:
            self.trouble = trouble_in_words(error)
            raise
        self._heard_s, self.trouble = time.monotonic(), None

    async def _read_all(self, now_s: float) -> None:
        detail = await self._read(self.path)
        if detail is None:
            gone = "" if self.detail is None else " any more"
            self.missing = f"There is no target {self.target}{gone}."
            self._forget_decisions()  # the daemon has, too: it counts from 1 again if the target comes back
            return
        self.missing, self.detail = None, detail
        await self._read_points()
        self.read_unix_s = time.time()
        if not self._loaded:
            await self._read_decisions(_DECISIONS)
            self._loaded = True
        if now_s - self._slow_at_s >= _SLOWLY_S:
            self._slow_at_s = now_s
            await self._read_slowly()
        else:
            if any(pin["ineffective"] for pin in self.overrides):  # most are in force a second later
                await self._read_overrides()
            if self.verdict is None:
                await self._read_verdict()
        self.version += 1

    def decided(self, records: list[dict[str, Any]]) -> None:
        """Add decisions: new ones, and new versions of known ones, or of another count, all of which are then read."""
        if decisions.are_of_another_count(self.decisions, records):
            self._forget_decisions()
        merged = decisions.merged(self.decisions, records, _DECISIONS)
        if merged != self.decisions:
            self.decisions = merged
            self.decisions_version += 1

    def _forget_decisions(self) -> None:
        if self.decisions:
            self.decisions = []
            self.decisions_version += 1
        self.ask_again()

    def ask_again(self) -> None:
        """Read at the next tick what usually changes slowly, because somebody has just changed something."""
        self._slow_at_s = float("-inf")
        self._loaded = False

    @property
    def unread_decisions(self) -> int:
        """How many decisions are older than those here: the daemon numbers them from 1."""
        return self.decisions[0]["sequence"] - 1 if self.decisions else 0

    def drawn(self, shown: ChartSpan) -> ChartSpan:
        """Return the span to draw: of a chosen time before the seconds that the daemon keeps, whole minutes."""
        is_old = shown.begin is not None and (self.now_unix_s or time.time()) - shown.begin > SHORT_S
        return shown.in_whole_minutes() if is_old else shown

    async def charted(self, drawn: ChartSpan, now_s: float) -> list[Point]:
        """Return the points of a span; those of one that goes on and is longer than SHORT_S may be a minute old."""
        span_s = drawn.span_s
        if drawn.begin is not None and drawn.end is not None:
            return await self._chosen(drawn.begin, drawn.end, in_minutes=drawn.in_minutes)
        if span_s <= SHORT_S:
            return self.points
        read_at, points = self._long.get(span_s, (float("-inf"), []))
        if now_s - read_at >= _MINUTE_S:
            resolution, most = spec.ranges(span_s)
            end = self.now_unix_s
            points = await self._history(end - span_s, end, resolution, most)
            self._long[span_s] = now_s, points
        return points

    async def _chosen(self, begin: float, end: float, *, in_minutes: bool) -> list[Point]:
        """Read a chosen time; of minutes also the one before: lines begin at a point, which is at its minute's end."""
        if not in_minutes:
            return await self._history(begin, end, "1s", spec.MOST_POINTS)
        points = await self._history(max(0.0, begin - _MINUTE_S), end, "1m", spec.MOST_POINTS)
        return points if any(point["unix_s"] >= begin for point in points) else []

    @property
    def now_unix_s(self) -> float:
        """The daemon's time as of the last point, in unix seconds; 0 without points."""
        return float(self.points[-1]["unix_s"]) if self.points else 0.0

    async def _read_points(self) -> None:
        if self.now_unix_s > time.time() + _AHEAD_S:
            # The daemon drops what lies in the future; nothing newer would come until the clock is there again.
            self.points = []
            self._long.clear()
            self.ask_again()
        if not self.points:
            self.points = await self._history(None, None, "1s", SHORT_S)
            return
        newer = await self._history(self.now_unix_s, None, "1s", SHORT_S)
        last = newer[-1]["unix_s"] if newer else self.now_unix_s
        self.points = history.joined(self.points, newer, last - SHORT_S)

    async def _read_decisions(self, most: int) -> None:
        answer = await self._read(f"{self.path}/decisions?limit={most}")
        self.decided([] if answer is None else answer["decisions"])

    async def _read_slowly(self) -> None:
        await self._read_decisions(_REPEATED)
        await self._read_overrides()
        operations = await self._read(f"/v1/operations?target={quote(self.target, safe='')}&limit=50")
        self.operations = [] if operations is None else operations["operations"][::-1]
        self.has_older_operations = operations is not None and operations["next_before"] is not None
        lint = await self._read(f"{self.path}/lint")
        self.findings = None if lint is None else lint["findings"]
        diagnosis = await self._read(f"{self.path}/diagnosis")
        self.diagnosis = None if diagnosis is None or diagnosis["begin"] is None else diagnosis
        await self._read_verdict()

    async def _read_overrides(self) -> None:
        overrides = await self._read(f"{self.path}/overrides")
        listed = [] if overrides is None else overrides["overrides"]
        self.overrides = [pin | {"ends_unix_s": time.time() + (pin["remaining_s"] or 0.0)} for pin in listed]

    async def _read_verdict(self) -> None:
        answer = await self._read(f"{self.path}/verdict")
        self.verdict = None if answer is None else answer["verdict"]

    async def _history(self, begin: float | None, end: float | None, resolution: str, points: int) -> list[Point]:
        query = f"resolution={resolution}&points={points}"
        query += "" if begin is None else f"&from_unix_s={begin}"
        query += "" if end is None else f"&to_unix_s={end}"
        answer = await self._read(f"{self.path}/history?{query}")
        return [] if answer is None else answer["points"]

    async def _read(self, path: str) -> Any:
        """Read a path of the daemon; None if it refuses (4xx). Raises TargetError for 5xx and without an answer."""
        status, body = await self._get(path)
        if status >= 500:
            raise TargetError(f"{path} answered {status}")
        return json.loads(body) if status < 400 else None


def trouble_in_words(error: Exception) -> str:
    """Say why something could not be read: the daemon does not answer, or its answer has another form than expected."""
    if isinstance(error, TargetError):
        return str(error)
    return f"its answer is not understood ({type(error).__name__}: {error})"
