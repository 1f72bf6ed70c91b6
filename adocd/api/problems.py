"""Errors as problem details (RFC 9457): one sentence that names the thing and the way out."""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException


class Problem(BaseModel):
    """The body of every error."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class ProblemError(Exception):
    """Raised by a route to answer with a problem."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Make the answer."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(body.model_dump(), status, headers, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Let every error of `app` leave as a problem, those of the framework too."""

    @app.exception_handler(ProblemError)
    async def _ours(_: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.detail)

    @app.exception_handler(HTTPException)
    async def _of_the_framework(request: Request, error: HTTPException) -> JSONResponse:
        detail = f"{request.method} {request.url.path}: {error.detail}; see /docs for what there is"
        return problem(error.status_code, detail, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        return problem(422, f"{where}: {first['msg'].removeprefix('Value error, ')}")
