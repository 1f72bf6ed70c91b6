"""Tokens by REST: on the daemon's own socket, and there alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.api.web.access import TokenHolder
from adocd.api.web.upstream import Upstream
from adocd.daemon.book.tokens import TokenStore
from tests.api.harness import WEB_SECRET, Run, Service, with_service
from tests.daemon.harness import overflowing

JSON = "application/json"


def test_made_listed_and_revoked(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, made = await service.call("POST", "/v1/tokens", {"name": "a", "scope": "operate", "expires_in_s": 60})
        assert status == 201
        assert made["expires_unix_s"] == pytest.approx(made["made_unix_s"] + 60)
        secret = made.pop("secret")
        assert await service.call("GET", "/v1/tokens") == (200, {"tokens": [made]})
        status, _ = await service.tcp("GET", "/v1/targets", headers={"Authorization": f"Bearer {secret}"})
        assert status == 200
        assert (await service.call("POST", "/v1/tokens", {"name": "a"}))[0] == 409
        assert await service.call("DELETE", "/v1/tokens/a") == (200, {"revoked": "a"})
        status, problem = await service.call("DELETE", "/v1/tokens/a")
        assert (status, problem["detail"]) == (404, "there is no token 'a'")

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "a\n"}, "name"),
        ({"name": "a", "scope": "root"}, "scope"),
        ({"name": "a", "expires_in_s": 0}, "expires_in_s"),
        ({"name": "a", "expires_in_s": 1e300}, "expires_in_s"),
        ({"name": "a", "for_s": 1}, "for_s"),
    ],
)
def test_what_makes_no_sense(left_alone: Run, asked: dict[str, object], where: str) -> None:
    async def body(service: Service) -> None:
        status, problem = await service.call("POST", "/v1/tokens", asked)
        assert (status, where if where in problem["detail"] else problem["detail"]) == (422, where)

    left_alone(body)


def test_a_damaged_file_is_told_and_kept(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        path = service.tokens
        path.write_text("{")
        path.chmod(0o600)
        for method, where in (("GET", ""), ("POST", ""), ("DELETE", "/a")):
            status, problem = await service.call(
                method, f"/v1/tokens{where}", {"name": "a"} if method == "POST" else None
            )
            assert (status, "are damaged; move that file away" in problem["detail"]) == (409, True)
        assert path.read_text() == "{"

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_the_web_process_has_no_part_in_it(tmp_path: Path) -> None:
    """Its gate refuses it; were there a way round that, the daemon refuses it, too."""

    async def body(service: Service) -> None:
        upstream = Upstream(service.socket, WEB_SECRET)
        for holder in (None, TokenHolder("a", "operate")):
            for method, path in (("GET", "/v1/tokens"), ("POST", "/v1/tokens"), ("DELETE", "/v1/tokens/a")):
                status, _, _ = await upstream.request(method, path, b'{"name": "b"}', holder, {"content-type": JSON})
                assert status == 403
        await upstream.close()
        assert TokenStore(service.tokens).tokens() == ()

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
