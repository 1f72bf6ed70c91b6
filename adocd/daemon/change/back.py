"""Checks that a restore worked by reading the values: the end of the agent's plan alone proves nothing.

The agent reports "done" for the steps it knew. A plan that was lost, or replaced by a wrong one, also ends.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from adocd.daemon.change.settled import Left
from adocd.daemon.change.way_back import restorable
from adocd.model.snapshot import Restore, Snapshot
from adocd.model.values import OptionName, Values, flat
from adocd.targets.base import Target
from adocd.targets.errors import TargetError

#: Longest wait for a restore, unless the caller has longer, and then for values that were read after its end. A restore
#: without conditions takes a few SetOptions calls, 17 to 43 ms each under load.
PATIENCE_S = 2.0
#: The agent reuses a snapshot for 50 ms, so asking sooner shows nothing new.
_LOOK_AGAIN_S = 0.06


@dataclass(frozen=True, slots=True)
class Unlike:
    """An option that differs from its original: its value before tuning, or the one the database was opened with."""

    option: str
    value: str
    original: str
    #: Whether the journal says that adocd set this value; None without a journal.
    is_ours: bool | None


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """A restore's progress and what it did not restore; None: it has not ended, or the values could not be read."""

    restore: Restore
    unlike: tuple[Unlike, ...] | None


async def restore(
    target: Target,
    left: Mapping[OptionName, Left] | None,
    patience_s: float = PATIENCE_S,
    *,
    awaits_conditions: bool = False,
) -> RestoreResult:
    """Revoke the lease, and compare the values with their originals once the restore has ended.

    `left` holds the options that the journal lists as changed, None without a journal. Waits at most
    `patience_s` for the end and two seconds for the values, and not at all for a restore that waits for a condition,
    unless `awaits_conditions`.
    Raises TargetError when the lease cannot be revoked.
    """
    begun = await target.revoke_lease()
    try:
        originals = flat((await target.detail()).originals)
        seen, has_ended = await _ended(target, patience_s, awaits_conditions=awaits_conditions)
    except TargetError:
        return RestoreResult(begun, None)
    return RestoreResult(seen.restore, unlike(flat(seen.options), originals, left) if has_ended else None)


def unlike(current: Values, opened_with: Values, left: Mapping[OptionName, Left] | None) -> tuple[Unlike, ...]:
    """Return the options that differ from their originals: the journal's if it has one, else those of the open.

    Thread pools and the rate limiter are left out unless the journal lists them: RocksDB enlarges pools by itself, and
    the limiter may belong to another database.
    """
    found = []
    for option, value in sorted(current.items(), key=lambda item: str(item[0])):
        known = None if left is None else left.get(option)
        if known is None and option.scope in ("thread_pool", "rate_limiter"):
            continue
        original = opened_with.get(option, value) if known is None else known.original
        if value not in (original, restorable(option, original)):
            is_ours = None if left is None else known is not None and known.is_ours(value)
            found.append(Unlike(str(option), value, original, is_ours))
    return tuple(found)


async def _ended(target: Target, patience_s: float, *, awaits_conditions: bool) -> tuple[Snapshot, bool]:
    """Take snapshots until one was collected after the restore ended; returns the last one and whether it was."""
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + patience_s
    ended_s: float | None = None
    while True:
        asked_s = clock()
        seen = await target.snapshot(None)
        now_s = clock()
        waits = seen.restore.state == "waiting"
        if waits or seen.restore.state == "running" or seen.change_in_flight:
            ended_s = None
        elif ended_s is None:
            ended_s = now_s
            deadline_s = now_s + PATIENCE_S  # one that ended at the last moment is compared, too
        elif asked_s - seen.age_s - seen.collect_s > ended_s:
            return seen, True
        if (waits and not awaits_conditions) or now_s > deadline_s:
            return seen, False
        await asyncio.sleep(_LOOK_AGAIN_S)
