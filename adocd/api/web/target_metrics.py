"""The metrics of targets, from the daemon's GET /v1/vitals."""

import itertools
from collections.abc import Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from adocd.model.labels import LABELS

_Target = dict[str, Any]
_TARGET = ("target", "path")
_FAMILY = (*_TARGET, "column_family")
#: Prefixed, because Prometheus itself gives every series a label called job.
_LABELS = tuple(f"label_{name}" for name in LABELS)

#: Name without its suffix, help, and name in the sample's counters.
_COUNTERS = (
    ("writes", "Keys written since the database was opened", "writes"),
    ("written_bytes", "User bytes written since the database was opened", "written_bytes"),
    ("wal_written_bytes", "Bytes written to the WAL", "wal_bytes"),
    ("flushes", "Flushes that ended", "flushes"),
    ("flush_written_bytes", "Bytes written by flushes", "flush_written_bytes"),
    ("compactions", "Compactions that ended", "compactions"),
    ("compaction_read_bytes", "Bytes read by compactions", "compaction_read_bytes"),
    ("compaction_written_bytes", "Bytes written by compactions", "compaction_written_bytes"),
)
#: Name, help and member of a column family; a member that is None has no metric.
_FAMILY_GAUGES = (
    ("l0_files", "Files in level 0", "l0_files"),
    ("immutable_memtables", "Immutable memtables not yet flushed", "immutable_memtables"),
    ("memtables_bytes", "Bytes in memtables", "memtables_bytes"),
    ("pending_compaction_bytes", "Estimated pending compaction bytes", "pending_compaction_bytes"),
    ("write_buffer_size_bytes", "write_buffer_size in force", "write_buffer_size_bytes"),
    (
        "l0_compaction_trigger_files",
        "level0_file_num_compaction_trigger in force",
        "l0_compaction_trigger_files",
    ),
    ("l0_slowdown_trigger_files", "level0_slowdown_writes_trigger in force", "l0_slowdown_trigger_files"),
    ("l0_stop_trigger_files", "level0_stop_writes_trigger in force", "l0_stop_trigger_files"),
    (
        "soft_pending_compaction_limit_bytes",
        "soft_pending_compaction_bytes_limit in force; 0 is off",
        "soft_pending_compaction_limit_bytes",
    ),
    (
        "hard_pending_compaction_limit_bytes",
        "hard_pending_compaction_bytes_limit in force; 0 is off",
        "hard_pending_compaction_limit_bytes",
    ),
    ("auto_compactions_disabled", "1 while automatic compaction is off", "auto_compactions_disabled"),
)
_DEVICE_GAUGES = (
    ("device_at_limit", "1 while a device is at its limit", "at_limit"),
    ("device_busy_ratio", "Share of time in which a device had requests, 0 to 1", "busy_fraction"),
    ("device_read_bytes_per_second", "What a device read, for all processes", "read_bytes_per_s"),
    ("device_written_bytes_per_second", "What a device wrote, for all processes", "written_bytes_per_s"),
)
#: Prometheus's label, and member of a write latency.
_PERCENTILES = (("50", "p50_s"), ("99", "p99_s"), ("99.9", "p99_9_s"), ("100", "max_s"))
#: Name, help and boolean member of a target.
_STATES = (
    ("target_paused", "1 while its law decides nothing", "paused"),
    (
        "target_fallen_back",
        "1 while its law has failed and nothing decides until a policy is set or the daemon restarts",
        "fell_back",
    ),
)
#: The same of the last sample.
_LEASES = (
    ("lease_held", "1 while this daemon may change the database", "lease_held"),
    ("lease_held_by_other", "1 while another holder may change the database", "lease_held_by_other"),
)


def targets(found: list[_Target]) -> Iterator[Metric]:
    """Yield the metrics of all targets."""
    yield from _states(found)
    yield from _work(found)
    yield from _stalls(found)
    yield from _samples(found)
    yield from _latency(found)
    yield from _devices(found)
    yield from _families(found)


def buckets(histogram: dict[str, Any]) -> tuple[list[tuple[str, float]], float]:
    """Return Prometheus's cumulative buckets and the sum of a histogram with counts per bucket."""
    bounds = [*map(str, histogram["bounds_s"]), "+Inf"]
    return list(zip(bounds, itertools.accumulate(histogram["counts"]), strict=True)), histogram["sum_s"]


def _states(found: list[_Target]) -> Iterator[Metric]:
    up = GaugeMetricFamily("adocd_target_up", "1 while the target's agent answers", labels=_TARGET)
    state = GaugeMetricFamily(
        "adocd_target_state", "1 for the state it is in: attached, silent or closed", labels=(*_TARGET, "state")
    )
    policy = GaugeMetricFamily("adocd_policy_info", "The policy in force", labels=(*_TARGET, "controller", "dry_run"))
    for target in found:
        up.add_metric(_labels(target), float(target["state"] == "attached"))
        for each in ("attached", "silent", "closed"):
            state.add_metric([*_labels(target), each], float(target["state"] == each))
        policy.add_metric([*_labels(target), target["controller"], str(target["dry_run"]).lower()], 1)
    yield from (up, state, policy, _labelled(found))
    for members, known in ((_STATES, found), (_LEASES, _attached(found))):
        for name, text, member in members:
            family = GaugeMetricFamily(f"adocd_{name}", text, labels=_TARGET)
            for target in known:
                family.add_metric(_labels(target), float(target[member]))
            yield family


def _labelled(found: list[_Target]) -> Metric:
    """Return one series for each target that has labels: the others would repeat these labels in all their series."""
    family = GaugeMetricFamily(
        "adocd_target_labels",
        "What Kafka Streams or Flink calls the part that the database belongs to, always 1; to join by target",
        labels=(*_TARGET, *_LABELS),
    )
    for target in found:
        if target["labels"]:
            family.add_metric([*_labels(target), *(target["labels"].get(name, "") for name in LABELS)], 1)
    return family


def _work(found: list[_Target]) -> Iterator[Metric]:
    """Yield what the daemon has done to each target since the daemon started."""
    decisions = CounterMetricFamily(
        "adocd_decisions", "Decisions whose outcome is known", labels=(*_TARGET, "rule", "outcome")
    )
    refusals = CounterMetricFamily(
        "adocd_guard_refusals",
        "How often a guard refused a change, repeated refusals included; its name has _ for a space",
        labels=(*_TARGET, "guard"),
    )
    deviations = CounterMetricFamily(
        "adocd_deviations",
        "How often an option did not have the value that adocd had set",
        labels=(*_TARGET, "outcome"),
    )
    reversals = CounterMetricFamily(
        "adocd_knob_reversals",
        "How often the law reversed an option's direction; delayed_write_rate is not counted",
        labels=(*_TARGET, "option"),
    )
    actuation = HistogramMetricFamily(
        "adocd_actuation_seconds", "From the request to change options until they are read back", labels=_TARGET
    )
    answer = HistogramMetricFamily(
        "adocd_agent_answer_seconds", "How long an agent took to answer for a snapshot", labels=_TARGET
    )
    for target in found:
        labels = _labels(target)
        for each in target["decisions"]:
            decisions.add_metric([*labels, each["rule"], each["outcome"]], each["count"])
        for guard, count in target["guard_refusals"].items():
            refusals.add_metric([*labels, guard.replace(" ", "_")], count)
        for outcome, count in target["deviations"].items():
            deviations.add_metric([*labels, outcome], count)
        for option, count in target["reversals"].items():
            reversals.add_metric([*labels, option], count)
        actuation.add_metric(labels, *buckets(target["actuation"]))
        answer.add_metric(labels, *buckets(target["agent_answer"]))
    yield from (decisions, refusals, deviations, reversals, actuation, answer)


def _stalls(found: list[_Target]) -> Iterator[Metric]:
    """Yield the stalls in progress with their causes, and the number of stalls."""
    now = GaugeMetricFamily(
        "adocd_stall_in_progress",
        "1 for each cause of a stall in progress, by how it holds writes; condition possibly: the agent is silent",
        labels=(*_TARGET, "condition", "cause"),
    )
    stalls = CounterMetricFamily(
        "adocd_write_stalls",
        "How often RocksDB found that a column family's writes must be delayed or stopped; a long stall counts often",
        labels=(*_FAMILY, "condition", "cause"),
    )
    for target in found:
        labels = _labels(target)
        for each in target["stalls_in_progress"]:
            now.add_metric([*labels, each["condition"], each["cause"]], 1)
        for each in target["stalls"]:
            named = [*labels, each["column_family"], each["condition"], each["cause"]]
            stalls.add_metric(named, each["count"])
    yield from (now, stalls)


def _samples(found: list[_Target]) -> Iterator[Metric]:
    sampled = list(_sampled(found))
    for name, text, counter in _COUNTERS:
        family = CounterMetricFamily(f"adocd_{name}", text, labels=_TARGET)
        for labels, sample in sampled:
            if (value := sample["counters"][counter]) is not None:
                family.add_metric(labels, value)
        yield family
    waited = CounterMetricFamily(
        "adocd_stalled_seconds", "Time writers waited in stalls, a stop in progress included", labels=_TARGET
    )
    condition = CounterMetricFamily(
        "adocd_condition_seconds", "Time in a write condition", labels=(*_TARGET, "condition")
    )
    jobs = GaugeMetricFamily("adocd_background_jobs", "max_background_jobs in force", labels=_TARGET)
    rate = GaugeMetricFamily("adocd_rate_limit_bytes_per_second", "The rate limiter's limit in force", labels=_TARGET)
    last = GaugeMetricFamily(
        "adocd_last_sample_timestamp_seconds", "When the last sample was taken, since the epoch", labels=_TARGET
    )
    for labels, sample in sampled:
        if (waited_s := sample["waited_s"]) is not None:
            waited.add_metric(labels, waited_s)
        condition.add_metric([*labels, "stopped"], sample["stopped_s"])
        condition.add_metric([*labels, "delayed"], sample["delayed_s"])
        if (sampled_s := sample["unix_s"]) is not None:
            last.add_metric(labels, sampled_s)
    for labels, sample in _sampled(_attached(found)):
        for gauge, member in ((jobs, "background_jobs"), (rate, "rate_limit_bytes_per_s")):
            if (value := sample[member]) is not None:
                gauge.add_metric(labels, value)
    yield from (waited, condition, jobs, rate, last)


def _latency(found: list[_Target]) -> Iterator[Metric]:
    """Yield how long writes took: since the open by the agent's sampler, and what the last sample says."""
    since_open = HistogramMetricFamily(
        "adocd_write_latency_seconds",
        "How long writes took since the database was opened, estimated from a sample of them",
        labels=_TARGET,
    )
    percentile = GaugeMetricFamily(
        "adocd_write_latency_percentile_seconds",
        "How long writes took in the last window; percentile 100 is the worst",
        labels=(*_TARGET, "percentile"),
    )
    mean = GaugeMetricFamily(
        "adocd_write_latency_mean_seconds",
        "How long writes took in the last window, the mean; source: agent sampler or statistics",
        labels=(*_TARGET, "source"),
    )
    for labels, sample in _sampled(found):
        if sample["write_latency_since_open"] is not None:
            since_open.add_metric(labels, *buckets(sample["write_latency_since_open"]))
    for labels, sample in _sampled(_attached(found)):
        if (latency := sample["write_latency"]) is None:
            continue
        for word, member in _PERCENTILES:
            if latency[member] is not None:
                percentile.add_metric([*labels, word], latency[member])
        if latency["mean_s"] is not None:
            mean.add_metric([*labels, latency["source"]], latency["mean_s"])
    yield from (since_open, percentile, mean)


def _devices(found: list[_Target]) -> Iterator[Metric]:
    for name, text, member in _DEVICE_GAUGES:
        family = GaugeMetricFamily(f"adocd_{name}", text, labels=(*_TARGET, "device"))
        for labels, sample in _sampled(_attached(found)):
            for device in sample["devices"]:
                family.add_metric([*labels, device["device"]], float(device[member]))
        yield family


def _families(found: list[_Target]) -> Iterator[Metric]:
    for name, text, member in _FAMILY_GAUGES:
        family = GaugeMetricFamily(f"adocd_{name}", text, labels=_FAMILY)
        for labels, sample in _sampled(_attached(found)):
            for cf in sample["families"]:
                if cf[member] is not None:
                    family.add_metric([*labels, cf["name"]], float(cf[member]))
        yield family


def _attached(found: list[_Target]) -> list[_Target]:
    """Return those that are measured: an alert must not go on with what a silent database was like before."""
    return [target for target in found if target["state"] == "attached"]


def _sampled(found: list[_Target]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    for target in found:
        if target["sample"] is not None and target["state"] != "closed":
            yield _labels(target), target["sample"]


def _labels(target: _Target) -> list[str]:
    return [target["id"], target["path"]]
