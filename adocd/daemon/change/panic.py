"""Restoring without a daemon: the agents own the originals and the way back, so they can be told directly."""

import asyncio
from collections.abc import Sequence
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


#: An agent's socket, and why it does not answer.
_Unheard = tuple[str, str]


class SeveralMeant(Exception):
    """A name fits several open databases; the text lists them."""


async def restore_without_daemon(run_dir: Path, target: str | None) -> PanicResult:
    """Revoke every lease, or that on `target` (id, beginning of one, path), by the agents in `run_dir`.

    If no agent that answers has the target, those that do not answer count as failed: it may be theirs. Raises
    SeveralMeant, with nothing restored.
    """
    result = PanicResult()
    agents = [Agent(socket) for socket in agent_sockets(run_dir)]
    unheard: Sequence[_Unheard | None]
    try:
        if target is None:
            unheard = await asyncio.gather(*(_restore_all_of(each, result) for each in agents))
        else:
            unheard = await _restore_named(target, agents, result)
    finally:
        await asyncio.gather(*(each.close() for each in agents))
    if target is None or not (result.restored or result.failed):
        result.failed.update(each for each in unheard if each)
    return result


async def restore_to_leave(socket: Path) -> PanicResult:
    """Revoke every lease of one agent, which is then to be detached; waits longer for the restores than others do."""
    result, agent = PanicResult(), Agent(socket)
    try:
        if unheard := await _restore_all_of(agent, result, leaves=True):
            result.failed.update([unheard])
    finally:
        await agent.close()
    return result


async def _restore_all_of(agent: Agent, result: PanicResult, *, leaves: bool = False) -> _Unheard | None:
    """Restore all databases of an agent."""
    listed = await _listed(agent)
    if isinstance(listed, tuple):
        return listed
    # At once: in a stall each may take a while, and a process can have hundreds.
    await asyncio.gather(*(_restore(agent, database, result, leaves=leaves) for database in listed))
    return None


async def _restore_named(name: str, agents: list[Agent], result: PanicResult) -> list[_Unheard]:
    """Restore what is meant among the databases of all agents."""
    heard = await asyncio.gather(*(_listed(each) for each in agents))
    there = [
        (agent, each)
        for agent, listed in zip(agents, heard, strict=True)
        if isinstance(listed, list)
        for each in listed
    ]
    meant = named(name, there, lambda each: (each[1].id, each[1].path))
    if len(paths := {database.id: database.path for _, database in meant}) > 1:
        raise SeveralMeant(", ".join(f"{target_id} ({path})" for target_id, path in paths.items()))
    await asyncio.gather(*(_restore(agent, database, result, leaves=False) for agent, database in meant))
    return [each for each in heard if isinstance(each, tuple)]


async def _listed(agent: Agent) -> list[Database] | _Unheard:
    """List an agent's databases, or say why it does not answer."""
    try:
        await agent.info()
        return list(await agent.databases())
    except Dead:
        return []  # its process was killed: nothing is left there to restore
    except TargetError as error:
        return str(agent.socket), str(error)


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
