"""How a chart over time fits a terminal, and says what was not measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from adocd.cli.show_over_time import over_time

Buckets = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def around(bytes_per_s: float) -> dict[str, Any]:
    return {
        "write_bytes_per_s": bytes_per_s,
        "read_bytes_per_s": 0.0,
        "cpu_cores": bytes_per_s / 10,
        "cpu_limit_cores": 2.0,
    }


def buckets(count: int, measured_from: int, dumped_until: int = 99) -> Buckets:
    return [
        {
            "begin": float(at),
            "end": at + 1.0,
            "l0": 1.0 if at % 2 else 0.0,
            "by_rocksdb": 0.5 if at < dumped_until else None,
            "around": around(10.0) if at >= measured_from else None,
        }
        for at in range(count)
    ]


def drawn(of: Buckets, width: int) -> list[str]:
    output = StringIO()
    found = {
        "over_time": of,
        "stall_s": {"l0": 1.0, "memtable": 0.0},
        "stall_s_by_rocksdb": 1.0,
        "begin": 0.0,
        "end": 60.0,
    }
    over_time(found, Console(file=output, width=width, soft_wrap=True, highlight=False))
    return output.getvalue().splitlines()


def test_a_column_for_each_bucket_where_there_is_room() -> None:
    assert drawn(buckets(4, 2), 100) == [
        "",
        "Over time: a column is 1 s, a full one was stalled throughout; ? was not measured.",
        "level-0 files      | █ █|",
        "writers waited     |▅▅▅▅|",
        "disks              |??██|  most: 10 bytes/s",
        "CPUs               |??▅▅|  of 2",
        "                    00:00:00 00:01:00",
    ]


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120])
def test_sixty_buckets_fit_any_terminal(width: int) -> None:
    lines = drawn(buckets(60, 31), width)
    charts = [line for line in lines if "|" in line]
    assert len(charts) == 4
    assert max(map(len, charts)) <= width
    assert len({line.rindex("|") for line in charts}) == 1
    # As much is told: half of the time stalled, and the disks' mean over what was measured.
    if width == 60:
        assert lines[1].startswith("Over time: a column is 3 s")
        assert charts[1].count("▅") == 20
        assert charts[2].endswith("|??????????██████████|  most: 10 bytes/s")


def test_nothing_measured_is_not_explained() -> None:
    assert drawn(buckets(2, 9), 100)[1].endswith("stalled throughout.")


def test_what_came_after_the_last_dump_is_not_told() -> None:
    lines = drawn(buckets(4, 9, dumped_until=2), 100)
    assert lines[1].endswith("stalled throughout; ? was not measured.")
    assert lines[3] == "writers waited     |▅▅??|"
