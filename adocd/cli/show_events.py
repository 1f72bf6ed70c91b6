"""Human-readable output of `events` and `audit`."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from adocd.cli import show
from adocd.cli.show import rate
from adocd.cli.terminal import clock
from adocd.cli.top import words
from adocd.model.in_words import span
from adocd.model.printable import printable


def line(kind: str, event: dict[str, Any]) -> str:
    """Format an event as one line: time, kind, database, and what happened."""
    at = clock(event["unix_s"]) if "unix_s" in event else "        "
    said = _KINDS.get(kind, _other)(event)
    path = f"{event['path']}: " if event.get("path") else ""
    return printable(f"{at}  {kind:<9} {path}{said}")


def operations(answer: dict[str, Any], asked: str) -> None:
    """Show the audit trail, oldest first; `asked` is the command that lists it."""
    done = sorted(answer["operations"], key=lambda each: int(each["id"]))
    if not done:
        show.console.print("Nobody has done anything yet.")
        return
    rows = show.table("#", "time", "who", "what", "database", "in words")
    for each in done:
        when = datetime.fromtimestamp(each["unix_s"]).astimezone()
        rows.add_row(
            str(each["id"]), f"{when:%Y-%m-%d %H:%M:%S}", each["who"], each["what"],
            each["path"] or ("all" if each["target"] is None else each["target"]), each["sentence"],
        )  # fmt: skip
    show.console.print(rows)
    if answer.get("next_before") is not None:
        show.console.print(f"There are older ones: {asked} --before {answer['next_before']}")


def _decision(event: dict[str, Any]) -> str:
    record = event["record"]
    guards = "".join(f"; {each}" for each in record["guards"])
    detail = f"; {record['detail']}" if record["detail"] else ""
    said = f"#{record['sequence']} {record['rule']}: {words.set_by(record)}: {record['outcome']}"
    if record["outcome"] == "in-flight":
        return f"{said}, because of {record['signal']}{guards}"
    took = f" in {record['elapsed_s']:.2f} s" if record["elapsed_s"] is not None else ""
    return f"{said}{took}, because of {record['signal']}{guards}{detail}"


def _stall(event: dict[str, Any]) -> str:
    stall = event["stall"] or {}
    if event["state"] == "began" and event.get("ended_unix_s") is not None:
        return f"{stall.get('why', 'writes were held')} ({_causes(stall)})"
    if event["state"] in ("began", "changed"):
        still = " now" if event["state"] == "changed" else ""
        return f"writes are {stall.get('condition', 'held')}{still}: {_why(stall)}"
    begin, end = stall.get("since_unix_s"), event.get("ended_unix_s")
    lasted = "" if begin is None or end is None else f" after {span(end - begin)}"
    return f"writes flow again{lasted}; they were {stall.get('condition', 'held')} because of {_causes(stall)}"


def _why(stall: Mapping[str, Any]) -> str:
    return words.why(dict(stall)) if stall.get("why") else _causes(stall)


def _causes(stall: Mapping[str, Any]) -> str:
    causes = [each["cause"] for each in stall.get("causes", ())] or ([stall["cause"]] if stall.get("cause") else [])
    return ", ".join(dict.fromkeys(causes)) or "an unknown cause"


def _target(event: dict[str, Any]) -> str:
    return f"{event['state']}: {event['sentence']}" if event.get("sentence") else str(event["state"])


def _operation(event: dict[str, Any]) -> str:
    said = event.get("operation") or event
    return f"{said['who']} {said['what']}: {said['sentence']}"


def _sample(event: dict[str, Any]) -> str:
    view = event.get("view") or event.get("sample") or event
    how, _ = words.held(view) if {"state", "stall", "condition"} <= view.keys() else ("?", "")
    return f"{rate(view.get('writes_per_s'))} writes/s, {how}"


def _lost(event: dict[str, Any]) -> str:
    if event.get("count") is None:
        return "the daemon was started anew: what came before is not known any more"
    return f"{event['count']} events are lost: they came faster than they were read, or are too long ago"


def _other(event: dict[str, Any]) -> str:
    if isinstance(event.get("sentence"), str):
        return str(event["sentence"])
    return ", ".join(f"{key}={value}" for key, value in event.items() if key not in ("id", "unix_s", "path", "kind"))


_KINDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "decision": _decision,
    "stall": _stall,
    "target": _target,
    "operation": _operation,
    "sample": _sample,
    "lost": _lost,
}
