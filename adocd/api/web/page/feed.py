"""What all open pages show: read once, however many they are, and not at all while none is open."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from adocd.api.event_stream import PATH, events_of
from adocd.api.web.page.model import history
from adocd.api.web.page.room import Room
from adocd.api.web.upstream import Upstream
from adocd.diagnosis.held import HeldWriters
from adocd.targets.errors import TargetError, Unreachable

_log = logging.getLogger(__name__)

TICK_S = 1.0
#: How often the daemon is asked whether it is there, which takes a millisecond, and how long that may take.
BEAT_S, PATIENCE_S = 0.5, 1.0
#: It counts as lost when it has not answered for so long: a browser knows within 2 s.
LOST_S = 1.4
#: The small chart of each target in the list, and what it is made of.
GLANCE_S, GLANCE_SLOTS = 900, 60
#: So many of them are read in a tick at most, each anew after so long: a thousand targets are no flood.
_GLANCES_A_TICK, _GLANCE_AGE_S = 8, 15.0
_LIST_AGE_S = 10.0
_KINDS = ("sample", "decision", "stall", "target", "operation", "daemon")


@dataclass(frozen=True)
class Listener:
    """An open page: `news` is awaited after every tick, `beat` is called twice a second, come what may."""

    news: Callable[[], Awaitable[None]]
    beat: Callable[[], None]


class PageFeed:
    """The daemon's state as of the last tick, and who wants to hear of the next one."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._get = upstream.get
        self._listeners: dict[object, Listener] = {}
        self._rooms: dict[str, Room] = {}
        self._wanted = asyncio.Event()
        self._heard_s = float("-inf")
        self._list_at_s = float("-inf")
        self.targets: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, str] = {}
        self.journal: dict[str, Any] | None = None
        self.controllers: list[dict[str, Any]] = []
        self.trouble: str | None = None
        #: By target: when it was read, and the parts of the last quarter of an hour.
        self.glances: dict[str, tuple[float, list[HeldWriters]]] = {}

    # -- what the views ask

    @property
    def silence_s(self) -> float:
        """How long ago the daemon last answered."""
        return time.monotonic() - self._heard_s

    @property
    def lost(self) -> bool:
        """Whether the daemon has not answered for too long."""
        return self.silence_s > LOST_S

    def find(self, target: str) -> dict[str, Any] | None:
        """Give a target of the list by its id."""
        return self.targets.get(target)

    def listen(self, key: object, listener: Listener) -> None:
        """Tell the listener of every tick and beat until `forget`."""
        self._listeners[key] = listener
        self._wanted.set()

    def forget(self, key: object) -> None:
        """Call that listener no more."""
        self._listeners.pop(key, None)
        if not self._listeners:
            self._wanted.clear()

    def enter(self, target: str) -> Room:
        """Begin to look at one target, at the same figures as everybody else who does."""
        room = self._rooms.setdefault(target, Room(target, self._get))
        room.visitors += 1
        return room

    def leave(self, room: Room) -> None:
        """Look no more; the last one to leave lets its figures go."""
        room.visitors -= 1
        if room.visitors <= 0:
            self._rooms.pop(room.target, None)

    # -- the daemon's side

    async def run(self) -> None:
        """Follow the daemon for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._beat(), name="beat")
            tasks.create_task(self._run_ticks(), name="ticks")

    async def _beat(self) -> None:
        """Know at once when the daemon is lost, also while a tick waits for it."""
        while True:
            await self._wanted.wait()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    _, body = await self._get("/healthz")
                self.journal = json.loads(body)["journal"]
                self._heard_s, self.trouble = time.monotonic(), None
            except TimeoutError:
                self.trouble = f"no answer within {PATIENCE_S:.0f} s"
            except TargetError as error:
                self.trouble = str(error)
            except Exception as error:  # an answer that is not understood: the next one may be
                self.trouble = f"its answer is not understood ({type(error).__name__}: {error})"
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
                    await self._wanted.wait()
                    self._list_at_s = float("-inf")
                if follower is None:
                    follower = asyncio.create_task(self._follow(), name="events")
                began_s = time.monotonic()
                await self._tick()
                await self._tell()
                await asyncio.sleep(max(TICK_S / 20, began_s + TICK_S - time.monotonic()))
        finally:
            if follower is not None:
                follower.cancel()

    async def _tick(self) -> None:
        try:
            await self._read_list()
            await self._refresh_rooms()
            await self._refresh_glances()
        except TargetError as error:
            _log.debug("nothing new: %s", error)
        except Exception:  # an answer that is not understood: the next one may be
            _log.debug("an answer of the daemon's", exc_info=True)

    async def _read_list(self) -> None:
        """Read the whole list now and then only, for events tell what is new."""
        now_s = time.monotonic()
        if now_s - self._list_at_s < _LIST_AGE_S:
            return
        _, body = await self._get("/v1/targets")
        listed = json.loads(body)
        self.targets = {target["id"]: target for target in listed["targets"]}
        self.problems, self.journal = listed["problems"], listed["journal"]
        if not self.controllers:
            _, body = await self._get("/v1/controllers")
            self.controllers = json.loads(body)["controllers"]
        self._list_at_s = now_s

    async def _refresh_rooms(self) -> None:
        for room in list(self._rooms.values()):
            await room.refresh(time.monotonic())

    async def _refresh_glances(self) -> None:
        """Read some of the small charts anew, the oldest first."""
        now_s = time.monotonic()
        due = [target for target in self.targets if now_s - self.glances.get(target, (-1e9, []))[0] >= _GLANCE_AGE_S]
        due.sort(key=lambda target: self.glances.get(target, (-1e9, []))[0])
        for target in due[:_GLANCES_A_TICK]:
            status, body = await self._get(f"/v1/targets/{target}/history?points={GLANCE_S}")
            points = json.loads(body)["points"] if status < 400 else []
            end = points[-1]["unix_s"] if points else 0.0
            parts = history.slots(points, end - GLANCE_S, end, GLANCE_SLOTS) if points else []
            self.glances[target] = now_s, parts
        for gone in set(self.glances) - set(self.targets):
            del self.glances[gone]

    async def _tell(self) -> None:
        """Call every listener; one that fails hurts no other, and others have a turn between."""
        for listener in list(self._listeners.values()):
            try:
                await listener.news()
            except Exception:  # a page of one browser, whatever it is
                _log.exception("a page could not be brought up to date")
            await asyncio.sleep(0)

    async def _follow(self) -> None:
        """Take events in as they come; begin anew where they break off."""
        while True:
            try:
                async with self._upstream.stream(f"{PATH}?kinds={','.join(_KINDS)}") as stream:
                    if stream.status != 200:
                        raise Unreachable(f"{PATH} answered {stream.status}")
                    async for event in events_of(stream.pieces):
                        self._take(event.kind, event.data)
            except TargetError as error:
                _log.debug("events: %s", error)
            except Exception:  # nobody would follow any more
                _log.exception("an event of the daemon's is not understood; following anew")
            self._list_at_s = float("-inf")
            await asyncio.sleep(TICK_S)

    def _take(self, kind: str, event: dict[str, Any]) -> None:
        self._heard_s = time.monotonic()
        target = event.get("target")
        room = self._rooms.get(target) if target is not None else None
        if kind == "sample" and event["sample"] is not None:
            self.targets[event["sample"]["id"]] = event["sample"]
        elif kind == "decision" and room is not None:
            room.decided([event["record"]])
        elif kind in ("target", "operation", "daemon", "lost"):
            self._list_at_s = float("-inf")
            for each in self._rooms.values() if target is None else [room]:
                if each is not None:
                    each.ask_again()
