"""The state of a target in the last minute, as one value: every word, figure and colour of it comes from here.

A word about the last second would change at every look, and would contradict the figures beside it.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from adocd.api.explained import CAUSES
from adocd.api.remedy import Remedy, wake
from adocd.diagnosis.held import HeldWriters, MeasuredSpan, held
from adocd.model import in_words

Level = Literal["ok", "delayed", "stopped", "silent", "closed"]

#: Worst first: the order in which an operator wants to see them.
ORDER: tuple[Level, ...] = ("stopped", "delayed", "silent", "ok", "closed")
_SIGNS: dict[Level, str] = {"ok": "✓", "delayed": "▲", "stopped": "■", "silent": "?", "closed": "·"}
#: The time that a word is about, and the history that is looked through for the word before it.
MINUTE_S, HISTORY_S = 60.0, 180.0
#: Shares of the minute at which a level begins, and below which it ends. They differ, so that words do not flicker.
HELD, HELD_NO_MORE = 0.02, 0.01
MOSTLY, MOSTLY_NO_MORE = 0.5, 0.35
#: A stop that lasts so long, in which nobody wrote, is a standstill.
STILL_S = 10.0
#: A stall that is only suspected counts from this age on.
SUSPECTED_S = 5.0
#: Figures older than this, and than so many intervals of their last point, tell nothing of now.
OLD_S, OLD_INTERVALS = 15.0, 3.0


@dataclass(frozen=True, slots=True)
class State:
    """The state of a target.

    Attributes:
        level: chooses the colour; `sign` says the same without colour.
        title: the large words of the page.
        word: the same in one to three words, for lists.
        sentence: how long writes were held in the last minute and by what, or why that is not known.
        rate: writes per second in the same time; None if not known, or nobody could write.
        latency: how long writes took in the same time; "" if nothing times them.
        now: what holds writes at this moment; "" if nothing does that is worth a word.
        since_unix_s: when that began; None if `now` is empty.
        remedy: what to do about an agent that does not answer; None if it does.
        measured_unix_s: when the figures were measured if they tell nothing of now; None if they do or none are known.

    """

    level: Level
    title: str
    word: str
    sentence: str
    rate: float | None = None
    now: str = ""
    since_unix_s: float | None = None
    latency: str = ""
    remedy: Remedy | None = None
    measured_unix_s: float | None = None

    @property
    def sign(self) -> str:
        """A character that distinguishes the levels without colour."""
        return _SIGNS[self.level]


@dataclass(frozen=True, slots=True)
class Lately:
    """What was measured of a target in its last minutes, and what each look at it needs.

    Attributes:
        spans: what was measured, oldest first.
        minute: how writers fared in the last minute.
        before: the level that the points before the last one leave.

    """

    spans: Sequence[MeasuredSpan]
    minute: HeldWriters
    before: Level

    @classmethod
    def of(cls, spans: Sequence[MeasuredSpan]) -> "Lately":
        """Add up what was measured: most of the work of a state, and too much for a thousand targets every second."""
        end = spans[-1].unix_s if spans else 0.0
        minute = held((span for span in spans if span.unix_s > end - MINUTE_S), end - MINUTE_S, end)
        return cls(spans, minute, _before(spans, end))


def state_of(
    target: dict[str, Any],
    lately: Lately | None = None,
    now_unix_s: float | None = None,
    seen_unix_s: float | None = None,
) -> State:
    """Return the state of a target of REST's list; `lately`: what was measured of it; None: not read yet.

    `now_unix_s`: when they were read, for an agent may answer and measure nothing new; None: at their end.
    `seen_unix_s`: when the target itself was sampled, if that may be later than their end: in the list, whose figures
    are read seldom, a stall goes on and may have begun since.
    """
    if target["state"] == "closed":
        return State("closed", "The database is closed", "closed", "Its program has closed it, or has ended.")
    known = lately or _NOTHING
    stall, spans = target["stall"], known.spans
    if target["state"] != "attached":
        silent = _not_now("Its agent does not answer", "silent", "it fell silent", target, known)
        return replace(silent, remedy=wake(target["process"]))
    if spans and now_unix_s is not None and _is_old(spans[-1], now_unix_s):
        return _not_now("Nothing new is measured", "not measured", "it was last measured", target, known)
    end = spans[-1].unix_s if spans else (stall or {}).get("noticed_unix_s", 0.0)
    seen = end if seen_unix_s is None else max(end, seen_unix_s)
    for_s = 0.0 if stall is None else max(0.0, seen - stall["since_unix_s"])
    if stall is not None and stall["condition"] == "possibly":
        if for_s >= SUSPECTED_S or not spans:
            why = f"{_capital(stall['why'])}."
            return State("silent", "Writes may be held", "possibly held", why, None, why, stall["since_unix_s"])
        stall, for_s = None, 0.0
    if stall is None and not spans:
        return _unknown("not read yet" if lately is None else "not measured yet")
    return _measured(known, end, stall, for_s)


def _unknown(word: str) -> State:
    """Return the state of a target without figures: that nothing is known of it does not mean that writes flow."""
    return State("silent", _capital(word), word, "Whether writes are held is not known yet.")


def _is_old(last: MeasuredSpan, now_unix_s: float) -> bool:
    """Whether the last point is so long ago that it tells nothing of now; a point may cover a minute, as a tick may."""
    return now_unix_s - last.unix_s > max(OLD_S, OLD_INTERVALS * last.interval_s)


def _not_now(title: str, word: str, when: str, target: dict[str, Any], lately: Lately) -> State:
    """Return the state of a target of which nothing is known now, with what its last minute was like."""
    stall = target["stall"]
    why = f" Writes were held when {when}: {stall['why']}." if stall else ""
    return State(
        "silent",
        title,
        word,
        f"{_capital(target['sentence'])}.{why}",
        rate=lately.minute.writes_per_s,
        latency=_latency(lately.minute),
        measured_unix_s=lately.spans[-1].unix_s if lately.spans else None,
    )


def _measured(lately: Lately, end: float, stall: dict[str, Any] | None, for_s: float) -> State:
    minute = lately.minute
    # What holds writes now counts while it lasts, even where its end is what measures it.
    known_s = max(minute.measured_s, min(for_s, MINUTE_S))
    share = max(minute.share, min(1.0, for_s / known_s) if known_s else 1.0 if stall else 0.0)
    span = "the last minute" if known_s > 0.95 * MINUTE_S else f"the last {in_words.duration(known_s)}"
    now = "" if stall is None else f"{_capital(stall['why'])}."
    since = None if stall is None else stall["since_unix_s"]
    if (
        stall is not None
        and stall["condition"] == "stopped"
        and for_s >= STILL_S
        and _nobody_wrote(lately.spans, stall["since_unix_s"])
    ):
        sentence = f"Nobody has written since, for {causes_in_words(stall)}."
        return State("stopped", "Writes stand still", "standing still", sentence, None, now, since)
    by = causes_in_words(stall) if minute.worst_cause is None and stall else CAUSES.get(minute.worst_cause or "", "")
    sentence = f"Held {in_words.share(share)} of {span}{f', mostly by {by}' if by and share > 0 else ''}."
    level = _level(lately.before, share)
    if stall is not None and stall["since_unix_s"] > end:
        # No figure is of its time: they say neither that writes flow nor how many there are.
        level, minute = "delayed" if level == "ok" else level, replace(minute, writes_per_s=None, write_p99_s=None)
    if level == "ok":
        return State("ok", "Writes flow", "flowing", sentence, minute.writes_per_s, latency=_latency(minute))
    title = "Writes are held much of the time" if level == "stopped" else "Writes are held at times"
    word, latency = f"held {in_words.share(share)}", _latency(minute)
    return State(level, title, word, sentence, minute.writes_per_s, now, since, latency)


def _latency(minute: HeldWriters) -> str:
    if minute.write_p99_s is None or minute.write_max_s is None:
        return ""
    return f"p99 {in_words.time(minute.write_p99_s)}, worst {in_words.time(minute.write_max_s)}"


def _level(before: Level, share: float) -> Level:
    """Return the level at this share of a minute after the level before.

    The share is rounded, because two ways of adding up the same seconds must not lie on two sides of a bound.
    """
    share = round(share, 9)
    if share >= (MOSTLY_NO_MORE if before == "stopped" else MOSTLY):
        return "stopped"
    return "ok" if share < (HELD if before == "ok" else HELD_NO_MORE) else "delayed"


def _before(spans: Iterable[MeasuredSpan], end: float) -> Level:
    """Return the level that the points before the last one leave."""
    level: Level = "ok"
    window: deque[tuple[float, float, float]] = deque()
    total = known = 0.0
    for span in spans:
        if span.unix_s <= end - HISTORY_S or span.unix_s >= end:
            continue
        one = held((span,), span.unix_s - span.interval_s, span.unix_s)
        within = min(span.interval_s, MINUTE_S)
        window.append((span.unix_s, within, within * one.share))
        total, known = total + window[-1][2], known + within
        while window[0][0] <= span.unix_s - MINUTE_S:
            _, gone, share = window.popleft()
            total, known = total - share, known - gone
        level = _level(level, total / known if known > 0 else 0.0)
    return level


_NOTHING = Lately.of(())


def _nobody_wrote(spans: Iterable[MeasuredSpan], since: float) -> bool:
    """Whether points lie within the stop, and none of them counts writes; one without a count says nothing."""
    within = [span for span in spans if span.unix_s - span.interval_s >= since]
    return bool(within) and all(not span.writes_per_s for span in within)


def causes_in_words(stall: dict[str, Any]) -> str:
    """Name the causes of a stall: `memtables`, `level-0 files and pending compaction`."""
    causes = dict.fromkeys(CAUSES.get(each["cause"], each["cause"]) for each in stall["causes"])
    return " and ".join(causes) or "cause unknown"


def worst_first(targets: Iterable[tuple[dict[str, Any], State]]) -> list[tuple[dict[str, Any], State]]:
    """Sort targets by state, then by path."""
    return sorted(targets, key=lambda each: (ORDER.index(each[1].level), each[0]["path"]))


def summary(states: Sequence[State]) -> str:
    """Summarize a list in one sentence."""
    if not states:
        return "No database with an agent is open."
    names: dict[Level, str] = {"stopped": "held much of the time", "delayed": "held at times", "ok": "flowing"}
    worst = sorted(states, key=lambda state: ORDER.index(state.level))
    counts = Counter(names.get(state.level, state.word) for state in worst)
    words = [f"{number} {word}" for word, number in counts.items()]
    databases = "1 database" if len(states) == 1 else f"{len(states)} databases"
    return f"{databases}: {', '.join(words)}."


def policy_in_words(target: dict[str, Any]) -> str:
    """Return the policy with its parameters: `adoc threads_max=8 (dry run)`."""
    policy = target["policy"]
    words = [policy["controller"], *(f"{name}={value}" for name, value in policy["parameters"].items())]
    words += [f"{name}={value:g}" for name, value in policy["shaping"].items() if value]
    return " ".join(words) + (" (dry run)" if policy["dry_run"] else "")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
