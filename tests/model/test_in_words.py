"""Figures in words: by their unit, and in a record without leaving anything out."""

from __future__ import annotations

import pytest

from adocd.model.in_words import exact_size, named, option_value, pinned

MIB = 1 << 20


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
