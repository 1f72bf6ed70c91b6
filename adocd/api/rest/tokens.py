"""The routes of tokens: make, list and revoke them, only on the daemon's Unix socket."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Path
from pydantic import BaseModel, ConfigDict, Field

from adocd.api.caller import Caller, FromWeb
from adocd.api.problems import ProblemError
from adocd.api.rest.document import errors
from adocd.api.rest.matching import documented, matching
from adocd.daemon.book.tokens import NAME, NAME_IN_WORDS, NameTaken, Scope, Token, TokenError, TokenStore
from adocd.daemon.fleet.quantities import Seconds, or_text
from adocd.model.nearest import unknown

#: Called with who did something to a token, and one sentence about it.
Note = Callable[[str, str], None]

_LONGEST_S = 10 * 366 * 86400.0
_EXAMPLE = "grafana"


class TokenBody(BaseModel):
    """A request for a token."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, matching(NAME, NAME_IN_WORDS)] = Field(
        description="names its holder; the audit trail shows it",
        examples=[_EXAMPLE],
        json_schema_extra=documented(NAME),
    )
    scope: Scope = Field(default="read", description="read: see everything; operate: change things too")
    expires_in_s: Annotated[Seconds, Field(gt=0, le=_LONGEST_S, json_schema_extra=or_text)] | None = Field(
        default=None, description="null: until it is revoked", examples=[2592000.0, "30d"]
    )


class TokenView(BaseModel):
    """A token without its secret, which only its holder knows."""

    name: str = Field(examples=[_EXAMPLE])
    scope: Scope
    made_by: str
    made_unix_s: float
    expires_unix_s: float | None = Field(description="null: valid until it is revoked")
    expired: bool

    @classmethod
    def of(cls, token: Token, expired: bool) -> "TokenView":
        """Show a token."""
        return cls(
            name=token.name,
            scope=token.scope,
            made_by=token.made_by,
            made_unix_s=token.made_unix_s,
            expires_unix_s=token.expires_unix_s,
            expired=expired,
        )


class TokensView(BaseModel):
    """All tokens, oldest first."""

    tokens: list[TokenView]


class NewTokenView(TokenView):
    """A new token with its secret, which is shown only this once."""

    secret: str = Field(description="sent as `Authorization: Bearer SECRET`", examples=["adocd_..."])


class RevokedView(BaseModel):
    """The name of the revoked token."""

    revoked: str


async def _on_the_socket_only(by_web: FromWeb) -> None:
    if by_web:  # the gate of the TCP side has refused this already
        raise ProblemError(403, "tokens are made and revoked on the daemon's own machine: adocctl token --help")


_Name = Annotated[
    str,
    matching(NAME, NAME_IN_WORDS),
    Path(description="a token's name", examples=[_EXAMPLE], json_schema_extra=documented(NAME)),
]


def install(app: FastAPI, store: TokenStore, note: Note) -> None:
    """Add the routes; `note` writes the audit trail. The tokens' file is read and written outside the event loop."""
    only_here = [Depends(_on_the_socket_only)]

    @app.get(
        "/v1/tokens", summary="All tokens, without their secrets", dependencies=only_here,
        responses=errors(409),
    )  # fmt: skip
    async def tokens() -> TokensView:
        try:
            kept = await asyncio.to_thread(store.tokens)
        except TokenError as error:
            raise ProblemError(409, str(error)) from None
        return TokensView(tokens=[TokenView.of(token, store.is_expired(token)) for token in kept])

    @app.post(
        "/v1/tokens", summary="Make a token; only this answer has its secret", status_code=201, dependencies=only_here,
        responses=errors(409, 422),
    )  # fmt: skip
    async def make(body: TokenBody, who: Caller) -> NewTokenView:
        try:
            secret, token = await asyncio.to_thread(store.make, body.name, body.scope, body.expires_in_s, who)
        except NameTaken as error:
            raise ProblemError(409, str(error)) from None
        except TokenError as error:
            raise ProblemError(409, f"no token is made: {error}") from None
        until = "until it is revoked" if body.expires_in_s is None else f"for {body.expires_in_s:g} s"
        note(who, f"{who} made the token {token.name} to {token.scope}, {until}")
        return NewTokenView(**TokenView.of(token, expired=False).model_dump(), secret=secret)

    @app.delete(
        "/v1/tokens/{name}", summary="Revoke a token; takes effect at once", dependencies=only_here,
        responses=errors(404, 409, 422),
    )  # fmt: skip
    async def revoke(name: _Name, who: Caller) -> RevokedView:
        try:
            was_there = await asyncio.to_thread(store.revoke, name)
        except TokenError as error:
            raise ProblemError(409, f"it is not revoked: {error}") from None
        if not was_there:
            kept = await asyncio.to_thread(store.tokens)
            raise ProblemError(404, unknown("token", name, (token.name for token in kept)))
        note(who, f"{who} revoked the token {name}")
        return RevokedView(revoked=name)
