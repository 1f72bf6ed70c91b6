"""What is asked of the daemon depends on what is looked at, not on how many look."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from adocd.api.web.gate import Grant
from adocd.api.web.page import feed as feed_module
from adocd.api.web.page import room as room_module
from adocd.api.web.page.feed import Listener, PageFeed
from adocd.api.web.page.room import Room
from adocd.api.web.page.views.shell import Visit
from adocd.api.web.upstream import StreamedAnswer
from adocd.targets.errors import Unreachable
from tests.daemon.harness import until
from tests.page.points import decision, point, stall, target


class FakeUpstream:
    """A daemon that answers what it is told to, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.is_there = True
        #: Whether it takes requests, and never answers.
        self.hangs = False
        self.streams = 0
        #: Paths that the daemon fails at.
        self.failing: set[str] = set()
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()
        self.answers: dict[str, Any] = {
            "/healthz": {"journal": {"problem": None}},
            "/v1/targets": {"targets": [target()], "problems": {}, "journal": {"problem": None}},
            "/v1/targets/t1": target(id="t1"),
            "/v1/targets/t1/history": {"points": [point(100.0), point(101.0)]},
            "/v1/targets/t1/decisions": {"decisions": [decision(1)]},
            "/v1/targets/t1/overrides": {"overrides": []},
            "/v1/targets/t1/lint": {"findings": []},
            "/v1/targets/t1/verdict": {"target": "t1", "path": "/db", "verdict": None},
            "/v1/targets/t1/diagnosis": {"target": "t1", "path": "/db", "begin": None},
            "/v1/operations": {"operations": [], "next_before": None},
        }

    async def get(self, path: str) -> tuple[int, bytes]:
        """Answer."""
        if self.hangs:
            await asyncio.Event().wait()
        if not self.is_there:
            raise Unreachable("nobody is there")
        self.asked[path.partition("?")[0]] += 1
        status = 500 if path.partition("?")[0] in self.failing else 200
        return status, json.dumps(self.answers[path.partition("?")[0]]).encode()

    @contextlib.asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[StreamedAnswer]:
        """Hand out what is sent."""
        assert path.startswith("/v1/events?kinds=")
        if not self.is_there:
            raise Unreachable("nobody is there")
        self.streams += 1

        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield await self.sent.get()

        yield StreamedAnswer(200, {}, pieces())

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event."""
        self.sent.put_nowait(f"event: {event['kind']}\ndata: {json.dumps(event)}\n\n".encode())


def with_feed(body: Callable[[PageFeed, FakeUpstream], Awaitable[None]]) -> None:
    async def run() -> None:
        upstream = FakeUpstream()
        feed = PageFeed(upstream)  # type: ignore[arg-type]
        task = asyncio.create_task(feed.run())
        try:
            await body(feed, upstream)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


class Page:
    """An open page, which counts what it is told."""

    def __init__(self) -> None:
        self.ticks = 0
        self.beats = 0
        self.listener = Listener(self._news, self._beat)

    async def _news(self) -> None:
        self.ticks += 1

    def _beat(self) -> None:
        self.beats += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass a hundred times as fast."""
    monkeypatch.setattr(feed_module, "TICK_S", 0.01)
    monkeypatch.setattr(feed_module, "BEAT_S", 0.005)
    monkeypatch.setattr(feed_module, "LOST_S", 0.2)


def test_fifty_pages_are_one_reader_and_one_follower() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        pages = [Page() for _ in range(50)]
        rooms = [feed.enter("t1") for _ in pages]
        for page in pages:
            feed.listen(page, page.listener)
        await until(lambda: all(page.ticks >= 5 for page in pages), "five ticks")
        ticks = max(page.ticks for page in pages) + 1
        assert upstream.streams == 1
        assert upstream.asked["/v1/targets/t1"] <= ticks
        assert upstream.asked["/v1/targets/t1/decisions"] == 2, "all of them, and the newest for their repeats"
        assert all(room is rooms[0] for room in rooms)
        for room in rooms:
            feed.leave(room)
        seen = upstream.asked["/v1/targets/t1"]
        before = pages[0].ticks
        await until(lambda: pages[0].ticks > before + 3, "more ticks")
        assert upstream.asked["/v1/targets/t1"] <= seen + 1

    with_feed(body)


def test_nothing_is_asked_while_nobody_looks() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        await asyncio.sleep(0.05)
        assert upstream.asked.total() == 0
        page, another = Page(), Page()
        feed.listen("one", page.listener)
        await until(lambda: page.ticks > 2, "ticks")
        assert upstream.asked.total() > 0, "somebody looks"
        feed.forget("one")
        ticks = page.ticks
        feed.listen("two", another.listener)
        await until(lambda: another.ticks > 2, "ticks of another")
        assert page.ticks <= ticks + 1

    with_feed(body)


def test_events_bring_the_list_and_decisions_up_to_date() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        room = feed.enter("t1")
        feed.listen("one", Page().listener)
        await until(lambda: room.decisions_version == 1, "the decisions so far")
        upstream.tell({"kind": "sample", "target": "t1", "unix_s": 1.0, "sample": target(writes_per_s=77.0)})
        upstream.tell({"kind": "decision", "target": "t1", "record": decision(2)})
        await until(lambda: feed.targets["t1"]["writes_per_s"] == 77.0, "the sample")
        assert [record["sequence"] for record in room.decisions] == [1, 2]
        assert room.verdict is None
        upstream.answers["/v1/targets/t1/verdict"]["verdict"] = {"kind": "helps"}
        await until(lambda: room.verdict == {"kind": "helps"}, "the first verdict, which is asked for until it comes")

    with_feed(body)


def test_what_was_measured_long_before_it_was_read_is_no_news() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        room = feed.enter("t1")
        feed.listen("one", Page().listener)
        await until(lambda: room.read_unix_s is not None and "t1" in feed.glances, "the first figures")
        assert room.now_unix_s == 101.0
        assert feed.state(feed.targets["t1"]).word == "not measured", "the points are of 1970"

    with_feed(body)


def test_a_stall_in_the_list_goes_on_after_its_figures_were_read() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        now = time.time()
        upstream.answers["/v1/targets/t1/history"]["points"] = [point(now - 1.0), point(now)]
        feed.listen("one", Page().listener)
        await until(lambda: "t1" in feed.glances, "the first figures")
        assert feed.state(feed.targets["t1"]).word == "flowing"
        stopped = target(stall=stall("stopped") | {"since_unix_s": now + 1.0})
        upstream.tell({"kind": "sample", "target": "t1", "unix_s": now + 90.0, "sample": stopped})
        await until(lambda: feed.targets["t1"]["stall"] is not None, "the sample")
        assert feed.state(feed.targets["t1"]).level == "stopped"

    with_feed(body)


def test_a_daemon_that_is_gone_is_lost_and_found_again() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        page = Page()
        feed.listen("one", page.listener)
        await until(lambda: not feed.lost and feed.trouble is None and bool(feed.targets), "it is there")
        upstream.is_there = False
        await until(lambda: feed.lost, "it is lost")
        beats = page.beats
        await until(lambda: page.beats > beats + 2, "the page is told so")
        assert feed.trouble == "nobody is there"
        assert feed.targets, "what was known stays"
        upstream.is_there = True
        await until(lambda: not feed.lost, "it is there again")

    with_feed(body)


class Browser:
    """A browser that is connected, and keeps the scripts that its page sends it."""

    id = "one"
    has_socket_connection = True

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def __enter__(self) -> None:
        """Do nothing: nothing is laid out."""

    def __exit__(self, *failed: object) -> None:
        """Do nothing."""

    def on_connect(self, handler: Callable[[], None]) -> None:
        """Connect at once."""
        handler()

    def on_delete(self, handler: Callable[[], None]) -> None:
        """Stay for ever."""

    def run_javascript(self, code: str) -> None:
        """Keep it."""
        self.scripts.append(code)


def open_on(feed: PageFeed, room: Room | None) -> Browser:
    """Open the page of one target, or of all."""

    async def forever() -> bool:
        return True

    async def nothing_to_lay_out() -> None:
        pass

    browser: Any = Browser()
    ours: Any = None
    visit = Visit(feed, ours, ours, None, None, Grant(None, True, forever), browser, room=room)
    visit.keep_fresh(nothing_to_lay_out)
    return browser  # type: ignore[no-any-return]


def test_a_target_that_cannot_be_read_is_stale_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "STALE_S", 0.2)
    monkeypatch.setattr(feed_module, "_GLANCE_AGE_S", 0.02)

    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        upstream.answers["/v1/targets"]["targets"] = [target(id="t1"), target(id="t2")]
        for path in [each for each in upstream.answers if each.startswith("/v1/targets/t1")]:
            upstream.answers[path.replace("t1", "t2")] = upstream.answers[path]
        bad, good = feed.enter("t1"), feed.enter("t2")
        browser = open_on(feed, bad)
        assert feed.state(target(id="t1")).word == "not read yet"
        await until(lambda: set(feed.glances) == {"t1", "t2"}, "all of both targets")
        upstream.failing |= {"/v1/targets/t1", "/v1/targets/t1/history"}
        await until(lambda: "/v1/targets/t1 answered 500" in "".join(browser.scripts[-1:]), "its page is told so")
        assert not feed.lost
        version, glance = good.version, feed.glance("t2")
        await until(lambda: good.version > version and feed.glance("t2") is not glance, "the other is read as ever")
        assert feed.glance("t1").parts, "what was known stays"
        upstream.failing.clear()
        await until(lambda: browser.scripts[-1].startswith("adocd.tick(null"), "its page is told that it is back")

    with_feed(body)


def test_a_daemon_that_hangs_from_the_start_is_blamed_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "PATIENCE_S", 0.05)

    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        upstream.hangs = True
        browser = open_on(feed, None)
        await until(lambda: 'adocd.tick("no answer' in "".join(browser.scripts[-1:]), "its page is told so")
        for script in browser.scripts:
            assert re.fullmatch(r'adocd\.tick\((null|"no answer[^"]*"), [0-9.]+, [0-9.]+\)', script), "no `inf`"

    with_feed(body)


def test_what_was_read_before_nobody_looked_is_not_taken_for_now() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        page = Page()
        feed.listen("one", page.listener)
        await until(lambda: "t1" in feed.glances and feed.is_listed, "the first figures")
        version = feed.version
        feed.forget("one")
        await until(lambda: not feed.targets, "what was read is forgotten")
        assert not feed.is_listed
        assert feed.version > version, "what was made of it, too"
        assert feed.state(target(id="t1")).word == "not read yet"
        upstream.is_there = False
        await until(lambda: feed.lost, "nobody asks")
        feed.listen("two", Page().listener)
        assert not feed.lost, "nobody has asked yet"
        await until(lambda: feed.lost, "the daemon is gone")
        assert not feed.targets
        upstream.is_there = True
        await until(lambda: feed.is_listed and "t1" in feed.glances, "all is read again")

    with_feed(body)


def test_what_happened_while_no_event_came_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "_SLOWLY_S", 3600.0)  # nor is it read by and by

    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        room = feed.enter("t1")
        feed.listen("one", Page().listener)
        await until(lambda: room.decisions_version == 1 and upstream.streams == 1, "the decisions so far")
        upstream.answers["/v1/targets/t1/decisions"]["decisions"] = [decision(1, 900.0)]
        upstream.sent.put_nowait(b"event: sample\ndata: {}\n\n")  # not understood, so the stream is opened anew
        await until(lambda: [each["unix_s"] for each in room.decisions] == [900.0], "those of the daemon's next run")

    with_feed(body)


def test_a_page_that_fails_hurts_no_other() -> None:
    async def body(feed: PageFeed, upstream: FakeUpstream) -> None:
        failed = 0

        async def fails() -> None:
            nonlocal failed
            failed += 1
            raise RuntimeError("a browser of its own kind")

        good = Page()
        feed.listen("bad", Listener(fails, lambda: None))
        feed.listen("good", good.listener)
        await until(lambda: failed > 0, "it fails")
        ticks = good.ticks
        await until(lambda: good.ticks > ticks + 2, "ticks after that")

    with_feed(body)
