"""Prometheus metrics from the daemon's REST: cumulative counters stay counters, rates are Prometheus's job."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Get = Callable[[str], Awaitable[tuple[int, bytes]]]
_TARGET = ("target", "path")
_FAMILY = (*_TARGET, "column_family")

#: Name without its suffix, help, and the counter it shows.
_COUNTERS = (
    ("writes", "Keys written since the database was opened", "writes"),
    ("written_bytes", "User bytes written since the database was opened", "written_bytes"),
    ("flush_written_bytes", "Bytes written by flushes", "flush_written_bytes"),
    ("compaction_read_bytes", "Bytes read by compactions", "compaction_read_bytes"),
    ("compaction_written_bytes", "Bytes written by compactions", "compaction_written_bytes"),
)
_FAMILY_GAUGES = (
    ("l0_files", "Files in level 0", "l0_files"),
    ("immutable_memtables", "Immutable memtables not yet flushed", "immutable_memtables"),
    ("memtables_bytes", "Bytes in memtables", "memtables_bytes"),
    ("pending_compaction_bytes", "Estimated pending compaction bytes", "pending_compaction_bytes"),
)


async def render(get: Get) -> bytes:
    """Read all targets and write the exposition format; raises TargetError when the daemon does not answer."""
    _, body = await get("/v1/targets")
    listed = json.loads(body)
    details = []
    for target in listed["targets"]:
        status, body = await get(f"/v1/targets/{target['id']}")
        if status == 200:
            details.append(json.loads(body))
    registry = CollectorRegistry()
    registry.register(_Targets(details, len(listed["problems"]), listed["journal"]))
    return generate_latest(registry)


class _Targets(Collector):
    def __init__(self, details: list[dict[str, Any]], problems: int, journal: dict[str, Any]) -> None:
        self._details = details
        self._problems = problems
        self._journal = journal

    def collect(self) -> Iterable[Metric]:
        """Make the metrics."""
        yield GaugeMetricFamily("adocd_targets", "Targets known", value=len(self._details))
        yield GaugeMetricFamily(
            "adocd_socket_problems",
            "Sockets and observed directories that cannot be used",
            self._problems,
        )
        yield GaugeMetricFamily(
            "adocd_journal_writable",
            "0 while the journal cannot be written, so that nothing new is changed",
            value=float(self._journal["problem"] is None),
        )
        yield CounterMetricFamily(
            "adocd_journal_lost_decisions", "Decisions that the journal never got", self._journal["lost_decisions"]
        )
        yield from self._of_targets()
        yield from self._of_stalls()
        yield from self._of_samples()
        yield from self._of_column_families()

    def _of_targets(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("adocd_target_up", "1 while the target's agent answers", labels=_TARGET)
        decisions = CounterMetricFamily("adocd_decisions", "Decisions taken", labels=_TARGET)
        paused = GaugeMetricFamily("adocd_target_paused", "1 while its law decides nothing", labels=_TARGET)
        policy = GaugeMetricFamily(
            "adocd_policy_info", "The policy in force", labels=(*_TARGET, "controller", "dry_run")
        )
        for detail in self._details:
            labels = _labels(detail)
            up.add_metric(labels, float(detail["state"] == "attached"))
            decisions.add_metric(labels, detail["decisions"])
            paused.add_metric(labels, float(detail["paused"] is not None))
            chosen = detail["policy"]
            policy.add_metric([*labels, chosen["controller"], str(chosen["dry_run"]).lower()], 1)
        yield from (up, decisions, paused, policy)

    def _of_stalls(self) -> Iterator[Metric]:
        """Tell what is held now, and what holds it; what is over is in the counters."""
        stall = GaugeMetricFamily(
            "adocd_stall_in_progress",
            "1 for each cause of a stall in progress; condition possibly: the agent is silent",
            labels=(*_TARGET, "condition", "cause"),
        )
        limit = GaugeMetricFamily(
            "adocd_device_at_limit", "1 while a device gives no more", labels=(*_TARGET, "device")
        )
        for detail in self._details:
            if (now := detail["stall"]) is not None:
                for cause in dict.fromkeys(each["cause"] for each in now["causes"]) or {"unknown": None}:
                    stall.add_metric([*_labels(detail), now["condition"], cause], 1)
        for detail, sample in self._sampled():
            around = sample["surroundings"] or {"devices": [], "limits": []}
            limited = {each["device"] for each in around["limits"]}
            for device in around["devices"]:
                limit.add_metric([*_labels(detail), device["device"]], float(device["device"] in limited))
        yield from (stall, limit)

    def _of_samples(self) -> Iterator[Metric]:
        for name, text, counter in _COUNTERS:
            family = CounterMetricFamily(f"adocd_{name}", text, labels=_TARGET)
            for detail, sample in self._sampled():
                if (value := sample["counters"][counter]) is not None:
                    family.add_metric(_labels(detail), value)
            yield family
        waited = CounterMetricFamily("adocd_stalled_seconds", "Time writers waited in stalls", labels=_TARGET)
        condition = CounterMetricFamily(
            "adocd_condition_seconds", "Time in a write condition", labels=(*_TARGET, "condition")
        )
        jobs = GaugeMetricFamily("adocd_background_jobs", "max_background_jobs in force", labels=_TARGET)
        for detail, sample in self._sampled():
            labels = _labels(detail)
            if (micros := sample["counters"]["stall_micros"]) is not None:
                waited.add_metric(labels, micros / 1e6)
            condition.add_metric([*labels, "stopped"], sample["stopped_s"])
            condition.add_metric([*labels, "delayed"], sample["delayed_s"])
            if sample["background_jobs"] is not None:
                jobs.add_metric(labels, sample["background_jobs"])
        yield from (waited, condition, jobs)

    def _of_column_families(self) -> Iterator[Metric]:
        for name, text, member in _FAMILY_GAUGES:
            family = GaugeMetricFamily(f"adocd_{name}", text, labels=_FAMILY)
            for detail, sample in self._sampled():
                for cf in sample["column_families"]:
                    if cf[member] is not None:
                        family.add_metric([*_labels(detail), cf["name"]], cf[member])
            yield family
        batch = GaugeMetricFamily("adocd_write_buffer_size_bytes", "write_buffer_size in force", labels=_FAMILY)
        for detail, sample in self._sampled():
            for cf in sample["column_families"]:
                batch.add_metric([*_labels(detail), cf["name"]], cf["options"]["write_buffer_size_bytes"])
        yield batch

    def _sampled(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for detail in self._details:
            if detail["sample"] is not None and detail["state"] != "closed":
                yield detail, detail["sample"]


def _labels(detail: dict[str, Any]) -> list[str]:
    return [detail["id"], detail["path"]]
