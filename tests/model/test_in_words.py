"""Figures in words: by their unit, and in a record without leaving anything out."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from adocd.api.latency_in_words import write_latency
from adocd.model.in_words import duration, exact_size, knob_value, named, option_value, pinned, share, size, span, time
from adocd.model.knob import Knob
from adocd.model.latency import WriteLatency

MIB = 1 << 20


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "unknown"), (0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (MIB, "1 MiB"),
        (-64 * MIB, "-64 MiB"), (1000 * MIB, "1000 MiB"), (1.5 * (1 << 30), "1.5 GiB"), (5 << 40, "5 TiB"),
    ],
)  # fmt: skip
def test_a_size(value: float | None, said: str) -> None:
    assert size(value) == said


@pytest.mark.parametrize(
    ("fraction", "said"),
    [(None, "unknown"), (0, "0 %"), (0.0001, "< 0.1 %"), (0.012, "1.2 %"), (0.34, "34 %"), (1.0, "100 %")],
)
def test_a_share(fraction: float | None, said: str) -> None:
    assert share(fraction) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.31, "0.3 s"), (12, "12 s"), (180, "3 min"), (7500, "2 h 5 min"), (7200, "2 h"), (200000, "2 d 7 h")],
)
def test_a_duration(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-0.1, "0 s"), (0.0123, "12.3 ms"), (0.000661, "661 µs"), (1, "1 s"), (12.34, "12.3 s"), (119, "119 s"),
        (300, "5.0 min"), (7199.7, "120 min"), (7200, "2.0 h"),
    ],
)  # fmt: skip
def test_a_measured_time(seconds: float, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("knob", "value", "said"),
    [
        (Knob.BATCH_SIZE, 64 * MIB, "64 MiB"), (Knob.RATE_LIMIT, 8 * MIB, "8 MiB/s"), (Knob.AUTO_COMPACTION, 0, "off"),
        (Knob.AUTO_COMPACTION, 1, "on"), (Knob.SOFT_PENDING_LIMIT, 0, "off"), (Knob.BACKGROUND_JOBS, 4, "4"),
        (Knob.LEVEL0_STOP, 1 << 30, "out of the way"), ("a_knob_of_tomorrow", 64 * MIB, str(64 * MIB)),
    ],
)  # fmt: skip
def test_a_knobs_value(knob: str, value: int, said: str) -> None:
    assert knob_value(knob, value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"), (1023, "1023 bytes"), (64 * MIB, "64 MiB"), (1536 * MIB, "1.5 GiB"),
        (2 << 40, "2 TiB"), (1000 * MIB, "1000 MiB"), (100_000_000, "95.4 MiB (100000000 bytes)"),
    ],
)  # fmt: skip
def test_a_size_in_a_record(value: int, said: str) -> None:
    assert exact_size(value) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("batch_max_bytes", 64 * MIB, "64 MiB"), ("mimd.max_bytes_per_s", 200 * MIB, "200 MiB/s"),
        ("daemon.memory_budget_bytes", 0, "0"), ("threads_max", 8, "8"), ("tune_threads", False, "False"),
        ("law_bytes", "64", "64"),
    ],
)  # fmt: skip
def test_a_parameter_by_its_name(name: str, value: object, said: str) -> None:
    assert named(name, value) == said


@pytest.mark.parametrize(
    ("option", "text", "said", "shown"),
    [
        ("write_buffer_size", str(128 * MIB), "128 MiB", "128 MiB"),
        ("write_buffer_size", "100000000", "95.4 MiB (100000000 bytes)", "95.4 MiB"),
        ("level0_stop_writes_trigger", str(1 << 30), str(1 << 30), "out of the way"),
        ("level0_stop_writes_trigger", "36", "36", "36"),
        ("disable_auto_compactions", "true", "true", "true"),
        ("delayed_write_rate", str(16 * MIB), "16 MiB/s", "16 MiB/s"),
        ("rate_limiter_bytes_per_s", str(16 * MIB), "16 MiB/s", "16 MiB/s"),
        ("bytes_per_s", str(16 * MIB), "16 MiB/s", "16 MiB/s"),
        ("soft_pending_compaction_bytes_limit", "0", "0", "0"),
        ("no_such_option", "64", "64", "64"),
    ],
)
def test_an_options_value_by_its_unit(option: str, text: str, said: str, shown: str) -> None:
    """A record keeps what was asked for; a screen says what it comes to."""
    assert pinned(option, text) == said
    assert option_value(option, text) == shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(6.496e-6, "6.5 µs"), (0.000_999_9, "1 ms"), (0.0148, "14.8 ms"), (1.2, "1.2 s"), (4000, "4000 s"), (0, "0 µs")],
)
def test_a_latency(seconds: float, said: str) -> None:
    assert time(seconds) == said


@pytest.mark.parametrize(
    ("latency", "said"),
    [
        (
            WriteLatency("agent sampler", 5, 1e-5, 6.5e-6, 1.48e-5, 0.073, 1.17, one_in=32),
            "p50 6.5 µs, p99 14.8 µs, p99.9 73 ms, worst 1.17 s",
        ),
        (WriteLatency("agent sampler", 0, one_in=32), "no write ended in this window"),
        (WriteLatency("statistics", 5, 2e-3, why="only the mean"), "mean 2 ms; only the mean"),
        (WriteLatency(why="switched off"), "switched off"),
    ],
)
def test_the_latencies_of_writes(latency: WriteLatency, said: str) -> None:
    assert write_latency(asdict(latency)) == said


def test_an_older_daemon_has_no_latency() -> None:
    assert write_latency(None) == "not measured by this daemon"
