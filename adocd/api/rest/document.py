"""The OpenAPI document, the contract of REST v1; tables here add what the routes do not say."""

import asyncio
import functools
import json
from typing import Annotated, Any

from fastapi import FastAPI, Path, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse

from adocd.api.operations import OPERATIONS
from adocd.api.problems import PROBLEM_JSON, Problem
from adocd.api.rest import reference
from adocd.api.rest.examples import ANSWERS
from adocd.api.rest.views import KNOWN_OF_ANY_FAMILY
from adocd.controllers import registry

#: A target's id, which its agent gives it (agents/admin-api.yaml), or the beginning of one.
ID_BEGINS = r"^[0-9a-f]{1,16}$"
ID_IN_WORDS = "a target's id or its beginning, 1 to 16 of the digits 0-9 and a-f"
TargetId = Annotated[
    str,
    Path(
        json_schema_extra={"pattern": ID_BEGINS},  # documented, not checked: the 404 of an unknown target says more
        description="a target's id, or a unique beginning of one",
        examples=["3f2a9c4b7d10e586"],
    ),
]

_DESCRIPTION = """\
Keeps RocksDB out of write stalls, from outside the database's process.

Clients on the daemon's Unix socket may do everything; what a TCP client may do depends on the scope of its token. Times
are seconds, `unix_s` is wall clock, sizes are bytes. Every error is an RFC 9457 problem: `detail` is one sentence that
says what to do. v1 only grows: ignore members that you do not know."""

_TAGS = {
    "daemon": "The daemon itself.",
    "targets": "The databases: their state, samples, history and decisions.",
    "policy": "The law that controls a database, and its parameters.",
    "overrides": "Options that an operator has pinned, usually for a limited time; a pin overrides the law.",
    "stop": "Pause the law, resume it, restore the original options.",
    "why": "What stalled and why, whether the tuner helps, and which configuration is dangerous.",
    "follow": "Events as they happen, and the audit trail: who did what.",
    "tokens": "Access by TCP; managed only on the daemon's Unix socket.",
}

#: What each status means, and an example of its sentence.
_ERRORS = {
    400: ("The request cannot be read", "the body of PUT /v1/overrides/x cannot be read; send JSON in UTF-8"),
    401: ("Over TCP: the token is missing, unknown, expired or revoked", "the token deploy has expired; make another"),
    403: ("The token's scope does not allow it, or TCP clients may not do it", "the token grafana is for reading only"),
    404: (
        "Not found",
        "there is no target 'ffff'; there is 3f2a9c4b7d10e586 (/data/db)",
    ),
    409: ("Not possible now", "/data/db is closed or not measured yet: open it, and try again in a second"),
    412: (
        "Someone else has changed it since",
        'the policy of /data/db is not what you saw: it is fixed, ETag "4c9184f37cff01bc"; look at it and decide anew',
    ),
    413: ("The body is too large", "the body may have at most 4096 bytes here; send less"),
    422: ("Invalid request", "there is no controller 'adco'; did you mean adoc?"),
    503: ("Too many connections", "all 64 connections are busy; try again"),
}
#: Errors that are answered before any route runs.
_ALWAYS = (400, 401, 403, 413, 503)


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document the errors of a route, and those that every route has."""
    return {status: _error(status) for status in sorted({*statuses, *_ALWAYS})}


def _error(status: int) -> dict[str, Any]:
    when, sentence = _ERRORS[status]
    example = Problem.of(status, sentence).model_dump()
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": when, "content": {PROBLEM_JSON: content}}


def install(app: FastAPI) -> None:
    """Serve the document at /openapi.json, and for people at /docs. Call it after all routes are added.

    The document is built in a thread, because it takes half a second: the framework would build it in the event loop
    and delay the control loop.
    """
    made = functools.cache(lambda: _document(app))
    for_programs = functools.cache(lambda: json.dumps(made(), separators=(",", ":")).encode())
    for_people = functools.cache(lambda: reference.page(made()))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(await asyncio.to_thread(for_programs), media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(await asyncio.to_thread(for_people))


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary="REST v1 of adocd",
        description=_DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": description} for name, description in _TAGS.items()],
    )
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]  # no token on the Unix socket, nor for reading on loopback
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)  # the framework's own errors, which no route answers with
    _let_figures_be_unknown(schemas)
    laws = ", ".join(sorted(registry.laws()))
    schemas["PolicyView"]["properties"]["controller"]["description"] = f"one of {laws}; or several, joined by +"
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            known = OPERATIONS[method, path]
            operation["operationId"], operation["tags"] = known.id, [known.tag]
            if (answer := ANSWERS.get(operation["operationId"])) is not None:
                operation["responses"]["200"]["content"]["application/json"]["example"] = answer
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]  # the framework's guess: these accept any text
            for parameter in operation.get("parameters", ()):
                _leave_out_null(parameter)
    return document


def _leave_out_null(parameter: dict[str, Any]) -> None:
    """Document a parameter as optional instead of nullable: a URL has no `null`."""
    schema = parameter["schema"]
    if "anyOf" in schema:
        (known,) = (one for one in schema.pop("anyOf") if one != {"type": "null"})
        schema.update(known)


def _let_figures_be_unknown(schemas: dict[str, Any]) -> None:
    """Make each figure of a column family nullable, which its type inside the daemon is not."""
    for name, schema in schemas.items():
        if name.startswith("ColumnFamilySample"):
            for figure, known in schema["properties"].items():
                if figure not in KNOWN_OF_ANY_FAMILY:
                    schema["properties"][figure] = {"anyOf": [known, {"type": "null"}]}
