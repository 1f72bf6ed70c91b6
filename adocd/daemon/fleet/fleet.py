"""Finds agents and databases, and keeps a loop for each database."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from adocd.controllers import registry
from adocd.daemon.book.audit import Audit
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import PolicyNotUnderstood
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.pace import phase_of
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.directories import Directories
from adocd.daemon.watch.events import Events
from adocd.model.database import Info
from adocd.model.policy import Policy
from adocd.targets.agent import Agent
from adocd.targets.base import Target
from adocd.targets.errors import Dead, TargetError, Unreachable
from adocd.targets.http_request import connected
from adocd.targets.run_dir import agent_sockets

_log = logging.getLogger(__name__)
#: A newly opened database is followed within about this time.
_DISCOVERY_PERIOD_S = 0.5
#: Above this number of sockets, known agents are checked one after the other.
_AT_ONCE = 8
#: A target closed for this long is not listed any more; what the book keeps of it is in force when it opens again.
_FORGET_AFTER_S = 3600.0
#: The name under which a target is paused if this version does not know its journaled policy; no user's has a space.
_ITSELF = "adocd itself"
#: What a journal of an earlier version has instead, which may be a user's name, and how the reason ends there, too.
_ITSELF_BEFORE, _REMEDY = "adocd", "; set or reset the policy"


class Fleet:
    """All targets of a daemon, by their id."""

    def __init__(
        self,
        config: Config,
        settings: LoopSettings,
        run_dir: Path,
        book: Book,
        *,
        policy: Policy | None = None,
        dry_run: bool = False,
        sockets: tuple[Path, ...] = (),
        directories: tuple[Path, ...] = (),
        memory_budget_bytes: int,
    ) -> None:
        """Follow all agents in the run directory, or only those at `sockets`, and the databases in `directories`.

        `policy` and `dry_run` come from `adocd serve`: the one replaces the configuration's policy for every target,
        but not one in the book; the other makes each of them a dry run, until an operator sets another policy for it.
        `memory_budget_bytes` limits the memtables of all targets together.
        """
        self.loops: dict[str, TargetLoop] = {}
        #: The problem with a socket, in one sentence, by its path.
        self.problems: dict[str, str] = {}
        self._config = config
        self._settings = settings
        self._run_dir = run_dir
        self._policy = policy
        self._dry_run = dry_run
        self._sockets = sockets
        self._book = book
        self._memory_budget_bytes = settings.neighbours.budget_bytes = memory_budget_bytes
        settings.neighbours.sharing.is_on = config.daemon.arbiter
        self._journal_problem: str | None = None
        self._journal_rescued = book.rescued
        #: Records who did what.
        self.audit = Audit(book, settings.events, settings.wall_clock)
        self._agents: dict[Path, Agent] = {}
        #: Each agent's databases, as it last listed them.
        self._listed: dict[Path, frozenset[str]] = {}
        self.directories = Directories(directories, self._loop, self._has_agent, self._attach)
        self._looks: dict[Path, asyncio.Task[None]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    @property
    def settings(self) -> LoopSettings:
        """The settings that all loops share."""
        return self._settings

    @property
    def has_given_policy(self) -> bool:
        """Whether `adocd serve` was given a policy, which overrides the configuration's."""
        return self._policy is not None

    def take_config(self, config: Config, settings: LoopSettings, memory_budget_bytes: int) -> None:
        """Apply a new configuration: limits and intervals at once, policies when each is next looked up."""
        self._config, self._settings = config, settings
        self._memory_budget_bytes = settings.neighbours.budget_bytes = memory_budget_bytes
        settings.neighbours.sharing.is_on = config.daemon.arbiter
        for loop in self.loops.values():
            loop.take_settings(settings)

    @property
    def holder(self) -> str:
        """The name under which this daemon holds leases."""
        return self._settings.holder

    @property
    def events(self) -> Events:
        """The stream of this daemon's events."""
        return self._settings.events

    @property
    def wall_clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""
        return self._settings.wall_clock

    async def run(self) -> None:
        """Search for agents and databases until cancelled."""
        while True:
            self._book.save()
            self._tell_of_the_journal()
            for override in self._book.expire():
                sentence = f"the override of {override.option}, which {override.who} set, has expired"
                _log.info("%s", sentence)
                self.audit.note("unpin", "adocd", sentence, target=override.target, path=override.path)
            try:
                await self.discover()
                self._settings.vitals.discovered_s = self._settings.clock()
            except Exception:
                _log.exception("looking for agents in %s failed; going on", self._run_dir)
            await asyncio.sleep(_DISCOVERY_PERIOD_S)

    def _tell_of_the_journal(self) -> None:
        """Publish an event once when the journal cannot be written, can be again, or was repaired."""
        rescued, told, self._journal_rescued = self._book.rescued, self._journal_rescued, self._book.rescued
        if rescued is not None and rescued != told:
            self.events.publish("daemon", self.wall_clock(), about="journal", sentence=rescued)
        problem, before, self._journal_problem = self._book.problem, self._journal_problem, self._book.problem
        if problem != before:
            sentence = problem or "the journal can be written again"
            self.events.publish("daemon", self.wall_clock(), about="journal", sentence=sentence)

    async def discover(self) -> None:
        """Start checking every socket, in parallel, so that a slow agent delays only its own databases."""
        sockets = list(self._sockets) or agent_sockets(self._run_dir)
        self.problems = {path: problem for path, problem in self.problems.items() if Path(path) in sockets}
        for socket in sockets:
            if (look := self._looks.get(socket)) is None or look.done():
                # Many at once would hold up control, so known agents are checked one after the other.
                is_one_of_many = socket in self._agents and len(sockets) > _AT_ONCE
                after_s = _DISCOVERY_PERIOD_S * phase_of(socket.name) if is_one_of_many else 0.0
                looking = self._look_at(socket, after_s)
                self._looks[socket] = asyncio.create_task(looking, name=f"look at {socket}")
        for socket in (self._agents.keys() | self._looks.keys()) - set(sockets):
            self._looks.pop(socket, None)
            await self._drop(socket)
        self.directories.discover()
        self._forget_closed()

    def policy_for(self, target_id: str, path: str) -> Policy:
        """Return a target's policy: an operator's choice, else that of `adocd serve`, else the configuration's."""
        try:
            policy = self._book.policy_of(target_id)
            if policy is not None:
                registry.create(policy)
        except (PolicyNotUnderstood, registry.PolicyError) as error:
            _log.error("%s: %s; nothing is changed until the policy is set or reset", path, error)
            reason = f"{error}{_REMEDY}"
            if self._book.pauses.of(target_id) is None:
                now_s = self._settings.wall_clock()
                self._book.pauses.enter(Pause(target_id, path, "paused", reason, _ITSELF, now_s))
            return Policy(registry.WATCHING, dry_run=self._dry_run)
        if is_for_unknown_policy(self._book.pauses.entry(target_id)):
            _log.info("%s: its policy is understood again", path)
            self._book.pauses.resume(target_id, path, _ITSELF)
        if policy is not None:
            _log.info("%s: the policy is %s, as an operator has set it", path, policy.controller)
        else:
            policy = self._config.policy_for(path) if self._policy is None else self._policy
        return replace(policy, dry_run=True) if self._dry_run and not self._book.is_policy_new(target_id) else policy

    async def stop(self) -> None:
        """Stop every loop; each restores what it changed."""
        ended = await asyncio.gather(*(loop.stop() for loop in self.loops.values()), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                _log.error("a target could not be stopped cleanly, its lease will expire: %s", error)
        await self.directories.stop()
        tasks = [*self._tasks.values(), *self._looks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for socket in list(self._agents):
            await self._drop(socket)

    async def _look_at(self, socket: Path, after_s: float) -> None:
        await asyncio.sleep(after_s)
        agent = self._agents.setdefault(socket, Agent(socket))
        try:
            info, databases = await agent.listing()
            self._listed[socket] = frozenset(database.id for database in databases)
            for database in databases:
                loop = self._loop(database.id, database.path)
                self.directories.give_way(loop)
                if loop.state == "closed":
                    self._attach(loop, agent.target(database), info)
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

    def _has_agent(self, target_id: str) -> bool:
        return any(target_id in listed for listed in self._listed.values())

    def _attach(self, loop: TargetLoop, target: Target, info: Info) -> None:
        by = info.agent.kind
        _log.info("%s: attached (%s, pid %d, by %s)", loop.path, info.program, info.pid, by)
        self._tell_of_originals_of_another_id(loop)
        loop.attach(target, info)

    def _tell_of_originals_of_another_id(self, loop: TargetLoop) -> None:
        """Log what is left tuned of a closed database with the same path, which may be this one.

        Ids contain the host name: in a container with another one, the same database is not recognised.
        """
        for target_id, left in self._book.due_at(loop.path).items():
            known = self.loops.get(target_id)
            if target_id != loop.id and (known is None or known.state == "closed"):
                originals = ", ".join(f"{option} was {tuned.original}" for option, tuned in left.items())
                _log.error(
                    "%s: the journal has originals of a database with the same path and another id, %s: if that is "
                    "this one under another host name, what it reloads from its OPTIONS file is still tuned and counts "
                    "as its owner's; set the originals by hand: %s", loop.path, target_id, originals,
                )  # fmt: skip

    def _loop(self, target_id: str, path: str) -> TargetLoop:
        loop = self.loops.get(target_id)
        if loop is None:
            policy = self.policy_for(target_id, path)
            loop = TargetLoop(target_id, path, policy, self._settings, self._book)
            self.loops[target_id] = loop
            self._tasks[target_id] = asyncio.create_task(loop.run(), name=f"target {target_id}")
        return loop

    def memory_of(self, target_id: str) -> tuple[int, int]:
        """Return the budget for all targets' memtables, and the worst case of the others' memtables, in bytes."""
        return self._memory_budget_bytes, self._settings.neighbours.memtables_beside(target_id)

    def _forget_closed(self) -> None:
        long_ago_s = self._settings.clock() - _FORGET_AFTER_S
        for target_id, loop in list(self.loops.items()):
            is_gone = loop.state == "closed" and target_id not in self.directories.ids
            if is_gone and loop.closed_since_s < long_ago_s:
                self.drop_closed(target_id)

    def drop_closed(self, target_id: str) -> None:
        """Forget the samples and decisions of a closed target, and follow it anew if it opens again."""
        self._tasks.pop(target_id).cancel()
        del self.loops[target_id]

    async def _drop(self, socket: Path) -> None:
        self._listed.pop(socket, None)
        if (known := self._agents.pop(socket, None)) is not None:
            await known.close()


def is_for_unknown_policy(pause: Pause | None) -> bool:
    """Whether this is a pause by adocd itself, because this version does not know a policy in the journal."""
    if pause is None:
        return False
    return pause.who == _ITSELF or (pause.who == _ITSELF_BEFORE and pause.reason.endswith(_REMEDY))


def _remove_dead(socket: Path) -> None:
    """Remove what a process left behind, but not the socket of one that has taken the same name since.

    In containers that share the directory, each program may have the pid of the one before it. Under a name of our own
    nobody replaces it between the last look and the removal.
    """
    aside = socket.with_name(f".{secrets.token_hex(4)}.old")
    with contextlib.suppress(OSError):
        socket.rename(aside)
        if _is_dead(aside):
            aside.unlink()
            _log.info("removed %s, left behind by a process that has ended", socket)
        else:
            aside.rename(socket)


def _is_dead(socket: Path) -> bool:
    try:
        connected(socket).close()
    except ConnectionRefusedError:
        return True
    except OSError:  # such as a full queue
        pass
    return False
