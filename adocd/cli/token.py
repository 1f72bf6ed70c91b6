"""`adocctl token`: who may connect over TCP. Without a daemon it edits the token file that a daemon will read."""

import os
import pwd
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from adocd.api.client import AnswerLost, MayNotAsk, NoDaemon, NotInTime
from adocd.cli import show, show_tokens
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.cli.parameters import parse_duration_s
from adocd.cli.target import Json, daemon
from adocd.cli.terminal import say
from adocd.daemon.book.state_dir import journal_path
from adocd.daemon.book.tokens import BadName, NameTaken, Token, TokenError, TokenStore, tokens_path
from adocd.model.in_words import duration
from adocd.targets import run_dir

app = typer.Typer(
    help="Manage tokens: who may read and operate over TCP, from a script or the web page.", no_args_is_help=True
)

T = TypeVar("T")
#: As in REST (adocd.api.rest.tokens), which takes too long to import here.
_LONGEST_S = 10 * 366 * 86400.0
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who will use it; the audit trail shows this name.")]


class _NoSuchToken(Exception):
    """The token file has no token of this name."""


class ScopeName(StrEnum):
    """What a token allows."""

    READ = "read"
    OPERATE = "operate"


@app.command(epilog=EPILOG)
def create(
    name: Name,
    scope: Annotated[
        ScopeName, typer.Option("--scope", help="read: see everything; operate: also change things.")
    ] = ScopeName.READ,
    for_: Annotated[
        str,
        typer.Option("--for", metavar="TIME", help="How long: 90s, 10min, 2h, 30d, or `ever`: until it is revoked."),
    ] = "ever",
    as_json: Json = False,
) -> None:
    """Make a token and show its secret once: adocctl token create grafana --scope read --for 30d."""
    expires_in_s = parse_duration_s(for_)
    if expires_in_s is not None and expires_in_s > _LONGEST_S:
        fail(f"--for must be at most {duration(_LONGEST_S)}, not {for_}; `ever` has no end", Exit.USAGE)
    body = {"name": name, "scope": scope.value, "expires_in_s": expires_in_s}

    def directly(store: TokenStore) -> dict[str, Any]:
        secret, token = store.make(name, scope.value, expires_in_s, _user())
        return _view(store, token) | {"secret": secret}

    try:
        answer = _done(lambda: daemon().post("/v1/tokens", body), directly, may_be_twice=False)
    except (AnswerLost, NotInTime) as error:  # it may still make the token, and nobody would have seen its secret
        fail(f"{error}; see adocctl token list, and revoke {name} if it is there", Exit.NO_DAEMON)
    show.json_or(as_json, answer, show_tokens.created)


@app.command(name="list", epilog=EPILOG)
def list_(as_json: Json = False) -> None:
    """List all tokens, without their secrets."""

    def directly(store: TokenStore) -> dict[str, Any]:
        return {"tokens": [_view(store, token) for token in store.tokens()]}

    answer = _done(lambda: daemon().get("/v1/tokens"), directly, may_be_twice=True, changes=False)
    show.json_or(as_json, answer["tokens"], show_tokens.listed)


@app.command(epilog=EPILOG)
def revoke(name: Name, as_json: Json = False) -> None:
    """Revoke a token: it stops working at once, and its open connections are closed."""

    def directly(store: TokenStore) -> dict[str, Any]:
        if not store.revoke(name):
            raise _NoSuchToken(name)
        return {"revoked": name}

    answer = _done(lambda: daemon().delete(f"/v1/tokens/{quote(name, safe='')}"), directly, may_be_twice=True)
    show.json_or(as_json, answer, show_tokens.revoked)


def _done(
    by_daemon: Callable[[], T], directly: Callable[[TokenStore], T], *, may_be_twice: bool, changes: bool = True
) -> T:
    """Ask the daemon; if none answers, work on the token file and say which one.

    A daemon that is there may keep its tokens in another file. Raises MayNotAsk, and NotInTime or AnswerLost where the
    daemon has the request, and it may not be carried out a second time or the file does not have the token.
    """
    try:
        return by_daemon()
    except MayNotAsk:
        raise
    except NoDaemon as error:
        has_it = isinstance(error, AnswerLost | NotInTime)
        if has_it and not may_be_twice:
            raise
        unheard = error
    store = TokenStore(tokens_path(journal_path(run_dir.run_dir())))
    try:
        answer = directly(store)
    except _NoSuchToken as error:
        if has_it:
            raise unheard from None
        fail(f"no daemon answers, and there is no token {str(error)!r} in {store.path}", Exit.NO_TARGET)
    except BadName as error:
        fail(str(error), Exit.USAGE)
    except NameTaken as error:
        fail(str(error), Exit.REFUSED)
    except TokenError as error:
        fail(f"no daemon answers, and {error}", Exit.NO_DAEMON)
    if changes:
        say(f"no daemon answers; a daemon that keeps its tokens in {store.path} will use this change", err=True)
    else:
        say(f"no daemon answers; this is what {store.path} has", err=True)
    return answer


def _view(store: TokenStore, token: Token) -> dict[str, Any]:
    """Show a token as REST does."""
    shown = asdict(token) | {"expired": store.is_expired(token)}
    del shown["sha256"]
    return shown


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid {os.geteuid()}"
