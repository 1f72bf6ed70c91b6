"""The OpenAPI document: the contract of REST v1. What routes do not say themselves is here, in one table."""

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

#: An id as agents give them (agents/admin-api.yaml), or the beginning of one.
ID_BEGINS = r"^[0-9a-f]{1,16}$"
TargetId = Annotated[
    str,
    Path(
        json_schema_extra={"pattern": ID_BEGINS},  # not checked: what is no id is no target, which says more
        description="a target's id, or so much of its beginning that it means no other",
        examples=["3f2a9c4b7d10e586"],
    ),
]

_DESCRIPTION = """\
Keeps RocksDB out of write stalls, from outside the database's process.

On the daemon's Unix socket everything can be read and done; what TCP clients may do, their tokens' scope says. Times
are seconds, `unix_s` is wall clock, sizes are bytes. Every error is an RFC 9457 problem whose `detail` is one sentence
that names the way out. What is new in v1 is added, nothing is taken away: ignore members that you do not know."""

_TAGS = {
    "daemon": "The daemon itself.",
    "targets": "What is seen of databases: one of them, its samples, its history, its decisions.",
    "policy": "Which law controls a database, with which parameters.",
    "overrides": "An operator's pins of options, with an expiry; they beat the law.",
    "stop": "Stop the law, let it go on, give everything back.",
    "why": "What stalled and why, whether the tuner helps, and what in the configuration is dangerous.",
    "follow": "What happens, as it happens; and who did what.",
    "tokens": "Who may come by TCP; on the daemon's own socket only.",
}

#: When each error is answered, with an example of its sentence.
_ERRORS = {
    400: ("The request cannot be read", "PUT /v1/overrides/x: There was an error parsing the body; see /docs"),
    401: ("Over TCP: no token, or one that is not good", "the token deploy has expired; make another"),
    403: ("The token is not for this, or it is not for TCP", "the token grafana is for reading only"),
    404: (
        "There is no such thing",
        "no target has an id that begins with 'ffff'; GET /v1/targets lists them",
    ),
    409: ("It cannot be done now", "/data/db is closed or not measured yet: open it, and try again in a second"),
    412: (
        "It was changed meanwhile",
        'the policy of /data/db is not what you saw: it is fixed, ETag "4c9184f37cff01bc"; look at it and decide anew',
    ),
    413: ("The body is too large", "here a body may have 4096 bytes, and this one has more"),
    422: ("It makes no sense", "there is no controller 'adco'; there are adoc, adoc-released, fixed, manual, mimd"),
    503: ("There is no place for one more", "all 64 connections are busy; try again"),
}
#: What the connection answers before any route is asked.
_ALWAYS = (400, 401, 403, 413, 503)


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document the errors of a route, beside those that every one has."""
    return {status: _error(status) for status in sorted({*statuses, *_ALWAYS})}


def _error(status: int) -> dict[str, Any]:
    when, sentence = _ERRORS[status]
    example = Problem.of(status, sentence).model_dump()
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    return {"description": when, "content": {PROBLEM_JSON: content}}


def install(app: FastAPI) -> None:
    """Let `app` serve the document at /openapi.json, and at /docs for people; after all routes.

    The framework would make it in the event loop, where half a second is too much for control.
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
    document["security"] = [{}, {"token": []}]  # none is needed on the socket, nor for reading on loopback
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
                del operation["responses"]["422"]  # the framework's guess, where any text is understood
            for parameter in operation.get("parameters", ()):
                _leave_out_null(parameter)
    return document


def _leave_out_null(parameter: dict[str, Any]) -> None:
    """Say that a parameter can be left out, and not that it can be `null`, which no URL knows."""
    schema = parameter["schema"]
    if "anyOf" in schema:
        (known,) = (one for one in schema.pop("anyOf") if one != {"type": "null"})
        schema.update(known)


def _let_figures_be_unknown(schemas: dict[str, Any]) -> None:
    """Say that each figure of a column family may be null, which its type inside the daemon does not."""
    for name, schema in schemas.items():
        if name.startswith("ColumnFamilySample"):
            for figure, known in schema["properties"].items():
                if figure not in KNOWN_OF_ANY_FAMILY:
                    schema["properties"][figure] = {"anyOf": [known, {"type": "null"}]}
