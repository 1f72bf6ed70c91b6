"""Numbers as RocksDB prints them: sizes in powers of 1024, counts in thousands."""

from __future__ import annotations

import pytest

from adocd.probes.log.numbers import number, size_bytes, span_s


@pytest.mark.parametrize(
    ("unit", "bytes_"), [(b"B", 1), (b"KB", 1024), (b"MB", 1024**2), (b"GB", 1024**3), (b"TB", 1024**4)]
)
def test_sizes(unit: bytes, bytes_: int) -> None:
    assert size_bytes(b"1.5", unit) == 1.5 * bytes_


@pytest.mark.parametrize(
    ("said", "value"), [(b"12", 12), (b"3.5", 3.5), (b"12K", 12e3), (b"3M", 3e6), (b"2G", 2e9), (b"1.5T", 1.5e12)]
)
def test_counts(said: bytes, value: float) -> None:
    assert number(said) == value


def test_spans() -> None:
    assert span_s(b"02", b"03", b"4.5") == 2 * 3600 + 3 * 60 + 4.5


@pytest.mark.parametrize("said", [b"nan", b"inf", b"-inf", b"", b"K", b"12X", b"infK"])
def test_what_is_no_number(said: bytes) -> None:
    assert number(said) is None
    assert size_bytes(said, b"KB") is None
    assert span_s(b"1", said, b"1") is None
    assert size_bytes(b"1", b"EB") is None
