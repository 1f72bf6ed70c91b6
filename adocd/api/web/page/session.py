"""Who has logged in: a cookie that stands for a token, so that the token itself is never kept by the browser.

Cookies know no port, so whatever else is served under this host's name gets ours as well; it is a random number that
means nothing elsewhere, ends by itself, and is forgotten when the web process ends. A token that is revoked meanwhile
is worth nothing from then on, because it is looked up anew for every action.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adocd.api.web.access import TokenHolder

COOKIE = "adocd_session"
#: A shift, and a little more.
AGE_S = 12 * 3600
#: One more takes the place of the oldest.
MOST = 256

Look = Callable[[str], Awaitable["TokenHolder | None"]]


class Sessions:
    """The log-ins of this process; `holder` looks a token's secret up."""

    def __init__(self, look: Look, clock: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._clock = clock
        self._secrets: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def begin(self, secret: str) -> tuple[str, "TokenHolder"] | None:
        """Log in by a token's secret; the cookie's value and the token's holder, or None where it is no token."""
        holder = await self._look(secret)
        if holder is None:
            return None
        session = secrets.token_urlsafe(32)
        self._secrets[session] = self._clock() + AGE_S, secret
        while len(self._secrets) > MOST:
            self._secrets.popitem(last=False)
        return session, holder

    async def holder(self, session: str | None) -> "TokenHolder | None":
        """Say whose log-in a cookie's value is; None where it has ended, or its token has."""
        ends_s, secret = self._secrets.get(session or "", (0.0, ""))
        if not secret or self._clock() >= ends_s:
            self._secrets.pop(session or "", None)
            return None
        return await self._look(secret)

    async def by_cookie(self, cookies: Mapping[str, str]) -> "TokenHolder | None":
        """Say whose a request is by its cookies, for the gate."""
        return await self.holder(cookies.get(COOKIE))

    def end(self, session: str | None) -> None:
        """Log out."""
        self._secrets.pop(session or "", None)
