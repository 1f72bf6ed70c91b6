"""Sizes, rates and times as people write them; what adocd prints, it also reads."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.controllers import registry
from adocd.model import in_words, units
from adocd.model.knob import KNOBS
from adocd.model.units import Unit

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("64MiB", "bytes", 64 * MIB),
        (" 64 mib ", "bytes", 64 * MIB),
        ("64MB", "bytes", 64_000_000),
        ("64", "bytes", 64),
        ("0.5KiB", "bytes", 512),
        ("8kB", "bytes", 8000),
        ("8KB", "bytes", 8000),
        ("2TiB", "bytes", 2 << 40),
        ("8MB", "bytes/s", 8_000_000),
        ("8 MiB/s", "bytes/s", 8 * MIB),
        ("30s", "s", 30),
        ("30", "s", 30),
        ("500ms", "s", 0.5),
        ("5min", "s", 300),
        ("2h30min", "s", 9000),
        ("2 h 5 min", "s", 7500),
        ("100", "ms", 100),
        ("0.1s", "ms", 100),
    ],
)
def test_what_is_read(text: str, unit: Unit, value: float) -> None:
    read = units.read(text, unit)
    assert read == value
    assert isinstance(read, int) == (value == int(value))


@pytest.mark.parametrize(
    ("text", "unit", "sentence"),
    [
        (
            "64M",
            "bytes",
            "must be 64MB (64,000,000 bytes) or 64MiB (67,108,864 bytes), not '64M': this may mean either",
        ),
        ("1.5G", "bytes", "must be 1.5GB (1,500,000,000 bytes) or 1.5GiB (1,610,612,736 bytes), not '1.5G': this may"),
        ("8Mb/s", "bytes/s", "not '8Mb/s': a small b is for bits"),
        ("8MB/s", "bytes", "'8MB/s' is a rate"),
        ("8MB/h", "bytes/s", "must be a rate such as 8MB/s, 8MiB/s or a number of bytes/s, not '8MB/h'"),
        ("64XiB", "bytes", "there is no unit 'XiB'; there are B, KB, MB"),
        ("1.5", "bytes", "must be a whole number of bytes"),
        ("-1", "bytes", "must be a size"),
        ("1e9", "bytes", "must be a size such as 64MB, 64MiB or a number of bytes, not '1e9'"),
        ("9" * 5000, "bytes", "must be a size"),
        ("", "bytes", "must be a size"),
        ("", "s", "must be a time such as 500ms, 30s, 5min, 2h, 1d or 2h30min, not ''"),
        ("30s2h", "s", "must be a time"),
        ("1M", "s", "must be a time"),
        ("٣h", "s", "must be a time"),
        ("1h 1h", "s", "must be a time"),
    ],
    ids=lambda each: str(each)[:12],
)
def test_what_is_not(text: str, unit: Unit, sentence: str) -> None:
    with pytest.raises(units.NoQuantity) as error:
        units.read(text, unit)
    assert sentence in str(error.value)
    assert str(error.value).startswith("must be ")


def test_a_time_that_nothing_names_needs_a_unit() -> None:
    assert units.read_time_s("2h") == 7200
    with pytest.raises(units.NoQuantity, match="must be a time such as"):
        units.read_time_s("2")


@given(st.integers(0, 1 << 62))
def test_a_size_that_adocd_prints_is_read_again(size: int) -> None:
    said = in_words.exact_size(size)
    if "(" not in said and said != "0":
        assert units.read(said.replace(" bytes", "B"), "bytes") == size


@given(st.integers(10, 400 * 86400))
def test_a_time_that_adocd_prints_is_read_again(seconds: int) -> None:
    said = in_words.duration(seconds)
    assert in_words.duration(units.read_time_s(said)) == said, "it is printed roughly, and read exactly"


@given(st.text(), st.sampled_from(["bytes", "bytes/s", "s", "ms"]))
def test_any_text_is_read_or_refused(text: str, unit: Unit) -> None:
    with contextlib.suppress(units.NoQuantity):
        assert units.read(text, unit) >= 0


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("batch_max_bytes", "bytes"),
        ("adoc.batch_max_bytes", "bytes"),
        ("l0_bytes_max", "bytes"),
        ("max_bytes_per_s", "bytes/s"),
        ("rate_limiter_bytes_per_s", "bytes/s"),
        ("delayed_write_rate", "bytes/s"),
        ("write_buffer_size", "bytes"),
        ("bytes_per_sync", "bytes"),
        ("memtable_size", "bytes"),
        ("pacing_s", "s"),
        ("refill_period_ms", "ms"),
        ("threads_max", None),
        ("max_background_jobs", None),
    ],
)
def test_a_name_says_its_unit(name: str, unit: str | None) -> None:
    assert units.unit_of(name) == unit


def test_every_size_rate_and_time_of_a_law_has_a_unit() -> None:
    named = {name for law in registry.LAWS.values() for name in law.parameters_model.model_fields}
    without = {name for name in named if units.unit_of(name) is None}
    assert not [name for name in without if any(word in name for word in ("bytes", "period", "dwell", "smoothing"))]
    assert named - without >= {"batch_step_bytes", "debt_bytes_max", "dwell_s", "off_max_s", "file_size"}
    assert not [knob for knob, facts in KNOBS.items() if "bytes" in facts.unit and knob in without]
