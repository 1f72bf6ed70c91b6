"""What disks and process did at the time of a stall, and what that changes in the advice."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.diagnosis import Diagnosis
from adocd.diagnosis.around import SPELLS_MOST, Surrounded
from adocd.model.surroundings import SurroundingsPoint
from adocd.probes.log import LogParser
from adocd.probes.log.events import OptionsListed

from .logs import BEGIN_S, compacted, flushed, opened, stall

MIB = 1 << 20
L0 = "we have 20 level-0 files rate 8388608"


def point(**members: Any) -> SurroundingsPoint:
    values: dict[str, Any] = {
        "monotonic_s": 0.0,
        "write_bytes_per_s": 100.0 * MIB,
        "read_bytes_per_s": 0.0,
        "busy_fraction": 0.5,
        "mean_queue": 1.0,
        "at_limit": False,
        "cpu_cores": 1.0,
        "cpu_limit_cores": 4.0,
        "rss_bytes": 1 << 30,
        "io_pressure_some_fraction": 0.1,
        "cpu_pressure_some_fraction": 0.1,
    }
    return SurroundingsPoint(**(values | members))


def explained(surrounded: Surrounded | None, found: Diagnosis | None = None) -> dict[str, Any]:
    parser, found = LogParser(), found or Diagnosis()
    for event in parser.feed(opened(max_background_jobs=2, max_subcompactions=1) + stall(10, L0) + flushed(20)):
        found.add(event)
    for event in parser.finish():
        found.add(event)
    found.end()
    return found.summary(surrounded=surrounded)


def surrounded(jobs_write_bytes_per_s: float = 0.0, **members: Any) -> Surrounded:
    around = Surrounded()
    for at_s in range(1, 31):
        during = 10 < at_s <= 20
        around.add(BEGIN_S + at_s, 1.0, point(**members) if during else point(), jobs_write_bytes_per_s)
    return around


def limited(bytes_per_s: int = 100 * MIB) -> Diagnosis:
    """Make a diagnosis of a database with a rate limiter."""
    found = Diagnosis()
    found.learn(OptionsListed(BEGIN_S, None, {"rate_limiter_bytes_per_s": str(bytes_per_s)}))
    return found


def test_a_stall_is_shown_with_what_disks_and_process_did_then() -> None:
    found = explained(surrounded(write_bytes_per_s=220.0 * MIB, cpu_cores=2.0))
    around = found["longest"][0]["around"]
    assert around["write_bytes_per_s"] == pytest.approx(220 * MIB)
    assert around["cpu_cores"] == pytest.approx(2.0)
    assert len(found["over_time"]) == 20
    by_second = [bucket["around"]["write_bytes_per_s"] / MIB for bucket in found["over_time"]]
    assert by_second == [pytest.approx(100)] * 10 + [pytest.approx(220)] * 10


def test_a_log_alone_tells_nothing_of_it() -> None:
    found = explained(None)
    assert found["longest"][0]["around"] is None
    assert found["over_time"][0]["around"] is None


@pytest.mark.parametrize(
    ("members", "first", "more_jobs"),
    [
        ({}, "raise max_background_jobs", True),
        ({"at_limit": True}, "give the database a faster device", False),
        ({"cpu_cores": 3.9}, "give the database more CPU", False),
        ({"cpu_cores": 3.9, "cpu_pressure_some_fraction": 0.9}, "give the database more CPU, or", False),
        ({"cpu_pressure_some_fraction": 0.9}, "give the database more CPU: move other work away", False),
        ({"cpu_pressure_some_fraction": 0.3}, "raise max_background_jobs", True),
        ({"cpu_pressure_some_fraction": None, "at_limit": None}, "raise max_background_jobs", True),
        ({"cpu_cores": 3.9, "cpu_limit_cores": None}, "raise max_background_jobs", True),
    ],
)
def test_nobody_is_told_to_run_more_jobs_where_device_or_cpu_is_full(
    members: dict[str, Any], first: str, more_jobs: bool
) -> None:
    advice = [each["do"] for each in explained(surrounded(**members))["advice"]]
    assert advice[0].startswith(first)
    assert any("max_background_jobs" in do for do in advice) is more_jobs
    assert any("max_subcompactions" in do for do in advice) is more_jobs


def test_a_rate_limiter_that_is_used_up_is_named_first() -> None:
    advice = explained(surrounded(95.0 * MIB), limited())["advice"]
    assert advice[0]["do"] == "raise the rate limiter from 100 MiB/s"
    assert advice[0]["why"].endswith("; in the longest of these stalls they wrote 95 MiB/s")
    assert not any("max_background_jobs" in each["do"] for each in advice)


@pytest.mark.parametrize("cpu", [{"cpu_cores": 3.9}, {"cpu_pressure_some_fraction": 0.9}])
def test_a_used_up_limiter_comes_before_the_cpu_and_not_before_the_device(cpu: dict[str, Any]) -> None:
    def advice(**members: Any) -> list[str]:
        around = surrounded(95.0 * MIB, **cpu, **members)
        return [each["do"] for each in explained(around, limited())["advice"]]

    first, second = advice()[:2]
    assert first == "raise the rate limiter from 100 MiB/s"
    assert second.startswith("give the database more CPU")
    assert advice(at_limit=True)[0].startswith("give the database a faster device")


def test_a_limiter_that_the_jobs_have_used_up_is_named_where_the_disks_tell_nothing() -> None:
    """What is written reaches the disks late where it goes through the page cache."""
    found = limited(1000)
    jobs = b"".join(compacted(n / 100, 3, job=n) for n in range(1, 60))
    for event in LogParser().feed(opened() + jobs + stall(10, L0) + flushed(20)):
        found.add(event)
    found.end()
    (advice,) = found.summary(surrounded=surrounded(write_bytes_per_s=0.0))["advice"]
    assert advice["do"] == "raise the rate limiter from 1000 bytes/s"
    assert "in the 10 s before the longest of these stalls they wrote 5.76 KiB/s together" in advice["why"]


@pytest.mark.parametrize(
    ("by_jobs", "by_disks"),
    [(40.0, 40.0), (0.0, 300.0), (45.0, 2 * 45.0)],
    ids=["little", "by another program", "to both disks of a mirror"],
)
def test_a_rate_limiter_that_is_not_used_up_is_no_matter(by_jobs: float, by_disks: float) -> None:
    """It limits what this database's jobs write; the disks also show what others write, and each half of a mirror."""
    around = surrounded(by_jobs * MIB, write_bytes_per_s=by_disks * MIB)
    advice = [each["do"] for each in explained(around, limited())["advice"]]
    assert advice[0].startswith("raise max_background_jobs")
    assert not any("rate limiter" in do for do in advice)


def test_without_a_device_nobody_says_whether_it_was_at_its_limit() -> None:
    around = Surrounded()
    around.add(10.0, 1.0, point(at_limit=None))
    assert (found := around.between(9.0, 10.0)) is not None
    assert found.at_limit_fraction is None
    around.add(11.0, 1.0, point(at_limit=True))
    assert (found := around.between(9.0, 11.0)) is not None
    assert found.at_limit_fraction == 1.0


def test_what_was_not_measured_is_unknown_and_not_zero() -> None:
    around = Surrounded()
    around.add(10.0, 1.0, point(cpu_cores=None, write_bytes_per_s=None))
    around.add(11.0, 1.0, point(cpu_cores=2.0, write_bytes_per_s=None))
    found = around.between(9.0, 11.0)
    assert found is not None
    assert found.cpu_cores == 2.0
    assert found.write_bytes_per_s is None
    assert around.between(20.0, 30.0) is None


@pytest.mark.parametrize("count", [SPELLS_MOST + 1, 2 * SPELLS_MOST + 7, 9 * SPELLS_MOST])
def test_all_of_the_past_is_kept_in_bounded_memory(count: int) -> None:
    around = Surrounded()
    for at_s in range(count):
        around.add(at_s + 1.0, 1.0, point(write_bytes_per_s=float(at_s)))
    everything = around.between(0.0, float(count))
    assert everything is not None
    assert (everything.begin_s, everything.end_s) == (0.0, float(count))
    assert everything.write_bytes_per_s == pytest.approx((count - 1) / 2)
    newest = around.between(count - 1.0, float(count))
    assert newest is not None
    assert newest.write_bytes_per_s == count - 1
