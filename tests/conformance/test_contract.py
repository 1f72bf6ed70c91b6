"""The contract itself: it is a valid document, and the validator that every other test leans on does bite."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from adocd_agent.service import PROTOCOL
from jsonschema import Draft202012Validator

from tests.support.contract import CODES, CONTRACT, ContractViolation, check_answer, document, schema_errors
from tests.support.fake_agent import FakeAgent

PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "No.", "code": "not_found"}


def test_schemas_are_valid_json_schema() -> None:
    schemas = document()["components"]["schemas"]
    assert {"Snapshot", "ChangeRequest", "LeaseRequest"} <= schemas.keys()
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert schema_errors(name, 1.5) is not None


def test_whatever_names_the_version_names_this_one() -> None:
    version = document()["info"]["version"]
    root = CONTRACT.parent.parent
    assert version == PROTOCOL
    assert f'kProtocolVersion = "{version}"' in Path(root, "agents/native/src/version.h").read_text(encoding="utf-8")
    service = Path(root, "agents/java/src/main/java/net/adocd/agent/service/Service.java").read_text(encoding="utf-8")
    assert f'PROTOCOL = "{version}"' in service
    assert f"The protocol is at {version}," in Path(root, "docs/upgrade.md").read_text(encoding="utf-8")
    assert inspect.signature(FakeAgent).parameters["protocol"].default == version


def test_what_1_2_added_may_be_missing_from_an_older_agents_snapshot() -> None:
    family: dict[str, object] = {"properties": {}, "stall_counts": None}
    assert schema_errors("ColumnFamily", family) is None
    assert schema_errors("ColumnFamily", family | {"level_bytes": [1, 0]}) is None
    assert schema_errors("ColumnFamily", family | {"id": 7}) is None
    assert "is not of type 'integer', 'null'" in str(schema_errors("ColumnFamily", family | {"id": "7"}))
    assert "is not of type 'array', 'null'" in str(schema_errors("ColumnFamily", family | {"level_bytes": 1}))
    assert not {"histograms"} & set(document()["components"]["schemas"]["Snapshot"]["required"])


def test_what_1_4_added_may_be_missing() -> None:
    schemas = document()["components"]["schemas"]
    assert "write_latency" not in schemas["Snapshot"]["required"]
    assert "write_latency" not in schemas["Capabilities"]["required"]
    found = {"one_in": 32, "slow_s": 0.02, "values_ns": [4, 1032], "counts": [1, 7]}
    assert schema_errors("WriteLatency", found) is None
    assert "is less than the minimum of 1" in str(schema_errors("WriteLatency", found | {"counts": [0]}))
    assert "is a required property" in str(schema_errors("WriteLatency", {"one_in": 1}))


def test_what_1_5_added_may_be_missing() -> None:
    schemas = document()["components"]["schemas"]
    assert "waits_for" not in schemas["Capabilities"]["required"]
    event = {"sequence": 7, "monotonic_s": 1.5, "kind": "memtables_wait", "column_family": "default", "waiting": 2}
    assert schema_errors("Awaited", {"event": event}) is None
    assert schema_errors("Awaited", {"event": None}) is None
    assert "is a required property" in str(schema_errors("Awaited", {}))


def test_every_problem_code_is_in_the_prose_and_the_other_way_round() -> None:
    prose = document()["components"]["responses"]["Problem"]["description"]
    in_prose = set(prose.split("`")[1::2])
    assert {"lease_held", "bad_request", "no_such_database"} <= in_prose
    assert in_prose == set().union(*CODES.values())
    for status in CODES:
        assert f"{status} `" in prose


def test_a_valid_problem_passes() -> None:
    check_answer("GET", "/v1/none", 404, "application/problem+json", PROBLEM)


@pytest.mark.parametrize(
    ("method", "target", "status", "media", "body"),
    [
        ("GET", "/v1/info", 200, "application/json", {}),
        ("GET", "/v1/info", 200, "text/html", {}),
        ("GET", "/v1/databases", 200, "application/json", {"databases": [{}]}),
        ("GET", "/v1/unknown", 200, "application/json", {}),
        ("GET", "/v1/info", 201, "application/json", {}),
        ("GET", "/v1/none", 404, "application/json", PROBLEM),
        ("GET", "/v1/none", 404, "application/problem+json", PROBLEM | {"status": 400}),
        ("GET", "/v1/none", 404, "application/problem+json", PROBLEM | {"code": "lease_held"}),
        ("GET", "/v1/none", 404, "application/problem+json", PROBLEM | {"title": "Nope"}),
        ("GET", "/v1/none", 404, "application/problem+json", PROBLEM | {"detail": " "}),
        ("GET", "/v1/none", 500, "application/problem+json", PROBLEM | {"status": 500}),
        ("GET", "/v1/none", 404, "application/problem+json", None),
    ],
)
def test_drift_is_noticed(method: str, target: str, status: int, media: str, body: object) -> None:
    with pytest.raises(ContractViolation):
        check_answer(method, target, status, media, body)
