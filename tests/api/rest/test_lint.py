"""What makes tuning dangerous or useless, over REST."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from adocd.api.problems import ProblemError
from adocd.api.rest import lint
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.policy import Policy
from adocd.model.snapshot import Snapshot
from tests.builders import GIB
from tests.daemon.harness import FRESH_S, Scene, loop_settings, overflowing


async def answer(loop: TargetLoop) -> dict[str, Any]:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    lint.install(app, lambda _: loop, lambda _: (GIB, 0))
    (route,) = (route for route in app.routes if isinstance(route, APIRoute))
    view = await route.endpoint(target=loop.id)
    assert isinstance(view, lint.LintView)
    return view.model_dump(mode="json")


def test_findings_with_reason_and_fix(tmp_path: Path) -> None:
    async def run() -> None:
        database = overflowing(tmp_path / "db")
        database.options.column_families["default"]["level0_stop_writes_trigger"] = "3"
        async with Scene(tmp_path, database) as scene:
            loop = await scene.attach(Policy("fixed"))
            with pytest.raises(ProblemError, match="closed or not measured yet") as refused:
                await answer(loop)
            assert refused.value.status == 409
            await loop.tick()
            await asyncio.sleep(FRESH_S)
            shown = await answer(loop)
        assert shown["path"] == database.path
        first = shown["findings"][0]
        assert (first["rule"], first["severity"]) == ("stop-before-compaction", "danger")
        assert first["column_families"] == ["default"]
        assert {"reason", "fix", "source", "subject"} <= first.keys()
        assert "options-file-is-not-read" in {finding["rule"] for finding in shown["findings"]}

    asyncio.run(run())


def test_many_readers_cause_one_request_to_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease's renewal waits behind each."""

    async def run() -> None:
        async with Scene(tmp_path, overflowing(tmp_path / "db")) as scene:
            now_s = 100.0
            loop = await scene.attach(Policy("fixed"), loop_settings(clock=lambda: now_s))
            await loop.tick()
            assert loop._attached is not None
            asked = 0
            snapshot = loop._attached.target.snapshot

            async def counted(events_after: int | None) -> Snapshot:
                nonlocal asked
                asked += 1
                return await snapshot(events_after)

            monkeypatch.setattr(loop._attached.target, "snapshot", counted)
            first, *others = await asyncio.gather(*(answer(loop) for _ in range(16)))
            assert asked == 1
            assert all(each == first for each in others)
            now_s += 2
            await answer(loop)
            assert asked == 2

    asyncio.run(run())
