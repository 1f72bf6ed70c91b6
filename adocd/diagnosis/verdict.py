"""Does the tuner help or hurt? Compares how long writers were held before the policy acted and since. Pure.

A pin that is newer than the policy is judged in its place: it beats the law, so the law is not what has changed last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adocd.diagnosis.held import HeldWriters, MeasuredSpan, held, without_control
from adocd.model.in_words import count, duration, option_value, share, time
from adocd.model.policy import Policy

Kind = Literal["helps", "hurts", "same", "unknown", "idle"]

#: Maximum length of both spans, so that the policy is judged by what it does now.
SPAN_S = 900.0
#: Minimum length of both spans: less says nothing, because a stall comes and goes within seconds.
_LEAST_S = 30.0
#: A difference counts if it is at least this share of the time, and at least that share of the earlier value, which is
#: also from where on the load counts as another one.
_LEAST_SHARE, _LEAST_RATIO = 0.01, 0.2


@dataclass(frozen=True, slots=True)
class PinnedOption:
    """An operator's pin that is in force; `unix_s` is when it was set.

    `column_family` None means every one of them, or an option of the database. `everywhere`: it is on all targets.
    """

    option: str
    column_family: str | None
    value: str
    everywhere: bool
    who: str
    unix_s: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, as a kind, a title and a sentence.

    Attributes:
        kind: helps; hurts; same; unknown where too little was measured, or where the load can be the cause; idle where
            the policy changes nothing.
        title: the answer in a few words.
        sentence: the figures behind it.
        before: how writers fared before the policy acted; None where that is unknown.
        since: how writers have fared since.
        pinned: the pin that is judged; None where the policy is judged.

    """

    kind: Kind
    title: str
    sentence: str
    before: HeldWriters | None = None
    since: HeldWriters | None = None
    pinned: PinnedOption | None = None


def joined(minutes: Sequence[MeasuredSpan], seconds: Sequence[MeasuredSpan]) -> list[MeasuredSpan]:
    """Join minutes and seconds; seconds win, as the minute in which the policy began would belong to both sides."""
    first_unix_s = seconds[0].unix_s - seconds[0].interval_s
    return [*(point for point in minutes if point.unix_s <= first_unix_s), *seconds]


def verdict(
    policy: Policy,
    paused: str | None,
    began_unix_s: float | None,
    points: Sequence[MeasuredSpan],
    now_unix_s: float,
    logged: HeldWriters | None = None,
    pin: PinnedOption | None = None,
) -> Verdict:
    """Judge a target's policy by its history: against the last time without control, dry runs included.

    `paused` is the reason why the law decides nothing, None if it may decide. `began_unix_s` is when the policy began
    to act, None if no operator started it: then it has acted ever since the database was found. `points` are oldest
    first, at any resolution. `logged` is what the LOG tells of the time before, for when nothing was measured then.
    `pin` is the newest pin in force; it is judged instead if it is newer than the policy, or the policy is idle, and
    enough was measured before it.
    """
    lately, idle = held(points, now_unix_s - SPAN_S, now_unix_s), _idle(policy, paused)
    if pin is not None and (idle is not None or pin.unix_s >= (began_unix_s or 0.0)):
        before = held(points, pin.unix_s - SPAN_S, pin.unix_s)
        if before.measured_s >= _LEAST_S:
            return _of_pin(pin, before, held(points, max(pin.unix_s, now_unix_s - SPAN_S), now_unix_s), now_unix_s)
    if idle is not None:
        words = f"{idle} {_was_held(lately)} of {_last(lately)}." if lately.measured_s else idle
        return Verdict("idle", "The tuner is not acting", words, since=lately)
    controller = policy.controller
    found = began_unix_s is None
    if began_unix_s is None:
        began_unix_s = points[0].unix_s - points[0].interval_s if points else now_unix_s
    before, source = without_control(points, began_unix_s, SPAN_S), ""
    since = held(points, max(began_unix_s, now_unix_s - SPAN_S), now_unix_s)
    if before.measured_s < _LEAST_S and logged is not None and logged.measured_s >= _LEAST_S:
        before, source = logged, ", by its LOG"
    if before.measured_s < _LEAST_S and found:
        words = (
            f"{controller} has acted ever since this database was found, and its LOG tells of no time before, "
            "so there is nothing to compare with."
        )
        return Verdict(
            "unknown", "Cannot tell if it helps", f"{words} {_was_held(lately)} of {_last(lately)}.", since=lately
        )
    if before.measured_s < _LEAST_S:
        words = f"too little was measured before {controller} began, {duration(now_unix_s - began_unix_s)} ago."
        return Verdict(
            "unknown", "Cannot tell if it helps", f"{_was_held(since)} of {_last(since)}; {words}", since=since
        )
    if since.measured_s < _LEAST_S:
        words = f"{controller} has acted for {duration(since.measured_s)} only; ask again in half a minute."
        return Verdict("unknown", "Cannot tell yet if it helps", words, before, since)
    words = _compared(before, since, f"{controller} began ({duration(now_unix_s - began_unix_s)} ago{source})")
    # What manual sets is somebody's word, and the tuner has no part in it.
    who = "manual policy" if controller == "manual" else "tuner"
    return Verdict(*_judged(who, before, since), words, before, since)


def _of_pin(pin: PinnedOption, before: HeldWriters, since: HeldWriters, now_unix_s: float) -> Verdict:
    family = "" if pin.column_family is None else f" of column family {pin.column_family}"
    pinned = f"{pin.who} pinned {pin.option}{family} to {option_value(pin.option, pin.value)}"
    if since.measured_s < _LEAST_S:
        words = f"{pinned} {duration(since.measured_s)} ago only; ask again in half a minute."
        return Verdict("unknown", "Cannot tell yet if it helps", words, before, since, pin)
    words = _compared(before, since, f"{pinned} ({duration(now_unix_s - pin.unix_s)} ago)")
    return Verdict(*_judged("pin", before, since), words, before, since, pin)


def _compared(before: HeldWriters, since: HeldWriters, began: str) -> str:
    return (
        f"{_was_held(before)} of the {duration(before.measured_s)} before {began}, "
        f"and {share(since.share)} of {_last(since)}.{_load(before, since)}{_latency(before, since)}"
    )


def _idle(policy: Policy, paused: str | None) -> str | None:
    """Say in one sentence why the policy changes nothing; None if it may change something."""
    if paused:
        return f"Paused: {paused}."
    if policy.controller == "fixed":
        return "The policy fixed watches and changes nothing."
    if policy.dry_run:
        return f"{policy.controller} runs dry: it decides, and nothing is changed."
    return None


def _judged(who: str, before: HeldWriters, since: HeldWriters) -> tuple[Kind, str]:
    difference = _difference(before, since)
    if not difference:
        return "same", f"The {who} makes no difference"
    if _by_load(before, since) is not None:
        return "unknown", f"Cannot tell if the {who} helps"
    return ("helps", f"The {who} helps") if difference < 0 else ("hurts", f"The {who} hurts")


def _difference(before: HeldWriters, since: HeldWriters) -> float:
    """Return how much larger the share is since; 0 if that does not count."""
    difference = since.share - before.share
    # A rise from almost zero has no earlier value to be a share of.
    counts = abs(difference) >= max(_LEAST_SHARE, _LEAST_RATIO * before.share)
    return difference if counts else 0.0


def _by_load(before: HeldWriters, since: HeldWriters) -> str | None:
    """Say why the load alone can have made the difference; None if it cannot, or is unknown."""
    if before.writes_per_s is None or since.writes_per_s is None:
        return None
    difference, more = _difference(before, since), since.writes_per_s - before.writes_per_s
    if abs(more) < _LEAST_RATIO * before.writes_per_s:
        return None
    if difference < 0 and more < 0:
        return "fewer writes are held less, whoever tunes"
    return "more writes are held more, whoever tunes" if difference > 0 and more > 0 else None


def _was_held(span: HeldWriters) -> str:
    return f"Writes were held for {share(span.share)}"


def _last(span: HeldWriters) -> str:
    return f"the last {duration(span.measured_s)}"


def _load(before: HeldWriters, since: HeldWriters) -> str:
    """Compare the loads, because the load may be what has changed."""
    if before.writes_per_s is None or since.writes_per_s is None:
        return ""
    by_load = _by_load(before, since)
    why = "" if by_load is None else f": {by_load}"
    return f" Writes per second: {count(before.writes_per_s)} before, {count(since.writes_per_s)} since{why}."


def _latency(before: HeldWriters, since: HeldWriters) -> str:
    """Compare how long writes took, where both spans were timed."""
    known = (before.write_p99_s, since.write_p99_s, before.write_max_s, since.write_max_s)
    if None in known:
        return ""
    p99_before, p99_since, worst_before, worst_since = map(time, known)
    return f" Write latency: p99 {p99_before} before, {p99_since} since; the worst {worst_before} and {worst_since}."
