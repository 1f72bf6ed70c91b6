"""What a browser says on the page's WebSocket that no browser of ours would: it is cut off, and the log stays clean."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from adocd.api.web.page.messages import is_understood
from tests.cli.harness import log_of, serving
from tests.support.waiting import eventually

EVENT = '42["event",{"client_id":"ID","id":4,"listener_id":"x","args":%s}]'
#: Each of another kind; nearly all of them once left a traceback. ID stands for the page that was loaded.
MALFORMED: list[str | bytes] = [
    "", "x", "\x00", "4", "42", "42[]", "42{}", "42[5]", "42[{}]", "43", "44{}", "45", "47", "5", "7", "9", "0{}",
    "bAAAA",
    "2probe", '40{"x":', "40[1]", "40/none", "42/", '451-["event",{"_placeholder":true,"num":0}]',
    '42["event"]', '42["event",null]', '42["event",{}]', '42["event",[1]]', '42["event",{"client_id":["x"]}]',
    '42["event",{"client_id":"\\ud800"}]', '42["event",1e999]', '42["event",' + "[" * 30_000, "42" + "[" * 30_000,
    EVENT % "5", EVENT % "[5]", EVENT % '["no JSON"]', EVENT % '["[1"]',
    '42["handshake"]', '42["handshake",{"client_id":"ID"}]', '42["ack",{"client_id":"ID","next_message_id":null}]',
    '42["javascript_response",7]', '42["javascript_response",{"client_id":"ID","request_id":{}}]', '42["log"]',
    '42["connect"]', '42["disconnect",1,2,3]', '42["nothing",{}]', '42999999999999999["event",{}]',
    b"", b"\x00\xff", b"42[]",
]  # fmt: skip
#: Of the right form, and of no use: nobody is cut off for what may be a moment late.
OF_NO_USE = [
    EVENT % "[]",
    EVENT % '["{}",null]',
    '42["event",{"client_id":"gone","id":4,"listener_id":"x","args":[]}]',
    '42["javascript_response",{"client_id":"ID","request_id":"none","result":1}]',
    '42["ack",{"client_id":"ID","next_message_id":-5}]',
    '42["log",{"client_id":"ID","level":"error","message":"look here"}]',
    '420["handshake",{"client_id":"gone","tab_id":"t","document_id":"d"}]',
    "3",
]


@dataclass(frozen=True)
class Served:
    """A daemon's page, and the name of one that was loaded."""

    run_dir: Path
    port: int
    page: str

    def loaded(self, more: str = "") -> contextlib.AbstractContextManager[ClientConnection]:
        """Open its WebSocket."""
        where = "page/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        return connect(f"ws://127.0.0.1:{self.port}/{where}{more}", open_timeout=20, close_timeout=5)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        run_dir = Path(directory)
        with serving(run_dir, "--port", "0"):
            (port,) = eventually(lambda: re.findall(r"127\.0\.0\.1:(\d+)", log_of(run_dir)), what="the port")
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)) as client:
                eventually(lambda: _answers(client), what="the page")
                client.request("GET", "/page/")
                found = re.search(r"'client_id': '([0-9a-f-]+)'", client.getresponse().read().decode())
            assert found is not None
            yield Served(run_dir, int(port), found[1])


def _answers(client: http.client.HTTPConnection) -> bool:
    client.close()
    client.request("GET", "/healthz")
    return client.getresponse().read() != b""


def connected(socket: ClientConnection, page: str) -> None:
    """Begin as the page's script does."""
    assert str(socket.recv(timeout=60)).startswith("0{")
    socket.send("40")
    assert str(socket.recv(timeout=60)).startswith("40{")
    said = {"client_id": page, "tab_id": "t", "document_id": "d", "old_tab_id": None, "next_message_id": 0}
    socket.send("42" + json.dumps(["handshake", said]))


def until_closed(socket: ClientConnection) -> int | None:
    """Read on until the other side closes it, and return its code."""
    try:
        while True:
            socket.recv(timeout=60)
    except ConnectionClosed as closed:
        return None if closed.rcvd is None else closed.rcvd.code


def test_what_no_script_of_ours_sends_ends_the_connection_and_leaves_no_trace(served: Served) -> None:
    assert len(MALFORMED) >= 18
    for said in MALFORMED:
        meant = said.replace("ID", served.page) if isinstance(said, str) else said
        with served.loaded() as socket:
            connected(socket, served.page)
            socket.send(meant)
            assert until_closed(socket) == 1008, meant[:80]
    _is_clean(served)


def test_what_comes_too_late_is_passed_over(served: Served) -> None:
    with served.loaded() as socket:
        connected(socket, served.page)
        for said in OF_NO_USE:
            socket.send(said.replace("ID", served.page))
        socket.send('421["handshake",{"client_id":"gone","tab_id":"t","document_id":"d"}]')
        answers: list[str] = []
        while not any(answer.startswith("431") for answer in answers):
            answers.append(str(socket.recv(timeout=60)))
    _is_clean(served)


@pytest.mark.parametrize("more", ["", "&client_id=ID", "&client_id=ID&tab_id=t&document_id=d&next_message_id=x"])
def test_a_beginning_that_says_too_little(served: Served, more: str) -> None:
    with served.loaded("&implicit_handshake=true" + more.replace("ID", served.page)) as socket:
        assert str(socket.recv(timeout=60)).startswith("0{")
        socket.send("40")
        assert socket.recv(timeout=60) == '44{"message":"Implicit handshake failed"}', "it is refused"
    _is_clean(served)


def _is_clean(served: Served) -> None:
    """Another answer comes after whatever was done, and then nothing stands in the log."""
    with served.loaded() as socket:
        connected(socket, served.page)
    log = log_of(served.run_dir)
    assert "Traceback" not in log
    assert "ERROR" not in log
    assert "look here" not in log


@pytest.mark.parametrize(
    "said", ["1", "3", "40", "40{}", "41", '42["log",{}]', '427["ack",{"client_id":"a","next_message_id":1}]']
)
def test_what_scripts_send_is_understood(said: str) -> None:
    assert is_understood(said)
