"""The admin protocol as a validator: every answer of an agent is held against agents/admin-api.yaml.

The OpenAPI document is used as it is (its schemas are JSON Schema 2020-12), so a test that talks to an agent
fails as soon as the agent and the contract drift apart.
"""

from __future__ import annotations

import functools
import http
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

CONTRACT = Path(__file__).resolve().parents[2] / "agents" / "admin-api.yaml"
_URI = "urn:adocd:admin-api"

CODES: dict[int, frozenset[str]] = {
    400: frozenset({"bad_request"}),
    403: frozenset({"forbidden"}),
    404: frozenset({"not_found", "no_such_database"}),
    405: frozenset({"method_not_allowed"}),
    409: frozenset({"lease_held", "lease_lost", "lease_required", "database_closed"}),
    413: frozenset({"too_large"}),
    422: frozenset(
        {
            "no_such_option",
            "not_live",
            "bad_value",
            "no_such_column_family",
            "no_rate_limiter",
            "unsupported",
            "plan_incomplete",
            "bad_request",
        }
    ),
    500: frozenset({"internal"}),
    503: frozenset({"unavailable"}),
}
"""Machine words by status. The contract has them in prose; a test compares the two."""


class ContractViolation(AssertionError):
    """An agent answered something that the contract does not allow."""


@functools.cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document, parsed."""
    loaded = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    if not isinstance(loaded, dict):
        raise TypeError(f"{CONTRACT} is not a mapping")
    return loaded


@functools.cache
def _registry() -> Registry[Any]:
    empty: Registry[Any] = Registry()
    registry: Registry[Any] = empty.with_resource(_URI, DRAFT202012.create_resource(document()))
    return registry


@functools.cache
def _validator(pointer: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{_URI}#{pointer}"}, registry=_registry())


@functools.cache
def _quick_validator(pointer: str) -> jsonschema_rs.Draft202012Validator:
    """Return what says yes or no about JSON, much faster than the other, which says why."""
    known = jsonschema_rs.Registry([(_URI, document())])
    return jsonschema_rs.Draft202012Validator({"$ref": f"{_URI}#{pointer}"}, registry=known)


def is_a(schema: str, value: object) -> bool:
    """Tell whether `value` is a `schema` (a name under components/schemas)."""
    return _quick_validator(f"/components/schemas/{schema}").is_valid(value)


def schema_errors(schema: str, value: object) -> str | None:
    """Say why `value` is not a `schema` (a name under components/schemas), or None when it is."""
    return _errors(f"/components/schemas/{schema}", value)


def _errors(pointer: str, value: object) -> str | None:
    if _quick_validator(pointer).is_valid(value):
        return None
    error = best_match(_validator(pointer).iter_errors(value))
    if error is None:
        return None
    where = "/".join(str(part) for part in error.absolute_path) or "(the whole)"
    return f"{where}: {error.message[:500]}"


def _template(path: str) -> str | None:
    for template in document()["paths"]:
        pattern = re.sub(r"\{[^}]+\}", "[^/]+", template)
        if re.fullmatch(pattern, path):
            return str(template)
    return None


def check_answer(method: str, target: str, status: int, content_type: str, body: object) -> None:
    """Raise ContractViolation unless the answer is one that the contract declares for this request."""
    path = target.partition("?")[0]
    template = _template(path)
    operation = document()["paths"][template].get(method.lower()) if template is not None else None
    where = f"{method} {target} -> {status}"
    if 200 <= status < 300:
        if operation is None or str(status) not in operation["responses"]:
            raise ContractViolation(f"{where}: success that the contract does not know")
        media = "application/json"
        pointer = (
            f"/paths/{str(template).replace('/', '~1').replace('{', '%7B').replace('}', '%7D')}"
            f"/{method.lower()}/responses/{status}/content/application~1json/schema"
        )
    else:
        media = "application/problem+json"
        pointer = "/components/schemas/Problem"
    if content_type.partition(";")[0].strip() != media:
        raise ContractViolation(f"{where}: content type {content_type!r}, not {media}")
    if (error := _errors(pointer, body)) is not None:
        raise ContractViolation(f"{where}: {error}")
    if status >= 400:
        _check_problem(where, status, body)


def _check_problem(where: str, status: int, body: object) -> None:
    assert isinstance(body, dict)
    if body["status"] != status:
        raise ContractViolation(f"{where}: the problem says status {body['status']}")
    if body["code"] not in CODES.get(status, frozenset()):
        raise ContractViolation(f"{where}: code {body['code']!r} does not belong to this status")
    known = {phrase.phrase for phrase in http.HTTPStatus if phrase.value == status}
    old_names = {413: {"Content Too Large", "Payload Too Large"}, 422: {"Unprocessable Content"}}
    if body["title"] not in known | old_names.get(status, set()):
        raise ContractViolation(f"{where}: title {body['title']!r} is not the status in words")
    if not body["detail"].strip():
        raise ContractViolation(f"{where}: an empty detail helps nobody")
    if body["code"] == "lease_held" and not body.get("holder"):
        raise ContractViolation(f"{where}: lease_held without its holder")
