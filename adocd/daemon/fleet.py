"""Finds agents and databases, and keeps a loop for each."""

import asyncio
import contextlib
import logging
from pathlib import Path

from adocd.daemon.config import Config
from adocd.daemon.target_loop import LoopSettings, TargetLoop
from adocd.model.policy import Policy
from adocd.targets.agent import Agent
from adocd.targets.base import Info
from adocd.targets.errors import Dead, TargetError, Unreachable
from adocd.targets.run_dir import agent_sockets

_log = logging.getLogger(__name__)
#: A database that opens is followed within about this time.
_DISCOVERY_PERIOD_S = 0.5


class Fleet:
    """All targets of a daemon, by their id."""

    def __init__(
        self,
        config: Config,
        settings: LoopSettings,
        run_dir: Path,
        *,
        policy: Policy | None = None,
        sockets: tuple[Path, ...] = (),
    ) -> None:
        """Follow all agents in the run directory, or only those at `sockets`.

        `policy` replaces the configuration's choice for every target: what `serve --policy` says.
        """
        self.loops: dict[str, TargetLoop] = {}
        #: What is wrong with a socket, by its path, in one sentence.
        self.problems: dict[str, str] = {}
        self._config = config
        self._settings = settings
        self._run_dir = run_dir
        self._policy = policy
        self._sockets = sockets
        self._agents: dict[Path, tuple[Agent, Info]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Look for agents and databases until cancelled."""
        while True:
            try:
                await self.discover()
            except OSError as error:
                _log.warning("the run directory %s cannot be read: %s", self._run_dir, error)
            await asyncio.sleep(_DISCOVERY_PERIOD_S)

    async def discover(self) -> None:
        """Look once; agents are asked side by side, so that a silent one does not delay the others."""
        sockets = list(self._sockets) or agent_sockets(self._run_dir)
        self.problems = {path: problem for path, problem in self.problems.items() if Path(path) in sockets}
        await asyncio.gather(*(self._look_at(socket) for socket in sockets))
        for socket in self._agents.keys() - set(sockets):
            await self._drop(socket)

    async def stop(self) -> None:
        """Stop every loop, restoring what it changed."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.gather(*(loop.stop() for loop in self.loops.values()))
        for socket in list(self._agents):
            await self._drop(socket)

    async def _look_at(self, socket: Path) -> None:
        try:
            agent, info = await self._agent(socket)
            for database in await agent.databases():
                loop = self._loop(database.id, database.path)
                if loop.state == "closed":
                    _log.info("%s: attached (%s, pid %d)", database.path, info.program, info.pid)
                    loop.attach(agent.target(database), info)
            self.problems.pop(str(socket), None)
        except Dead:
            await self._drop(socket)
            _remove_dead(socket)
        except TargetError as error:
            if isinstance(error, Unreachable):
                await self._drop(socket)
            if self.problems.get(str(socket)) != str(error):
                _log.warning("%s", error)
            self.problems[str(socket)] = str(error)

    async def _agent(self, socket: Path) -> tuple[Agent, Info]:
        known = self._agents.get(socket)
        if known is None:
            agent = Agent(socket)
            try:
                known = (agent, await agent.info())
            except BaseException:
                await agent.close()
                raise
            self._agents[socket] = known
        return known

    def _loop(self, target_id: str, path: str) -> TargetLoop:
        loop = self.loops.get(target_id)
        if loop is None:
            policy = self._config.policy_for(path) if self._policy is None else self._policy
            loop = self.loops[target_id] = TargetLoop(target_id, path, policy, self._settings)
            self._tasks[target_id] = asyncio.create_task(loop.run(), name=f"target {target_id}")
        return loop

    async def _drop(self, socket: Path) -> None:
        if (known := self._agents.pop(socket, None)) is not None:
            await known[0].close()


def _remove_dead(socket: Path) -> None:
    with contextlib.suppress(OSError):
        socket.unlink()
        _log.info("removed %s, which a process that has ended left behind", socket)
