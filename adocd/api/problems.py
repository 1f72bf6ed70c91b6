"""Errors as problem details (RFC 9457): one sentence that says what is wrong and what to do."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from adocd.model import mistakes

PROBLEM_JSON = "application/problem+json"
_Answer = TypeVar("_Answer", bound=Callable[[Request, Any], Awaitable[JSONResponse]])


class Problem(BaseModel):
    """The body of every error."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str

    @classmethod
    def of(cls, status: int, detail: str) -> "Problem":
        """Make the problem of a status."""
        # Text from a request may have lone surrogates, which JSON can hold and UTF-8 cannot.
        words = detail.encode("utf-8", "backslashreplace").decode()
        return cls(title=HTTPStatus(status).phrase, status=status, detail=words)


class ProblemError(Exception):
    """Raised by a route to answer with a problem."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the answer with this status and sentence."""
    return JSONResponse(Problem.of(status, detail).model_dump(), status, headers, media_type=PROBLEM_JSON)


def answers(app: FastAPI, kind: type[Exception]) -> Callable[[_Answer], _Answer]:
    """Decorate the function that answers a request ended by this kind of error; releases the error (see `let_go`)."""

    def register(answer: _Answer) -> _Answer:
        async def answered(request: Request, error: Exception) -> JSONResponse:
            try:
                return await answer(request, error)
            finally:
                let_go(error)

        app.add_exception_handler(kind, answered)
        return answer

    return register


def answers_with(app: FastAPI, statuses: Mapping[type[Exception], int]) -> None:
    """Answer a request that is ended by one of these with its status and the error's own sentence."""

    async def answer(status: int, _: Request, error: Exception) -> JSONResponse:
        return problem(status, str(error))

    for kind, status in statuses.items():
        answers(app, kind)(functools.partial(answer, status))


def let_go(error: BaseException | None) -> None:
    """Drop the tracebacks of an answered error, so that it keeps nothing of the request alive.

    The framework's errors are in a variable of the function that raised them, so their tracebacks make a reference
    cycle, which keeps the body, the parsed body and the parser's text.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def install(app: FastAPI) -> None:
    """Answer every error of `app`, the framework's too, with a problem."""

    @answers(app, ProblemError)
    async def _ours(_: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.detail)

    @answers(app, HTTPException)
    async def _of_the_framework(request: Request, error: HTTPException) -> JSONResponse:
        headers, what = dict(error.headers or {}), f"{request.method} {request.url.path}"
        match error.status_code:
            case HTTPStatus.NOT_FOUND:
                detail = f"there is nothing at {request.url.path}; /docs lists what there is"
            case HTTPStatus.METHOD_NOT_ALLOWED:
                headers["Allow"] = ", ".join(_allowed(request))
                detail = f"{what} is not possible; {headers['Allow']} {'are' if ',' in headers['Allow'] else 'is'}"
            case HTTPStatus.BAD_REQUEST:
                detail = f"the body of {what} cannot be read; send JSON in UTF-8"
            case _:
                detail = f"{what}: {error.detail}"
        return problem(error.status_code, detail, headers)

    @answers(app, RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, "; ".join(dict.fromkeys(_sentence(request, each) for each in error.errors())))

    # Not with `answers`: the error goes on to the log, with its traceback.
    @app.exception_handler(Exception)
    async def _a_mistake_of_ours(request: Request, _: Exception) -> JSONResponse:
        return problem(500, f"{request.method} {request.url.path} failed, see the daemon's log; please report it")


def _sentence(request: Request, error: Mapping[str, Any]) -> str:
    """Say in plain words what is wrong with one value of a request."""
    if error["type"] == "json_invalid":  # its place is a number of characters
        return "the body is no JSON"
    where, *names = error["loc"]
    if where == "body" and not names:
        if error["type"] == "missing":
            return "the body is missing; send JSON"
        return "the body must be a JSON object, sent as application/json"
    known = mistakes.names_beside(_body_of(request), names)
    return mistakes.sentence(error, ".".join(map(str, names)), known, "member")


def _body_of(request: Request) -> type[BaseModel] | None:
    """Return the model of the body that the request's route takes."""
    takes = getattr(getattr(request.scope.get("route"), "endpoint", None), "__annotations__", {})
    models = (a for name, a in takes.items() if name != "return" and isinstance(a, type) and issubclass(a, BaseModel))
    return next(models, None)


def _allowed(request: Request) -> list[str]:
    """List all methods of a path; the framework lists only those of its first route."""
    routes = (route for route in request.app.routes if isinstance(route, Route))
    matching = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in matching for method in route.methods or ()})
