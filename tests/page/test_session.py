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


async def log_in(sessions: Sessions, *secrets: str) -> list[str]:
    begun = [await sessions.begin(secret) for secret in secrets]
    cookies = [each[0] for each in begun if each is not None]
    assert len(set(cookies)) == len(secrets)
    return cookies


def test_a_token_ends_no_log_ins_but_its_own() -> None:
    async def run() -> None:
        tokens = Tokens()
        tokens.known["another"] = TokenHolder("dashboard", "read")
        sessions = tokens.sessions()
        (operator,) = await log_in(sessions, "secret")
        own = await log_in(sessions, *["another"] * (session.MOST + 1))
        assert await sessions.holder(operator) == ALICE
        there = [cookie for cookie in own if await sessions.holder(cookie) is not None]
        assert there == own[-session.MOST_OF_ONE :], "the oldest of too many makes place"

    asyncio.run(run())
