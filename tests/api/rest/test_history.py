"""Charts by REST: a target's figures over time."""

from __future__ import annotations

import time
from pathlib import Path

from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until
from tests.support.fake_database import FakeDatabase


def test_the_last_minutes_of_a_target(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, answer = await service.call("GET", f"{service.target}/history")
        assert status == 200
        assert answer["target"] == service.loop.id
        assert answer["to_unix_s"] - answer["from_unix_s"] == 900
        last = answer["points"][-1]
        assert last["immutable_memtables"] == 2
        assert (last["l0_slowdown_trigger"], last["l0_stop_trigger"]) == (20, 36)
        assert last["knobs"]["background_jobs"] == 2
        assert last["knobs"]["write_buffer_size"] == 64 << 20
        assert abs(last["unix_s"] - time.time()) < 60
        _, minutes = await service.call("GET", f"{service.target}/history?resolution=1m&points=1")
        assert minutes["resolution_s"] >= 60
        assert len(minutes["points"]) == 1

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_range_and_its_resolution(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        now_s = time.time()
        _, day = await service.call("GET", f"{service.target}/history?from_unix_s={now_s - 86400:.0f}")
        assert day["resolution_s"] >= 60
        _, before = await service.call("GET", f"{service.target}/history?from_unix_s=0&to_unix_s=1000")
        assert before["points"] == []
        _, turned = await service.call("GET", f"{service.target}/history?from_unix_s=10&to_unix_s=5")
        assert (turned["from_unix_s"], turned["to_unix_s"]) == (5, 10)
        for bad in ("points=0", "points=2001", "resolution=5s", "from_unix_s=nan", "to_unix_s=1e12"):
            status, _ = await service.call("GET", f"{service.target}/history?{bad}")
            assert status == 422, bad

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_closed_database_keeps_its_history(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        service.agent.close()
        await until(lambda: service.loop.state == "closed", "it is closed")
        _, answer = await service.call("GET", f"{service.target}/history")
        assert answer["points"]
        _, samples = await service.call("GET", f"{service.target}/samples")
        assert samples["samples"] == []

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)
