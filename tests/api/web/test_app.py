"""The read-only side on TCP: reads everything, changes nothing, and knows its own name."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adocd.api.web.target_metrics import targets
from adocd.model.latency import WriteLatency
from tests.api.harness import Run, Service, with_service
from tests.daemon.harness import overflowing
from tests.support.fake_database import FakeDatabase


def test_it_shows_what_the_daemon_shows(left_alone: Run) -> None:
    async def body(service: Service) -> None:
        status, content = await service.tcp("GET", "/v1/targets")
        assert status == 200
        assert service.database.path in content
        status, content = await service.tcp("GET", "/healthz")
        assert status == 200
        assert '"status":"ok"' in content

    left_alone(body)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_changes_nothing(left_alone: Run, method: str) -> None:
    async def body(service: Service) -> None:
        status, content = await service.tcp(method, "/v1/restore")
        assert status == 401
        assert "changing anything needs a token" in content

    left_alone(body)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:80", 200),
        ("evil.example", 400),
        ("evil.example:localhost", 400),
        ("localhost:evil", 400),
        ("", 400),
    ],
)
def test_host_is_checked(left_alone: Run, host: str, status: int) -> None:
    """Otherwise a page of somebody else could read it through its visitor's browser (DNS rebinding)."""

    async def body(service: Service) -> None:
        assert (await service.tcp("GET", "/healthz", host))[0] == status

    left_alone(body)


def test_metrics_can_be_parsed_and_agree_with_the_sample(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.measurements.write(1234, 100)

    async def body(service: Service) -> None:
        _, content = await service.tcp("GET", "/metrics")
        families = {f.name: f for f in text_string_to_metric_families(content.partition("\r\n\r\n")[2])}
        (up,) = families["adocd_target_up"].samples
        assert up.value == 1
        assert up.labels["path"] == database.path
        assert families["adocd_writes"].samples[0].value == 1234
        assert families["adocd_immutable_memtables"].samples[0].value == 2

    with_service(tmp_path, database, body)


def test_a_stall_in_progress_is_a_metric_with_its_cause(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.measurements.properties["rocksdb.is-write-stopped"] = 1

    async def body(service: Service) -> None:
        _, content = await service.tcp("GET", "/metrics")
        families = {f.name: f for f in text_string_to_metric_families(content.partition("\r\n\r\n")[2])}
        (stall,) = families["adocd_stall_in_progress"].samples
        assert (stall.value, stall.labels["condition"], stall.labels["cause"]) == (1, "stopped", "memtable")

    with_service(tmp_path, database, body)


def test_a_milder_cause_beside_a_stop_is_a_metric_with_its_own_condition(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db", column_families=("default", "index"))
    seen = database.measurements
    seen.properties["rocksdb.is-write-stopped"] = 1
    seen.column_families["default"]["rocksdb.num-immutable-mem-table"] = 2
    seen.column_families["index"]["rocksdb.num-files-at-level0"] = 20

    async def body(service: Service) -> None:
        _, content = await service.tcp("GET", "/metrics")
        families = {f.name: f for f in text_string_to_metric_families(content.partition("\r\n\r\n")[2])}
        stalls = families["adocd_stall_in_progress"].samples
        assert {(stall.labels["condition"], stall.labels["cause"]) for stall in stalls} == {
            ("stopped", "memtable"),
            ("delayed", "l0"),
        }

    with_service(tmp_path, database, body)


def test_an_alert_does_not_go_on_with_what_a_silent_database_was_like(tmp_path: Path) -> None:
    """Its counters stay, and the time of its last sample, which is an alert of its own."""

    async def body(service: Service) -> None:
        _, vitals = await service.call("GET", "/v1/vitals")
        (target,) = vitals["targets"]
        latency = asdict(WriteLatency("agent sampler", 1000, 0.027, 0.007, 0.007, 2.0, 2.0, one_in=8))
        target["sample"] |= {"write_latency": latency, "rate_limit_bytes_per_s": 1 << 20}
        now = {family.name for family in targets([target]) if family.samples}
        later = {family.name for family in targets([target | {"state": "silent"}]) if family.samples}
        assert {"adocd_lease_held", "adocd_lease_held_by_other"} <= now - later
        assert {"adocd_l0_files", "adocd_auto_compactions_disabled"} <= now - later
        assert {"adocd_background_jobs", "adocd_rate_limit_bytes_per_second"} <= now - later
        assert {"adocd_write_latency_percentile_seconds", "adocd_write_latency_mean_seconds"} <= now - later
        assert {"adocd_writes", "adocd_last_sample_timestamp_seconds"} <= later

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_head_and_strange_paths(left_alone: Run) -> None:
    async def body(service: Service) -> None:
        assert (await service.tcp("HEAD", "/healthz"))[0] == 200
        assert (await service.tcp("GET", "/v1/targets/a%20b"))[0] == 404
        assert (await service.tcp("GET", "/v1/targets/%C3%A9"))[0] == 404

    left_alone(body)


def test_without_a_daemon_it_says_so(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        service.socket.unlink()
        status, content = await service.tcp("GET", "/healthz")
        assert status == 503
        assert "nothing answers at" in content

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
