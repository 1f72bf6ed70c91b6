"""A blocking client of the daemon's REST, for terminal programs."""

import json
import time
from pathlib import Path
from typing import Any

from adocd.targets.errors import Busy, NotAllowed, Silent, TargetError
from adocd.targets.http_answer import Answering, CutOff, NotHttp, TooLarge
from adocd.targets.http_request import HttpRequest, connected

#: How long an answer may take (s).
TIMEOUT_S = 15.0
#: How long and how often to retry while other clients take all connections: an operator must get through.
_BUSY_S, _AGAIN_S = 5.0, 0.005
_RECEIVED_BYTES = 1 << 16


class NoDaemon(Exception):
    """No daemon answers at the socket; its text is one sentence."""


class NotInTime(NoDaemon):
    """A daemon is there and does not answer in time: what was asked may still happen."""


class AnswerLost(NoDaemon):
    """A daemon had the request and ended before it answered: what was asked may have happened."""


class MayNotAsk(NoDaemon):
    """This user may not use the socket: a daemon may be there."""


class RestError(Exception):
    """The daemon refused; has the sentence and the HTTP status of its problem."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _Cut(Exception):
    """The connection was closed before there was a whole answer."""


class RestClient:
    """Calls the daemon on its Unix socket; an answer may take `timeout_s` seconds."""

    def __init__(self, daemon_socket: Path, *, timeout_s: float = TIMEOUT_S) -> None:
        self._socket, self._timeout_s = daemon_socket, timeout_s

    def get(self, path: str, **query: str | int) -> Any:
        """GET; raises NoDaemon or RestError."""
        return self._call("GET", path, query=query)

    def put(self, path: str, body: object, *, if_match: str | None = None) -> Any:
        """PUT, with `if_match` only if the current ETag is that one; raises NoDaemon or RestError."""
        return self._call("PUT", path, body=body, headers={} if if_match is None else {"If-Match": if_match})

    def post(self, path: str, body: object = None) -> Any:
        """POST; raises NoDaemon or RestError."""
        return self._call("POST", path) if body is None else self._call("POST", path, body=body)

    def delete(self, path: str, **query: str | int) -> Any:
        """DELETE; raises NoDaemon or RestError."""
        return self._call("DELETE", path, query=query)

    def _call(self, method: str, path: str, **more: Any) -> Any:
        try:
            request = HttpRequest.of(self._socket, method, path, **more)
            status, body = self._exchange(request)
        except _Cut as error:
            if method != "GET":
                raise AnswerLost(
                    f"{error}: it may have been done or not, and adocctl audit says so once a daemon answers"
                ) from None
            raise self._none(error) from None
        except NotAllowed as error:
            raise MayNotAsk(
                f"{error}; ask as root, as the daemon's user, or as a member of the group that the socket belongs to"
            ) from None
        except Silent as error:
            raise NotInTime(f"the daemon is there and does not answer: {error}") from None
        except TargetError as error:
            raise self._none(error) from None
        try:
            content = json.loads(body)
        except ValueError:
            raise NoDaemon(f"what answers at {self._socket} is no adocd: {method} {path} gave no JSON") from None
        if status >= 400:
            detail = content.get("detail") if isinstance(content, dict) else None
            raise RestError(status, str(detail or f"{method} {path} was refused with status {status}"))
        return content

    def _none(self, error: Exception) -> NoDaemon:
        return NoDaemon(
            f"no daemon answers at {self._socket} ({error}); start one by `adocd serve`, "
            "or say by ADOCD_RUN_DIR where it runs"
        )

    def _exchange(self, request: HttpRequest) -> tuple[int, bytes]:
        """Send the request; retry while the daemon accepts no connections, which is safe: nothing was sent then."""
        until_s = time.monotonic() + _BUSY_S
        while True:
            try:
                return self._ask(request)
            except (OSError, NotHttp, TooLarge, CutOff) as error:
                if isinstance(error, CutOff | ConnectionResetError | BrokenPipeError):
                    raise _Cut(str(request.failure(CutOff(answered=False), self._timeout_s))) from None
                said = request.failure(error, self._timeout_s)
                if not isinstance(said, Busy) or time.monotonic() > until_s:
                    raise said or error from None
            time.sleep(_AGAIN_S)

    def _ask(self, request: HttpRequest) -> tuple[int, bytes]:
        """Send the request on its own connection and read the answer."""
        until_s = time.monotonic() + self._timeout_s
        answering, answer = Answering(request.method), None
        with connected(self._socket) as connection:
            connection.settimeout(self._timeout_s)
            connection.sendall(request.written)
            while answer is None:
                if (left_s := until_s - time.monotonic()) <= 0:
                    raise TimeoutError
                connection.settimeout(left_s)
                received = connection.recv(_RECEIVED_BYTES)
                answer = answering.feed(received) if received else answering.end()
        return answer.status, answer.body
