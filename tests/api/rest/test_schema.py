"""REST against its own OpenAPI document: every operation, valid and invalid, each answer as documented.

A short profile runs with all tests; ADOCD_SCHEMA=full is the proof, thousands of cases. The daemon is a real one on a
TCP port of the loopback, for schemathesis knows no Unix sockets, with a database of a fake agent under control.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from adocd.api import server
from adocd.api.operations import OPERATIONS
from adocd.api.rest import app as rest
from adocd.api.rest.examples import ANSWERS
from adocd.daemon.fleet.operators import Operators
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until

FULL = os.environ.get("ADOCD_SCHEMA") == "full"
#: What the full profile has to reach.
CASES_LEAST = 5000

#: `positive_data_acceptance`: a schema cannot say which parameters a law knows, what the bounds of an option or of
#: a time with a unit are, or which policy is in force, so what fits the schema may be refused there: 422 and 412, as
#: documented.
#: `use_after_free`: a policy that was deleted is the configuration's again; there always is one.
CONFIG = """
max-stream-events = 3
request-timeout = 30.0

[dictionaries.targets]
values = ["{target}"]

[dictionaries.etags]
values = ["*"]

[parameters]
"path.target" = {{ dictionary = "targets", probability = 0.9 }}
"header.If-Match" = {{ dictionary = "etags", probability = 0.8 }}

[[operations]]
include-operation-id = [
    "setPolicy", "resetPolicy", "setPolicies", "resetPolicies", "setOverride", "setOverrideOfAll", "comparePolicy",
    "makeToken"
]
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "412", "422"]

[[operations]]
include-path = ["/v1/targets/{{target}}/policy", "/v1/targets/{{target}}/policy/difference"]
[operations.checks.use_after_free]
enabled = false
"""
PROFILE = (
    ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "250"]
    if FULL
    else ["--phases", "examples,fuzzing", "--max-examples", "6", "--seed", "1"]
)


async def prove(service: Service, tmp_path: Path) -> dict[str, Any]:
    """Run schemathesis with all checks; its report."""
    config, report = tmp_path / "schemathesis.toml", tmp_path / "report.json"
    config.write_text(CONFIG.format(target=service.loop.id))
    listener = server.listen_loopback(0)
    application = rest.make_app(service.fleet, Operators(service.fleet, service.fleet._book))
    async with server.serving(application, listener):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run",
            f"http://127.0.0.1:{listener.getsockname()[1]}/openapi.json", "--checks", "all", "--no-color",
            "--continue-on-failure", "--report", "json", "--report-json-path", str(report), *PROFILE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path,
        )  # fmt: skip
        told, _ = await process.communicate()
    sys.stdout.write(told.decode())
    assert process.returncode == 0, told.decode()[-20_000:]
    content: dict[str, Any] = json.loads(report.read_text())
    return content


def test_every_answer_is_as_documented(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(service: Service) -> None:
        report = await prove(service, tmp_path)
        cases, operations = report["test_cases"], report["operations"]
        assert operations["tested"] == operations["total"] == len(OPERATIONS)
        assert (cases["with_failures"], cases["errored"], report["errors"]) == (0, 0, [])
        assert cases["generated"] >= (CASES_LEAST if FULL else 100)
        looks = service.loop.status.looks
        await until(lambda: service.loop.status.looks > looks, "control goes on")

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
    assert not [record for record in caplog.records if record.exc_info], "nothing was raised"


def with_document(tmp_path: Path, body: Callable[[dict[str, Any]], None]) -> None:
    async def run(service: Service) -> None:
        _, document = await service.call("GET", "/openapi.json")
        body(document)

    with_service(tmp_path, overflowing(tmp_path / "db"), run)


def test_the_document_says_all_of_every_operation(tmp_path: Path) -> None:
    def body(document: dict[str, Any]) -> None:
        found = {
            (method, path): operation
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        }
        assert set(found) == set(OPERATIONS)
        assert len({operation["operationId"] for operation in found.values()}) == len(found)
        tags = {tag["name"] for tag in document["tags"]}
        for where, operation in found.items():
            assert operation["summary"], where
            assert set(operation["tags"]) <= tags, where
            for status, answer in operation["responses"].items():
                content = answer["content"]
                if int(status) >= 400:
                    assert list(content) == ["application/problem+json"], where
                    assert content["application/problem+json"]["example"]["status"] == int(status)
            for parameter in operation.get("parameters", ()):
                assert parameter["description"], (where, parameter["name"])
                assert "anyOf" not in parameter["schema"], (where, parameter["name"])
        references = {part for part in json.dumps(document).split('"') if part.startswith("#/components/schemas/")}
        assert {name.rpartition("/")[2] for name in references} <= set(document["components"]["schemas"])

    with_document(tmp_path, body)


def test_examples_are_what_they_are_examples_of(tmp_path: Path) -> None:
    def body(document: dict[str, Any]) -> None:
        components = {"components": document["components"]}
        checked = set()
        for operations in document["paths"].values():
            for operation in operations.values():
                for answer in operation["responses"].values():
                    for content in answer["content"].values():
                        if isinstance(example := content.get("example"), dict):
                            jsonschema_rs.validate(content["schema"] | components, example)
                            checked.add(operation["operationId"])
        assert checked >= set(ANSWERS)

    with_document(tmp_path, body)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PATCH", "/policy", "DELETE, GET, PUT"), ("GET", "/pause", "POST"), ("POST", "/overrides/x", "DELETE, PUT")],
)
def test_a_refused_method_names_all_there_are(tmp_path: Path, method: str, path: str, allowed: str) -> None:
    async def body(service: Service) -> None:
        reader, writer = await asyncio.open_unix_connection(str(service.socket))
        writer.write(f"{method} {service.target}{path} HTTP/1.0\r\nHost: adocd\r\n\r\n".encode())
        head = (await reader.read()).decode().partition("\r\n\r\n")[0]
        writer.close()
        assert head.startswith("HTTP/1.1 405")
        assert f"allow: {allowed}" in head.lower().replace(allowed.lower(), allowed)

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_mistake_of_ours_is_a_problem_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(service: Service) -> None:
        def broken(_: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr("adocd.api.rest.views.target", broken)
        status, problem = await service.call("GET", "/v1/targets")
        assert (status, problem["status"]) == (500, 500)
        assert "see the daemon's log" in problem["detail"]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["broken"], "it is in the log"
