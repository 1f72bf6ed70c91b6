"""An answer is the same however it comes in pieces, and whoever reads it: our own few lines, or h11."""

from __future__ import annotations

import h11
import pytest

from adocd.targets import http_answer
from adocd.targets.http_answer import Answer, Answering, CutOff, NotHttp, TooLarge

PLAIN = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n3\r\n 1}\r\n0\r\n\r\n'


def fed(content: bytes, piece_bytes: int) -> Answer | None:
    answering = Answering("GET")
    for at in range(0, len(content), piece_bytes):
        if (answer := answering.feed(content[at : at + piece_bytes])) is not None:
            return answer
    return None


@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
@pytest.mark.parametrize("content", [PLAIN, CHUNKED])
def test_pieces_make_a_whole(content: bytes, piece_bytes: int) -> None:
    assert fed(content, piece_bytes) == Answer(200, b'{"a": 1}', keeps_alive=True)


@pytest.mark.parametrize(
    "content",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200\r\ncontent-length:2 \r\nX-Y: \r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        PLAIN,
        CHUNKED,
    ],
)
def test_h11_reads_the_same(content: bytes) -> None:
    ours, theirs = fed(content, 1000), h11.Connection(h11.CLIENT)
    theirs.send(h11.Request(method="GET", target="/", headers=[("Host", "agent")]))
    theirs.send(h11.EndOfMessage())
    theirs.receive_data(content)
    status, body = 0, b""
    while not isinstance(event := theirs.next_event(), h11.EndOfMessage):
        status = event.status_code if isinstance(event, h11.Response) else status
        body += event.data if isinstance(event, h11.Data) else b""
    assert ours == Answer(status, body, keeps_alive=theirs.their_state is h11.DONE)


@pytest.mark.parametrize(
    "content",
    [
        b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
        b"\0" * 100,
    ],
)
def test_what_is_no_http_is_refused(content: bytes) -> None:
    with pytest.raises(NotHttp):
        fed(content, 1000)


def test_what_follows_unasked_ends_the_connection() -> None:
    assert fed(PLAIN + b"HTTP/1.1 200 OK\r\n", 1000) == Answer(200, b'{"a": 1}', keeps_alive=False)


def test_a_body_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answer, "MAX_BODY_BYTES", 4)
    for content in (PLAIN, CHUNKED):
        with pytest.raises(TooLarge):
            fed(content, 1000)


@pytest.mark.parametrize(("sent", "answered"), [(b"", False), (PLAIN[:10], True), (PLAIN[:-1], True)])
def test_an_end_before_the_answers(sent: bytes, answered: bool) -> None:
    answering = Answering("GET")
    if sent:
        assert answering.feed(sent) is None
    with pytest.raises(CutOff) as ended:
        answering.end()
    assert ended.value.answered is answered


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    answering = Answering("GET")
    assert answering.feed(b"HTTP/1.1 200 OK\r\n\r\n{}") is None
    assert answering.end() == Answer(200, b"{}", keeps_alive=False)
