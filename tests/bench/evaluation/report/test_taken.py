"""What the device took beside its cap."""

from __future__ import annotations

import pytest
from adocd_bench.evaluation.raw import DeviceBytes
from adocd_bench.evaluation.report.document import Table
from adocd_bench.evaluation.report.read import named_today
from adocd_bench.evaluation.report.sections_wal import wal_parts
from adocd_bench.evaluation.report.summary import summarise
from adocd_bench.evaluation.report.taken import taken, taken_parts
from adocd_bench.host.device import parse_profile

from tests.bench.evaluation.report.builders import MIB, moved, repeated, run


def device(per_s: float, most_per_s: float | None, *, dedicated: bool = True) -> DeviceBytes:
    return DeviceBytes("loop0", dedicated, round(10 * per_s), 0, most_per_s)


@pytest.mark.parametrize(
    ("per_s", "most_per_s", "under"),
    [
        (209e6, 212e6, True),
        (210e6, None, True),
        (213e6, 280e6, True),  # the kernel counts a request when it ends
        (215e6, 220e6, False),
        (150e6, 300e6, False),  # an idle rest of the phase does not make up for it
    ],
)
def test_everything_is_under_the_cap_or_not(per_s: float, most_per_s: float | None, under: bool) -> None:
    assert taken(run(device=device(per_s, most_per_s))).under_cap is under


def test_a_shared_device_says_nothing_about_the_cap_and_neither_does_none() -> None:
    assert taken(run(device=device(100e6, 100e6, dedicated=False))).under_cap is None
    assert taken(run()).under_cap is None
    assert taken(run(profile="uncapped", device=device(100e6, 100e6))).under_cap is None


def test_what_was_written_by_hand() -> None:
    found = taken(run(at_end=moved(10 * MIB, wal_bytes=30 * MIB), device=device(5e6, 6e6)))
    assert (found.wal, found.flush, found.compaction) == (3 * MIB, MIB, 4 * MIB)
    assert (found.written, found.cap, found.device, found.device_most) == (8 * MIB, 210e6, 5e6, 6e6)
    assert taken(run(at_end=moved(wal_bytes=None))).written is None


@pytest.mark.parametrize(
    ("members", "begins"),
    [
        ({"device": device(100e6, 120e6)}, "All that reached the device, the write-ahead log included, was under"),
        (
            {"device": device(209e6, 220e6), "at_end": moved(600 * MIB)},
            "All that reached the device, the write-ahead log included, was under the cap: at most 209 MB/s over a "
            "run, and 220 MB/s in its highest second (a request counts in the second in which it ends). RocksDB itself "
            "wrote up to 377 MB/s: the difference is log",
        ),
        ({"device": device(300e6, 320e6)}, "Not everything that reached the device was under the cap of 210 MB/s"),
        ({"wal_outside_cap": True}, "Not everything was under the cap: the write-ahead log was outside"),
        ({}, "Whether everything was under the cap is not known"),
        ({"profile": "uncapped"}, "There was no cap"),
    ],
)
def test_one_sentence_says_whether_everything_was_under_the_cap(members: dict[str, object], begins: str) -> None:
    (block,) = summarise([run(**members), run(repetition=2, **members)])  # type: ignore[arg-type]
    (_, said) = taken_parts(block, "")
    assert getattr(said, "text").startswith(begins)  # noqa: B009


def test_runs_with_the_wal_under_the_cap_and_outside_are_never_of_one_block() -> None:
    """Older results of either kind have the same profile's name."""
    older, newer = named_today(run(wal_outside_cap=True)), named_today(run())
    assert [block.name for block in summarise([older, newer])] == [
        "cap-210-fillrandom",
        "cap-210-wal-outside-fillrandom",
    ]
    assert {block.speed for block in summarise([older, newer])} == {"cap-210"}
    named = run(profile="cap-210-wal-outside", wal_outside_cap=True)
    assert named_today(named) is named


def test_the_same_block_with_the_log_outside_is_compared_pair_by_pair() -> None:
    """Under the cap 900, 810 and 720 operations/s, outside 1000, 900 and 800: nine tenths."""
    outside = repeated("default", (1000, 900, 800), profile="cap-210-wal-outside", wal_outside_cap=True)
    other = repeated("adoc", (1, 1, 1), profile="cap-100-wal-outside", wal_outside_cap=True)
    blocks = summarise([*repeated("default", (900, 810, 720)), *repeated("adoc", (1, 1, 1)), *outside, *other])
    (_, said, table) = wal_parts(blocks)
    assert "log under the cap over the figure with the log outside" in getattr(said, "text")  # noqa: B009
    assert isinstance(table, Table)
    assert table.title == "cap-210-fillrandom and cap-210-wal-outside-fillrandom"
    assert {row[0] for row in table.rows} == {"default"}
    assert table.rows[0][1:4] == ("operations/s in the phase", "810 (720 .. 900)", "900 (800 .. 1,000)")
    assert table.rows[0][4].endswith(": 0.9")
    assert wal_parts([block for block in blocks if not parse_profile(block.profile).wal_outside]) == []


def test_a_block_that_was_drained_under_the_laws_options_is_compared_with_none_that_was_restored() -> None:
    older = repeated("default", (1000, 900, 800), profile="cap-210-wal-outside", wal_outside_cap=True, settled=None)
    assert wal_parts(summarise([*repeated("default", (900, 810, 720)), *older])) == []
