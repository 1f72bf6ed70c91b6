"""Log-ins: a cookie stands for a token, so that the browser never stores the token itself.

Cookies are not bound to a port, so every other server under this host's name gets ours too. Therefore it is a random
number that means nothing elsewhere, expires, and is forgotten when the web process ends. The token is looked up again
for every action, so revoking it takes effect at once.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adocd.api.web.access import TokenHolder

COOKIE = "adocd_session"
#: Lifetime of a log-in in seconds: a shift, and a little more.
AGE_S = 12 * 3600
#: Most log-ins; one more replaces the oldest.
MOST = 256

Look = Callable[[str], Awaitable["TokenHolder | None"]]


class Sessions:
    """The log-ins of this process; `look` finds the holder of a token's secret."""

    def __init__(self, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._secrets: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def begin(self, secret: str) -> tuple[str, "TokenHolder"] | None:
        """Log in with a token's secret; return the cookie's value and the holder, or None if the token is not valid."""
        holder = await self._look(secret)
        if holder is None:
            return None
        session = secrets.token_urlsafe(32)
        self._secrets[session] = self._clock() + AGE_S, secret
        while len(self._secrets) > MOST:
            self._secrets.popitem(last=False)
        return session, holder

    async def holder(self, session: str | None) -> "TokenHolder | None":
        """Return the holder that a cookie's value belongs to; None if the log-in or its token has ended."""
        ends_s, secret = self._secrets.get(session or "", (0.0, ""))
        if not secret or self._clock() >= ends_s:
            self._secrets.pop(session or "", None)
            return None
        return await self._look(secret)

    async def by_cookie(self, cookies: Mapping[str, str]) -> "TokenHolder | None":
        """Return the holder that a request's cookies belong to, for the gate."""
        return await self.holder(cookies.get(COOKIE))

    def end(self, session: str | None) -> None:
        """End a log-in, if there is one."""
        self._secrets.pop(session or "", None)
