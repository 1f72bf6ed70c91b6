"""Log-ins: a cookie stands for a token, so that the browser never stores the token itself.

Cookies are not bound to a port: browsers send ours to every other server under this host's name as well, and one that
keeps it can act here in its holder's name while the log-in lasts, for it can write any Origin. Therefore the cookie is
a random number that is not the token, expires, and is forgotten when the web process ends, and docs/page.md says where
a host name of its own is needed. The token is looked up again for every action, so revoking it takes effect at once.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adocd.api.web.access import TokenHolder

COOKIE = "adocd_session"
#: Lifetime of a log-in in seconds: a shift, and a little more.
AGE_S = 12 * 3600
#: Most log-ins, and most of one token; one more replaces the oldest, of its own token first. Whoever has one token can
#: log in as often as they like, and must not end the log-ins of others by that.
MOST, MOST_OF_ONE = 256, 8

Look = Callable[[str], Awaitable["TokenHolder | None"]]


class Sessions:
    """The log-ins of this process; `look` finds the holder of a token's secret."""

    def __init__(self, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        #: When each log-in ends and the secret of its token, by the cookie's value; the oldest comes first.
        self._secrets: dict[str, tuple[float, str]] = {}

    async def begin(self, secret: str) -> tuple[str, "TokenHolder"] | None:
        """Log in with a token's secret; return the cookie's value and the holder, or None if the token is not valid."""
        holder = await self._look(secret)
        if holder is None:
            return None
        self._make_place(secret)
        session = secrets.token_urlsafe(32)
        self._secrets[session] = self._clock() + AGE_S, secret
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

    def _make_place(self, secret: str) -> None:
        """Make place for one more log-in of this token: what has ended goes first."""
        now_s = self._clock()
        self._secrets = {session: kept for session, kept in self._secrets.items() if kept[0] > now_s}
        own = [session for session, (_, other) in self._secrets.items() if other == secret]
        if len(own) >= MOST_OF_ONE:
            del self._secrets[own[0]]
        elif len(self._secrets) >= MOST:
            del self._secrets[next(iter(self._secrets))]
