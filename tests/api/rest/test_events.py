"""Server-sent events of the daemon, over its Unix socket, as a script would follow them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adocd.api import limits
from adocd.api.rest import events as rest_events
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S


@dataclass
class Stream:
    """An open stream; `head` is its status line and headers."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """Return the data of the next event, of this kind; comments are skipped."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                lines = (await self.reader.readuntil(b"\n\n")).decode().splitlines()
                data = next((line.removeprefix("data: ") for line in lines if line.startswith("data: ")), None)
                if data is None:
                    continue
                event: dict[str, Any] = json.loads(data)
                assert f"event: {event['kind']}" in lines
                assert f"id: {event['id']}" in lines
                if kind in (None, event["kind"]):
                    return event


@asynccontextmanager
async def stream(service: Service, query: str = "", *headers: str) -> AsyncIterator[Stream]:
    """Open a stream; chunk borders of HTTP are left out by asking in HTTP/1.0."""
    reader, writer = await asyncio.open_unix_connection(str(service.socket))
    lines = [f"GET /v1/events{query} HTTP/1.0", "Host: adocd", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        async with asyncio.timeout(PATIENCE_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        yield Stream(reader, writer, head)
    finally:
        writer.transport.abort()


def test_decisions_and_samples_as_they_happen(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        async with stream(service) as following:
            assert following.head.startswith("HTTP/1.1 200")
            assert "content-type: text/event-stream" in following.head
            sample = await following.next("sample")
            assert sample["target"] == sample["sample"]["id"] == service.loop.id
            assert sample["sample"]["state"] == "attached"
            await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
            taken = await following.next("decision")
            assert (taken["path"], taken["record"]["outcome"]) == (service.database.path, "in-flight")
            ended = await following.next("decision")
            assert ended["record"]["sequence"] == taken["record"]["sequence"]
            assert ended["record"]["outcome"] == "applied"
            assert ended["id"] > taken["id"]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_who_comes_back_misses_nothing(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        async with stream(service, "?kinds=target,decision") as following:
            await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
            first = await following.next("decision")
        await until(lambda: service.loop.remembered.decisions.count > 1, "another decision")
        async with stream(service, "?kinds=decision", f"Last-Event-ID: {first['id']}") as again:
            assert (await again.next())["id"] > first["id"]
        async with stream(service, "?kinds=decision", "Last-Event-ID: 0") as stranger:
            assert await stranger.next() == first, "all that there is"

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_closed_database_is_told(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        async with stream(service, f"?kinds=target&target={service.loop.id}") as following:
            service.agent.close()
            closed = await following.next()
            while closed["state"] != "closed":
                closed = await following.next()
            assert closed["sentence"] == "the database was closed"

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("?target=ffff", 404, "there is no target 'ffff'"),
        ("?kinds=weather", 422, "kinds: there is no kind of event 'weather'; there are sample, decision"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, query: str, status: int, sentence: str) -> None:
    async def body(service: Service) -> None:
        got, problem = await service.call("GET", f"/v1/events{query}")
        assert got == status
        assert sentence in problem["detail"]

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_streams_take_no_place_of_other_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", 4)
    monkeypatch.setattr(limits, "MAX_STREAMS", 6)

    async def body(service: Service) -> None:
        opened = [stream(service, "?kinds=operation") for _ in range(6)]
        streams = [await one.__aenter__() for one in opened]
        assert all(one.head.startswith("HTTP/1.1 200") for one in streams)
        assert (await service.call("GET", "/healthz"))[0] == 200
        async with stream(service) as refused:
            assert refused.head.startswith("HTTP/1.1 503")
        await opened.pop().__aexit__(None, None, None)

        await until(lambda: len(service.fleet.events._feeds) == 5, "its place is free")
        async with stream(service, "?kinds=operation") as one_more:
            assert one_more.head.startswith("HTTP/1.1 200")
        for one in opened:
            await one.__aexit__(None, None, None)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_reader_that_reads_nothing_costs_bounded_memory_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TRANSFER_S", 0.3)

    async def body(service: Service) -> None:
        events = service.fleet.events
        async with stream(service, "?kinds=daemon") as slow:
            slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(12):  # more than the ring, the kernel's buffers and ours hold together
                for _ in range(1000):
                    events.publish("daemon", 0.0, about="journal", sentence="x" * 1000)
                await asyncio.sleep(0.1)
            assert len(events._kept) == 5000
            slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
            seen = lost = last = 0
            while last < events.newest_id:
                event = await slow.next()
                last = event["id"]
                if event["kind"] == "lost":
                    lost += event["count"]
                else:
                    seen += 1
            assert lost > 1000
            assert seen + lost == 12_000

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_reader_that_takes_nothing_for_long_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_STUCK_S", 0.5)

    async def body(service: Service) -> None:
        events = service.fleet.events
        async with stream(service, "?kinds=daemon") as stuck:
            stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(5000):
                events.publish("daemon", 0.0, about="journal", sentence="x" * 1000)
            await until(lambda: not events._feeds, "its feed is closed")

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_what_is_idle_is_kept_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_events, "KEEP_ALIVE_S", 0.05)

    async def body(service: Service) -> None:
        async with stream(service, "?kinds=operation") as idle, asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                assert await idle.reader.readuntil(b"\n\n") == b": ping\n\n"

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_stop_of_the_daemon_ends_streams(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened = []

    async def body(service: Service) -> None:
        following = stream(service, "?kinds=sample")
        opened.append(following)
        await (await following.__aenter__()).next("sample")

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)
    assert opened
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]
