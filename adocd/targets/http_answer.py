"""Parses one HTTP/1.1 answer from the bytes that a connection receives.

Agents answer with a status and a body of known length, which a few byte searches can parse. Any other answer goes to
h11 from its first byte, so that a library decides what is valid HTTP. h11's state machine took two thirds of the time
of an answer.
"""

import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

#: A snapshot of a thousand column families is a few MiB; anything beyond this is no agent.
MAX_BODY_BYTES = 64 << 20
#: The largest head that h11 accepts, too.
_MAX_HEAD_BYTES = 16 << 10
_VERSION = b"HTTP/1.1 "
#: Excludes statuses without a body, and 1xx interim answers.
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [\t -~]*)?(?=\r\n)")
_NO_BODY = (204, 205, 304)
_FIELD = re.compile(rb"\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*)")
_LENGTH = re.compile(rb"[0-9]{1,12}")


class NotHttp(Exception):
    """What came is no answer of HTTP's: why, as h11 says it."""


class TooLarge(Exception):
    """The body is larger than any agent sends."""


class CutOff(Exception):
    """The connection ended before the answer was complete; `answered` is whether a part of it had arrived."""

    def __init__(self, *, answered: bool) -> None:
        super().__init__()
        self.answered = answered


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; `keeps_alive` is whether the connection can take another request."""

    status: int
    body: bytes
    keeps_alive: bool


class Answering:
    """Parses the answer to one request with this method as it arrives."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._http: Any = None
        self._received = bytearray()
        self._head: tuple[int, int, int] | None = None
        self._status = 0
        self._body = bytearray()

    def feed(self, data: bytes) -> Answer | None:
        """Take what came; the answer once it is whole. Raises NotHttp and TooLarge."""
        if self._http is None:
            self._received += data
            if self._head is None and not self._read_head():
                return None if self._http is None else self._by_h11(bytes(self._received))
            return self._whole()
        return self._by_h11(data)

    def end(self) -> Answer:
        """Note the end of the stream, which completes an answer without a length. Raises like `feed`, and CutOff."""
        if not self._received:
            raise CutOff(answered=False)
        if self._http is None:
            raise CutOff(answered=True)
        answer = self._by_h11(b"")
        if answer is None:
            raise CutOff(answered=True)
        return answer

    def _read_head(self) -> bool:
        """Parse the head once it is complete; switch to h11 if it is not a plain one."""
        received = self._received
        end = received.find(b"\r\n\r\n")
        if end < 0:
            may_be_plain = received.startswith(_VERSION[: len(received)]) and len(received) <= _MAX_HEAD_BYTES
            if not may_be_plain:
                self._ask_h11()
            return False
        self._head = _plain(bytes(received[:end]), end + 4)
        if self._head is None:
            self._ask_h11()
        return self._head is not None

    def _whole(self) -> Answer | None:
        if self._head is None:
            return None
        status, begin, length = self._head
        if length > MAX_BODY_BYTES:
            raise TooLarge
        end = begin + length
        if len(self._received) < end:
            return None
        # Surplus bytes may follow; then no later answer on this connection could be trusted.
        return Answer(status, bytes(self._received[begin:end]), len(self._received) == end)

    def _ask_h11(self) -> None:
        h11 = _h11()
        self._http = h11.Connection(h11.CLIENT)
        # h11 only needs the request's method.
        self._http.send(h11.Request(method=self._method, target="/", headers=[("Host", "agent")]))
        self._http.send(h11.EndOfMessage())

    def _by_h11(self, data: bytes) -> Answer | None:
        h11, http = _h11(), self._http
        http.receive_data(data)
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                raise NotHttp(str(error)) from None
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > MAX_BODY_BYTES:
                    raise TooLarge
            elif isinstance(event, h11.EndOfMessage):
                keeps_alive = http.their_state is h11.DONE and http.trailing_data == (b"", False)
                return Answer(self._status, bytes(self._body), keeps_alive)
            elif isinstance(event, h11.ConnectionClosed):
                raise CutOff(answered=True)


def _h11() -> ModuleType:
    # Only here: agents and the daemon answer plainly, and it would be a tenth of the time that adocctl takes to start.
    import h11  # noqa: PLC0415

    return h11


def _plain(head: bytes, begin: int) -> tuple[int, int, int] | None:
    """Return status, start of the body and its length; None if h11 must decide."""
    found = _STATUS.match(head)
    if found is None or (status := int(found[1])) in _NO_BODY:
        return None
    at, length = found.end(), None
    while at < len(head):
        field = _FIELD.match(head, at)
        if field is None:
            return None
        name, value = field[1].lower(), field[2].rstrip()
        if name == b"content-length":
            if length is not None or not _LENGTH.fullmatch(value):
                return None
            length = int(value)
        elif name in (b"transfer-encoding", b"connection", b"upgrade"):
            return None
        at = field.end()
    return None if length is None else (status, begin, length)
