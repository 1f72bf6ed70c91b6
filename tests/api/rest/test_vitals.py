"""The figures for metrics: in one answer, in the form that is documented, and without a word too much."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from adocd.api.rest import vitals
from adocd.api.web import metrics
from adocd.daemon.change.guards.guard import NAMES
from adocd.model.latency import WriteLatency
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


def test_the_time_of_writes_is_in_seconds(tmp_path: Path) -> None:
    """Since the open as a histogram, which Prometheus can add up, and of the last window as quantiles."""

    async def body(service: Service) -> None:
        service.database.measurements.took(7_000_000, 990)
        service.database.measurements.took(2_000_000_000, 10)

        def seen() -> bool:
            status = service.loop.status
            known = None if status.snapshot is None else status.snapshot.write_latency
            return status.sample is not None and known is not None and sum(known.counts) == 1000

        await until(seen, "the writes")
        status, answer = await service.call("GET", "/v1/vitals")
        assert status == 200

        async def get(path: str) -> tuple[int, bytes]:
            del path
            return 200, json.dumps(answer).encode()

        (target,) = answer["targets"]
        target["sample"]["write_latency"] = asdict(
            WriteLatency("agent sampler", 1000, 0.027, 0.007, 0.007, 2.0, 2.0, one_in=32)
        )
        shown = (await metrics.render(get)).decode()
        found = {
            name.partition("{")[0] + ":" + "".join(re.findall(r'(?:le|percentile|source)="(.*?)"', name)): float(value)
            for name, value in (line.rsplit(maxsplit=1) for line in shown.splitlines() if "write_latency" in line)
            if not name.startswith("#")
        }
        bucket = "adocd_write_latency_seconds_bucket:"
        assert [found[bucket + bound] for bound in ("0.005", "0.01", "1.0", "2.5", "+Inf")] == [0, 990, 990, 1000, 1000]
        assert found["adocd_write_latency_seconds_sum:"] == pytest.approx(990 * 0.007 + 10 * 2.0)
        quantile = "adocd_write_latency_percentile_seconds:"
        assert [found[quantile + each] for each in ("50", "99", "99.9", "100")] == [0.007, 0.007, 2.0, 2.0]
        assert found["adocd_write_latency_mean_seconds:agent sampler"] == 0.027

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
