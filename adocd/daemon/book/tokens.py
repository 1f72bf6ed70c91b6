"""Tokens for access by TCP, each with a scope; only their hashes are stored, in a file beside the journal."""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from adocd.daemon.book import own_file
from adocd.daemon.book.state_dir import sync_directory

Scope = Literal["read", "operate"]
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
NAME_IN_WORDS = "1-64 letters, digits, dots, dashes and underscores, such as grafana"
#: Prefix of every secret, so that secret scanners can recognise a leaked one.
PREFIX = "adocd_"
MAX_TOKENS = 100
_SECRET_BYTES = 32
_SHA256 = re.compile("[0-9a-f]{64}")
_FILE_BYTES = 1 << 20
_VERSION = 1
#: Longest wait for another process that is creating or revoking a token.
_TURN_S = 2.0


class TokenError(Exception):
    """The tokens cannot be read or written; the message is one sentence with the remedy."""


class BadName(TokenError):
    """The name is not valid for a token."""


class NameTaken(TokenError):
    """A token of that name exists and has not expired."""


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token; times are seconds since the epoch, `expires_unix_s` None means never."""

    name: str
    scope: Scope
    sha256: str
    made_unix_s: float
    made_by: str
    expires_unix_s: float | None

    def is_expired(self, now_unix_s: float) -> bool:
        """Whether it has expired, by the wall clock, because operators think in dates."""
        return self.expires_unix_s is not None and now_unix_s >= self.expires_unix_s


def tokens_path(journal: Path) -> Path:
    """Return the path of the token file, beside the journal."""
    return journal.with_name("tokens.json")


def digest(secret: str) -> str:
    """Return a secret's SHA-256.

    A secret is 256 random bits, which nobody can guess however fast the hash is. Slow, salted hashes are for passwords,
    which people choose.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()  # JSON can hold lone surrogates


def matching(tokens: tuple[Token, ...], secret: str) -> Token | None:
    """Return the token of a secret, expired or not, in a time that reveals nothing about any token's hash."""
    given, found = digest(secret), None
    for token in tokens:
        if hmac.compare_digest(token.sha256, given):
            found = token
    return found


def read(path: Path) -> tuple[Token, ...]:
    """Read all tokens; none if there is no file.

    Raises TokenError for a file that others may read or have made, and for one that is not a list of tokens.
    """
    try:
        with _opened(path) as stream:
            content = stream.read(_FILE_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise TokenError(f"the tokens {path} cannot be read: {error.strerror}") from None
    try:
        return _parse(json.loads(content))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TokenError(
            f"the tokens {path} are damaged; move that file away, and create all tokens again with adocctl token create"
        ) from None


class TokenStore:
    """Changes the token file, for the daemon and, while no daemon runs, for `adocctl token`."""

    def __init__(self, path: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._wall_clock = wall_clock

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, expired ones included; raises TokenError."""
        return read(self.path)

    def usable(self) -> tuple[Token, ...]:
        """Return the tokens that have not expired; raises TokenError."""
        now_s = self._wall_clock()
        return tuple(token for token in read(self.path) if not token.is_expired(now_s))

    def is_expired(self, token: Token) -> bool:
        """Whether a token has expired."""
        return token.is_expired(self._wall_clock())

    def make(self, name: str, scope: Scope, expires_in_s: float | None, who: str) -> tuple[str, Token]:
        """Create a token, and return it with its secret, which is stored nowhere.

        An expired token of the same name is replaced. Raises BadName, NameTaken, and TokenError if it cannot be stored.
        """
        if re.fullmatch(NAME, name) is None:
            raise BadName(f"a token's name must be {NAME_IN_WORDS}, not {name!r}")
        now_s = self._wall_clock()
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        made = Token(name, scope, digest(secret), now_s, who, None if expires_in_s is None else now_s + expires_in_s)
        with self._turn():
            others = [token for token in read(self.path) if token.name != name or not token.is_expired(now_s)]
            if any(token.name == name for token in others):
                raise NameTaken(f"there is a token {name} already; choose another name, or revoke that one first")
            if len(others) >= MAX_TOKENS:
                raise TokenError(f"there are {MAX_TOKENS} tokens, which is as many as are kept; revoke one first")
            self._write((*others, made))
        return secret, made

    def revoke(self, name: str) -> bool:
        """Remove a token; returns whether there was one. Raises TokenError."""
        with self._turn():
            before = read(self.path)
            after = tuple(token for token in before if token.name != name)
            if len(after) == len(before):
                return False
            self._write(after)
        return True

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the exclusive right to change the file; the lock is on its directory, which exists before the file."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise TokenError(f"the tokens {self.path} cannot be written: {error.strerror}") from None
        try:
            deadline_s = time.monotonic() + _TURN_S
            while not _locked(directory):
                if time.monotonic() > deadline_s:
                    raise TokenError(f"somebody holds a lock on {self.path.parent}; try again")
                time.sleep(0.02)
            yield
        finally:
            os.close(directory)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        """Replace the file atomically."""
        content = json.dumps({"version": _VERSION, "tokens": [asdict(token) for token in tokens]}, indent=1) + "\n"
        making = self.path.with_name(self.path.name + ".making")
        try:
            making.unlink(missing_ok=True)
            descriptor = own_file.opened(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                _give_to_the_daemon(descriptor, self.path.parent)
                stream.write(content)
                stream.flush()
                os.fsync(descriptor)
            making.rename(self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise TokenError(f"the tokens {self.path} cannot be written: {error.strerror}") from None


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _give_to_the_daemon(descriptor: int, directory: Path) -> None:
    """Give a file made by root's `adocctl token` to the daemon's user, so that the daemon can read it."""
    owner = directory.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open the file if only its owner can read it, and that owner is us or the directory's owner."""
    descriptor = own_file.opened(path, os.O_RDONLY, of_anyone=True)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if status.st_uid not in (0, os.geteuid(), path.parent.stat().st_uid):
            raise TokenError(
                f"the tokens {path} belong to uid {status.st_uid}; give them to the daemon's user by chown"
            )
        if status.st_mode & 0o077:
            raise TokenError(f"others than its owner may use {path}; close it by chmod 600, and make its tokens anew")
        yield stream


def _parse(content: Any) -> tuple[Token, ...]:
    if content["version"] != _VERSION:
        raise ValueError("another version")
    tokens = tuple(Token(**token) for token in content["tokens"])
    for token in tokens:
        words = (token.name, token.sha256, token.made_by)
        if not all(isinstance(word, str) for word in words) or _SHA256.fullmatch(token.sha256) is None:
            raise ValueError("a word is none")
        if token.scope not in get_args(Scope) or not isinstance(token.made_unix_s, int | float):
            raise ValueError("no such scope, or no time")
        if token.expires_unix_s is not None and not isinstance(token.expires_unix_s, int | float):
            raise ValueError("no time")
    return tokens
