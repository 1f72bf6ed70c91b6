"""Log-ins: a random number that stands for a token, for a while."""

from __future__ import annotations

import asyncio

from adocd.api.web.access import TokenHolder
from adocd.api.web.page import session
from adocd.api.web.page.session import Sessions

ALICE = TokenHolder("alice", "operate")


class Tokens:
    """The tokens there are, and the time."""

    def __init__(self) -> None:
        self.known = {"secret": ALICE}
        self.now_s = 100.0

    async def holder(self, secret: str) -> TokenHolder | None:
        """Look one up."""
        return self.known.get(secret)

    def sessions(self) -> Sessions:
        """Begin without any log-in."""
        return Sessions(self.holder, lambda: self.now_s)


def test_a_log_in_ends_with_its_time_with_its_token_and_by_logging_out() -> None:
    async def run() -> None:
        tokens = Tokens()
        sessions = tokens.sessions()
        assert await sessions.begin("wrong") is None
        begun = await sessions.begin("secret")
        assert begun is not None
        cookie, holder = begun
        assert holder == ALICE
        assert "secret" not in cookie
        assert await sessions.holder(cookie) == ALICE
        assert await sessions.by_cookie({session.COOKIE: cookie}) == ALICE
        assert await sessions.by_cookie({}) is None
        assert await sessions.holder("guessed") is None

        tokens.known = {}
        assert await sessions.holder(cookie) is None, "it was revoked"
        tokens.known = {"secret": ALICE}
        assert await sessions.holder(cookie) == ALICE

        tokens.now_s += session.AGE_S
        assert await sessions.holder(cookie) is None, "its time is over"
        again = await sessions.begin("secret")
        assert again is not None
        sessions.end(again[0])
        assert await sessions.holder(again[0]) is None

    asyncio.run(run())


def test_the_oldest_of_too_many_makes_place() -> None:
    async def run() -> None:
        sessions = Tokens().sessions()
        cookies = [begun[0] for _ in range(session.MOST + 1) if (begun := await sessions.begin("secret")) is not None]
        assert await sessions.holder(cookies[0]) is None
        assert await sessions.holder(cookies[1]) == ALICE
        assert len(set(cookies)) == session.MOST + 1

    asyncio.run(run())
