"""Which of a target's changed options are worth keeping for good, and why others are not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adocd.cli.show import changed
from adocd.model.options import OPTIONS, OUT_OF_THE_WAY


@dataclass(frozen=True, slots=True)
class Kept:
    """A value to keep, what it was at the open, and who has pinned it, where somebody has."""

    value: str
    original: str
    pinned_by: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """What is exported of the database at `path`.

    `left_out` has a sentence for each value that is not. `unseen` says why nothing is known; `held` how writes are
    held now, where they are.
    """

    path: str
    id: str
    rocksdb_version: str | None
    controller: str
    database: Mapping[str, Kept] = field(default_factory=dict)
    column_families: Mapping[str, Mapping[str, Kept]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    held: str | None = None
    unseen: str | None = None


def exported(detail: dict[str, Any], overrides: list[dict[str, Any]]) -> Exported:
    """Sort what differs from the originals into what to keep and what not."""
    process = detail["process"]
    database: dict[str, Kept] = {}
    families: dict[str, dict[str, Kept]] = {}
    left_out = []
    for scope, name, now, original in changed(detail):
        why = _momentary(name, now)
        is_database = scope == "database"
        where = "" if is_database else f" of column family {scope}"
        if why is not None:
            left_out.append(f"{name}{where} = {now} (originally {original}): {why}")
            continue
        kept = Kept(now, original, _pinned_by(overrides, name, None if is_database else scope))
        (database if is_database else families.setdefault(scope, {}))[name] = kept
    left_out += _no_options(detail)
    condition = None if detail["sample"] is None else detail["sample"]["condition"]
    held = (detail["stall"] or {}).get("condition", condition)
    return Exported(
        detail["path"],
        detail["id"],
        process["rocksdb_version"] if process else None,
        detail["policy"]["controller"],
        database,
        families,
        tuple(left_out),
        None if held in (None, "normal") else {"possibly": "possibly held"}.get(held, held),
        _unseen(detail),
    )


def _unseen(detail: dict[str, Any]) -> str | None:
    if detail["state"] == "closed":
        return f"{detail['path']} is closed, and its options are not seen: export while it is open"
    if detail["options"] is None or detail["originals"] is None:
        return f"{detail['path']} has not told its options yet: try again in two seconds"
    if (restore := detail["restore"]) and restore["state"] in ("running", "waiting"):
        left = f"{restore['steps_left']} steps are left"
        return f"{detail['path']} is being restored, {left}: there is no law's value to keep"
    return None


def _momentary(name: str, now: str) -> str | None:
    """Say why a value is a measure of the moment, and none to open a database with; None where it is one."""
    if name == "disable_auto_compactions" and now == "true":
        return "compaction is off for a peak, and would be off for good"
    if name == "delayed_write_rate":
        return "it follows the load from moment to moment"
    facts = OPTIONS.get(name)
    if facts is not None and not facts.live:
        return "no law turns it: the program has opened the database with another value"
    if name.startswith("level0_") and now.isdecimal() and int(now) >= OUT_OF_THE_WAY:
        return "the trigger is out of the way only while adocd keeps watch over level 0"
    if name.endswith("_pending_compaction_bytes_limit") and now == "0":
        return "the limit is off only while adocd keeps watch over what waits for compaction"
    return None


def _no_options(detail: dict[str, Any]) -> list[str]:
    """Say what was turned that no OPTIONS file has: it belongs to objects that the program makes."""
    now, then = detail["options"], detail["originals"]
    if now is None or then is None:
        return []
    found = []
    rate, was = now["rate_limiter_bytes_per_s"], then["rate_limiter_bytes_per_s"]
    if rate != was:
        found.append(f"the rate limiter's {rate} bytes/s (originally {was}): it is no option; the program makes it")
    pools = {name: size for name, size in now["thread_pools"].items() if then["thread_pools"].get(name, size) != size}
    found += [
        f"the thread pool {name} of {size}: it is no option, and follows max_background_jobs at an open"
        for name, size in pools.items()
    ]
    return found


def _pinned_by(overrides: list[dict[str, Any]], name: str, family: str | None) -> str | None:
    return next(
        (pin["who"] for pin in overrides if pin["option"] == name and pin["column_family"] in (None, family)), None
    )
