"""What stalled and why, and what would likely help: `explain`'s diagnosis as HTML. Pure functions."""

from typing import Any

from adocd.api.explained import CAUSES, READING
from adocd.api.remedy import Remedy
from adocd.api.web.page.model.history import CAUSE_COLOURS
from adocd.api.web.page.model.units import text
from adocd.api.web.page.views.parts import at, remedy
from adocd.model import in_words

#: Advice that is shown at once: the first is about the worst cause.
_MOST_ADVICE = 3
_KINDS = {"stopped": "stopped", "delayed": "slowed"}


def diagnosis(found: dict[str, Any] | None, undo: Remedy | None = None) -> str:
    """Show a diagnosis of REST's: how long each cause held writes, the longest stalls, advice.

    `undo` says how to undo what hurts; it comes before all advice, which is folded then.
    """
    if found is None:
        return '<p class="muted">Nothing has been seen of it yet.</p>'
    span_s = max(0.0, found["end"] - found["begin"])
    since = f"in the {in_words.duration(span_s)} since {at(found['begin'])}"
    reads = f'<p class="muted">{READING}</p>' if found.get("is_reading") else ""
    if not found["stalls"]:
        calm = '<p class="muted">Without stalls there is nothing to tune.</p>'
        return f"<p>Nothing has stalled {since}.</p>{reads or calm}"
    number = len(found["stalls"])
    head = f"<p>{number:,} {'stall' if number == 1 else 'stalls'} {since}.</p>{reads}"
    return f'{head}<div class="diagnosis">{_causes(found)}{_longest(found)}{_advice(found, undo)}</div>'


def _causes(found: dict[str, Any]) -> str:
    most = max(found["stall_s"].values()) or 1.0
    rows = "".join(
        f'<dt>{CAUSES.get(cause, cause)}</dt><dd><span class="bar" aria-hidden="true">'
        f'<span class="seg {CAUSE_COLOURS.get(cause, "grey")}" style="width:{seconds / most * 100:.1f}%"></span></span>'
        f"{in_words.span(seconds)}</dd>"
        for cause, seconds in sorted(found["stall_s"].items(), key=lambda each: -each[1])
        if seconds > 0
    )
    note = '<p class="muted">Each stall added up; the shares above are of the seconds measured.</p>'
    return f'<div><h3>By cause</h3><dl class="bars">{rows}</dl>{note}</div>'


def _longest(found: dict[str, Any]) -> str:
    rows = "".join(
        f'<li value="{rank}"><b>{in_words.span(stall["stalled_s"])}</b> {_KINDS.get(stall["kind"], stall["kind"])} '
        f'by {CAUSES.get(stall["cause"], stall["cause"])} <span class="muted">at {at(stall["begin"])}'
        f"{'' if stall['ended'] else ', not over yet'}</span></li>"
        for rank, stall in enumerate(found["longest"], 1)
    )
    return f'<div><h3>The longest, numbered in the charts</h3><ol class="longest">{rows}</ol></div>'


def _advice(found: dict[str, Any], undo: Remedy | None) -> str:
    if not found["advice"]:
        words = '<p class="muted">No rule knows what would help: the options, where they are known, are usual.</p>'
    else:
        rows = [
            f"<details><summary><b>{text(each['do'])}</b> "
            f'<span class="muted">for {CAUSES.get(each["cause"], each["cause"])}'
            f"{_of(each['column_family'])}</span></summary>"
            f'<p>{text(each["why"])}</p><p class="muted">{text(each["source"])}</p></details>'
            for each in found["advice"]
        ]
        most = 0 if undo else _MOST_ADVICE
        more, rest = "".join(rows[most:]), len(rows) - most
        folded = f'<details id="more-advice"><summary class="muted">{rest} more</summary>{more}</details>'
        words = "".join(rows[:most]) + (folded if more else "")
    return f'<div class="advice"><h3>What would likely help</h3>{remedy(undo)}{words}</div>'


def _of(family: str) -> str:
    return f" of {text(family)}" if family else ""
