"""What `top` shows: asks the daemon again and again, also while no daemon answers."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from adocd.api.client import NoDaemon, NotInTime, RestClient, RestError
from adocd.cli.top.over_time import SPAN_S
from adocd.targets.names import named

#: How many of a target's decisions to ask for.
_DECISIONS = 50
#: More points than the daemon has for `SPAN_S` at one per second, so that it does not thin them out.
_POINTS = 1000
#: Points that are later than now by more than this are from before the wall clock was set back, in s.
_AHEAD_S = 2.0
#: How long (s) a daemon that ends may take to close its targets, one after the other, before it stops answering.
_ENDING_S = 5.0
#: Sorts open targets: stopped writes first, then possibly stalled, then delayed, then all others.
_URGENCY = {"stopped": 0, "possibly": 1, "delayed": 2}


@dataclass(frozen=True, slots=True)
class Frame:
    """The daemon's last answers.

    Attributes:
        unix_s: when the daemon gave them.
        targets: the daemon's list, worst first.
        problems: the daemon's list of problems: by socket, one sentence.
        journal: the state of the daemon's journal; None before the first answer.
        details: the details of each target shown, by id.
        points: the last 15 minutes of the only target, oldest first; empty if there are several targets.
        decisions: the only target's decisions, oldest first; empty if there are several targets.
        overrides: the only target's pins; empty if there are several targets.
        problem: one sentence about why the daemon gives no answer; None while it does.
        problem_since_unix_s: since when it has given none.
        is_there: False only if the problem is that there is no daemon.
        back_unix_s: when it answered again.

    """

    unix_s: float
    targets: tuple[dict[str, Any], ...] = ()
    problems: dict[str, str] = field(default_factory=dict)
    journal: dict[str, Any] | None = None
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    points: tuple[dict[str, Any], ...] = ()
    decisions: tuple[dict[str, Any], ...] = ()
    overrides: tuple[dict[str, Any], ...] = ()
    problem: str | None = None
    problem_since_unix_s: float | None = None
    is_there: bool = True
    back_unix_s: float | None = None


class TopFeed:
    """Asks the daemon about the target `name`, or about all; `shown` limits for how many it asks for details."""

    def __init__(
        self, client: RestClient, name: str | None, *, shown: int = 1000, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self.shown = shown
        self._client, self._name, self._wall_clock = client, name, wall_clock
        self._last = self._open = Frame(0.0)
        self._points: list[dict[str, Any]] = []
        #: Why the last question had no answer; None if it had one.
        self.error: NoDaemon | RestError | None = None
        #: The id of the target that the points belong to.
        self._points_of: str | None = None

    def ask(self) -> Frame:
        """Ask once. If no daemon answers, return the last frame with the problem."""
        now_s, last = self._wall_clock(), self._last
        if last.problem is None and not _is_open(last) and last.unix_s - self._open.unix_s < _ENDING_S:
            last = replace(self._open, back_unix_s=None)  # a daemon that is ending lists open databases as closed
        try:
            frame = self._ask(now_s)
        except (NoDaemon, RestError) as error:
            since_s = now_s if last.problem_since_unix_s is None else last.problem_since_unix_s
            is_there = isinstance(error, RestError | NotInTime)
            self._last = replace(
                last, problem=str(error), problem_since_unix_s=since_s, is_there=is_there, back_unix_s=None
            )
            self.error = error
        else:
            self.error = None
            if _is_open(self._last):
                self._open = self._last
            self._last = frame
        return self._last

    def _ask(self, now_s: float) -> Frame:
        listed = self._client.get("/v1/targets")
        targets = sorted(listed["targets"], key=_urgency)
        if self._name is not None:
            targets = _meant(self._name, targets)
        details = {}
        for target in targets[: self.shown]:
            try:
                details[target["id"]] = self._client.get(f"/v1/targets/{target['id']}")
            except RestError as error:
                if error.status != 404:  # the daemon forgot it between our two requests
                    raise
        frame = Frame(
            now_s, tuple(targets), listed["problems"], listed["journal"], details,
            back_unix_s=now_s if self._last.problem is not None else self._last.back_unix_s,
        )  # fmt: skip
        is_one = self._name is not None or len(targets) == 1
        return self._with_one(frame) if is_one and len(details) == 1 else frame

    def _with_one(self, frame: Frame) -> Frame:
        """Add what is shown only if there is one target."""
        (id_,) = frame.details
        if self._points_of != id_:
            self._points, self._points_of = [], id_
        if self._points and self._points[-1]["unix_s"] > frame.unix_s + _AHEAD_S:
            self._points = []  # the wall clock was set back, and what comes would be older than these
        begin_s = frame.unix_s - SPAN_S
        # Ask for everything first, then for newer points only. Keep old points: a restarted daemon has lost them.
        since_s = max(begin_s, self._points[-1]["unix_s"] if self._points else 0.0)
        newer = self._client.get(
            f"/v1/targets/{id_}/history", resolution="1s", points=_POINTS, from_unix_s=str(since_s)
        )
        kept = [point for point in self._points if begin_s < point["unix_s"]]
        self._points = kept + [point for point in newer["points"] if not kept or point["unix_s"] > kept[-1]["unix_s"]]
        return replace(
            frame,
            points=tuple(self._points),
            decisions=tuple(self._client.get(f"/v1/targets/{id_}/decisions", limit=_DECISIONS)["decisions"]),
            overrides=tuple(self._client.get(f"/v1/targets/{id_}/overrides")["overrides"]),
        )


def _is_open(frame: Frame) -> bool:
    return any(target["state"] != "closed" for target in frame.targets)


def _meant(name: str, targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the targets that match a name: the open ones, or the closed ones if none is open."""
    found = named(name, targets, lambda t: (t["id"], t["path"]))
    return [t for t in found if t["state"] != "closed"] or found


def _urgency(target: dict[str, Any]) -> tuple[bool, int, str]:
    held = (target["stall"] or {}).get("condition", target["condition"])
    return target["state"] == "closed", _URGENCY.get(held, 3), target["path"]
