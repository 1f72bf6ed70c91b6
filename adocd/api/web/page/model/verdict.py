"""Does the tuner help or hurt: how long writers were held before the policy acted, and since."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adocd.api.web.page.model import units
from adocd.api.web.page.model.history import Held, Point, held

Kind = Literal["helps", "hurts", "same", "unknown", "idle"]

#: Both spans are at most so long, so that the policy is judged by what it does now.
SPAN_S = 900.0
#: Less of either span says nothing: a stall comes and goes within seconds.
_LEAST_S = 30.0
#: A difference counts where it is at least so much of the time, and at least that share of what it was.
_LEAST_SHARE, _LEAST_RATIO = 0.01, 0.2
_SETS = ("set-policy", "reset-policy")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, in one or two words and in sentences.

    Attributes:
        kind: helps; hurts; same; unknown where too little was measured; idle where the policy changes nothing.
        title: the answer in a few words.
        sentence: the figures it comes from.
        before: how writers fared before; None where that cannot be told.
        since: how they have fared since.

    """

    kind: Kind
    title: str
    sentence: str
    before: Held | None = None
    since: Held | None = None


def began_unix_s(operations: Sequence[dict[str, Any]], target: str) -> float | None:
    """Find when the policy in force began to act; None where nobody has let it begin.

    An operator's last word on this target or on all: that set it, or that ended a restore. What ended a pause began
    nothing, for in a pause all stays as the law has set it.

    `operations` are entries of REST's audit trail, newest first.
    """
    resumed: float | None = None
    for operation in operations:
        if operation["target"] not in (target, None):
            continue
        if operation["what"] in _SETS:
            return float(operation["unix_s"])
        if operation["what"] == "resume":
            resumed = float(operation["unix_s"])
        if operation["what"] == "restore" and resumed is not None:
            return resumed
    return None


def joined(older: Sequence[Point], points: Sequence[Point]) -> list[Point]:
    """Put minutes before seconds. A minute in which the policy began belongs to both sides; seconds say more."""
    first = points[0]["unix_s"] - points[0]["interval_s"]
    return [*(point for point in older if point["unix_s"] <= first), *points]


def verdict(target: dict[str, Any], began: float | None, points: Sequence[Point], now_unix_s: float) -> Verdict:
    """Judge the policy of a target by its history; `points` are oldest first, of any resolution."""
    lately = held(points, now_unix_s - SPAN_S, now_unix_s)
    if (idle := _idle(target)) is not None:
        words = f"{idle} {_was_held(lately)} of {_last(lately)}." if lately.measured_s else idle
        return Verdict("idle", "The tuner is not acting", words, since=lately)
    controller = target["policy"]["controller"]
    if began is None:
        words = f"{controller} has acted ever since this database was found, so there is nothing to compare with."
        return Verdict("unknown", "Cannot tell", f"{words} {_was_held(lately)} of {_last(lately)}.", since=lately)
    before = held(points, began - SPAN_S, began)
    since = held(points, max(began, now_unix_s - SPAN_S), now_unix_s)
    if before.measured_s < _LEAST_S:
        words = f"too little was measured before {controller} began, {units.duration(now_unix_s - began)} ago."
        return Verdict("unknown", "Cannot tell", f"{_was_held(since)} of {_last(since)}; {words}", since=since)
    if since.measured_s < _LEAST_S:
        words = f"{controller} has acted for {units.duration(since.measured_s)} only; ask again in half a minute."
        return Verdict("unknown", "Cannot tell yet", words, before, since)
    words = (
        f"{_was_held(before)} of the {units.duration(before.measured_s)} before {controller} began "
        f"({units.duration(now_unix_s - began)} ago), and {units.share(since.share)} of {_last(since)}."
        f"{_load(before, since)}"
    )
    return Verdict(*_judged(before, since), words, before, since)


def _idle(target: dict[str, Any]) -> str | None:
    """Say in one sentence why the policy changes nothing; None where it may."""
    policy = target["policy"]
    if target["paused"]:
        return f"Paused: {target['paused']}."
    if policy["dry_run"]:
        return f"{policy['controller']} runs dry: it decides, and nothing is changed."
    if policy["controller"] == "fixed":
        return "The policy fixed watches and changes nothing."
    return None


def _judged(before: Held, since: Held) -> tuple[Kind, str]:
    difference = since.share - before.share
    counts = max(_LEAST_SHARE, _LEAST_RATIO * before.share)
    if difference <= -counts:
        return "helps", "The tuner helps"
    # A rise from next to nothing has no share of what it was to be measured by.
    if difference >= counts:
        return "hurts", "The tuner hurts"
    return "same", "No difference"


def _was_held(span: Held) -> str:
    return f"Writes were held for {units.share(span.share)}"


def _last(span: Held) -> str:
    return f"the last {units.duration(span.measured_s)}"


def _load(before: Held, since: Held) -> str:
    """Say how the load compares, for it may be the load that has changed."""
    if before.writes_per_s is None or since.writes_per_s is None:
        return ""
    return f" Writes per second: {units.count(before.writes_per_s)} before, {units.count(since.writes_per_s)} since."
