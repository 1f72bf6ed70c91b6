"""What the device took beside its cap."""

from __future__ import annotations

import pytest
from adocd_bench.evaluation.raw import DeviceBytes
from adocd_bench.evaluation.report.read import named_today
from adocd_bench.evaluation.report.summary import summarise
from adocd_bench.evaluation.report.taken import taken, taken_parts

from tests.bench.evaluation.report.builders import MIB, moved, run


def device(per_s: float, most_per_s: float | None, *, dedicated: bool = True) -> DeviceBytes:
    return DeviceBytes("loop0", dedicated, round(10 * per_s), 0, most_per_s)


@pytest.mark.parametrize(
    ("per_s", "most_per_s", "under"),
    [
        (209e6, 212e6, True),
        (210e6, None, True),
        (213e6, 230e6, True),  # the kernel counts a request when it ends
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
            "All that reached the device, the write-ahead log included, was under the cap: at most 209 MB/s over a run, "
            "and 220 MB/s in its highest second. RocksDB itself wrote up to 377 MB/s: the difference is log",
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
