"""Decisions in words for operators: what was set, the signal, the rule, the guards' reasons, the effect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adocd.api.repeats import CHANGED_NOTHING, Repeated
from adocd.diagnosis.held import MeasuredSpan, held
from adocd.model import in_words

#: Time before and after a decision that is compared for its effect.
EFFECT_S = 60.0
_LEAST_S = 20.0
Look = Literal["good", "quiet", "bad"]
#: Outcomes that are as intended; and those that are no fault, but changed nothing, or not yet. All others failed.
_GOOD, _QUIET = ("applied", "applied-unpersisted"), ("unchanged", "dry-run", "in-flight")
#: What a decision that changed nothing is credited with.
NO_EFFECT = "none, for nothing was changed"
#: Most decisions that a chart marks, the newest ones: a law may repeat the same decision over and over.
MOST_MARKS = 200
#: What only sends again what was decided before; also each law's `.again`.
_SENT_AGAIN = ("actuator.repeat", "actuator.rearm", "actuator.delayed_write_rate")


@dataclass(frozen=True, slots=True)
class ToldDecision:
    """One decision in words.

    Attributes:
        sequence: the number of the first like it.
        unix_s: when it was taken first.
        often: how often it was taken, one after the other; empty for once.
        last_unix_s: when it was taken last.
        what: what was set: `background jobs 2 → 4`.
        signal: what was seen.
        rule: what decided.
        reason: why the rule says so.
        guards: the guards' reasons; empty if none intervened.
        outcome: its outcome, with the time it took or the reason.
        look: whether the outcome is as intended; `quiet` where nothing was changed and nothing failed.
        effect: how long writers were held in the minute before and the minute after; empty if not known, NO_EFFECT
            if it changed nothing.

    """

    sequence: int
    unix_s: float
    often: str
    last_unix_s: float
    what: tuple[str, ...]
    signal: str
    rule: str
    reason: str
    guards: tuple[str, ...]
    outcome: str
    look: Look
    effect: str


def newest(rows: Sequence[Repeated]) -> Repeated | None:
    """Return what was done last: a law's decision, a guard's or a pin's, values put back, or a law that failed.

    What was sent again would hide that; it counts only where there is nothing else.
    """
    new = (row for row in reversed(rows) if not _is_sent_again(row.record["rule"]))
    return next(new, rows[-1] if rows else None)


def _is_sent_again(rule: str) -> bool:
    return rule in _SENT_AGAIN or rule.endswith(".again")


def told(repeated: Repeated, spans: Sequence[MeasuredSpan], now_unix_s: float) -> ToldDecision:
    """Put a decision from REST, taken once or more, into words."""
    record = repeated.record
    outcome = record["outcome"]
    return ToldDecision(
        sequence=repeated.first_sequence,
        unix_s=repeated.first_unix_s,
        often=repeated.often,
        last_unix_s=repeated.last_unix_s,
        what=_what(record),
        signal=record["signal"],
        rule=record["rule"],
        reason=record["reason"],
        guards=tuple(record["guards"]),
        outcome=_outcome(record),
        look="good" if outcome in _GOOD else "quiet" if outcome in _QUIET else "bad",
        effect=NO_EFFECT if outcome in CHANGED_NOTHING else _effect_of(repeated, spans, now_unix_s),
    )


def _effect_of(repeated: Repeated, spans: Sequence[MeasuredSpan], now_unix_s: float) -> str:
    """Return the effect of what was applied and lasted; nothing is credited with a moment whose outcome is open."""
    return effect(repeated.first_unix_s, spans, now_unix_s) if repeated.record["outcome"] in _GOOD else ""


def effect(at_unix_s: float, spans: Sequence[MeasuredSpan], now_unix_s: float) -> str:
    """Compare how long writers were held before and after a moment; empty if too little was measured."""
    before = held(spans, at_unix_s - EFFECT_S, at_unix_s)
    after = held(spans, at_unix_s, min(now_unix_s, at_unix_s + EFFECT_S))
    if before.measured_s < _LEAST_S or after.measured_s < _LEAST_S:
        return ""
    return (
        f"held {in_words.share(before.share)} of the {in_words.duration(before.measured_s)} before, "
        f"{in_words.share(after.share)} of the {in_words.duration(after.measured_s)} after"
    )


def are_of_another_count(known: Sequence[dict[str, Any]], news: Sequence[dict[str, Any]]) -> bool:
    """Whether the daemon has begun to count anew: it was restarted, or had forgotten the target.

    Then a known number comes back with another time, or a lower one with a later time.
    """
    times = {record["sequence"]: record["unix_s"] for record in known}
    if not times:
        return False
    newest = max(times)
    return any(
        times[record["sequence"]] != record["unix_s"]
        if record["sequence"] in times
        else record["sequence"] < newest and record["unix_s"] > times[newest]
        for record in news
    )


def merged(known: Sequence[dict[str, Any]], news: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Merge decisions by sequence; a newer version replaces an older one. Returns the last `most`, oldest first."""
    by_sequence = {record["sequence"]: record for record in (*known, *news)}
    return [by_sequence[sequence] for sequence in sorted(by_sequence)][-most:]


def _what(record: Mapping[str, Any]) -> tuple[str, ...]:
    if record["settings"]:
        return tuple(_setting(setting) for setting in record["settings"])
    if record["changes"]:
        return tuple(_change(change) for change in record["changes"])
    return ("nothing",)


def _setting(setting: dict[str, Any]) -> str:
    family = f" ({setting['column_family']})" if setting["column_family"] else ""
    return f"{setting['knob'].replace('_', ' ')}{family} → {in_words.knob_value(setting['knob'], setting['value'])}"


def _change(change: dict[str, Any]) -> str:
    option, name = change["option"]["option"], change["option"]["name"]
    family = f" ({name})" if name else ""
    before, value = (in_words.option_value(option, change[name]) for name in ("before", "value"))
    return f"{option}{family} {value} again" if before == value else f"{option}{family} {before} → {value}"


def _outcome(record: Mapping[str, Any]) -> str:
    words = str(record["outcome"]).replace("-", " ")
    if record["elapsed_s"] is not None and record["outcome"] == "applied":
        words += f" in {record['elapsed_s'] * 1000:.0f} ms"
    return words + (f": {record['detail']}" if record["detail"] else "")
