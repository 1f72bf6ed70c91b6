"""What is said to help, and what led to a stall."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.diagnosis.diagnosis import Diagnosis
from adocd.model.snapshot import OptionValues
from tests.probes.log.lines import line, parsed

from .logs import BEGIN_S, compacted, diagnosed, flushed, opened, stall

STOP = "we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"
SLOW = "we have 5 immutable memtables (waiting for flush), max_write_buffer_number is set to 6 rate 1048576"
L0 = "we have 20 level-0 files rate 8388608"
PENDING = "of estimated pending compaction bytes 21450221 rate 8388608"
RULES: list[tuple[str, dict[str, Any], list[str]]] = [
    (STOP, {"max_write_buffer_number": 2}, ["raise max_write_buffer_number from 2 to 4"]),
    (STOP, {"write_buffer_size": 1 << 20}, ["raise write_buffer_size from 1 MiB to 64 MiB"]),
    (STOP, {"write_buffer_size": 64 << 20, "max_write_buffer_number": 6, "max_background_jobs": 8}, []),
    (L0, {"max_background_jobs": 2}, ["raise max_background_jobs from 2 to the number of CPUs, at least to 4"]),
    (L0, {"max_background_jobs": 16}, []),
    (STOP, {"max_background_jobs": 2}, ["raise max_background_jobs from 2 to 8 or more"]),
    (STOP, {"max_background_jobs": 7}, ["raise max_background_jobs from 7 to 8 or more"]),
    (STOP, {"max_background_jobs": 8}, []),
    (SLOW, {"delayed_write_rate": 1 << 20}, ["raise delayed_write_rate from 1 MiB/s to 16 MiB/s or more"]),
    (STOP, {"delayed_write_rate": 1 << 20}, []),
    # Any old-style option overrides max_background_jobs altogether, so raising it would change nothing.
    (STOP, {"max_background_jobs": 2, "max_background_compactions": 4}, []),
    (STOP, {"max_background_jobs": 2, "max_background_flushes": 1}, []),
    (L0, {"max_background_jobs": 2, "max_background_flushes": 1}, []),
    (PENDING, {"max_background_jobs": 2, "max_background_flushes": 1}, []),
    (L0, {"disable_auto_compactions": 1}, ["set disable_auto_compactions to false"]),
    (L0, {"level0_slowdown_writes_trigger": 6}, ["raise level0_slowdown_writes_trigger to 20"]),
    (L0, {"delayed_write_rate": 1 << 20}, ["raise delayed_write_rate from 1 MiB/s to 16 MiB/s or more"]),
    (
        PENDING,
        {"soft_pending_compaction_bytes_limit": 20 << 20},
        [
            "raise soft_pending_compaction_bytes_limit from 20 MiB (RocksDB's default is 64 GiB), and the hard limit "
            "with it"
        ],
    ),
    (PENDING, {"soft_pending_compaction_bytes_limit": 64 << 30}, []),
    (L0, {"rate_limiter": "0x555a4b2755b0"}, ["check whether the rate limiter's rate is too low"]),
    (L0, {"rate_limiter": "(nil)"}, []),
    ("the moon is full", {"max_background_jobs": 2}, []),
]


@pytest.mark.parametrize(("because", "options", "advice"), RULES, ids=lambda value: str(value)[:40])
def test_a_rule(because: str, options: dict[str, Any], advice: list[str]) -> None:
    line = stall(10, because, stopped=because == STOP)
    found = diagnosed(opened(**options), line, flushed(20))
    assert [each["do"] for each in found["advice"]] == advice
    assert all(each["why"] and each["source"] and each["column_family"] == "default" for each in found["advice"])


def set_(at_s: float, **options: int) -> bytes:
    """Write that options of the database were set, by a law or anybody."""
    at_s += BEGIN_S
    lines = ["SetDBOptions(), inputs:", *(f"{name}: {value}" for name, value in options.items())]
    return b"".join(line(each, at_s) for each in [*lines, "SetDBOptions() succeeded"])


@pytest.mark.parametrize(
    ("then", "now", "advice"),
    [
        (2, 8, []),
        (8, 2, []),
        (1, 3, ["raise max_background_jobs from 3 to 8 or more"]),
        (3, 1, ["raise max_background_jobs from 1 to 8 or more"]),
    ],
)
def test_what_has_been_set_since_is_not_advised_again(then: int, now: int, advice: list[str]) -> None:
    """A law turns the same knobs: what it has set helps already, and what has not helped before will not either."""
    found = diagnosed(
        opened(max_background_jobs=then), stall(10, STOP, stopped=True), flushed(20), set_(30, max_background_jobs=now)
    )
    assert [each["do"] for each in found["advice"]] == advice
    assert found["longest"][0]["led"]["options"] == {"max_background_jobs": str(then)}


@pytest.mark.parametrize(("now", "advice"), [(2, ["raise max_background_jobs from 2 to 8 or more"]), (8, [])])
def test_an_agent_knows_what_is_in_force(now: int, advice: list[str]) -> None:
    """The LOG's next file has the values of the open alone, and changes of before are in the file before."""
    diagnosis = Diagnosis()
    for event in parsed([opened(info=False, max_background_jobs=2), stall(10, STOP, stopped=True), flushed(20)]):
        diagnosis.add(event)
    diagnosis.end()
    diagnosis.in_force(OptionValues({"max_background_jobs": str(now)}, {"default": {}}))
    assert [each["do"] for each in diagnosis.summary()["advice"]] == advice


def test_the_options_of_the_open_are_not_in_force_again_in_the_logs_next_file() -> None:
    found = diagnosed(
        opened(session="S1", max_background_jobs=2),
        set_(10, max_background_jobs=8),
        opened(at_s=15, session="S1", info=False, max_background_jobs=2),
        stall(20, STOP, stopped=True),
        flushed(30),
    )
    assert found["longest"][0]["led"]["options"] == {"max_background_jobs": "8"}


def test_of_a_logs_next_file_each_column_family_has_its_own_options() -> None:
    """They have no titles there: the first are those of `default`, and whose the others are is not known."""
    options = [
        "Options.max_background_jobs: 8", "Options.comparator: leveldb.BytewiseComparator",
        "Options.write_buffer_size: 67108864", "Options.max_write_buffer_number: 2",
        "Options.comparator: leveldb.BytewiseComparator", "Options.write_buffer_size: 4194304",
        "Options.max_write_buffer_number: 6",
    ]  # fmt: skip
    next_file = line("RocksDB version: 7.8.3", BEGIN_S) + b"".join(line(each, BEGIN_S) for each in options)
    found = diagnosed(next_file, stall(10, STOP, stopped=True), flushed(20))
    assert found["longest"][0]["led"]["options"] == {
        "write_buffer_size": "67108864", "max_write_buffer_number": "2", "max_background_jobs": "8",
    }  # fmt: skip
    assert [each["do"] for each in found["advice"]] == ["raise max_write_buffer_number from 2 to 4"]
    found = diagnosed(next_file, stall(10, STOP, stopped=True, family="index"), flushed(20, family="index"))
    assert found["longest"][0]["led"]["options"] == {"max_background_jobs": "8"}


def test_what_made_next_to_nothing_of_it_gets_no_advice() -> None:
    found = diagnosed(
        opened(max_write_buffer_number=2, max_background_jobs=2),
        stall(10, STOP, stopped=True),
        flushed(10.1),
        stall(20, L0),
        flushed(80),
    )
    assert {each["cause"] for each in found["advice"]} == {"l0"}


def test_what_led_to_the_longest() -> None:
    jobs = [flushed(t, t % 5, job=t) for t in range(1, 101)]
    found = diagnosed(
        opened(max_background_jobs=2),
        *jobs,
        compacted(100.5, 3, job=500),
        stall(101, L0),
        flushed(105),
        stall(200, L0),
        flushed(220),
        stall(300, STOP, stopped=True),
        flushed(301),
        stall(400, STOP, stopped=True),
        flushed(403),
    )
    assert [round(s["stalled_s"]) for s in found["longest"]] == [20, 4, 3]
    led = found["longest"][1]["led"]
    assert (led["seconds"], led["compactions"], led["l0_files"]) == (60, 1, 20)
    assert led["flushes"] in (59, 60)
    assert led["options"] == {"max_background_jobs": "2"}
    assert found["longest"][0]["led"]["flushes"] == 0
