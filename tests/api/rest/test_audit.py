"""The audit trail by REST: who did what, and that it outlives the daemon."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

from tests.api.harness import Service, with_service
from tests.daemon.harness import until
from tests.support.fake_database import FakeDatabase

SLOWDOWN = "level0_slowdown_writes_trigger"


async def trail(service: Service, query: str = "") -> list[dict[str, Any]]:
    status, answer = await service.call("GET", f"/v1/operations{query}")
    assert status == 200
    operations: list[dict[str, Any]] = answer["operations"]
    return operations


def test_everything_an_operator_does_is_taken_down(tmp_path: Path) -> None:
    me = getpass.getuser()

    async def body(service: Service) -> None:
        policy = {"controller": "adoc", "parameters": {"threads_max": 8, "batch_max_bytes": 256 << 20}, "dry_run": True}
        place = f"{service.target}/overrides/{SLOWDOWN}"
        for method, path, asked in (
            ("PUT", f"{service.target}/policy", policy),
            ("DELETE", f"{service.target}/policy", None),
            ("PUT", place, {"value": "30", "reason": "a bulk load"}),
            ("DELETE", place, None),
            ("POST", f"{service.target}/pause", {"reason": "maintenance"}),
            ("POST", f"{service.target}/resume", None),
            ("POST", "/v1/restore", None),
            ("POST", "/v1/resume", None),
        ):
            status, answer = await service.call(method, path, asked)
            assert status == 200, answer
        done = await trail(service)
        assert [(one["what"], one["sentence"].removeprefix(f"{me} ")) for one in done] == [
            ("set-policy", "set the policy to adoc with threads_max 8, batch_max_bytes 256 MiB, as a dry run"),
            ("reset-policy", "left the policy to the configuration: fixed"),
            ("pin", f"pinned {SLOWDOWN} to 30 for 60 min: a bulk load"),
            ("unpin", f"removed the pin of {SLOWDOWN}"),
            ("pause", "paused it: maintenance"),
            ("resume", "let its law go on"),
            ("restore", "restored the originals of all targets"),
            ("resume", "let all laws go on"),
        ]
        assert {one["who"] for one in done} == {me}
        assert [one["path"] for one in done] == [service.database.path] * 6 + [None] * 2
        assert [one["id"] for one in done] == list(range(1, 9))

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_what_was_refused_is_not_taken_down(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        for path, asked in (
            (f"{service.target}/policy", {"controller": "adco"}),
            (f"{service.target}/overrides/{SLOWDOWN}", {"value": "many"}),
        ):
            assert (await service.call("PUT", path, asked))[0] == 422
        assert (await service.call("DELETE", f"{service.target}/overrides/{SLOWDOWN}"))[0] == 404
        assert await trail(service) == []

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_an_override_that_expires_is_taken_down(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/overrides/{SLOWDOWN}", {"value": "30", "for_s": 0.1})
        operations = service.fleet._book.operations
        await until(lambda: len(operations) == 2, "it has expired")
        _, gone = await trail(service)
        assert (gone["what"], gone["who"]) == ("unpin", "adocd")
        assert gone["sentence"] == f"the override of {SLOWDOWN}, which {getpass.getuser()} set, has expired"

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_pages_of_the_trail_are_stable(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        for _ in range(7):
            await service.call("POST", f"{service.target}/pause", {})
        seen: list[int] = []
        before, path = None, "/v1/operations?limit=3"
        while True:
            _, page = await service.call("GET", path if before is None else f"{path}&before={before}")
            seen = [one["id"] for one in page["operations"]] + seen
            await service.call("POST", f"{service.target}/resume")  # what comes meanwhile moves nothing
            if (before := page["next_before"]) is None:
                break
        assert seen == list(range(1, 8))
        assert len(await trail(service, f"?target={service.loop.id[:6]}")) == 10
        assert await trail(service, "?target=ffff") == []
        assert (await service.call("GET", "/v1/operations?limit=0"))[0] == 422

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_the_trail_outlives_the_daemon(tmp_path: Path) -> None:
    async def first(service: Service) -> None:
        await service.call("POST", f"{service.target}/pause", {"reason": "one"})

    async def second(service: Service) -> None:
        await service.call("POST", f"{service.target}/pause", {"reason": "two"})
        assert [(one["id"], one["sentence"].split(": ")[1]) for one in await trail(service)] == [(1, "one"), (2, "two")]

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), first)
    with_service(tmp_path, FakeDatabase(tmp_path / "db"), second)
