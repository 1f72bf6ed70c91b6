"""Restoring without a daemon: the agents own the originals and the way back, so they can be told directly."""

import asyncio
from dataclasses import asdict, dataclass, field
from pathlib import Path

from adocd.daemon.change.back import restore
from adocd.model.database import Database
from adocd.targets.agent import Agent
from adocd.targets.errors import Closed, Dead, TargetError
from adocd.targets.names import named
from adocd.targets.run_dir import agent_sockets


@dataclass(frozen=True, slots=True)
class PanicResult:
    """How far each restore is, by target id, what is not back, and what failed."""

    restored: dict[str, dict[str, object]] = field(default_factory=dict)
    #: What is not its original, of each restore that has ended; as REST shows it.
    unlike: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


async def restore_without_daemon(run_dir: Path, target: str | None) -> PanicResult:
    """Revoke every lease, or that on `target` (id, beginning of one, path), by the agents in `run_dir`."""
    result = PanicResult()
    await asyncio.gather(*(_restore_all_of(Agent(socket), target, result) for socket in agent_sockets(run_dir)))
    return result


async def restore_by_agent(socket: Path) -> PanicResult:
    """Revoke every lease of one agent."""
    result = PanicResult()
    await _restore_all_of(Agent(socket), None, result)
    return result


async def _restore_all_of(agent: Agent, name: str | None, result: PanicResult) -> None:
    try:
        await agent.info()
        databases = await agent.databases()
        meant = databases if name is None else named(name, databases, lambda d: (d.id, d.path))
        # At once: in a stall each may take a while, and a process can have hundreds.
        await asyncio.gather(*(_restore(agent, database, result) for database in meant))
    except Dead:
        pass  # its process was killed: nothing is left there to restore
    except TargetError as error:
        if name is None:
            result.failed[str(agent.socket)] = str(error)
    finally:
        await agent.close()


async def _restore(agent: Agent, database: Database, result: PanicResult) -> None:
    target = agent.target(database)
    try:
        restored = await restore(target, left=None)
        result.restored[database.id] = asdict(restored.restore)
        if restored.unlike is not None:
            result.unlike[database.id] = [asdict(option) for option in restored.unlike]
    except Closed:
        pass  # since it was listed: its values went with it, and the agent restores what outlives it
    except TargetError as error:
        result.failed[database.id] = str(error)
    finally:
        await target.close()
