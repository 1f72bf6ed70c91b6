"""Prometheus metrics from the daemon's REST API. Cumulative counters stay counters: rates are Prometheus's job.

Names follow Prometheus's conventions: base units in the name, `_total` for counters, `_ratio` for shares of 1.
docs/metrics.md lists them all; a test checks that.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from adocd.api.own_process import measured
from adocd.api.web.target_metrics import buckets, targets
from adocd.targets.errors import Unreachable

Get = Callable[[str], Awaitable[tuple[int, bytes]]]


async def render(get: Get) -> bytes:
    """Return all metrics as text, from one request; raises TargetError if the daemon does not answer."""
    status, body = await get("/v1/vitals")
    if status != 200:
        raise Unreachable(f"the daemon answered {status} to GET /v1/vitals")
    # In a thread: a hundred targets take 0.1 s, and this process has other clients to serve.
    return await asyncio.to_thread(written, json.loads(body))


def written(vitals: dict[str, Any]) -> bytes:
    """Format the daemon's and this process's figures in the exposition format."""
    registry = CollectorRegistry()
    registry.register(_Vitals(vitals))
    return generate_latest(registry)


class _Vitals(Collector):
    def __init__(self, vitals: dict[str, Any]) -> None:
        self._vitals = vitals

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics."""
        return families(self._vitals)


def families(vitals: dict[str, Any]) -> Iterator[Metric]:
    """Yield all metrics, also those without a value."""
    yield from _daemon(vitals)
    yield from _processes(vitals["process"])
    yield from _overrides(vitals["overrides"])
    yield from targets(vitals["targets"])


def _daemon(vitals: dict[str, Any]) -> Iterator[Metric]:
    build = GaugeMetricFamily(
        "adocd_build_info", "The running versions, always 1", labels=("version", "python_version")
    )
    build.add_metric([vitals["version"], vitals["python_version"]], 1)
    yield build
    for name, text, value in (
        ("targets", "Databases known, closed ones included", len(vitals["targets"])),
        ("socket_problems", "Sockets and observed directories that cannot be used", vitals["socket_problems"]),
        (
            "journal_writable",
            "0 while the journal cannot be written, so that nothing new is changed",
            vitals["journal_writable"],
        ),
        (
            "journal_unsaved_writes",
            "Operators' requests that would not survive a restart yet",
            vitals["journal_unsaved"],
        ),
        ("tick_interval_seconds", "Nominal time between two samples of a target", vitals["tick_s"]),
        ("config_last_reload_successful", "0 while the last reload of the configuration failed", vitals["configured"]),
        (
            "config_last_reload_success_timestamp_seconds",
            "When the configuration was last loaded",
            vitals["configured_unix_s"],
        ),
        ("event_clients", "Clients that read the daemon's events", vitals["event_clients"]),
    ):
        if value is not None:
            yield GaugeMetricFamily(f"adocd_{name}", text, float(value))
    yield CounterMetricFamily(
        "adocd_journal_lost_decisions", "Decisions that will never be in the journal", vitals["journal_lost_decisions"]
    )
    for name, text, key in (
        ("tick_duration", "Time that a cycle of a target took", "tick_duration"),
        ("tick_lateness", "How late a cycle of a target began", "tick_lateness"),
        ("garbage_collection", "Time that a collection of cyclic garbage stopped the daemon", "garbage_collection"),
    ):
        family = HistogramMetricFamily(f"adocd_{name}_seconds", text)
        family.add_metric([], *buckets(vitals[key]))
        yield family


def _processes(daemon: dict[str, Any]) -> Iterator[Metric]:
    label = ("process",)
    used = {"daemon": daemon, "web": asdict(measured())}
    cpu = CounterMetricFamily("adocd_process_cpu_seconds", "CPU time that a process of adocd used", labels=label)
    memory = GaugeMetricFamily("adocd_process_resident_memory_bytes", "Its resident memory", labels=label)
    files = GaugeMetricFamily("adocd_process_open_fds", "Its open files and sockets", labels=label)
    start = GaugeMetricFamily("adocd_process_start_time_seconds", "When it started, since the epoch", labels=label)
    for name, vitals in used.items():
        cpu.add_metric([name], vitals["cpu_s"])
        memory.add_metric([name], vitals["resident_bytes"])
        files.add_metric([name], vitals["open_files"])
        start.add_metric([name], vitals["started_unix_s"])
    yield from (cpu, memory, files, start)


def _overrides(overrides: list[dict[str, Any]]) -> Iterator[Metric]:
    """Yield the overrides; one for all targets has empty `target` and `path`."""
    labels = ("target", "path", "option", "column_family")
    set_ = GaugeMetricFamily("adocd_override_info", "An option that an operator has pinned, always 1", labels=labels)
    ends = GaugeMetricFamily(
        "adocd_override_expiry_timestamp_seconds", "When an override expires, if it does", labels=labels
    )
    for override in overrides:
        named = [override[label] or "" for label in labels]
        set_.add_metric(named, 1)
        if override["expires_unix_s"] is not None:
            ends.add_metric(named, override["expires_unix_s"])
    yield from (set_, ends)
