"""The state of a target as one word, one sentence and one colour."""

from dataclasses import dataclass
from typing import Any, Literal

from adocd.api.explained import CAUSES
from adocd.model.latency_in_words import write_latency

Level = Literal["ok", "delayed", "stopped", "silent", "closed"]

#: Worst first: the order in which an operator wants to see them.
ORDER: tuple[Level, ...] = ("stopped", "delayed", "silent", "ok", "closed")
_SIGNS: dict[Level, str] = {"ok": "✓", "delayed": "▲", "stopped": "■", "silent": "?", "closed": "·"}


@dataclass(frozen=True, slots=True)
class State:
    """The state of a target.

    Attributes:
        level: chooses the colour; `sign` says the same without colour.
        word: one or two words.
        sentence: whether writes are held, by what and why.
        since_unix_s: when the stall began; None if there is none.

    """

    level: Level
    word: str
    sentence: str
    since_unix_s: float | None = None

    @property
    def sign(self) -> str:
        """A character that distinguishes the levels without colour."""
        return _SIGNS[self.level]


def state_of(target: dict[str, Any]) -> State:
    """Return the state of a target from REST's list."""
    if target["state"] == "closed":
        return State("closed", "closed", "The database is closed.")
    stall = target["stall"]
    if target["state"] != "attached":
        why = f" Writes were held when it fell silent: {stall['why']}." if stall else ""
        return State("silent", "silent", f"Its agent does not answer: {target['sentence']}.{why}")
    if stall is None:
        return State("ok", "flowing", "Writes flow.")
    if stall["condition"] == "possibly":
        return State("silent", "possibly held", f"{_capital(stall['why'])}.", stall["since_unix_s"])
    level: Level = "stopped" if stall["condition"] == "stopped" else "delayed"
    return State(level, f"{level}: {causes_in_words(stall)}", f"{_capital(stall['why'])}.", stall["since_unix_s"])


def write_latency_of(detail: dict[str, Any]) -> str:
    """Say how long the writes of the last second took, or why that is not known; "" where nothing was measured yet."""
    return write_latency(detail["sample"]["write_latency"]) if detail["sample"] else ""


def causes_in_words(stall: dict[str, Any]) -> str:
    """Name the causes of a stall: `memtables`, `level-0 files and pending compaction`."""
    causes = dict.fromkeys(CAUSES.get(each["cause"], each["cause"]) for each in stall["causes"])
    return " and ".join(causes) or "cause unknown"


def worst_first(targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort REST's list by state, then by path."""
    return sorted(targets, key=lambda each: (ORDER.index(state_of(each).level), each["path"]))


def summary(targets: list[dict[str, Any]]) -> str:
    """Summarize the list in one sentence."""
    if not targets:
        return "No database with an agent is open."
    levels = [state_of(target).level for target in targets]
    counts = {"flowing" if level == "ok" else level: levels.count(level) for level in ORDER}
    words = [f"{number} {word}" for word, number in counts.items() if number]
    databases = "1 database" if len(targets) == 1 else f"{len(targets)} databases"
    return f"{databases}: {', '.join(words)}."


def policy_in_words(target: dict[str, Any]) -> str:
    """Return the policy with its parameters: `adoc threads_max=8 (dry run)`."""
    policy = target["policy"]
    words = [policy["controller"], *(f"{name}={value}" for name, value in policy["parameters"].items())]
    words += [f"{name}={value:g}" for name, value in policy["shaping"].items() if value]
    return " ".join(words) + (" (dry run)" if policy["dry_run"] else "")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
