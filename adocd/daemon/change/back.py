"""Whether the originals are back: a restore is believed when its values have been read, not because its plan has ended.

The agent's plan says "done" of the steps that it knew. A plan that was lost, or replaced by a wrong one, ends as well.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from adocd.daemon.change.planner import restorable
from adocd.daemon.change.settled import Left
from adocd.model.snapshot import Restore, Snapshot
from adocd.model.values import OptionName, Values, flat
from adocd.targets.base import Target
from adocd.targets.errors import TargetError

#: A restore that waits for nothing takes some calls of SetOptions, 17 to 43 ms each under load; longer ones are left.
_PATIENCE_S = 2.0
#: The agent takes a new snapshot when the one it has is older than 50 ms.
_LOOK_AGAIN_S = 0.06


@dataclass(frozen=True, slots=True)
class Unlike:
    """An option that is not as it was before it was tuned, or as the database was opened with."""

    option: str
    value: str
    original: str
    #: Whether the journal knows this value as one that adocd has set; None where there is no journal to ask.
    is_ours: bool | None


@dataclass(frozen=True, slots=True)
class Restored:
    """How far a restore is, and what it has not put back; None: it has not ended, or its values could not be read."""

    restore: Restore
    unlike: tuple[Unlike, ...] | None


async def restore(target: Target, left: Mapping[OptionName, Left] | None) -> Restored:
    """Revoke the lease, and compare once the restore has ended.

    `left` is what the journal knows as tuned, None where there is no journal. Waits at most two seconds, and not for a
    restore that waits itself. Raises TargetError where the lease cannot be revoked.
    """
    begun = await target.revoke_lease()
    try:
        originals = flat((await target.detail()).originals)
        seen, has_ended = await _ended(target)
    except TargetError:
        return Restored(begun, None)
    return Restored(seen.restore, unlike(flat(seen.options), originals, left) if has_ended else None)


def unlike(current: Values, opened_with: Values, left: Mapping[OptionName, Left] | None) -> tuple[Unlike, ...]:
    """Compare values with their originals: the journal's where it has one, else those of the open.

    Thread pools and a limiter that nobody has set are left out: RocksDB makes pools larger by itself, and the limiter
    may be another database's.
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


async def _ended(target: Target) -> tuple[Snapshot, bool]:
    """Look until the restore has ended and the values were read after that; returns the last look, and whether so."""
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + _PATIENCE_S
    ended_s: float | None = None
    while True:
        asked_s = clock()
        seen = await target.snapshot(None)
        now_s = clock()
        if seen.restore.state == "running" or seen.change_in_flight:
            ended_s = None
        elif ended_s is None:
            ended_s = now_s
        elif asked_s - seen.age_s - seen.collect_s > ended_s:
            return seen, True
        if seen.restore.state == "waiting" or now_s > deadline_s:
            return seen, False
        await asyncio.sleep(_LOOK_AGAIN_S)
