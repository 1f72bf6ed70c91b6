"""Whose a secret is: the web process reads the file that the daemon keeps the tokens' hashes in.

It needs no word of the daemon's for it, and a revoked token is good for nothing from the next request on.
Wrong secrets are not counted or slowed: a secret has 256 bits, so nobody finds one by trying, and a limit would only
let strangers lock operators out.
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
    """Who has shown a good token: its name, and whether it may only read."""

    name: str
    scope: Scope

    @property
    def may_operate(self) -> bool:
        """Whether its token is for changing things, too."""
        return self.scope == "operate"


class Access:
    """The tokens of a file, which is read again whenever it has been replaced. `wall_clock` is as `time.time`."""

    def __init__(self, path: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._wall_clock = wall_clock
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()
        self._problem: str | None = None

    async def holder(self, secret: str) -> TokenHolder | None:
        """Tell whose secret this is; None for one that is unknown, revoked or expired."""
        token = self._token(secret)
        if token is None or token.is_expired(self._wall_clock()):
            return None
        return TokenHolder(token.name, token.scope)

    async def why_not(self, secret: str) -> str:
        """Say in one sentence why a secret has no holder; an expired one's is told so, for nobody else can ask."""
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
        """Read the file again if it is another one: it is only ever replaced as a whole."""
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
            # Read it again next time, whatever it looks like: the trouble may be ours, such as too many open files.
            self._tokens, self._seen, self._problem = (), None, str(error)
            if self._problem != before:
                _log.warning("nobody's token is good now: %s", error)
