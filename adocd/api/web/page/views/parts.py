"""The read-only parts of the page as HTML. Pure functions; all text from elsewhere is escaped.

The parts are strings, and a browser gets one only when it has changed. Times are custom elements (`local-time` and
`time-ago` in static/page.js), so that each browser shows its own time zone, and ages need no server to count on.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from adocd.api import sentences
from adocd.api.changed import changed
from adocd.api.explained import CAUSES
from adocd.api.remedy import Remedy, let_act, undo
from adocd.api.web.page.model import settings, state
from adocd.api.web.page.model.decisions import ToldDecision
from adocd.api.web.page.model.history import CAUSE_COLOURS
from adocd.api.web.page.model.state import State
from adocd.api.web.page.model.units import text
from adocd.diagnosis.held import HeldWriters
from adocd.model import in_words

_SIGNS = {"helps": "✓", "hurts": "✕", "same": "=", "unknown": "?", "idle": "○"}
#: Decisions that are shown at once.
_FIRST_ROWS = 6
#: Shares of time from which an operator should look, and look at once.
_MUCH_HELD, _MOST_HELD = 0.02, 0.2


def at(unix_s: float) -> str:
    """Show a moment in the browser's time zone."""
    return f'<local-time unix="{unix_s:.3f}"></local-time>'


def ago(unix_s: float) -> str:
    """Show how long ago a moment was, counting on."""
    return f'<time-ago unix="{unix_s:.3f}"></time-ago>'


def state_card(now: State) -> str:
    """Show how writers fared in the last minute, and what holds them now.

    The title alone is a status, which screen readers say when it changes: the figures below change every second.
    """
    return (
        f'<div class="card state level-{now.level}">'
        f'<h2 class="big">{_sign(now.sign)}<span role="status">{text(now.title)}</span></h2>'
        f"<p>{text(now.sentence)}</p>{_rate(now)}{_now(now)}{remedy(now.remedy)}</div>"
    )


def _rate(state: State) -> str:
    if state.rate is None:
        return ""
    latency = f"; write latency {text(state.latency)}" if state.latency else ""
    when = (
        "in the same time"
        if state.measured_unix_s is None
        else f"in its last minute, until {at(state.measured_unix_s)}"
    )
    return f"<p>{in_words.count(state.rate)} writes per second {when}{latency}</p>"


def remedy(found: Remedy | None) -> str:
    """Show what to do, with the command set apart; "" if there is nothing to do."""
    if found is None:
        return ""
    return f'<p class="remedy">{text(found.words)} <code>{text(found.command)}</code> {text(found.more)}</p>'


def _now(state: State) -> str:
    if not state.now or state.since_unix_s is None:
        return ""
    since = f'<span class="muted">since {at(state.since_unix_s)}, {ago(state.since_unix_s)}</span>'
    return f"<p><b>Now</b> {text(state.now)} {since}</p>"


def verdict_card(verdict: dict[str, Any] | None, target: dict[str, Any]) -> str:
    """Show whether the tuner helps or hurts, what to do then, and the shares before and since as bars."""
    if verdict is None:
        return '<div class="card"><h2>Does the tuner help?</h2><p class="muted">Nothing is measured yet.</p></div>'
    before, since = verdict["before"], verdict["since"]
    bars = "".join(
        _bar(name, held)
        for name, held in (("before", before), ("since" if before else "lately", since))
        if held is not None
    )
    return (
        f'<div class="card verdict {text(verdict["kind"])}">'
        f'<h2 class="big">{_sign(_SIGNS.get(verdict["kind"], "?"))}{text(verdict["title"])}</h2>'
        f"{remedy(undo(verdict, target) or let_act(target))}"
        f'<p>{text(verdict["sentence"])}</p><dl class="bars">{bars}</dl></div>'
    )


def _bar(name: str, held: dict[str, Any]) -> str:
    by_cause = [(cause, fraction) for cause, fraction in held["by_cause"].items() if fraction > 0]
    segments = "".join(
        f'<span class="seg {CAUSE_COLOURS.get(cause, "grey")}" style="width:{min(1.0, fraction) * 100:.1f}%"></span>'
        for cause, fraction in by_cause
    )
    causes = ", ".join(f"{CAUSES.get(cause, cause)} {in_words.share(fraction)}" for cause, fraction in by_cause)
    return (
        f'<dt>{name}</dt><dd><span class="bar" aria-hidden="true">{segments}</span>'
        f"<b>{in_words.share(held['share'])}</b> held{f' ({text(causes)})' if causes else ''}</dd>"
    )


def last_card(detail: dict[str, Any], last: ToldDecision | None, pins: Sequence[dict[str, Any]] = ()) -> str:
    """Show the policy in force, what is pinned against it, its last decision, and why."""
    policy = text(state.policy_in_words(detail))
    paused = f'<p class="tag warn">Paused: {text(detail["paused"])}</p>' if detail["paused"] else ""
    pinned = ", ".join(f"{each['option']} = {in_words.option_value(each['option'], each['value'])}" for each in pins)
    held = f'<p class="tag warn">Pinned: {text(pinned)}</p>' if pins else ""
    head = f'<h2>Policy <span class="strong">{policy}</span></h2>{paused}{held}'
    if last is None:
        return f'<div class="card">{head}<p class="muted">It has made no decision yet.</p></div>'
    outcome = f'<span class="tag {last.look}">{text(last.outcome)}</span>{_often(last)}'
    guards = f'<p class="muted">{text("; ".join(last.guards))}</p>' if last.guards else ""
    effect = f'<p class="muted">Effect: {text(last.effect)}</p>' if last.effect else ""
    what = f"<b>{text('; '.join(last.what))}</b>"
    return (
        f'<div class="card">{head}<p>Last decision {ago(last.last_unix_s)}: {what} {outcome}</p>'
        f'<p>Seen: {text(last.signal)} <span class="muted">({text(last.rule)})</span></p>{guards}{effect}</div>'
    )


def decision_list(tolds: Sequence[ToldDecision], more: int, unread: int = 0) -> str:
    """Show decisions, newest first; each one expands to all its details, and older ones are there on demand.

    `more`: how many older ones are known, repeats included; `unread`: how many numbers are still older.
    """
    if not tolds:
        return f'<p class="muted">{sentences.NO_DECISIONS}</p>'
    rows = [_decision(each) for each in tolds]
    # Of those that were not read nobody knows here how often each was repeated.
    number = f"{'at least ' if unread else ''}{more + unread:,}"
    rest = f'<p class="muted">and {number} older ones: see adocctl decisions.</p>' if more + unread else ""
    older = rows[_FIRST_ROWS:]
    folded = (
        f'<details class="older" id="older-decisions"><summary>{len(older)} older rows</summary>'
        f"{''.join(older)}{rest}</details>"
        if older else rest
    )  # fmt: skip
    return f'<div class="decisions">{"".join(rows[:_FIRST_ROWS])}{folded}</div>'


def _decision(told: ToldDecision) -> str:
    facts = [
        ("signal", told.signal), ("rule", told.rule), ("reason", told.reason),
        ("guard", "; ".join(told.guards) or "nothing refused"), ("outcome", told.outcome),
        ("effect", told.effect or "not known"),
    ]  # fmt: skip
    body = "".join(f"<dt>{name}</dt><dd>{text(words)}</dd>" for name, words in facts)
    until = f" to {at(told.last_unix_s)}" if told.often else ""
    return (
        f'<details id="decision-{told.sequence}"><summary><span class="when">{at(told.unix_s)}{until}</span>'
        f'<span class="what">{text("; ".join(told.what))}</span>'
        f'<span class="why">{text(told.signal)}</span>'
        f'<span class="how"><span class="tag {told.look}">{text(told.outcome.partition(":")[0])}</span>'
        f"{_often(told)}</span></summary>"
        f"<dl>{body}</dl></details>"
    )


def _often(told: ToldDecision) -> str:
    return f' <span class="often">{told.often}</span>' if told.often else ""


def changed_table(detail: dict[str, Any]) -> str:
    """Show the options whose values differ from what their owner set."""
    found = changed(detail)
    if found is None:
        return _not_known(detail)
    if not found:
        return '<p class="muted">All options are as their owner set them.</p>'
    rows = (
        (
            text(each.option), text(each.scope), text(in_words.option_value(each.option, each.now)),
            text(in_words.option_value(each.option, each.original)),
        )
        for each in found
    )  # fmt: skip
    return table(("option", "of", "now", "original"), rows)


def findings(found: Sequence[dict[str, Any]] | None, detail: dict[str, Any]) -> str:
    """Show what lint found, dangers first; None: it could not look."""
    if found is None:
        return _not_known(detail)
    if not found:
        return '<p class="muted">Nothing in its configuration makes tuning dangerous or useless.</p>'
    return "".join(
        f'<div class="finding"><span class="tag {"bad" if each["severity"] == "danger" else "warn"}">'
        f"{text(each['severity'])}</span> <b>{text(each['subject'])}</b> {text(each['reason'])} "
        f'<span class="muted">{text(each["fix"])}</span></div>'
        for each in found
    )


def _not_known(detail: dict[str, Any]) -> str:
    words = settings.not_known(detail["state"])
    return f'<p class="muted">{words[:1].upper()}{words[1:]}.</p>'


def audit(operations: Sequence[dict[str, Any]], *, more: bool = False) -> str:
    """Show who did what, newest first; `more`: there are older entries."""
    if not operations:
        return '<p class="muted">Nobody has done anything here yet.</p>'
    rows = ((at(each["unix_s"]), text(each["who"]), text(each["what"]), _done(each)) for each in operations)
    rest = '<p class="muted">and older ones: see adocctl audit.</p>' if more else ""
    return table(("time", "who", "what", ""), rows) + rest


def _done(operation: dict[str, Any]) -> str:
    """Say what was done, without the name, which has its own column."""
    words = text(operation["sentence"].removeprefix(f"{operation['who']} "))
    return words + ("" if operation["target"] else ' <span class="muted">(all databases)</span>')


def facts(detail: dict[str, Any]) -> str:
    """Show the database's path, its process, the agent, the lease, and what it may count on of disks that it shares."""
    process = detail["process"]
    words = [text(detail["path"])]
    if labels := detail.get("labels"):  # an older daemon has none
        words.append(text(", ".join(f"{name} {value}" for name, value in labels.items())))
    if process is not None:
        pid = "" if process["pid"] is None else f" ({process['pid']})"
        words.append(
            f"{text(process['program'])}{pid} on {text(process['host'])}, RocksDB {text(process['rocksdb_version'])}"
        )
        words.append(f"seen by {text(process['agent'])}")
    lease = detail["lease"]
    if lease is not None:
        words.append(f"lease {text(lease['holder'])}")
    if detail.get("shared"):
        words.append(text(detail["shared"]))
    return '<p class="facts muted">' + " · ".join(words) + "</p>"


def restore_note(detail: dict[str, Any]) -> str:
    """Show the progress of a restore, its end as long as the law is paused, and what failed or is not back."""
    restore = detail["restore"]
    is_on = restore is not None and restore["state"] in ("running", "waiting")
    if restore is None or not (is_on or (restore["state"] == "done" and detail["paused"])):
        return ""
    words = [f"The restore FAILED: {error}." for error in restore["errors"]]
    left = settings.left_by_restore(detail)
    if is_on:
        words.insert(0, f"Restoring the originals: {sentences.steps_left(restore)}.")
    elif left == []:
        words.append(
            "All options have their original values again. adocd changes nothing here until you resume or set a policy."
        )
    elif left is not None:
        words.append(settings.in_words(left, "The restore has ended, and these differ from their originals"))
    return f'<p class="note" role="status">{text(" ".join(words))}</p>' if words else ""


def glance_row(
    target: dict[str, Any], now: State, parts: Sequence[HeldWriters], read_unix_s: float | None = None
) -> str:
    """Show one target of the list: its state, its rate, its policy and its last 15 minutes.

    `read_unix_s`: when that was read, if it is so long ago that it must be said.
    """
    process = target["process"]
    program = "" if process is None else text(f"{process['program']} on {process['host']}")
    paused = ' <span class="tag warn">paused</span>' if target["paused"] else ""
    old = "" if now.measured_unix_s is None else " before"
    read = "" if read_unix_s is None else f" Read {ago(read_unix_s)}."
    rate = "" if now.rate is None else f"<b>{in_words.count(now.rate)}</b><small>writes/s{old}</small>"
    return (
        f'<a class="glance level-{now.level}" id="target-{text(target["id"])}" href="target/{text(target["id"])}">'
        f"{_sign(now.sign)}"
        f'<span class="name"><b>{text(target["path"])}</b><small>{program}</small></span>'
        f'<span class="word"><b>{text(now.word)}</b><small>{text(now.sentence)}{read}</small></span>'
        f'<span class="spark">{sparkline(parts)}{_held_lately(parts)}</span>'
        f'<span class="rate">{rate}</span>'
        f'<span class="policy"><b>{text(state.policy_in_words(target))}</b>{paused}'
        f"<small>last cycle: {text(target['sentence'])}</small></span></a>"
    )


def sparkline(parts: Sequence[HeldWriters]) -> str:
    """Draw the share of time in which writes were held, a bar per part in its worst cause's colour, and the writes."""
    bars: dict[str, str] = {}
    for index, part in enumerate(parts):
        if part.measured_s <= 0:
            continue
        high = max(1.0, part.share * 28) if part.share > 0 else 0.6
        colour = CAUSE_COLOURS.get(part.worst_cause or "", "line" if part.share == 0 else "grey")
        bars[colour] = bars.get(colour, "") + f"M{index * 2 + 1} 28v-{high:.1f}"
    # One path per colour: with an element per bar, a browser would get four times as much of each row, every second.
    paths = "".join(f'<path class="{colour}" d="{line}"/>' for colour, line in bars.items())
    label = f"writes {_held_of(parts)}"
    return (
        f'<svg viewBox="0 0 {max(1, len(parts)) * 2} 28" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{paths}{_rates(parts)}</svg>"
    )


def _rates(parts: Sequence[HeldWriters]) -> str:
    rates = [(index, part.writes_per_s) for index, part in enumerate(parts) if part.writes_per_s is not None]
    most = max((rate for _, rate in rates), default=0.0)
    if most <= 0:
        return ""
    points = " ".join(f"{index * 2 + 1},{27 - rate / most * 25:.1f}" for index, rate in rates)
    return f'<polyline points="{points}"/>'


def problems(found: dict[str, str], journal: dict[str, Any] | None) -> str:
    """Show other problems: sockets without an agent, a journal that cannot be written."""
    words = [words if words.startswith(place) else f"{place}: {words}" for place, words in found.items()]
    if journal is not None and journal["problem"]:
        words.insert(0, sentences.journal_problem(journal["problem"]))
    return "".join(f'<p class="note">{text(each)}</p>' for each in words)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table; the cells are HTML."""
    head = "".join(f'<th scope="col">{name or "<span class=sr>more</span>"}</th>' for name in columns)
    body = "".join("<tr>" + "".join(map(_cell, columns, row)) + "</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(column: str, cell: str) -> str:
    """Make a cell that knows its column's name: on a phone there are no columns."""
    return f'<td data-name="{column}">{cell}</td>'


def _sign(sign: str) -> str:
    """Show a sign, hidden from screen readers: the words beside it say the same."""
    return f'<span class="sign" aria-hidden="true">{sign}</span>'


def _held_lately(parts: Sequence[HeldWriters]) -> str:
    """Show the share of the last 15 minutes, more prominently the larger it is."""
    fraction = _mean(parts) or 0.0
    look = "most" if fraction >= _MOST_HELD else "much" if fraction >= _MUCH_HELD else ""
    return f'<small class="{look}">{_held_of(parts)}</small>'


def _held_of(parts: Sequence[HeldWriters]) -> str:
    """Show the share and the time measured, which is short just after the daemon started."""
    measured_s = sum(part.measured_s for part in parts)
    return (
        f"held {in_words.share(_mean(parts))} of {in_words.duration(measured_s)}" if measured_s else "nothing measured"
    )


def _mean(parts: Sequence[HeldWriters]) -> float | None:
    measured = sum(part.measured_s for part in parts)
    return sum(part.share * part.measured_s for part in parts) / measured if measured else None
