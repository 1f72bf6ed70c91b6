"""Requests that anybody can make and that are refused, as bytes: none of them may cost more than its answer."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Mapping

from tests.support.waiting import PATIENCE_S

Address = str | tuple[str, int]

_WEBSOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "


def request(line: str, body: bytes = b"", *headers: str, announced: int | None = None) -> bytes:
    """Write a request that ends its connection, with a body of JSON."""
    length = len(body) if announced is None else announced
    head = [f"{line} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join((*head, *headers, "Connection: close", "", "")).encode() + body


_COMPARE = "POST /v1/targets/3f2a/policy/difference"
_SET = "PUT /v1/targets/3f2a/policy"
#: The most that a route takes.
_X = b"x" * 65_000
#: What is asked without any token, on either side.
REFUSALS: Mapping[str, bytes] = {
    "JSON without its end": request(_COMPARE, b'{"controller": "' + _X),
    "another JSON": request(_COMPARE, b'{"no_controller": "' + _X + b'"}'),
    "no such law": request(_COMPARE, b'{"controller": "' + _X + b'"}'),
    "deep JSON": request(_COMPARE, b"[" * 65_000),
    "no text": request(_COMPARE, b"\xff" * 65_000),
    "one MB of JSON without its end": request(_COMPARE, b'{"controller": "' + b"x" * 1_000_000),
    "a body that is announced": request(_COMPARE, announced=1 << 40),
    "half a body": request(_COMPARE, _X[:30_000], announced=60_000),
    "a change without a token": request(_SET, b'{"controller": "' + _X),
    "a token that is none": request(_SET, b'{"controller": "' + _X, "Authorization: Bearer adocd_none"),
    "another's claim": request("GET /v1/targets", b"", "adocd-web: guessed"),
    "no such path": request("GET /v1/nothing/" + "x" * 10_000),
    "no such method": request("PATCH /v1/targets", b"x" * 4_000),
    "a head of 1 MB": b"GET / HTTP/1.1\r\nX: " + b"y" * 1_000_000,
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
    "half a head": b"GET / HTTP/1.1\r\nX: " + b"y" * 10_000,
    "no HTTP": b"\x16\x03\x01" * 3_000 + b"\r\n\r\n",
    "another host": b"GET / HTTP/1.1\r\nHost: example.org\r\nX: " + b"y" * 10_000 + b"\r\n\r\n",
    "no such WebSocket": f"GET /none HTTP/1.1\r\nHost: localhost\r\n{_WEBSOCKET}eHh4\r\n\r\n".encode(),
}


#: After these nothing more comes, and the server takes that for their client's end.
ENDED = frozenset({REFUSALS[name] for name in ("a body that is announced", "half a body", "half a head")})


def refused(address: Address, sent: bytes) -> int | None:
    """Send it, and read the answer; its status, None where there is none."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(address)
        with contextlib.suppress(ConnectionError):  # it may be refused before it is all sent
            connection.sendall(sent)
            if sent in ENDED:
                connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        try:
            answer.begin()
            answer.read()
        except (ConnectionError, http.client.HTTPException):
            return None
        return answer.status
