"""Finds the holder of a secret: the web process reads the file in which the daemon keeps the tokens' hashes.

So it does not have to ask the daemon, and a revoked token is refused from the next request on. Wrong secrets are not
counted or slowed down: a secret has 256 bits, so nobody can guess one, and a limit would only let strangers lock
operators out.
"""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adocd.daemon.book import tokens
from adocd.daemon.book.tokens import Scope, Token, TokenError

_log = logging.getLogger(__name__)
_UNCHECKED = "no token can be checked now; the log of adocd serve says why"


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The holder of a valid token: its name and its scope."""

    name: str
    scope: Scope

    @property
    def may_operate(self) -> bool:
        """Whether the token may change things."""
        return self.scope == "operate"


class Access:
    """The tokens in a file, which is read again whenever it was replaced; `wall_clock` returns unix seconds."""

    def __init__(self, path: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._wall_clock = wall_clock
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()
        self._problem: str | None = None

    async def holder(self, secret: str) -> TokenHolder | None:
        """Return the holder of this secret; None if it is unknown, revoked or expired."""
        token = self._token(secret)
        if token is None or token.is_expired(self._wall_clock()):
            return None
        return TokenHolder(token.name, token.scope)

    async def why_not(self, secret: str) -> str:
        """Say in one sentence why a secret has no holder.

        It may say that a token has expired, because only its holder knows the secret.
        """
        token = self._token(secret)
        if self._problem is not None:
            return _UNCHECKED
        if token is None:
            return "this token is unknown, or has been revoked; make one by: adocctl token create NAME"
        return f"the token {token.name} has expired; make another by: adocctl token create NAME"

    def _token(self, secret: str) -> Token | None:
        self._look()
        return tokens.matching(self._tokens, secret)

    def _look(self) -> None:
        """Read the file again if it is another one: the daemon replaces it only as a whole."""
        try:
            status = os.stat(self._path, follow_symlinks=False)
            seen = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        except OSError:
            seen = (0, 0, 0)
        if seen == self._seen:
            return
        before, self._problem = self._problem, None
        try:
            self._tokens, self._seen = tokens.read(self._path), seen
        except TokenError as error:
            # Read it again next time even if it is the same file: the cause may be ours, such as too many open files.
            self._tokens, self._seen, self._problem = (), None, str(error)
            if self._problem != before:
                _log.warning("all tokens are refused now: %s", error)
