"""Restoring without a daemon: the agents own the originals and the way back, so they can be told directly."""

import asyncio
from dataclasses import asdict, dataclass, field
from pathlib import Path

from adocd.daemon.change.back import PATIENCE_S, restore
from adocd.model.database import Database
from adocd.targets.agent import Agent
from adocd.targets.errors import Closed, Dead, TargetError
from adocd.targets.names import named
from adocd.targets.run_dir import agent_sockets

#: Longest wait for a restore by an agent that is to leave: it must stay until the restore has ended. A SetOptions call
#: writes and syncs the OPTIONS file, which can take seconds while others keep the device busy, and memtables may wait
#: for their flush.
_LEAVING_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class PanicResult:
    """How far each restore is, by target id, what is not back, and what failed."""

    restored: dict[str, dict[str, object]] = field(default_factory=dict)
    #: What is not its original, of each restore that has ended; as REST shows it.
    unlike: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


async def restore_without_daemon(run_dir: Path, target: str | None) -> PanicResult:
    """Revoke every lease, or that on `target` (id, beginning of one, path), by the agents in `run_dir`.

    If no agent that answers has the target, those that do not answer count as failed: it may be theirs.
    """
    result = PanicResult()
    agents = [Agent(socket) for socket in agent_sockets(run_dir)]
    unheard = [
        each for each in await asyncio.gather(*(_restore_all_of(each, target, result) for each in agents)) if each
    ]
    if target is None or not (result.restored or result.failed):
        result.failed.update(unheard)
    return result


async def restore_to_leave(socket: Path) -> PanicResult:
    """Revoke every lease of one agent, which is then to be detached; waits longer for the restores than others do."""
    result = PanicResult()
    if unheard := await _restore_all_of(Agent(socket), None, result, leaves=True):
        result.failed.update([unheard])
    return result


async def _restore_all_of(
    agent: Agent, name: str | None, result: PanicResult, *, leaves: bool = False
) -> tuple[str, str] | None:
    """Restore what is meant; return the agent's socket and the reason if it does not answer."""
    try:
        await agent.info()
        databases = await agent.databases()
        meant = databases if name is None else named(name, databases, lambda d: (d.id, d.path))
        # At once: in a stall each may take a while, and a process can have hundreds.
        await asyncio.gather(*(_restore(agent, database, result, leaves=leaves) for database in meant))
    except Dead:
        pass  # its process was killed: nothing is left there to restore
    except TargetError as error:
        return str(agent.socket), str(error)
    finally:
        await agent.close()
    return None


async def _restore(agent: Agent, database: Database, result: PanicResult, *, leaves: bool) -> None:
    target = agent.target(database)
    try:
        patience_s = _LEAVING_PATIENCE_S if leaves else PATIENCE_S
        restored = await restore(target, None, patience_s, awaits_conditions=leaves)
        result.restored[database.id] = asdict(restored.restore)
        if restored.unlike is not None:
            result.unlike[database.id] = [asdict(option) for option in restored.unlike]
    except Closed:
        pass  # since it was listed: its values went with it, and the agent restores what outlives it
    except TargetError as error:
        result.failed[database.id] = str(error)
    finally:
        await target.close()
