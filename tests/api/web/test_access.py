"""Who may do what by TCP: every route of REST, for every kind of client, from everywhere."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import socket
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from adocd.api.web import app as web
from adocd.api.web import metrics
from adocd.api.web.access import Access, TokenHolder
from adocd.api.web.gate import Gate, Rules
from adocd.api.web.upstream import Upstream
from adocd.daemon.book.tokens import TokenStore
from tests.api.harness import Service, with_service
from tests.api.web.gateway import Gateway, gateways
from tests.daemon.harness import overflowing

#: What each route needs. A new one fails the tests until it is in here.
OPEN = {"GET /healthz"}
READ = {
    "GET /metrics",
    "GET /v1/controllers",
    "GET /v1/events",
    "GET /v1/operations",
    "GET /v1/overrides",
    "GET /v1/targets",
    "GET /v1/targets/{target}",
    "GET /v1/targets/{target}/decisions",
    "GET /v1/targets/{target}/decisions/of-all-runs",
    "GET /v1/targets/{target}/diagnosis",
    "GET /v1/targets/{target}/history",
    "GET /v1/targets/{target}/lint",
    "GET /v1/targets/{target}/overrides",
    "GET /v1/targets/{target}/policy",
    "GET /v1/targets/{target}/samples",
    "GET /v1/targets/{target}/snapshot",
    "GET /v1/targets/{target}/verdict",
    "POST /v1/targets/{target}/policy/difference",
    "GET /v1/vitals",
    "GET /docs",
    "GET /openapi.json",
    "GET /what/is/to/come",
}
OPERATE = {
    "POST /v1/pause",
    "POST /v1/resume",
    "POST /v1/restore",
    "PUT /v1/overrides/{option}",
    "DELETE /v1/overrides/{option}",
    "PUT /v1/policy",
    "DELETE /v1/policy",
    "PUT /v1/targets/{target}/policy",
    "DELETE /v1/targets/{target}",
    "DELETE /v1/targets/{target}/policy",
    "PUT /v1/targets/{target}/overrides/{option}",
    "DELETE /v1/targets/{target}/overrides/{option}",
    "POST /v1/targets/{target}/pause",
    "POST /v1/targets/{target}/resume",
    "POST /v1/targets/{target}/restore",
    "PATCH /what/is/to/come",
    "OPTIONS /v1/pause",
}
NEVER = {"GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{name}"}
#: In no document: beside REST, or what is not there.
OTHERS = {
    "GET /metrics", "GET /docs", "GET /openapi.json", "GET /what/is/to/come",
    "PATCH /what/is/to/come", "OPTIONS /v1/pause",
}  # fmt: skip

PUBLIC = "adocd.example.org"


@dataclass(frozen=True)
class Place:
    """Where a request comes from, as its headers tell; `refused` with this status whoever it is."""

    headers: dict[str, str]
    refused: int | None = None
    is_here: bool = False


PLACES = {
    "here": Place({"Host": "localhost:1234"}, is_here=True),
    "here, from our page": Place({"Host": "localhost:1234", "Origin": "http://localhost:1234"}, is_here=True),
    "through the proxy": Place({"Host": PUBLIC, "Origin": f"https://{PUBLIC}"}),
    "through a proxy that keeps its own Host": Place({"Host": "localhost:80", "X-Forwarded-For": "192.0.2.1"}),
    "a name of somebody else's": Place({"Host": "evil.example"}, refused=400),
    "a page of somebody else's": Place({"Host": "localhost:1234", "Origin": "http://evil.example"}, refused=403),
    "another program's page on this machine": Place(
        {"Host": "localhost:1234", "Origin": "http://localhost:3000"}, refused=403
    ),
    "a page in a sandbox": Place({"Host": "localhost:1234", "Origin": "null"}, refused=403),
}
CREDENTIALS = ("none", "wrong", "expired", "revoked", "read", "operate")


def expected(route: str, credential: str, place: Place, anonymous_read: bool) -> int:
    """Say what a request must be answered: by what the route needs, not as the gate has it."""
    if place.refused is not None:
        return place.refused
    if route in NEVER:
        return 403
    if credential in ("wrong", "expired", "revoked"):
        return 401
    if route in OPEN or credential == "operate":
        return 200
    if credential == "read":
        return 200 if route in READ else 403
    return 200 if route in READ and anonymous_read and place.is_here else 401


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one for sockets and tokens."""
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def both(directory: Path) -> Iterator[dict[bool, Gateway]]:
    """Serve for this machine's readers, and, as on every other address, for nobody without a token."""
    hosts = frozenset({PUBLIC})
    with gateways(directory, Rules(hosts, anonymous_read=True), Rules(hosts, anonymous_read=False)) as (here, there):
        here.daemon.endless = False
        yield {True: here, False: there}


@pytest.fixture(scope="module")
def secrets(both: dict[bool, Gateway]) -> dict[str, dict[str, str]]:
    """Make the headers of each kind of client."""
    store = both[True].tokens
    made = {scope: store.make(f"a-{scope}", scope, None, "root")[0] for scope in ("read", "operate")}
    made["wrong"] = made["operate"][:-1] + ("a" if made["operate"][-1] != "a" else "b")
    made["expired"] = TokenStore(store.path, lambda: 1000.0).make("old", "operate", 5.0, "root")[0]
    made["revoked"] = store.make("gone", "operate", None, "root")[0]
    store.revoke("gone")
    return {kind: {"Authorization": f"Bearer {secret}"} for kind, secret in made.items()} | {"none": {}}


def test_the_table_has_every_route(tmp_path: Path) -> None:
    documented: set[str] = set()

    async def body(service: Service) -> None:
        _, document = await service.call("GET", "/openapi.json")
        documented.update(
            f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods
        )

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
    assert documented == (OPEN | READ | OPERATE | NEVER) - OTHERS
    by_another_method = {route for route in READ | OPEN if not route.startswith("GET ")}
    assert by_another_method == {"POST /v1/targets/{target}/policy/difference"}
    assert not any(route.startswith("GET ") for route in OPERATE)
    assert {route for route in documented if "/tokens" in route} == NEVER


def test_the_table_has_what_is_beside_rest(tmp_path: Path) -> None:
    app = web.make_app(Upstream(tmp_path / "none"), Access(tmp_path / "none"))
    routes = {f"GET {route.path}" for route in app.routes if isinstance(route, APIRoute)}
    assert routes >= {"GET /{path:path}", "GET /metrics", "GET /healthz", "GET /v1/events"}, "they are looked at"
    assert routes - {"GET /{path:path}"} <= OPEN | READ


@pytest.mark.parametrize("anonymous_read", [True, False], ids=["loopback", "elsewhere"])
@pytest.mark.parametrize("where", PLACES)
def test_every_route_for_everyone(
    both: dict[bool, Gateway],
    secrets: dict[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    anonymous_read: bool,
) -> None:
    async def rendered(*_: object) -> bytes:
        return b"up 1\n"

    monkeypatch.setattr(metrics, "render", rendered)
    gateway, place = both[anonymous_read], PLACES[where]
    daemon = gateway.daemon
    with contextlib.closing(gateway.client()) as client:
        for route, credential in itertools.product(sorted(OPEN | READ | OPERATE | NEVER), CREDENTIALS):
            method, path = route.replace("{target}", "t1").replace("{option}", "o").replace("{name}", "n").split()
            daemon.seen.clear()
            daemon.holders.clear()
            answer = gateway.call(method, path, place.headers | secrets[credential], client=client)
            case = f"{route}, token: {credential}, {where}"
            assert answer.status == expected(route, credential, place, anonymous_read), f"{case}: {answer.body!r}"
            passed = answer.status == 200 and path != "/metrics"
            assert daemon.seen == ([f"{method} {path}"] if passed else []), case
            holder = f"a-{credential}" if credential in ("read", "operate") else None
            assert daemon.holders == ([holder] if passed else []), case
            assert answer.headers["x-frame-options"] == "DENY", case
            if answer.status != 200:
                problem = json.loads(answer.body)
                assert answer.headers["content-type"] == "application/problem+json", case
                assert problem["status"] == answer.status
            if answer.status == 401:
                assert answer.headers["www-authenticate"].startswith('Bearer realm="adocd"'), case


def test_a_refusal_says_the_way_out(both: dict[bool, Gateway], secrets: dict[str, dict[str, str]]) -> None:
    def detail(method: str, headers: dict[str, str], gateway: Gateway = both[True]) -> str:
        return str(json.loads(gateway.call(method, "/v1/pause", headers).body)["detail"])

    assert "adocctl token create NAME --scope operate" in detail("POST", {})
    assert "reading from here needs a token" in detail("GET", {}, both[False])
    assert "the token a-read is for reading only" in detail("POST", secrets["read"])
    assert "the token old has expired" in detail("POST", secrets["expired"])
    assert "unknown, or has been revoked" in detail("POST", secrets["revoked"])
    assert "one header, Authorization: Bearer SECRET" in detail("POST", {"Authorization": "Basic YTpi"})
    assert f"{PUBLIC}, localhost, or another name that [web] hosts has" in detail("GET", {"Host": "evil.example"})


@pytest.mark.parametrize(
    "path",
    ["/v1/%74okens", "/v1/tokens/", "/v1/tokens/../tokens", "/v1/tokens?a=b", "/v1/tokens%2fa", "/v1/tokens/%61"],
)
def test_no_spelling_reaches_the_tokens(
    both: dict[bool, Gateway], secrets: dict[str, dict[str, str]], path: str
) -> None:
    both[True].daemon.seen.clear()
    assert both[True].call("GET", path, secrets["operate"]).status == 403
    assert both[True].daemon.seen == []


@pytest.mark.parametrize("path", ["/v1/targets/../tokens", "/v1/./tokens", "//v1/tokens", "/v1/a%2Fb?c=%20d&e", "/%ff"])
def test_a_path_is_handed_on_as_it_came(both: dict[bool, Gateway], path: str) -> None:
    """So that the daemon understands by it what the gate did."""
    both[True].daemon.seen.clear()
    assert both[True].call("GET", path).status == 200
    assert both[True].daemon.seen == [f"GET {path}"]


def test_which_headers_pass(both: dict[bool, Gateway], secrets: dict[str, dict[str, str]]) -> None:
    gateway = both[True]
    wanted = {"If-Match": '"3"', "Content-Type": "application/json", "Last-Event-ID": "4"}
    lies = {"Adocd-Holder": "root", "Adocd-Web": "x", "X-Forwarded-User": "root", "Cookie": "a=b", "Adocd-holder": "me"}
    answer = gateway.call("PUT", "/v1/x", wanted | lies | secrets["operate"], b'{"a": 1}')
    assert (answer.status, answer.body) == (200, b'{"a": 1}')
    assert (answer.headers["etag"], answer.headers["content-type"]) == ('"7"', "text/x")
    assert not {"set-cookie", "x-powered-by"} & set(answer.headers)
    came = gateway.daemon.headers[-1]
    assert {name: came[name.lower()] for name in wanted} == wanted
    assert came["adocd-holder"] == "a-operate"
    assert not {"x-forwarded-user", "cookie", "authorization"} & set(came)
    assert gateway.call("GET", "/v1/moved").headers["location"] == "/v1/targets?limit=1"


def test_health_says_less_to_who_may_not_read(both: dict[bool, Gateway], secrets: dict[str, dict[str, str]]) -> None:
    assert json.loads(both[True].call("GET", "/healthz").body) == {}, "what the daemon has said"
    assert json.loads(both[False].call("GET", "/healthz").body) == {"status": "ok"}
    assert json.loads(both[False].call("GET", "/healthz", secrets["read"]).body) == {}


def test_revoking_needs_no_restart(both: dict[bool, Gateway]) -> None:
    gateway = both[False]
    secret, _ = gateway.tokens.make("short", "read", None, "root")
    headers = {"Authorization": f"Bearer {secret}"}
    with contextlib.closing(gateway.client()) as client:
        assert gateway.call("GET", "/v1/targets", headers, client=client).status == 200
        gateway.tokens.revoke("short")
        assert gateway.call("GET", "/v1/targets", headers, client=client).status == 401


def test_tokens_that_cannot_be_read_are_nobodys(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        store = TokenStore(tmp_path / "tokens.json")
        access = Access(store.path)
        secret, _ = store.make("a", "operate", None, "root")
        assert await access.holder(secret) == TokenHolder("a", "operate")
        store.path.chmod(0o666)
        for _ in range(3):
            assert await access.holder(secret) is None
        assert "the log of adocd serve says why" in await access.why_not(secret)
        store.path.chmod(0o600)
        assert await access.holder(secret) == TokenHolder("a", "operate")

    asyncio.run(body())
    assert len(caplog.records) == 1, "said once"


def test_trouble_of_a_moment_locks_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is the same as before: what was wrong was ours."""

    async def body() -> None:
        store = TokenStore(tmp_path / "tokens.json")
        access = Access(store.path)
        secret, _ = store.make("a", "operate", None, "root")
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", _too_many_files)
            assert await access.holder(secret) is None
        assert await access.holder(secret) == TokenHolder("a", "operate")

    asyncio.run(body())


def _too_many_files(*_: object, **__: object) -> int:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize("name", ["Accept", "If-Match", "Last-Event-ID", "Content-Type"])
def test_headers_that_are_no_ascii_are_handed_on(both: dict[bool, Gateway], name: str) -> None:
    assert both[True].call("GET", "/v1/x", {name: "caf\xe9"}).status == 200
    assert both[True].daemon.headers[-1][name.lower()] == "caf\xe9"


Check = Callable[[TokenHolder | None, dict[str, str]], int | str]


@pytest.fixture
def websocket(tmp_path: Path) -> Check:
    """Ask the gate for a WebSocket, with a cookie's holder and headers; "passed", or the close code or status."""

    def asked(holder: TokenHolder | None, headers: dict[str, str]) -> int | str:
        outcome: list[int | str] = []

        async def inner(*_: object) -> None:
            outcome.append("passed")

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            outcome.append(int(str(message.get("code", message.get("status", 0)))))

        async def by_cookie(cookies: object) -> TokenHolder | None:
            return holder

        gate = Gate(inner, Access(tmp_path / "none"), Rules(anonymous_read=False), by_cookie)
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "websocket", "path": "/ws", "headers": raw, "server": ("127.0.0.1", 80), "query_string": b""}
        asyncio.run(gate(scope, receive, send))
        return outcome[0]

    return asked


def test_a_websocket_is_checked_just_the_same(websocket: Check) -> None:
    reader = TokenHolder("a", "read")
    here = {"Host": "localhost", "Origin": "http://localhost"}
    assert websocket(reader, here) == "passed"
    assert websocket(None, here) == 1008
    assert websocket(reader, here | {"Origin": "http://evil.example"}) == 1008
    assert websocket(reader, here | {"Host": "evil.example", "Origin": "http://evil.example"}) == 1008


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("PUT /v1/targets/t1/policy HTTP/1.1\r\nHost: localhost", 401),
        ("POST /v1/targets/t1/policy/difference HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer adocd_none", 401),
        ("POST /v1/targets/t1/policy/difference HTTP/1.1\r\nHost: example.org", 400),
        ("PUT /v1/targets/t1/policy HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.org", 403),
        ("POST /v1/tokens HTTP/1.1\r\nHost: localhost", 403),
    ],
)
def test_nobodys_body_is_waited_for(both: dict[bool, Gateway], head: str, status: int) -> None:
    """Its head is all that is read of a request that no token would do for, or that has none."""
    gateway = both[True]
    with socket.create_connection((gateway.host, gateway.port), timeout=60) as connection:
        connection.sendall(f"{head}\r\nContent-Length: 4000\r\n\r\n{{".encode())
        assert connection.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())
