"""HTTP that is wrong, huge, slow or garbage: it is refused with a reason, and harms nobody else."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.hosts import Host
from tests.support.agent_client import AgentClient, UnixConnection, exchange, read_reply
from tests.support.waiting import eventually

pytestmark = pytest.mark.shares_host


@contextlib.contextmanager
def connected(socket_path: Path, timeout_s: float = 10) -> Iterator[socket.socket]:
    """Open a bare connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(socket_path))
        yield connection


def status_of(answer: bytes) -> int:
    """Return the status of a raw answer."""
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer.split(b" ")[1])


def get_info(connection: socket.socket) -> int:
    """Ask once on a bare connection."""
    connection.sendall(b"GET /v1/info HTTP/1.1\r\nHost: agent\r\n\r\n")
    response = http.client.HTTPResponse(connection, method="GET")
    response.begin()
    return read_reply("GET", "/v1/info", response).status


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"not json", b'{"holder": "x", "ttl_s": NaN}', b'{"holder": "\xff", "ttl_s": 5}', b"[" * 100_000],
)
def test_a_body_that_is_not_json(client: AgentClient, db: str, raw: bytes) -> None:
    client.request("PUT", f"/v1/databases/{db}/lease", raw=raw).refused(400, "bad_request")
    client.request("PATCH", f"/v1/databases/{db}/options", raw=raw).refused(400, "bad_request")
    assert client.snapshot(db)["lease"] is None


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * (1 << 20),
        b'{"a":' * 200_000,
        b"[" + b"{}," * 349_000 + b"{}]",
        b'["' + b'[\\"' * 1000 + b'",' + b"[" * 17 + b"]" * 17 + b"]",
    ],
    ids=["deep", "deep objects", "wide", "behind a string"],
)
def test_a_body_of_another_shape_costs_the_host_little(client: AgentClient, host: Host, db: str, raw: bytes) -> None:
    """A megabyte of brackets is a million values of 70 bytes, unless it is looked at before it is parsed."""
    process = Path(f"/proc/{client.info()['pid']}")
    client.request("PUT", f"/v1/databases/{db}/lease", raw=b" " * (1 << 20)).refused(400, "bad_request")
    before = _peak_bytes(process)
    problem = client.request("PUT", f"/v1/databases/{db}/lease", raw=raw).refused(400, "bad_request")
    client.request("PATCH", f"/v1/databases/{db}/options", raw=raw).refused(400, "bad_request")
    assert problem["detail"] == "The body nests deeper, or has more values, than any request does."
    assert _peak_bytes(process) - before < 16 << 20


def test_brackets_in_strings_and_a_deep_plan_are_no_harm(client: AgentClient, db: str) -> None:
    holder = "[" * 90 + '\\"{' * 10
    client.request("PUT", f"/v1/databases/{db}/lease", {"holder": holder, "ttl_s": 5}).ok()
    client.request("PATCH", f"/v1/databases/{db}/options", raw=b"[" * 16 + b"]" * 16).refused(422, "bad_request")


def _peak_bytes(process: Path) -> int:
    """Return the most memory that the process has had at once since it was asked last; see proc(5), clear_refs."""
    (line,) = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM:")]
    (process / "clear_refs").write_text("5")
    return int(line.split()[1]) << 10


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/info", "/v1/infos", "/v1/info/x", "/v1/databases/x/y/z"])
def test_an_unknown_path(client: AgentClient, path: str) -> None:
    client.request("GET", path).refused(404, "not_found", "no_such_database")


def test_a_path_below_a_database(client: AgentClient, db: str) -> None:
    client.request("GET", f"/v1/databases/{db}/nothing").refused(404, "not_found")


@pytest.mark.parametrize("database", ["x", "0123456789ABCDEF", "..", "%00", "a" * 2000])
def test_an_id_that_is_none(client: AgentClient, database: str) -> None:
    client.request("GET", f"/v1/databases/{database}").refused(404, "no_such_database", "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/info"),
        ("DELETE", "/v1/databases"),
        ("PUT", "/v1/info"),
        ("BREW", "/v1/info"),
        ("PATCH", "/v1/info"),
    ],
)
def test_a_wrong_method(client: AgentClient, method: str, path: str) -> None:
    client.request(method, path).refused(405, "method_not_allowed")


def test_a_wrong_method_of_a_database(client: AgentClient, db: str) -> None:
    for method, path in (("POST", "snapshot"), ("GET", "options"), ("PUT", "options"), ("POST", "lease")):
        client.request(method, f"/v1/databases/{db}/{path}").refused(405, "method_not_allowed")
    client.request("DELETE", f"/v1/databases/{db}").refused(405, "method_not_allowed")


def test_a_body_that_is_too_large_by_its_header(host: Host, db: str) -> None:
    """The header is enough: nothing of such a body is read into memory."""
    for size in ((1 << 20) + 1, 1 << 40, 10**30):
        head = f"PATCH /v1/databases/{db}/options HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"
        assert status_of(exchange(host.socket_path, head.encode())) in ((413,) if size < 1 << 63 else (413, 400))


def test_a_body_that_is_too_large(host: Host, db: str) -> None:
    body = b" " * (3 << 20)
    head = f"PUT /v1/databases/{db}/lease HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    assert status_of(exchange(host.socket_path, head.encode() + body)) == 413


def test_a_large_body_that_is_allowed(client: AgentClient, db: str) -> None:
    body = json.dumps({"holder": "tester", "ttl_s": 5}).encode()
    client.request("PUT", f"/v1/databases/{db}/lease", raw=body + b" " * ((1 << 20) - len(body))).ok()


def test_keep_alive(host: Host) -> None:
    with connected(host.socket_path) as connection:
        for _ in range(50):
            assert get_info(connection) == 200


def test_connection_close_is_honoured(host: Host) -> None:
    answer = exchange(host.socket_path, b"GET /v1/info HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert status_of(answer) == 200
    with connected(host.socket_path) as connection:
        connection.sendall(b"GET /v1/info HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = b""
        while chunk := connection.recv(65536):  # the end of the stream must come without our closing anything
            answer += chunk
        assert status_of(answer) == 200


def test_a_refusal_does_not_end_the_connection(host: Host) -> None:
    connection = UnixConnection(host.socket_path, 10)
    try:
        for path in ("/v1/nothing", "/v1/info", "/v1/databases/0123456789abcdef", "/v1/info"):
            connection.request("GET", path)
            response = connection.getresponse()
            read_reply("GET", path, response)
            assert connection.sock is not None, f"closed after {path}"
    finally:
        connection.close()


def test_a_request_in_small_pieces(host: Host) -> None:
    with connected(host.socket_path) as connection:
        for byte in b"GET /v1/info HTTP/1.1\r\nHost: a\r\n":
            connection.sendall(bytes([byte]))
        connection.sendall(b"\r\n")
        response = http.client.HTTPResponse(connection, method="GET")
        response.begin()
        assert read_reply("GET", "/v1/info", response).status == 200


def test_two_requests_at_once(host: Host) -> None:
    """Pipelining need not be fast, but a second request must not be lost or taken for a body."""
    request = b"GET /v1/info HTTP/1.1\r\nHost: a\r\n\r\n"
    last = b"GET /v1/databases HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = exchange(host.socket_path, request + last)
    assert answer.count(b"HTTP/1.1 200") == 2
    assert b'"databases"' in answer


def test_the_host_header_is_ignored(host: Host) -> None:
    for line in (b"Host: example.com\r\n", b"Host: [::1]:80\r\n"):
        raw = b"GET /v1/info HTTP/1.1\r\n" + line + b"Connection: close\r\n\r\n"
        assert status_of(exchange(host.socket_path, raw)) == 200


LEASE = b"PUT /v1/databases/0123456789abcdef/lease HTTP/1.1\r\n"
GARBAGE = {
    "zeros": b"\x00" * 64,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    "method only": b"GET\r\n\r\n",
    "http 0.9": b"GET /v1/info\r\n\r\n",
    "http 9.9": b"GET /v1/info HTTP/9.9\r\n\r\n",
    "header without colon": b"GET /v1/info HTTP/1.1\r\nbroken header\r\n\r\n",
    "length no number": LEASE + b"Content-Length: x\r\n\r\n",
    "length negative": LEASE + b"Content-Length: -1\r\n\r\n",
    "two lengths": LEASE + b"Content-Length: 1\r\nContent-Length: 5\r\n\r\n{}   ",
    "bad chunk": LEASE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "endless chunk": LEASE + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
    "long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    "long header": b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "empty lines": b"\r\n\r\n\r\n",
    "noise": random.Random(0).randbytes(100_000),  # noqa: S311 (no secret)
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage(host: Host, client: AgentClient, garbage: bytes) -> None:
    """A refusal may come back that is not a 5xx, or nothing; and the next client is served as ever."""
    answer = exchange(host.socket_path, garbage)
    assert answer == b"" or 400 <= status_of(answer) < 500
    assert client.info()["protocol"]


def test_a_chunk_extension_without_end(host: Host, client: AgentClient) -> None:
    """No limit of bodies or headers holds for it, and what is read of it would take the host's memory."""
    answer = exchange(host.socket_path, LEASE + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * (3 << 20))
    assert status_of(answer) == 400
    assert client.info()["protocol"]


def test_a_client_that_breaks_off(host: Host, client: AgentClient, db: str) -> None:
    """Reset in the middle of a request, and with an answer unread (which must not end in SIGPIPE)."""
    snapshot = f"GET /v1/databases/{db}/snapshot HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    for data in (b"PATCH /v1/da", b"PUT / HTTP/1.1\r\nContent-Length: 50\r\n\r\n{", snapshot * 200):
        for _ in range(10):
            with connected(host.socket_path) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(data)
    assert client.info()["protocol"]


def test_a_slow_client_does_not_block_others(host: Host, client: AgentClient, db: str) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(host.socket_path)).sendall(b"PATCH /v1/databases HTTP/1.1\r\nConte")
        deaf = stack.enter_context(connected(host.socket_path))
        deaf.settimeout(0.3)
        request = f"GET /v1/databases/{db} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        with pytest.raises(TimeoutError):
            deaf.sendall(request * 20_000)  # never reads: both directions fill up
        for _ in range(10):  # the deaf one would never end, and before that this client gives up
            client.snapshot(db)
        client.acquire(db, ttl_s=5)


def test_many_connections_at_once(host: Host) -> None:
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            with AgentClient(host.socket_path) as another:
                for _ in range(10):
                    another.databases()
        except BaseException as error:  # a thread's exception would be lost
            failures.append(error)

    clients = [threading.Thread(target=ask) for _ in range(30)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert not failures


def test_connections_are_given_back(host: Host, client: AgentClient) -> None:
    """A thousand connections one after the other: a leak of sockets or threads would show."""
    descriptors = Path(f"/proc/{client.info()['pid']}/fd")
    tasks = descriptors.with_name("task")
    before = len(list(descriptors.iterdir())), len(list(tasks.iterdir()))
    for _ in range(1000):
        with connected(host.socket_path) as connection:
            assert get_info(connection) == 200

    def back_to_before() -> bool:
        now = len(list(descriptors.iterdir())), len(list(tasks.iterdir()))
        return now[0] <= before[0] + 5 and now[1] <= before[1] + 5

    eventually(back_to_before, what="descriptors and threads to be given back")
