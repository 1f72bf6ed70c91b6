"""What a browser may say on the page's WebSocket; who says anything else is cut off, before NiceGUI hears of it.

NiceGUI, and Socket.IO and Engine.IO below it, take every message for one of their own scripts': any other left a
traceback of theirs in the log, as often as somebody sent it. What their scripts send is little: text that is a pong, or
the beginning or end of a Socket.IO connection, or one of five events with one object (socketio/packet.py,
nicegui/static/nicegui.js).
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
#: Socket.IO's connect, with what it may say of itself, and event, with the number by which it is to be answered.
_WITH_CONTENT = re.compile(r"4(?:0|2[0-9]{0,9})(?=[\[{])")
#: RFC 6455, 7.4.1: a message that violates the server's policy.
_POLICY_VIOLATED = 1008
#: By these words NiceGUI's script knows that it has to load the page anew.
_LOAD_ANEW = "Implicit handshake failed"

_Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_documents(value: Any) -> bool:
    """Tell whether they are what an event has to say: each null or JSON once more."""
    return isinstance(value, list) and all(each is None or _parsed(each) is not _NOTHING for each in value)


#: What each event has to have; there may be more.
_EVENTS: Mapping[str, Mapping[str, _Check]] = {
    "handshake": {"client_id": _is_text, "tab_id": _is_text, "document_id": _is_text},
    "event": {"client_id": _is_text, "id": _is_number, "listener_id": _is_text, "args": _are_documents},
    "javascript_response": {"client_id": _is_text, "request_id": _is_text},
    "ack": {"client_id": _is_text, "next_message_id": _is_number},
    "log": {},
}
_NOTHING = object()


def is_understood(text: str) -> bool:
    """Tell whether a message is one that the page's scripts send."""
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
    """Ends a WebSocket at the first message that is none of the page's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand it on."""
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
    """Let what NiceGUI cannot do with a message of the right form, of an element that is gone say, be nobody's trouble.

    What goes wrong in the page's own functions is logged as before: NiceGUI catches that further inside.
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
            _log.debug("a browser's %s is of no use: %r", name, error)
            if name == "connect":
                raise Unwelcome(_LOAD_ANEW) from None
            return None

    return heard
