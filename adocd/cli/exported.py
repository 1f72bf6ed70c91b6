"""Which of a target's changed options are worth keeping permanently, and why the others are not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adocd.api.changed import changed
from adocd.model.options import OPTIONS, OUT_OF_THE_WAY
from adocd.model.values import RATE_LIMITER_WORD, THREAD_POOL_PREFIX


@dataclass(frozen=True, slots=True)
class Kept:
    """A value to keep, its original at open, and who pinned it (None if nobody did)."""

    value: str
    original: str
    pinned_by: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """What to export for the database at `path`.

    `left_out` has one sentence for each value that is not exported. `unseen` says why no options are known. `held` says
    how a current write stall holds writes, if there is one.
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
    """Split the options that differ from the originals into those to keep and those to leave out."""
    process = detail["process"]
    database: dict[str, Kept] = {}
    families: dict[str, dict[str, Kept]] = {}
    left_out = []
    for each in changed(detail) or ():
        if each.option == RATE_LIMITER_WORD or each.option.startswith(THREAD_POOL_PREFIX):
            continue  # no OPTIONS file has it: see below
        why = _momentary(each.option, each.now)
        is_database = each.scope == "database"
        where = "" if is_database else f" of column family {each.scope}"
        if why is not None:
            left_out.append(f"{each.option}{where} = {each.now} (originally {each.original}): {why}")
            continue
        kept = Kept(each.now, each.original, _pinned_by(overrides, each.option, None if is_database else each.scope))
        (database if is_database else families.setdefault(each.scope, {}))[each.option] = kept
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
        return f"{detail['path']} is closed, so its options cannot be read: export while it is open"
    if detail["options"] is None or detail["originals"] is None:
        return f"{detail['path']} has not reported its options yet: try again in two seconds"
    if (restore := detail["restore"]) and restore["state"] in ("running", "waiting"):
        left = f"{restore['steps_left']} steps are left"
        return f"{detail['path']} is being restored, {left}: no law's values are in force"
    return None


def _momentary(name: str, now: str) -> str | None:
    """Return why a value is temporary and no database should be opened with it; None if it is worth keeping."""
    if name == "disable_auto_compactions" and now == "true":
        return "a law disabled compaction only for a load peak; exported, it would stay off"
    if name == "delayed_write_rate":
        return "the law changes it with the load all the time"
    facts = OPTIONS.get(name)
    if facts is not None and not facts.live:
        return "no law changes it: the program opened the database with another value"
    if name.startswith("level0_") and now.isdecimal() and int(now) >= OUT_OF_THE_WAY:
        return "the trigger may be this high only while adocd watches level 0"
    if name.endswith("_pending_compaction_bytes_limit") and now == "0":
        return "the limit may be off only while adocd watches the pending compaction bytes"
    return None


def _no_options(detail: dict[str, Any]) -> list[str]:
    """List changes that no OPTIONS file can hold, since they belong to objects that the program creates."""
    now, then = detail["options"], detail["originals"]
    if now is None or then is None:
        return []
    found = []
    rate, was = now["rate_limiter_bytes_per_s"], then["rate_limiter_bytes_per_s"]
    if rate != was:
        found.append(f"the rate limiter's {rate} bytes/s (originally {was}): not an option; the program creates it")
    pools = {name: size for name, size in now["thread_pools"].items() if then["thread_pools"].get(name, size) != size}
    found += [
        f"the thread pool {name} of {size}: not an option; at open it follows max_background_jobs"
        for name, size in pools.items()
    ]
    return found


def _pinned_by(overrides: list[dict[str, Any]], name: str, family: str | None) -> str | None:
    """Return who pinned the value in force: of several pins the last one, which is the strongest."""
    of_option = [pin for pin in overrides if pin["option"] == name and pin["column_family"] in (None, family)]
    return next((pin["who"] for pin in reversed(of_option) if pin["ineffective"] is None), None)
