"""Checks the messages on the page's WebSocket; an unknown one closes it before NiceGUI sees the message.

NiceGUI, and Socket.IO and Engine.IO below it, expect only messages of their own scripts: every other message left a
traceback in the log. Their scripts send only a few kinds: a pong, the connect or disconnect of Socket.IO, or one of
five events with one object (socketio/packet.py, nicegui/static/nicegui.js).
"""

import functools
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import core, json
from socketio.exceptions import ConnectionRefusedError as Unwelcome  # type: ignore[import-untyped]
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger(__name__)
#: Engine.IO's close and pong; then Socket.IO's disconnect.
_BARE = frozenset({"1", "3", "41"})
#: Socket.IO's connect, with its payload, and event, with the number that its answer must have.
_WITH_CONTENT = re.compile(r"4(?:0|2[0-9]{0,9})(?=[\[{])")
#: RFC 6455, 7.4.1: a message that violates the server's policy.
_POLICY_VIOLATED = 1008
#: NiceGUI's script reloads the page when a connect is refused with these words.
_LOAD_ANEW = "Implicit handshake failed"

_Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_documents(value: Any) -> bool:
    """Whether these are arguments of an event: each is null or text that is JSON."""
    return isinstance(value, list) and all(each is None or _parsed(each) is not _NOTHING for each in value)


#: The required members of each event; there may be more.
_EVENTS: Mapping[str, Mapping[str, _Check]] = {
    "handshake": {"client_id": _is_text, "tab_id": _is_text, "document_id": _is_text},
    "event": {"client_id": _is_text, "id": _is_number, "listener_id": _is_text, "args": _are_documents},
    "javascript_response": {"client_id": _is_text, "request_id": _is_text},
    "ack": {"client_id": _is_text, "next_message_id": _is_number},
    "log": {},
}
_NOTHING = object()


def is_understood(text: str) -> bool:
    """Whether the page's scripts send messages like this one."""
    if text in _BARE or text == "40":
        return True
    begin = _WITH_CONTENT.match(text)
    if begin is None:
        return False
    content = _parsed(text[begin.end() :])
    if begin[0] == "40":
        return isinstance(content, dict)
    match content:
        case [str(name), dict(said)] if name in _EVENTS:
            return all(known in said and check(said[known]) for known, check in _EVENTS[name].items())
    return False


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return _NOTHING


class OnlyUnderstood:
    """ASGI middleware that closes a WebSocket at the first message that the page's scripts do not send."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on everything else."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        ended = False

        async def received() -> Message:
            nonlocal ended
            message = await receive()
            if message["type"] != "websocket.receive" or is_understood(message.get("text") or ""):
                return message
            ended = True
            await send({"type": "websocket.close", "code": _POLICY_VIOLATED})
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATED}

        async def sent(message: Message) -> None:
            if not ended:
                await send(message)

        await self._app(scope, received, sent)


def leave_no_traces() -> None:
    """Log NiceGUI's errors about well-formed messages, for example for an element that is gone, only at level debug.

    Errors in the page's own functions are logged as before, because NiceGUI catches them further inside.
    """
    handlers: dict[str, Callable[..., Any]] = core.sio.handlers["/"]
    for name in (*_EVENTS, "connect"):
        core.sio.on(name, handler=_quiet(name, handlers[name]))


def _quiet(name: str, handler: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(handler)
    async def heard(*said: Any) -> Any:
        try:
            answer = handler(*said)
            return await answer if isinstance(answer, Awaitable) else answer
        except Unwelcome:
            raise
        except Exception as error:
            _log.debug("a browser's %s was ignored: %r", name, error)
            if name == "connect":
                raise Unwelcome(_LOAD_ANEW) from None
            return None

    return heard
