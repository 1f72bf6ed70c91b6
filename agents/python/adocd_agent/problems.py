"""Refusals, as the protocol's problem details (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

Json = Any


class Refusal(Exception):
    """A request that the agent refuses: HTTP status, the protocol's code, one sentence, more members."""

    def __init__(self, status: int, code: str, detail: str, **extra: str) -> None:
        super().__init__(detail)
        self.status = status
        self.body: dict[str, Json] = {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "code": code,
            **extra,
        }


class DatabaseClosed(Exception):
    """The host has closed the database, or is about to."""


class Mistake(ValueError):
    """A mistake in the program, the only kind of error that may reach it."""


def database_closed() -> Refusal:
    """Return the refusal for a request during or after the close."""
    return Refusal(409, "database_closed", "The database was closed; list the databases again.")


def shown(text: str, limit: int = 100) -> str:
    """Quote what a client sent, shortened, for a sentence."""
    return repr(text if len(text) <= limit else text[:limit] + "...")
