"""Gathers the facts about one target that the rules look at."""

import asyncio
import contextlib
import platform
from pathlib import Path
from typing import Protocol

from adocd.controllers import registry
from adocd.controllers.adoc import Adoc, AdocParameters
from adocd.controllers.adoc_released import AdocReleased
from adocd.diagnosis.lint.facts import Bounds, Facts, MemtableMemory
from adocd.model.database import DatabaseDetail, Info
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from adocd.probes.memory_limit import cgroup_limit_bytes, memory_limit_bytes
from adocd.probes.options_file import OptionsFile, Unreadable, newest
from adocd.probes.own_thread import OwnThread
from adocd.targets.errors import TargetError

#: Enough for a hundred flushes, yet a fraction of the agent's ring.
_EVENTS = 500
#: A disk that answers at all has read a small file by then; the page gives up after 5 s.
_PATIENCE_S = 2.0


class ObservedTarget(Protocol):
    """The part of a Target that is needed here."""

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the newest snapshot, with the events after a cursor."""


def bounds_of(policy: Policy) -> Bounds:
    """Return the bounds of the policy's law; ADOC's defaults if it is another law, or one that does not tune.

    A law that turns other knobs than ADOC takes none of ADOC's steps.
    """
    parts, laws = dict(registry.parts_of(policy)), registry.laws()
    own = next((parts[name] for name in (Adoc.name, AdocReleased.name) if name in parts), {})
    parameters = AdocParameters.model_validate({name: own[name] for name in AdocParameters.model_fields if name in own})
    is_adoc = Adoc.name in parts or not any(laws[name].knobs for name in parts)
    step = parameters.batch_step_bytes if is_adoc else 0 if AdocReleased.name in parts else None
    return Bounds(parameters.batch_max_bytes, parameters.threads_max, step if parameters.tune_batch else None)


async def with_recent_events(target: ObservedTarget, snapshot: Snapshot) -> Snapshot:
    """Read a new snapshot with the latest events; the loop's own snapshot has only those of one tick.

    Falls back on `snapshot` if the agent does not answer. The loop's cursor stays, because each reader has its own.
    """
    try:
        newer = await target.snapshot(max(0, snapshot.last_event - _EVENTS))
    except TargetError:
        return snapshot
    # Reopened meanwhile: the other facts are about the session before.
    return newer if newer.session == snapshot.session else snapshot


async def gather(
    info: Info,
    detail: DatabaseDetail,
    snapshot: Snapshot,
    policy: Policy,
    *,
    budget_bytes: int,
    beside_bytes: int,
    thread: OwnThread,
) -> Facts:
    """Read the OPTIONS file and the memory limit; the file on the target's own thread, because its disk can hang."""
    pid = info.pid_here if info.host == platform.node() else None
    limit = None if pid is None else await asyncio.to_thread(memory_limit_bytes, pid)
    group = None if pid is None else await asyncio.to_thread(cgroup_limit_bytes, pid)
    memory = MemtableMemory(budget_bytes, beside_bytes, limit, group)
    file = await _newest(Path(detail.path), detail.db_identity, thread)
    return Facts(info, detail, snapshot, memory, file, bounds_of(policy))


async def _newest(directory: Path, db_identity: str, thread: OwnThread) -> OptionsFile | Unreadable:
    with contextlib.suppress(TimeoutError):
        return await thread.run(lambda: newest(directory, db_identity), _PATIENCE_S)
    return Unreadable(str(directory), f"its disk has not answered within {_PATIENCE_S:g} s")
