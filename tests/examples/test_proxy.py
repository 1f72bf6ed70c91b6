"""adocd behind a real nginx: by TLS, with tokens, and events without delay."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from adocd.api.operations import OPERATIONS
from adocd.api.web.gate import Rules
from adocd.daemon.fleet import config
from tests.api.web.gateway import Gateway, gateways
from tests.conftest import REPOSITORY
from tests.support.users import ROOT
from tests.support.waiting import eventually

EXAMPLE = REPOSITORY / "examples" / "proxy"
NAME = "adocd.example.org"


@dataclass(frozen=True)
class Proxy:
    """nginx at work."""

    port: int
    certificate: Path

    @property
    def origin(self) -> str:
        """What a browser calls it."""
        return f"https://{NAME}:{self.port}"

    @contextlib.contextmanager
    def connected(self) -> Iterator[http.client.HTTPConnection]:
        """Connect by TLS, and see that it is the right one."""
        trusted = ssl.create_default_context(cafile=self.certificate)
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        client = http.client.HTTPConnection(NAME, self.port, timeout=60)
        client.sock = trusted.wrap_socket(plain, server_hostname=NAME)
        with contextlib.closing(client):
            yield client

    def call(self, method: str, path: str, **headers: str) -> tuple[int, bytes]:
        """Call what is behind it; status and body."""
        with self.connected() as client:
            client.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = client.getresponse()
            return answer.status, answer.read()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one for the name, and its key beside it."""
    made = tmp_path_factory.mktemp("tls") / "a.pem"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-keyout", str(made.with_suffix(".key")), "-out", str(made), "-days", "2", "-subj", f"/CN={NAME}"]
    subprocess.run([*command, "-addext", f"subjectAltName=DNS:{NAME}"], check=True, capture_output=True)
    return made


@contextlib.contextmanager
def proxied(directory: Path, certificate: Path, upstream_port: int) -> Iterator[Proxy]:
    """Run nginx with the example, with the places that a test has to change changed, and nothing else."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert nginx is not None, "nginx is missing: apt-get install nginx-light"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    example = (EXAMPLE / "nginx.conf").read_text()
    for written, here in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen [::]:443 ssl http2;": "",
        "/etc/ssl/adocd.example.org.pem": str(certificate),
        "/etc/ssl/private/adocd.example.org.key": str(certificate.with_suffix(".key")),
        "127.0.0.1:9631": f"127.0.0.1:{upstream_port}",
    }.items():
        assert example.count(written) == 1
        example = example.replace(written, here)
    (directory / "adocd.conf").write_text(example)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    (directory / "nginx.conf").write_text(
        f"{'user root;' if ROOT else ''} worker_processes 1; pid {directory}/nginx.pid; daemon off;\n"
        f"error_log {directory}/error.log; events {{}}\n"
        f"http {{ access_log off; {places} include {directory}/adocd.conf; }}\n"
    )
    command = [nginx, "-p", str(directory), "-c", str(directory / "nginx.conf"), "-e", str(directory / "error.log")]
    process = subprocess.Popen(command)

    def listens() -> bool:
        assert process.poll() is None, (directory / "error.log").read_text()
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
            return True
        return False

    try:
        eventually(listens, what="nginx listens")
        yield Proxy(port, certificate)
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[tuple[Gateway, Proxy]]:
    """Serve the TCP side with the example's own configuration, behind the example's proxy."""
    web = config.load(EXAMPLE / "web.toml").web
    rules = Rules(frozenset(web.hosts), web.anonymous_read)
    nginx = tmp_path_factory.mktemp("nginx")
    with (
        gateways(tmp_path_factory.mktemp("web"), rules) as (gateway,),
        proxied(nginx, certificate, gateway.port) as proxy,
    ):
        yield gateway, proxy


def test_a_token_opens_it_and_nothing_else_does(served: tuple[Gateway, Proxy]) -> None:
    gateway, proxy = served
    secret, _ = gateway.tokens.make("ann", "operate", None, "root")
    bearer = f"Bearer {secret}"
    assert proxy.call("GET", "/healthz") == (200, b'{"status":"ok"}')
    assert proxy.call("GET", "/v1/targets")[0] == 401
    assert proxy.call("GET", "/v1/targets", Authorization=bearer)[0] == 200
    assert proxy.call("POST", "/v1/pause", Authorization=bearer)[0] == 200
    assert gateway.daemon.holders[-1] == "ann"
    assert proxy.call("POST", "/v1/pause", Authorization=bearer, Origin=proxy.origin)[0] == 200
    for origin in ("https://evil.example", f"https://{NAME}", f"http://localhost:{gateway.port}"):
        assert proxy.call("POST", "/v1/pause", Authorization=bearer, Origin=origin)[0] == 403
    assert proxy.call("GET", "/v1/tokens", Authorization=bearer)[0] == 403
    assert proxy.call("GET", "/v1/targets", Authorization=bearer, Host="evil.example")[0] == 400


def test_a_body_of_what_adocd_takes_passes(served: tuple[Gateway, Proxy]) -> None:
    gateway, proxy = served
    secret, _ = gateway.tokens.make("bob", "operate", None, "root")
    largest = max(operation.body_bytes for operation in OPERATIONS.values())
    for size, status in ((largest, 200), (largest + 1, 413)):
        with proxy.connected() as client:
            client.request("PUT", "/v1/targets/x/policy", b"x" * size, {"Authorization": f"Bearer {secret}"})
            assert client.getresponse().status == status


def test_an_event_passes_at_once(served: tuple[Gateway, Proxy]) -> None:
    """Before its stream has more, and before any buffer is full."""
    gateway, proxy = served
    secret, _ = gateway.tokens.make("eve", "read", None, "root")
    gateway.daemon.pause_after_first = True
    with proxy.connected() as client:
        client.request("GET", "/v1/events", headers={"Authorization": f"Bearer {secret}", "Last-Event-ID": "7"})
        answer = client.getresponse()
        assert answer.status == 200
        assert answer.read1(1 << 16).startswith(b"id: 1\nevent: sample\n")
        assert gateway.daemon.open_streams == 1
        assert gateway.daemon.headers[-1]["last-event-id"] == "7"
    eventually(lambda: gateway.daemon.open_streams == 0, what="the proxy hands on that its client has gone")


def test_a_websocket_passes(tmp_path: Path, certificate: Path) -> None:
    """As the page opens one; what is behind the proxy only takes down what comes."""
    heads: list[str] = []

    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += connection.recv(4096)
            heads.append(head.decode().lower())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            connection.sendall(connection.recv(100).upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        thread = threading.Thread(target=answer, args=(listener,))
        with proxied(tmp_path, certificate, listener.getsockname()[1]) as proxy, proxy.connected() as client:
            thread.start()
            upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": proxy.origin}
            client.request("GET", "/_nicegui_ws/socket.io/", headers=upgrade)
            head = client.sock.recv(4096)
            assert head.startswith(b"HTTP/1.1 101 ")
            client.sock.sendall(b"hello")
            assert client.sock.recv(100) == b"HELLO"
        thread.join()
    for line in ("upgrade: websocket", "connection: upgrade", f"host: {NAME}:{proxy.port}", "x-forwarded-for: 127.0."):
        assert f"\r\n{line}" in heads[0]
