"""Follows databases without an agent by their directories; an agent that appears takes precedence."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.database import Info
from adocd.targets.base import Target
from adocd.targets.directory.place import Place
from adocd.targets.directory.target import Directory, DirectoryTarget
from adocd.targets.errors import Closed, TargetError

_log = logging.getLogger(__name__)
CLOSED = "nobody has the database open, as its LOCK and LOG say"


class Directories:
    """Checks each directory, and attaches the loop of its database while a process has it open.

    `loop_of` returns a database's loop by id and path, `has_agent` whether an agent serves it, and `attach` starts
    following it.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        loop_of: Callable[[str, str], TargetLoop],
        has_agent: Callable[[str], bool],
        attach: Callable[[TargetLoop, Target, Info], None],
    ) -> None:
        #: The problem with a directory, in one sentence, by its path.
        self.problems: dict[str, str] = {}
        self._directories = [Directory(path) for path in paths]
        self._loop_of, self._has_agent, self._attach = loop_of, has_agent, attach
        self._looks: dict[Path, asyncio.Task[None]] = {}
        self._ids: dict[Path, str] = {}
        #: The databases followed now, by id.
        self._targets: dict[str, DirectoryTarget] = {}

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the databases in the directories, open or not."""
        return frozenset(self._ids.values())

    def discover(self) -> None:
        """Start checking every directory, in parallel, so that a slow disk delays only its own directory."""
        for directory in self._directories:
            if (look := self._looks.get(directory.path)) is None or look.done():
                name = f"look at {directory.path}"
                self._looks[directory.path] = asyncio.create_task(self._look_at(directory), name=name)

    def give_way(self, loop: TargetLoop) -> None:
        """Detach for an agent, which is attached once the loop has let go of the directory."""
        target = self._targets.pop(loop.id, None)
        if target is not None:
            target.step_back("an agent now serves the database, and it sees more")

    async def stop(self) -> None:
        """Stop checking directories."""
        for look in self._looks.values():
            look.cancel()
        await asyncio.gather(*self._looks.values(), return_exceptions=True)

    async def _look_at(self, directory: Directory) -> None:
        key = str(directory.path)
        try:
            await self._follow(directory)
            self.problems.pop(key, None)
        except Closed:
            pass  # closed while its LOG was read
        except TargetError as error:
            if self.problems.get(key) != str(error):
                _log.warning("%s", error)
            self.problems[key] = str(error)
        except Exception:
            _log.exception("looking at %s failed; going on", directory.path)

    async def _follow(self, directory: Directory) -> None:
        known = self._ids.get(directory.path)
        if known in self._targets and self._targets[known].is_followed:
            return  # this target notices by itself when the database is closed
        if known is not None and self._has_agent(known):
            return
        place = await directory.look()
        self._ids[directory.path] = place.id
        loop = self._loop_of(place.id, str(place.path))
        if loop.state != "closed" or self._has_agent(place.id):
            return
        if not place.is_open:
            loop.found_closed(CLOSED)
            return
        await self._open(directory, place, loop)

    async def _open(self, directory: Directory, place: Place, loop: TargetLoop) -> None:
        target = await directory.open(place)
        if loop.state != "closed" or self._has_agent(place.id):
            await target.close()
            return
        self._targets[place.id] = target
        self._attach(loop, target, target.info)
