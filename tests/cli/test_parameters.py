"""What is typed behind a command: parameters, pins and times."""

from __future__ import annotations

import pytest

from adocd.cli.exits import Exit, Failure
from adocd.cli.parameters import parse_duration_s, parse_parameters, parse_pin

MIB = 1 << 20


def test_parameters() -> None:
    given = ["threads_max=8", "tune_threads=false", "share=0.5", "name=x=y", "list=[1]"]
    parsed = {"threads_max": 8, "tune_threads": False, "share": 0.5, "name": "x=y", "list": "[1]"}
    assert parse_parameters(given) == parsed


@pytest.mark.parametrize(("option", "example"), [("--set", "threads_max=8"), ("--shape", "pacing_s=5")])
def test_what_is_no_parameter(option: str, example: str) -> None:
    for given in ("threads", "=8"):
        with pytest.raises(Failure, match=f"{option} takes KEY=VALUE, such as {example}") as error:
            parse_parameters([given], option)
        assert error.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("given", "option", "value"),
    [
        ("write_buffer_size=128MiB", "write_buffer_size", 128 * MIB),
        ("write_buffer_size=65536KiB", "write_buffer_size", 64 * MIB),
        ("max_total_wal_size=2 GiB", "max_total_wal_size", 2048 * MIB),
        ("max_background_jobs=4", "max_background_jobs", 4),
        ("disable_auto_compactions=true", "disable_auto_compactions", "true"),
        ("level0_slowdown_writes_trigger=-1", "level0_slowdown_writes_trigger", -1),
        ("write_buffer_size=1.5GiB", "write_buffer_size", 1536 * MIB),
        ("write_buffer_size=128MB", "write_buffer_size", 128_000_000),
        ("rate_limiter_bytes_per_s=8MB/s", "rate_limiter_bytes_per_s", 8_000_000),
        # Not understood here: the daemon's guards say what is.
        ("max_background_jobs=many", "max_background_jobs", "many"),
    ],
)
def test_pins(given: str, option: str, value: int | str) -> None:
    assert parse_pin(given) == (option, str(value))


@pytest.mark.parametrize("value", ["64M", "64mb", "MiB", "64XiB", "8MB/s", "9" * 5000 + "GiB"], ids=lambda v: v[-5:])
def test_what_is_no_size(value: str) -> None:
    with pytest.raises(Failure, match="write_buffer_size must be ") as error:
        parse_pin(f"write_buffer_size={value}")
    assert error.value.code == Exit.USAGE


def test_a_pin_without_an_equals_sign_is_written_right() -> None:
    with pytest.raises(Failure, match="an override is OPTION=VALUE: write write_buffer_size=64MiB"):
        parse_pin("write_buffer_size", then="64MiB")


@pytest.mark.parametrize("given", ["", "write_buffer_size", "=1", "write_buffer_size=", "a/b=1", "a b=1", "../x=1"])
def test_what_is_no_pin(given: str) -> None:
    with pytest.raises(Failure, match="an override is OPTION=VALUE, such as write_buffer_size=128MiB") as error:
        parse_pin(given)
    assert error.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("90s", 90.0), ("10m", 600.0), ("10min", 600.0), ("1.5h", 5400.0), ("1 h 30 min", 5400.0), ("ever", None)],
)
def test_times(given: str, seconds: float | None) -> None:
    assert parse_duration_s(given) == seconds


@pytest.mark.parametrize(
    "given", ["", "s", "2", "0s", "-1h", "soon", "30s1h", "1w", "٣h", "9" * 5000 + "d"], ids=lambda g: g[:5]
)
def test_what_is_no_time(given: str) -> None:
    with pytest.raises(Failure, match=r"--for must be (a time such as .*|more than 0 s); .*`ever`") as error:
        parse_duration_s(given)
    assert error.value.code == Exit.USAGE
