"""Decisions as an operator reads them: what was set, the signal, the rule, what the guards said, the effect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adocd.api.web.page.model.history import Point, measured
from adocd.diagnosis.held import held
from adocd.model import in_words

#: What is compared for a decision's effect, before it and after it.
EFFECT_S = 60.0
_LEAST_S = 5.0
#: Outcomes by how they look: done, not done on purpose, gone wrong.
GOOD = ("applied", "unchanged", "dry-run", "in-flight")
#: Of decisions that say the same over and over, a chart shows so many at most: the last ones.
MOST_MARKS = 200


@dataclass(frozen=True, slots=True)
class ToldDecision:
    """One decision in words.

    Attributes:
        sequence: its number, which stays.
        unix_s: when it was taken.
        what: what was set: `background jobs 2 → 4`.
        signal: what was seen.
        rule: what decided.
        reason: why the rule says so.
        guards: what guards said; empty where they had nothing to say.
        outcome: what became of it, with the time it took or the reason.
        good: whether the outcome is as intended.
        effect: how writers fared in the minute before and the minute after; empty where that cannot be told.

    """

    sequence: int
    unix_s: float
    what: tuple[str, ...]
    signal: str
    rule: str
    reason: str
    guards: tuple[str, ...]
    outcome: str
    good: bool
    effect: str


def told(record: dict[str, Any], points: Sequence[Point], now_unix_s: float) -> ToldDecision:
    """Put a decision of REST's into words."""
    return ToldDecision(
        sequence=record["sequence"],
        unix_s=record["unix_s"],
        what=_what(record),
        signal=record["signal"],
        rule=record["rule"],
        reason=record["reason"],
        guards=tuple(record["guards"]),
        outcome=_outcome(record),
        good=record["outcome"] in GOOD,
        effect=effect(record["unix_s"], points, now_unix_s),
    )


def effect(at_unix_s: float, points: Sequence[Point], now_unix_s: float) -> str:
    """Compare how long writers were held before and after a moment; empty where too little is measured."""
    known = measured(points)
    before = held(known, at_unix_s - EFFECT_S, at_unix_s)
    after = held(known, at_unix_s, min(now_unix_s, at_unix_s + EFFECT_S))
    if before.measured_s < _LEAST_S or after.measured_s < _LEAST_S:
        return ""
    return (
        f"held {in_words.share(before.share)} of the {in_words.duration(before.measured_s)} before, "
        f"{in_words.share(after.share)} of the {in_words.duration(after.measured_s)} after"
    )


def merged(known: Sequence[dict[str, Any]], news: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Add decisions by their sequence; a newer version of one replaces it. Oldest first, the last `most`."""
    by_sequence = {record["sequence"]: record for record in (*known, *news)}
    return [by_sequence[sequence] for sequence in sorted(by_sequence)][-most:]


def _what(record: dict[str, Any]) -> tuple[str, ...]:
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


def _outcome(record: dict[str, Any]) -> str:
    words = str(record["outcome"]).replace("-", " ")
    if record["elapsed_s"] is not None and record["outcome"] == "applied":
        words += f" in {record['elapsed_s'] * 1000:.0f} ms"
    return words + (f": {record['detail']}" if record["detail"] else "")
