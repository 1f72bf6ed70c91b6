"""Decisions in words for operators: what was set, the signal, the rule, the guards' reasons, the effect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adocd.api.web.page.model.history import Point, measured
from adocd.diagnosis.held import held
from adocd.model import in_words

Look = Literal["good", "dry", "bad"]
#: Time before and after a decision that is compared for its effect.
EFFECT_S = 60.0
_LEAST_S = 5.0
#: Outcomes that are as intended.
GOOD = ("applied", "unchanged", "in-flight")
#: Outcomes after which the new values are in force.
_IN_FORCE = ("applied", "applied-unpersisted")
#: Most decisions that a chart marks, the newest ones: a law may repeat the same decision over and over.
MOST_MARKS = 200


@dataclass(frozen=True, slots=True)
class ToldDecision:
    """One decision in words.

    Attributes:
        sequence: its number, which never changes.
        unix_s: when it was taken.
        what: what was set: `background jobs 2 → 4`.
        signal: what was seen.
        rule: what decided.
        reason: why the rule says so.
        guards: the guards' reasons; empty if none intervened.
        outcome: its outcome, with the time it took or the reason.
        look: "good" if the outcome is as intended, "dry" if nothing was to be sent, else "bad".
        effect: how long writers were held in the minute before and the minute after; empty if not known, and if the
            decision is not in force.
        times: how often it was decided without anything being sent.
        until_unix_s: when it was decided last; None if only once.
        in_force: whether the new values are in force after it.

    """

    sequence: int
    unix_s: float
    what: tuple[str, ...]
    signal: str
    rule: str
    reason: str
    guards: tuple[str, ...]
    outcome: str
    look: Look
    effect: str
    times: int = 1
    until_unix_s: float | None = None
    in_force: bool = True

    @property
    def effect_in_words(self) -> str:
        """The effect, or why there is none to tell."""
        return self.effect or ("not measured yet" if self.in_force else "none: nothing was changed")


def told(record: dict[str, Any], points: Sequence[Point], now_unix_s: float) -> ToldDecision:
    """Put a decision from REST into words."""
    return ToldDecision(
        sequence=record["sequence"],
        unix_s=record["unix_s"],
        what=_what(record),
        signal=record["signal"],
        rule=record["rule"],
        reason=record["reason"],
        guards=tuple(record["guards"]),
        outcome=_outcome(record),
        look="dry" if record["outcome"] == "dry-run" else "good" if record["outcome"] in GOOD else "bad",
        effect=effect(record["unix_s"], points, now_unix_s) if record["outcome"] in _IN_FORCE else "",
        in_force=record["outcome"] in _IN_FORCE,
        times=record["times"],
        until_unix_s=record["until_unix_s"],
    )


def effect(at_unix_s: float, points: Sequence[Point], now_unix_s: float) -> str:
    """Compare how long writers were held before and after a moment; empty if too little was measured."""
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
    """Merge decisions by sequence; a newer version replaces an older one. Returns the last `most`, oldest first."""
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
