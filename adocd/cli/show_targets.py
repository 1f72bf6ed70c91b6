"""Human-readable output of `adocctl targets`: also of hundreds of databases."""

import re
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from adocd.api import sentences
from adocd.cli import show
from adocd.cli.console import PIPE_COLUMNS

#: Most remembered databases that are listed: each segment of a window that had a policy is one.
_KEPT_LISTED = 20
_COLUMNS = ("program", "state", "policy", "writes/s", "writes are", "decisions")
#: Flink's hexadecimal ids.
_ID = re.compile(r"[0-9a-f]{32}")


def targets(listed: dict[str, Any]) -> None:
    """Show the list of targets, and the sockets that cannot become targets."""
    if listed["targets"]:
        _rows(listed["targets"])
    elif not listed.get("kept"):
        show.console.print(
            "No target: no database with an agent is open. Start a program by: adocd exec -- PROGRAM; or observe a "
            "database by its directory: adocd serve --directory PATH"
        )
    _kept(listed.get("kept", ()))  # an older daemon has none
    for place, problem in listed["problems"].items():
        show.console.print(problem if problem.startswith(place) else f"{place}: {problem}")
    _journal(listed["journal"])
    if listed.get("web_problem"):  # an older daemon has none
        show.console.print(f"{listed['web_problem']}.")


def _rows(listed: list[dict[str, Any]]) -> None:
    """Show one row per target, with labels instead of the path where both are too wide, or else several lines."""
    has_labels = any(t.get("labels") for t in listed)  # an older daemon has none
    names = ("path", "labels") if has_labels else ("path",)
    wide = _table(names, [(t["path"], show.labels_in_words(t)) if has_labels else (t["path"],) for t in listed], listed)
    if _fits(wide):
        show.console.print(wide)
        return
    narrow = _table(("labels or path",), [(_short(t) or t["path"],) for t in listed], listed) if has_labels else wide
    if _fits(narrow):
        show.console.print(narrow)
        return
    for t in listed:
        program, state, policy, rate, writes_are, taken = _cells(t)
        show.console.print(f"{t['id']}  {t['path']}", style="bold")
        if labels := show.labels_in_words(t):
            show.console.print(f"  {labels}")
        show.console.print(f"  {program}: {state}, {policy}, decisions: {taken}")
        show.console.print(f"  writes/s: {rate}, writes are: {writes_are}")


def _table(names: Sequence[str], first: Sequence[Sequence[str]], listed: list[dict[str, Any]]) -> Table:
    rows = show.table("target", *names, *_COLUMNS)
    for t, words in zip(listed, first, strict=True):
        rows.add_row(t["id"], *words, *_cells(t))
    return rows


def _fits(rows: Table) -> bool:
    options = show.console.options.update_width(PIPE_COLUMNS)
    return show.console.measure(rows, options=options).maximum <= show.console.width


def _short(t: dict[str, Any]) -> str:
    """Show the values of a target's labels alone, and of Flink's long ids the beginning, as a pattern."""
    values = t.get("labels", {}).values()
    return " ".join(f"{value[:8]}*" if _ID.fullmatch(value) else value for value in values)


def _cells(t: dict[str, Any]) -> tuple[str, ...]:
    program = show.program_in_words(t["process"]) if t["process"] else "-"
    policy, rate = show.policy_in_words(t), show.rate(t["writes_per_s"])
    return program, t["state"], policy, rate, show.waits(t), str(t["decisions"])


def _kept(kept: Sequence[dict[str, Any]]) -> None:
    for one in kept[:_KEPT_LISTED]:
        gets = ", which it gets when it opens" if one["originals"] else ""
        show.console.print(
            f"{one['path']} is closed, and remembered{show.kept_in_words(one, ': ')}{gets} ({one['id']})"
        )
    if len(kept) > _KEPT_LISTED:
        more = len(kept) - _KEPT_LISTED
        show.console.print(f"and {more} more that are closed and remembered; adocctl targets --json lists them")


def _journal(journal: dict[str, Any]) -> None:
    if journal["rescued"]:
        show.console.print(f"The daemon had to mend its journal: {journal['rescued']}.")
    if journal["problem"]:
        show.console.print(f"{sentences.journal_problem(journal['problem'])}.")
    if journal["lost_decisions"]:
        show.console.print(f"{journal['lost_decisions']} decisions never came into the journal {journal['path']}.")
