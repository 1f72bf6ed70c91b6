"""The daemon's state for all open pages: read once for all of them, and not at all while none is open."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from adocd.api.event_stream import PATH, events_of
from adocd.api.web.page.model import history
from adocd.api.web.page.model.state import Lately, State, state_of
from adocd.api.web.page.room import Room, trouble_in_words
from adocd.api.web.upstream import Upstream
from adocd.diagnosis.held import HeldWriters
from adocd.targets.errors import TargetError, Unreachable

_log = logging.getLogger(__name__)

TICK_S = 1.0
#: How often to check that the daemon is alive, which takes a millisecond, and how long its answer may take.
BEAT_S, PATIENCE_S = 0.5, 1.0
#: The daemon counts as lost after this silence, so that a browser shows it within 2 s.
LOST_S = 1.4
#: The small chart of each target in the list: its range in seconds, and its number of bars.
GLANCE_S, GLANCE_SLOTS = 900, 60
#: Most small charts to read in a tick, and the age at which to read one again: a thousand targets are no flood.
_GLANCES_A_TICK, _GLANCE_AGE_S = 8, 5.0
#: One that was read longer ago says so: of a thousand targets each is read every two minutes.
OLD_S = 15.0
_LIST_AGE_S = 10.0
_KINDS = ("sample", "decision", "stall", "target", "operation", "daemon")


@dataclass(frozen=True)
class Listener:
    """An open page: `news` is awaited after every tick, `beat` is called twice a second whatever happens."""

    news: Callable[[], Awaitable[None]]
    beat: Callable[[], None]


@dataclass(frozen=True)
class Glance:
    """What the list shows of a target, read at `read_unix_s`: its small chart, and what its state is told from."""

    read_unix_s: float | None = None
    parts: Sequence[HeldWriters] = ()
    lately: Lately | None = None

    @property
    def old_unix_s(self) -> float | None:
        """When it was read, if so long ago that it must be said."""
        return self.read_unix_s if self.read_unix_s is not None and time.time() - self.read_unix_s > OLD_S else None


class PageFeed:
    """The daemon's state as of the last tick, and the pages to update after the next one."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._get = upstream.get
        self._listeners: dict[object, Listener] = {}
        self._rooms: dict[str, Room] = {}
        self._wanted = asyncio.Event()
        self._heard_s = time.monotonic()
        self._list_at_s = float("-inf")
        #: Grows with every tick, and when all is forgotten: what all pages show is made once for each.
        self.version = 0
        #: Whether the list was read since somebody looks.
        self.is_listed = False
        self.targets: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, str] = {}
        self.journal: dict[str, Any] | None = None
        self.trouble: str | None = None
        self.glances: dict[str, Glance] = {}
        #: When each target of the list was last sampled, as far as events have told.
        self._sampled_unix_s: dict[str, float] = {}
        #: When each small chart was last asked for.
        self._glanced_s: dict[str, float] = {}

    # -- for the views

    @property
    def silence_s(self) -> float:
        """Seconds since the daemon last answered, or since the first page of those that are open was opened."""
        return time.monotonic() - self._heard_s

    @property
    def lost(self) -> bool:
        """Whether the daemon has not answered for more than LOST_S."""
        return self.silence_s > LOST_S

    def find(self, target: str) -> dict[str, Any] | None:
        """Return a target of the list by its id; None if there is none."""
        return self.targets.get(target)

    def glance(self, target: str) -> Glance:
        """Return what the list shows of a target."""
        return self.glances.get(target, Glance())

    def state(self, target: dict[str, Any]) -> State:
        """Return the state of a target of the list."""
        glance = self.glance(target["id"])
        return state_of(target, glance.lately, glance.read_unix_s, self._sampled_unix_s.get(target["id"]))

    def listen(self, key: object, listener: Listener) -> None:
        """Call the listener at every tick and beat until `forget`."""
        if not self._listeners:
            self._heard_s = time.monotonic()
        self._listeners[key] = listener
        self._wanted.set()

    def forget(self, key: object) -> None:
        """Stop calling this listener."""
        self._listeners.pop(key, None)
        if not self._listeners:
            self._wanted.clear()

    def enter(self, target: str) -> Room:
        """Begin to look at a target; all its visitors share one Room."""
        room = self._rooms.setdefault(target, Room(target, self._get))
        room.visitors += 1
        return room

    def leave(self, room: Room) -> None:
        """Stop looking at a target; the last visitor to leave discards its Room."""
        room.visitors -= 1
        if room.visitors <= 0:
            self._rooms.pop(room.target, None)

    # -- the daemon's side

    async def run(self) -> None:
        """Follow the daemon until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._beat(), name="beat")
            tasks.create_task(self._run_ticks(), name="ticks")

    async def _beat(self) -> None:
        """Check that the daemon is alive, independently of ticks, which may be waiting for it."""
        while True:
            await self._wanted.wait()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    _, body = await self._get("/healthz")
                self.journal = json.loads(body)["journal"]
                self._heard_s, self.trouble = time.monotonic(), None
            except TimeoutError:
                self.trouble = f"no answer within {PATIENCE_S:.0f} s"
            except Exception as error:  # the answer may have another form than expected; the next one may not
                self.trouble = trouble_in_words(error)
            for listener in list(self._listeners.values()):
                listener.beat()
            await asyncio.sleep(BEAT_S)

    async def _run_ticks(self) -> None:
        follower: asyncio.Task[None] | None = None
        try:
            while True:
                if not self._listeners:
                    if follower is not None:
                        follower.cancel()
                        follower = None
                    self._forget_all()
                    await self._wanted.wait()
                if follower is None:
                    follower = asyncio.create_task(self._follow(), name="events")
                began_s = time.monotonic()
                await self._tick()
                self.version += 1
                await self._tell()
                await asyncio.sleep(max(TICK_S / 20, began_s + TICK_S - time.monotonic()))
        finally:
            if follower is not None:
                follower.cancel()

    def _forget_all(self) -> None:
        """Forget what was read, while nobody looks: whoever comes tomorrow must not take it for what is now."""
        self.targets, self.problems, self.journal, self.is_listed = {}, {}, None, False
        self.glances, self._glanced_s, self._sampled_unix_s = {}, {}, {}
        self._list_at_s = float("-inf")
        self.version += 1

    async def _tick(self) -> None:
        """Read what is due. What fails stops nothing else, unless the daemon is lost, and all would wait in vain."""
        for read in self._due():
            if not await _succeeds(read) and self.lost:
                return

    def _due(self) -> Iterator[Callable[[], Awaitable[None]]]:
        yield self._read_list
        for room in list(self._rooms.values()):
            yield partial(room.refresh, time.monotonic())
        for target in self._due_glances():
            yield partial(self._read_glance, target)

    async def _read_list(self) -> None:
        """Read the whole list, but only now and then: events bring the changes."""
        now_s = time.monotonic()
        if now_s - self._list_at_s < _LIST_AGE_S:
            return
        _, body = await self._get("/v1/targets")
        listed = json.loads(body)
        self.targets = {target["id"]: target for target in listed["targets"]}
        self._sampled_unix_s = {id_: when for id_, when in self._sampled_unix_s.items() if id_ in self.targets}
        self.problems, self.journal = listed["problems"], listed["journal"]
        self._list_at_s, self.is_listed = now_s, True

    def _due_glances(self) -> list[str]:
        """Choose the small charts to read again: those asked for longest ago, so that one that fails waits its turn."""
        for gone in set(self._glanced_s) - set(self.targets):
            del self._glanced_s[gone]
            self.glances.pop(gone, None)
        now_s = time.monotonic()
        asked_s = {target: self._glanced_s.get(target, float("-inf")) for target in self.targets}
        due = [target for target in asked_s if now_s - asked_s[target] >= _GLANCE_AGE_S]
        return sorted(due, key=asked_s.__getitem__)[:_GLANCES_A_TICK]

    async def _read_glance(self, target: str) -> None:
        self._glanced_s[target] = time.monotonic()
        path = f"/v1/targets/{target}/history"
        status, body = await self._get(f"{path}?points={GLANCE_S}")
        if status >= 500:
            raise TargetError(f"{path} answered {status}")
        points = json.loads(body)["points"] if status < 400 else []
        end = points[-1]["unix_s"] if points else 0.0
        begin = max(end - GLANCE_S, points[0]["unix_s"] - points[0]["interval_s"]) if points else 0.0
        parts = history.slots(points, begin, end, GLANCE_SLOTS) if points else []
        self.glances[target] = Glance(time.time(), parts, Lately.of(history.lately(points)))

    async def _tell(self) -> None:
        """Call every listener; one that fails does not stop the others, and other tasks run in between."""
        for listener in list(self._listeners.values()):
            try:
                await listener.news()
            except Exception:  # it concerns the page of only one browser
                _log.exception("a page could not be updated")
            await asyncio.sleep(0)

    async def _follow(self) -> None:
        """Take events in as they arrive; open the stream again when it breaks off."""
        while True:
            try:
                async with self._upstream.stream(f"{PATH}?kinds={','.join(_KINDS)}") as stream:
                    if stream.status != 200:
                        raise Unreachable(f"{PATH} answered {stream.status}")
                    async for event in events_of(stream.pieces):
                        self._take(event.kind, event.data)
            except TargetError as error:
                _log.debug("events: %s", error)
            except Exception:  # else nobody would follow the events any more
                _log.exception("cannot read an event of the daemon; opening the stream again")
            self._list_at_s = float("-inf")
            for room in self._rooms.values():  # nobody tells later what happened meanwhile
                room.ask_again()
            await asyncio.sleep(TICK_S)

    def _take(self, kind: str, event: dict[str, Any]) -> None:
        self._heard_s = time.monotonic()
        target = event.get("target")
        room = self._rooms.get(target) if target is not None else None
        if kind == "sample" and event["sample"] is not None:
            self.targets[event["sample"]["id"]] = event["sample"]
            self._sampled_unix_s[event["sample"]["id"]] = event["unix_s"]
        elif kind == "decision" and room is not None:
            room.decided([event["record"]])
        elif kind in ("target", "operation", "daemon", "lost"):
            self._list_at_s = float("-inf")
            for each in self._rooms.values() if target is None else [room]:
                if each is not None:
                    each.ask_again()


async def _succeeds(read: Callable[[], Awaitable[None]]) -> bool:
    """Read something, and return whether that worked; the next time it may."""
    try:
        await read()
    except TargetError as error:
        _log.debug("nothing new: %s", error)
        return False
    except Exception:  # the answer has another form than expected
        _log.debug("an answer of the daemon's", exc_info=True)
        return False
    return True
