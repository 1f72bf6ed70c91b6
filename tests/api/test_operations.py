"""Which requests only read, by the table of operations, and that web process and daemon go by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.api.operations import OPERATIONS, is_reading
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing

COMPARE = "/v1/targets/3f2a/policy/difference"


@pytest.mark.parametrize(
    ("method", "path", "reads"),
    [
        ("GET", "/what/is/to/come", True),
        ("HEAD", "/v1/targets", True),
        ("POST", COMPARE, True),
        ("PUT", COMPARE, False),
        ("POST", f"{COMPARE}/", False),
        ("POST", f"/{COMPARE}", False),
        ("POST", "/v1/targets/a/b/policy/difference", False),  # a%2Fb, which the daemon understands so, too
        ("POST", "/v1/targets//policy/difference", False),
        ("POST", f"{COMPARE}\n", False),
        ("POST", "/v1/targets/3f2a/pause", False),
    ],
)
def test_what_reads(method: str, path: str, reads: bool) -> None:
    assert is_reading(method, path) is reads


def test_nothing_else_reads_by_a_method_that_changes() -> None:
    assert [each.id for (method, _), each in OPERATIONS.items() if method != "get" and each.reads] == ["comparePolicy"]
    assert not any(each.reads for (method, _), each in OPERATIONS.items() if method == "get"), "its method says so"


def test_who_may_read_may_compare(tmp_path: Path) -> None:
    """Both use the table: the gate, and the daemon, which lets the web process change nothing without a token."""

    async def body(service: Service) -> None:
        status, content = await service.tcp("POST", f"{service.target}/policy/difference")
        assert (status, "the body is missing" in content) == (422, True), content
        assert (await service.tcp("POST", f"{service.target}/pause"))[0] == 401

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
