"""The page that shows the OpenAPI document to people."""

from __future__ import annotations

import re
from pathlib import Path

from adocd.api.operations import OPERATIONS
from adocd.api.rest import reference
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing


def test_it_has_every_operation_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    pages: list[str] = []

    async def body(service: Service) -> None:
        _, document = await service.call("GET", "/openapi.json")
        pages.append(reference.page(document))
        pages.append((await service.tcp("GET", "/docs"))[1].partition("\r\n\r\n")[2])

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
    made, served = pages
    assert made.strip() in served
    for (method, path), (operation, *_) in OPERATIONS.items():
        assert f'<h3 id="{operation}"><code>{method.upper()} {path}</code></h3>' in made
    assert not re.search(r"<script|src=|https?://(?!www\.rfc-editor)", made)


def test_what_a_document_says_is_no_markup() -> None:
    answer = {"description": "<b>so</b>", "content": {"application/json": {"schema": {"$ref": "#/components/x/Thing"}}}}
    operation = {"operationId": "look", "summary": "a < b", "tags": ["t"], "responses": {"200": answer}}
    document = {
        "info": {"title": "adocd", "description": "one\n\ntwo & three"},
        "tags": [{"name": "t", "description": "things"}],
        "paths": {"/v1/x": {"get": operation}},
    }
    made = reference.page(document)
    assert "a &lt; b" in made
    assert "&lt;b&gt;so&lt;/b&gt;" in made
    assert "<p>two &amp; three</p>" in made
    assert "<td>Thing</td>" in made
