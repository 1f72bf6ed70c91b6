"""Short phrases with which `top` describes a target."""

from collections.abc import Sequence
from typing import Any

from adocd.api.changed import PROCESS, changed
from adocd.cli.show import jobs_in_words, waits
from adocd.model.in_words import knob_value, option_value, size, span

_EIGHTHS = "▁▂▃▄▅▆▇█"
_STYLES = {"stopped": "bold red", "possibly": "bold yellow", "delayed": "yellow", "normal": "green"}
#: Short names for options that are shown often.
_SHORT = {"max_background_jobs": "jobs", "write_buffer_size": "memtable"}
#: How many changed options fit into a line.
_FIT = 3


def held(target: dict[str, Any]) -> tuple[str, str]:
    """Say whether writes are stalled; return the words and their style."""
    if target["state"] == "closed":
        return "closed", "dim"
    now = (target["stall"] or {}).get("condition", target["condition"])
    if now is None:
        return ("silent", "bold yellow") if target["state"] == "silent" else ("not seen yet", "dim")
    words = "flowing" if now == "normal" else waits(target)
    return (f"{words}, silent" if target["state"] == "silent" else words), _STYLES.get(now, "")


def why(stall: dict[str, Any]) -> str:
    """Say why writes are stalled, without the words that say that they are."""
    return str(stall["why"]).removeprefix(f"writes were {stall['condition']}: ")


def knobs(detail: dict[str, Any]) -> str:
    """List the changed options; if none is changed, show the two knobs that most laws turn."""
    found = changed(detail)
    if not found:
        return jobs_and_memtable(detail)
    words = [
        f"{_SHORT.get(each.option, each.option)}"
        f"{'' if each.scope in ('database', PROCESS, 'default') else f' ({each.scope})'} "
        f"{option_value(each.option, each.original)} → {option_value(each.option, each.now)}"
        for each in sorted(found, key=lambda each: each.option not in _SHORT)
    ]
    more = f", {len(words) - _FIT} more" if len(words) > _FIT else ""
    return ", ".join(words[:_FIT]) + more


def jobs_and_memtable(detail: dict[str, Any]) -> str:
    """Show the number of background jobs and the memtable size of a target without changes."""
    sample = detail["sample"]
    if sample is None:
        return "-"
    largest = max((cf["options"]["write_buffer_size_bytes"] for cf in sample["column_families"]), default=None)
    memtable = "" if largest is None else f", memtable {size(largest)}"
    return f"original: jobs {jobs_in_words(sample)}{memtable}"


def set_by(record: dict[str, Any]) -> str:
    """Say what a decision set: the options that it changes, or its knobs if it changes no option."""
    changes = [_change(change) for change in record["changes"]]
    settings = [
        f"{s['knob']}{_family(s['column_family'])} {knob_value(s['knob'], s['value'])}" for s in record["settings"]
    ]
    return ", ".join(changes or settings) or "nothing"


def pin(override: dict[str, Any]) -> str:
    """Say what an operator has pinned, for how long, and whether it is in force."""
    name = f"{override['option']}{_family(override['column_family'])}"
    left_s = override["remaining_s"]
    long = "until it is removed" if left_s is None else f"for {span(left_s)}"
    reason = f" ({override['reason']})" if override["reason"] else ""
    effect = f": not in force, {override['ineffective']}" if override["ineffective"] else ""
    return f"{name} = {option_value(override['option'], override['value'])} {long} by {override['who']}{reason}{effect}"


def _change(change: dict[str, Any]) -> str:
    option, before, after = change["option"], change["before"], change["value"]
    name = f"{_SHORT.get(option['option'], option['option'])}{_family(option['name'])}"
    if before == after:  # RocksDB keeps it only after it is set a second time
        return f"{name} {option_value(option['option'], after)} again"
    return f"{name} {option_value(option['option'], before)} → {option_value(option['option'], after)}"


def _family(name: str | None) -> str:
    return "" if name in (None, "", "default") else f" ({name})"


def sparkline(values: Sequence[float | None], top: float | None = None) -> str:
    """Draw one block character per value, scaled to `top` or the largest value; blank for None and 0."""
    known = [each for each in values if each is not None]
    most = top if top is not None else max(known, default=0.0)
    return "".join(
        " " if each is None or each <= 0 or most <= 0 else _EIGHTHS[min(7, int(8 * each / most))] for each in values
    )
