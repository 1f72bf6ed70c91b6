"""What stalled, and why: the diagnosis of `adocctl explain` on a target's page, as HTML."""

from typing import Any

from adocd.api import explained
from adocd.api.web.page.model.units import text
from adocd.api.web.page.views.parts import at


def diagnosis(d: dict[str, Any] | None) -> str:
    """Show for how long writes were held since when, the longest stalls with what led to them, and advice."""
    if d is None or d["begin"] is None:
        return '<p class="muted">Nothing has been seen of it yet.</p>'
    since = f' <span class="muted">since {at(d["begin"])}</span>'
    head = f'<p><span class="strong">{text(explained.held(d))}</span>{since}</p>'
    if not d["stalls"]:
        return head
    longest = "".join(_stall(each) for each in d["longest"])
    return (
        f'{head}<h3>The longest stalls</h3><ol class="stalls">{longest}</ol><h3>What would likely help</h3>{_advice(d)}'
    )


def _stall(stall: dict[str, Any]) -> str:
    facts = (explained.led(stall["led"]), explained.around(stall["around"]))
    more = "".join(f'<p class="muted">{text(fact)}</p>' for fact in facts if fact)
    return f'<li>{at(stall["begin"])} <span class="strong">{text(explained.stall(stall))}</span>{more}</li>'


def _advice(d: dict[str, Any]) -> str:
    if not d["advice"]:
        return '<p class="muted">No rule knows: the options now, where they are known, are usual.</p>'
    rows = "".join(
        f'<li><span class="strong">{text(each["do"])}</span> '
        f'<span class="muted">({text(explained.CAUSES[each["cause"]])} in {text(each["column_family"])})</span>'
        f'<p class="muted">{text(each["why"])} <span>{text(each["source"])}</span></p></li>'
        for each in d["advice"]
    )
    return f'<ol class="advice">{rows}</ol>'
