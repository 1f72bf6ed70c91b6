"""`GET /v1/targets/{target}/snapshot`: what a recorder reads."""

from __future__ import annotations

import json
from pathlib import Path

from adocd.model.policy import Policy
from adocd.recording.format import SEEN
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, session_of, until


def test_each_look_is_sent_once_with_all_that_a_law_is_given(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, content = await service.call("GET", f"{service.target}/snapshot")
        assert status == 200
        seen = SEEN.validate_python(content)
        loop = service.loop
        assert seen.snapshot is not None
        assert seen.about is not None
        assert seen.about.capabilities == session_of(loop).detail.capabilities
        assert seen.about.originals.column_families["default"]["write_buffer_size"] == str(64 << 20)
        assert seen.about.memory_budget_bytes == 1 << 30
        assert seen.snapshot.options == seen.about.originals
        assert (seen.path, seen.state, seen.rule.policy) == (loop.path, "attached", Policy("fixed"))
        assert seen.tick_s == loop.status.tick_s

        _, again = await service.call("GET", f"{service.target}/snapshot?after={loop.status.looks}")
        assert (again["snapshot"], again["about"]) == (None, None)
        before = loop.status.looks
        await until(lambda: loop.status.looks > before, "another look")
        _, next_ = await service.call("GET", f"{service.target}/snapshot?after={before}")
        assert next_["look"] > before
        assert next_["snapshot"]["sequence"] >= seen.snapshot.sequence

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_the_last_decisions_come_along(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.loop.set_policy(Policy("adoc"))
        await until(
            lambda: any(record.outcome == "applied" for record in service.loop.remembered.decisions), "a decision"
        )
        _, content = await service.call("GET", f"{service.target}/snapshot")
        seen = SEEN.validate_python(content)
        assert seen.rule.policy.controller == "adoc"
        assert list(seen.decisions) == list(service.loop.remembered.decisions)[-10:]
        records = (await service.call("GET", f"{service.target}/decisions"))[1]["decisions"]
        assert records[-1] in json.loads(json.dumps(content["decisions"]))

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_target_that_there_is_not(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, problem = await service.call("GET", "/v1/targets/nowhere/snapshot")
        assert status == 404
        assert "no target" in problem["detail"]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
