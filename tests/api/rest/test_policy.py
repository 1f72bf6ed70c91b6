"""A target's policy by REST: compared before it is set, and not overwritten unseen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Response
from fastapi.routing import APIRoute

from adocd.api.rest import policies, policy
from adocd.api.rest.views import PolicyView
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.several import Several
from adocd.targets.http import UnixHttpConnection
from tests.api.harness import Service, with_service
from tests.daemon.book.slow import turns
from tests.daemon.fleet.test_fleet import books, operators
from tests.daemon.fleet.test_operators import with_database
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S

MIB = 1 << 20
#: Policies that cannot be, and all that is wrong with them.
WRONG = (
    ({"controller": "adco"}, "there is no controller 'adco'; did you mean adoc?"),
    (
        {"controller": "adoc", "parameters": {"threads_max": 0, "batch_max": 1}},
        "adoc: threads_max must be at least 1, not 0; adoc has no parameter 'batch_max'; did you mean batch_max_bytes?",
    ),
    (
        {"controller": "adoc", "parameters": {"batch_max_bytes": "64M", "batch_min_bytes": "8MB/s"}},
        "batch_max_bytes must be 64MB (64,000,000 bytes) or 64MiB (67,108,864 bytes), not '64M': this may mean either; "
        "batch_min_bytes must be a size such as 64MB, 64MiB: '8MB/s' is a rate",
    ),
)
ADOC = {"controller": "adoc", "parameters": {"threads_max": 8}}


async def exchange(
    service: Service, method: str, body: object = None, if_match: str | None = None
) -> tuple[int, str, Any]:
    """Call the policy's route; status, ETag and body."""
    reader, writer = await asyncio.open_unix_connection(str(service.socket))
    content = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {service.target}/policy HTTP/1.0", "Host: adocd", "Content-Type: application/json"]
    head += [f"Content-Length: {len(content)}", *([] if if_match is None else [f"If-Match: {if_match}"]), "", ""]
    writer.write("\r\n".join(head).encode() + content)
    answer, _, got = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    lines = answer.decode().split("\r\n")
    etags = [line.partition(": ")[2] for line in lines if line.lower().startswith("etag:")]
    return int(lines[0].split()[1]), etags[0] if etags else "", json.loads(got)


def test_nobody_overwrites_what_he_has_not_seen(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, first, _ = await exchange(service, "GET")
        assert status == 200
        assert first.startswith('"')
        status, second, _ = await exchange(service, "PUT", ADOC, first)
        assert (status, second != first) == (200, True)
        for stale in (first, f"W/{second}", '"x", "y"', "nonsense"):
            status, _, problem = await exchange(service, "PUT", {"controller": "fixed"}, stale)
            assert status == 412
            assert "it is adoc with threads_max 8, ETag " in problem["detail"]
        assert (await exchange(service, "DELETE", None, first))[0] == 412
        assert service.loop.status.policy.controller == "adoc"
        assert (await exchange(service, "GET"))[1] == second
        assert (await exchange(service, "PUT", ADOC, f'"x", {second}'))[0] == 200, "one of them is it"
        assert (await exchange(service, "DELETE", None, "*"))[:2] == (200, first)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_of_two_who_saw_the_same_one_wins(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        _, seen, _ = await exchange(service, "GET")
        wanted = [{"controller": "adoc", "parameters": {"threads_max": most}} for most in range(4, 12)]
        answers = await asyncio.gather(*(exchange(service, "PUT", policy, seen) for policy in wanted))
        assert sorted(status for status, _, _ in answers) == [200] + [412] * 7

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_policy_is_compared_and_nothing_changes(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        async def difference(policy: object) -> tuple[dict[str, Any], str | None]:
            status, answer = await service.call("POST", f"{service.target}/policy/difference", policy)
            assert status == 200
            return {c["field"]: (c["now"], c["wanted"]) for c in answer["changes"]}, answer["refused"]

        changed, refused = await difference(ADOC)
        assert refused is None
        assert changed == {"controller": ("fixed", "adoc"), "parameters.threads_max": (None, 8)}
        assert service.loop.status.policy.controller == "fixed"

        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        assert await difference({"controller": "adoc"}) == ({}, None)
        assert await difference(ADOC) == ({"parameters.threads_max": (20, 8)}, None)
        assert await difference({"controller": "adoc", "dry_run": True, "shaping": {"pacing_s": 5}}) == (
            {"dry_run": (False, True), "shaping.pacing_s": (0.0, 5.0)},
            None,
        )
        in_units = {"controller": "adoc", "parameters": {"batch_max_bytes": "1GiB"}, "shaping": {"pacing_s": "1min"}}
        assert await difference(in_units) == (
            {"parameters.batch_max_bytes": (512 * MIB, 1024 * MIB), "shaping.pacing_s": (0.0, 60.0)},
            None,
        )
        for wrong, sentence in WRONG:
            assert await service.call("POST", f"{service.target}/policy/difference", wrong) == (
                422,
                {"type": "about:blank", "title": "Unprocessable Entity", "status": 422, "detail": sentence},
            )
        _, refused = await difference({"controller": "mimd", "parameters": {"max_bytes_per_s": 100_000_000}})
        assert refused is not None
        assert "mimd cannot work on" in refused

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_numbers_that_json_does_not_know_are_refused(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        connection = UnixHttpConnection(service.socket)
        policy = {"controller": "adoc", "parameters": {"threads_max": float("nan")}}
        status, _ = await connection.request("PUT", f"{service.target}/policy", body=policy, timeout_s=PATIENCE_S)
        await connection.close()
        assert status == 422

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_number_that_is_larger_than_any_float_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """JSON and TOML have integers of any length; a sentence that names it must not be longer than a line."""
    huge = 10**400

    async def body(service: Service) -> None:
        for wrong in (
            {"controller": huge},
            {"controller": "adoc", "parameters": {"threads_max": huge}},
            {"controller": "adoc", "shaping": {"judge_s": huge}},
        ):
            status, _, answer = await exchange(service, "PUT", wrong)
            assert status == 422
            assert len(answer["detail"]) < 1000
        status, _ = await service.call("PUT", f"{service.target}/overrides/max_background_jobs", {"value": huge})
        assert status == 422

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    """JSON can have it, and neither an answer nor a journal in UTF-8."""

    async def body(service: Service) -> None:
        for wrong in (
            {"controller": "\ud800"},
            {"controller": "adoc", "parameters": {"\ud800": 1}},
            {"controller": "adoc", "parameters": {"threads_max": "\ud800"}},
            {"controller": "adoc", "\ud800": 1},
        ):
            assert (await exchange(service, "PUT", wrong))[0] == 422
            status, answer = await service.call("POST", f"{service.target}/policy/difference", wrong)
            assert status == 422 or (status == 200 and answer["refused"])

    with_service(tmp_path, FakeDatabase(path=tmp_path / "db"), body)


@pytest.mark.parametrize("path", ["/v1/targets/{target}/policy", "/v1/policy"])
def test_a_policy_that_waits_for_another_ends_no_pause_that_is_entered_meanwhile(tmp_path: Path, path: str) -> None:
    async def body(fleet: Fleet, loop: TargetLoop) -> None:
        app, turn = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), asyncio.Lock()
        policy.install(app, lambda _: loop, operators[fleet], turn)
        policies.install(app, Several(fleet, books[fleet], operators[fleet]), turn)
        (route,) = (
            each for each in app.routes if isinstance(each, APIRoute) and (each.path, each.methods) == (path, {"PUT"})
        )
        arguments = {"response": Response(), "target": loop.id} if "target" in path else {"where": ["path=*"]}
        async with turn:
            setting = asyncio.ensure_future(
                route.endpoint(policy=PolicyView(controller="fixed"), who="alice", **arguments)
            )
            await turns()
            operators[fleet].pause(loop, "bob paused it", "bob")
        await setting
        assert books[fleet].pauses.of(loop.id) is not None

    with_database(tmp_path, body)
