"""The figures for metrics: in one answer, in the form that is documented, and without a word too much."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from adocd.api.rest import vitals
from adocd.api.web import metrics
from adocd.daemon.change.guards.guard import NAMES
from adocd.targets.errors import Unreachable
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until


def test_it_says_what_is_there(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        await until(lambda: bool(service.loop.remembered.vitals.decisions), "a decision")
        await until(
            lambda: service.loop.status.snapshot is not None and service.loop.status.snapshot.lease is not None,
            "a lease",
        )
        await service.call("PUT", f"{service.target}/overrides/max_background_jobs", {"value": "3"})
        status, answer = await service.call("GET", "/v1/vitals")
        assert status == 200
        view = TypeAdapter(vitals.VitalsView).validate_python(answer)
        (target,) = view.targets
        assert (target.path, target.state, target.controller) == (service.database.path, "attached", "adoc")
        assert target.lease_held
        assert not target.lease_held_by_other
        assert set(target.guard_refusals) == set(NAMES), "a counter is there before it first counts"
        assert sum(each.count for each in target.decisions) >= 1
        assert target.sample is not None
        assert target.sample.unix_s is not None
        assert abs(target.sample.unix_s - service.fleet.wall_clock()) < 60
        assert target.sample.families[0].immutable_memtables == 2
        assert sum(view.tick_duration.counts) >= 1
        (override,) = view.overrides
        assert (override.path, override.option) == (service.database.path, "max_background_jobs")
        assert override.expires_unix_s is not None
        assert view.process.resident_bytes > 1 << 20

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_scrape_is_one_request(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        _, answer = await service.call("GET", "/v1/vitals")
        answer["targets"] = [answer["targets"][0] | {"id": f"t{n}"} for n in range(100)]
        asked: list[str] = []

        async def get(path: str) -> tuple[int, bytes]:
            asked.append(path)
            return 200, json.dumps(answer).encode()

        shown = (await metrics.render(get)).decode()
        assert len(asked) == 1
        assert shown.count("\nadocd_target_up{") == 100

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_daemon_that_refuses_is_no_empty_answer() -> None:
    async def get(path: str) -> tuple[int, bytes]:
        return 500, b"{}"

    with pytest.raises(Unreachable, match="500"):
        asyncio.run(metrics.render(get))
