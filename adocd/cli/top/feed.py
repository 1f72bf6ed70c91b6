"""What `top` shows, asked of the daemon again and again; a daemon that goes is waited for."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli.top.over_time import SPAN_S
from adocd.targets.names import named

#: So many decisions of one target are asked for.
_DECISIONS = 50
#: More than the daemon has of so long by the second: nothing is thinned.
_POINTS = 1000
#: A daemon that ends lets go of its databases, one after the other, before it does not answer any more.
_ENDING_S = 5.0
#: Attached targets come first, those that write is held from before all.
_URGENCY = {"stopped": 0, "possibly": 1, "delayed": 2}


@dataclass(frozen=True, slots=True)
class Frame:
    """What was seen last; times are unix seconds.

    `problem` says in one sentence why it is not of now, since `problem_since_unix_s`; None while the daemon answers.
    `back_unix_s` is when it answered again. `targets` are the daemon's list, the worst first; `details` are of those
    that are shown, by id; `points`, of the last 15 minutes and the oldest first, `decisions` and `overrides` are of the
    one that is looked at alone.
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
    back_unix_s: float | None = None


class TopFeed:
    """Asks the daemon: of the target `name` alone, or of all; `shown` is how many of them are looked into."""

    def __init__(
        self, client: RestClient, name: str | None, *, shown: int = 1000, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self.shown = shown
        self._client, self._name, self._wall_clock = client, name, wall_clock
        self._last = self._open = Frame(0.0)
        self._points: list[dict[str, Any]] = []
        #: Whose points they are.
        self._points_of: str | None = None

    def ask(self) -> Frame:
        """Ask once; what was seen before, with the problem, where no daemon answers."""
        now_s, last = self._wall_clock(), self._last
        if last.problem is None and not _is_open(last) and last.unix_s - self._open.unix_s < _ENDING_S:
            last = replace(self._open, back_unix_s=None)  # what a daemon shows that ends is not how its databases are
        try:
            frame = self._ask(now_s)
        except (NoDaemon, RestError) as error:
            since_s = now_s if last.problem_since_unix_s is None else last.problem_since_unix_s
            self._last = replace(last, problem=str(error), problem_since_unix_s=since_s, back_unix_s=None)
        else:
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
                if error.status != 404:  # forgotten between two questions
                    raise
        frame = Frame(
            now_s, tuple(targets), listed["problems"], listed["journal"], details,
            back_unix_s=now_s if self._last.problem is not None else self._last.back_unix_s,
        )  # fmt: skip
        is_one = self._name is not None or len(targets) == 1
        return self._with_one(frame) if is_one and len(details) == 1 else frame

    def _with_one(self, frame: Frame) -> Frame:
        """Add what is shown where one target is looked at alone."""
        (id_,) = frame.details
        if self._points_of != id_:
            self._points, self._points_of = [], id_
        begin_s = frame.unix_s - SPAN_S
        # All of it at the first look; what is known stays, for a daemon that was started anew knows nothing of it.
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
    """Choose those that a name means; where one is open, those that are closed are not meant."""
    found = named(name, targets, lambda t: (t["id"], t["path"]))
    return [t for t in found if t["state"] != "closed"] or found


def _urgency(target: dict[str, Any]) -> tuple[bool, int, str]:
    held = (target["stall"] or {}).get("condition", target["condition"])
    return target["state"] == "closed", _URGENCY.get(held, 3), target["path"]
