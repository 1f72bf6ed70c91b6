"""Each law in its paper's own scenario: what the paper says of it, in direction, not in size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from adocd.model.policy import ParameterValue
from adocd.simulator.database import Setup
from adocd.simulator.device import MB
from adocd.simulator.workload import Alternating, WriteDemand
from adocd.simulator.write_controller import Cause

from .lived import Life, live
from .scenes import MIB, setup

pytestmark = pytest.mark.long

HALF_HOUR_S = 1800.0
Options = Mapping[str, Any]


def of(life: Life, cause: Cause) -> float:
    """Seconds that clients waited for one cause."""
    return life.seconds[-1].waited_s[cause]


# -- ADOC (adoc-fast23, 6.2 and 6.3): fillrandom, as fast as it goes


def test_adoc_and_its_reduced_forms_write_more_and_wait_less_than_no_law() -> None:
    """Section 6.3: each of both knobs helps alone, and both together do no worse than the better of them."""
    forms: Mapping[str, Mapping[str, ParameterValue]] = {
        "both": {},
        "threads": {"tune_batch": False},
        "batch": {"tune_threads": False},
    }
    fixed = live("fixed", setup(), HALF_HOUR_S)
    lives = {form: live("adoc", setup(), HALF_HOUR_S, **switches) for form, switches in forms.items()}
    written = {form: life.seconds[-1].written_bytes for form, life in lives.items()}
    assert all(life.waited_s < fixed.waited_s for life in lives.values())
    assert all(bytes_ > 1.1 * fixed.seconds[-1].written_bytes for bytes_ in written.values())
    assert written["both"] > 1.5 * fixed.seconds[-1].written_bytes
    assert written["both"] > 0.97 * max(written.values())
    assert lives["both"].waited_s == min(life.waited_s for life in lives.values())


def test_adoc_has_the_three_overflows_follow_each_other() -> None:
    """Section 4: the memory overflow comes first, for nothing below has anything yet; each is answered by its row."""
    life = live("adoc", setup(), 2 * HALF_HOUR_S)
    rules = [record.rule for record in life.decisions if record.rule.startswith("adoc.")]
    assert rules[0] == "adoc.memory"
    assert {"adoc.level0", "adoc.memory", "adoc.redundancy"} <= set(rules)


def test_the_published_code_goes_to_its_bound_of_threads() -> None:
    life = live("adoc-released", setup(), HALF_HOUR_S)
    assert life.most(lambda each: each.database.max_background_jobs) == 20
    assert life.waited_s < live("fixed", setup(), HALF_HOUR_S).waited_s


# -- RocksDB's auto-tuned limiter (warlo 3.3.5; RocksDB, Tune): peaks and valleys


def test_the_limiter_is_at_its_floor_when_a_peak_comes_and_climbs_by_a_twentieth_each_ten_seconds() -> None:
    """The source's behaviour, and the reason why papers measure stalls under it."""
    load = Alternating(0.0, 8 * MB, period_s=600.0, high_share=0.5)
    life = live("mimd", replace(setup(limiter=210 * MB), workload=load), 600.0)
    rates = {each.at_s: each.limiter_bytes_per_s or 0 for each in life.seconds}
    assert rates[300.0] == 210 * MB // 20
    climb = [rates[at] for at in (320.0, 360.0, 400.0, 440.0)]
    assert climb == sorted(set(climb))
    assert max(rates[at] for at in rates if 300.0 < at < 360.0) <= rates[300.0] * 1.05**7


# -- The toggle (warlo 4.3): a sine peak, then little


@dataclass(frozen=True, slots=True)
class ThesisSine:
    """The thesis's load: a sine from 50 to 200 MB/s and back in 350 s, then 10 MB/s, shortened and made smaller.

    Its peak fills 600 memtables of 64 MiB, which is more than our bounds allow to pile up: with half of the rate for
    half of the time the shape is the thesis's, and a quarter of it comes.
    """

    period_s: float = 175.0
    scale: float = 0.5
    closed: bool = False

    def rate(self, time_s: float) -> float:
        """See WriteDemand."""
        if time_s >= self.period_s:
            return 10 * MB * self.scale
        middle_s = math.floor(time_s / _STEP_S) * _STEP_S + _STEP_S / 2
        return (125 - 75 * math.cos(2 * math.pi * middle_s / self.period_s)) * MB * self.scale

    def next_change_s(self, time_s: float) -> float:
        """See WriteDemand."""
        return (math.floor(time_s / _STEP_S) + 1) * _STEP_S


_STEP_S = 5.0
#: 190 MB/s, at the same scale.
_CAP = 95 * MB


def sine(law: str, **parameters: ParameterValue) -> Life:
    """Live through the sine and what comes after it, with the thesis's options (its 3.5.6), in all versions."""
    options: Options = {"max_write_buffer_number": 6, "max_background_flushes": 4, "max_background_compactions": 2}
    load: WriteDemand = ThesisSine()
    opened: Setup = replace(setup("cap-490", limiter=_CAP, **options), workload=load)
    given = {"cap_bytes_per_s": _CAP, **parameters} if law == "toggle" else parameters
    return live(law, opened, 600.0, **given)


def test_the_toggle_is_off_in_the_peak_and_on_after_it_and_level_0_is_drained_in_the_end() -> None:
    life = sine("toggle")
    off = [each.at_s for each in life.seconds if each.family.disable_auto_compactions]
    assert off
    assert off[0] < 87.5, "on the rising edge"
    assert 87.5 < off[-1] < 175.0, "until after the peak"
    assert len(off) == round(off[-1] - off[0]) + 1, "in one go"
    assert life.seconds[-1].l0_files <= 20
    assert life.most(lambda each: each.l0_files) > 3 * life.seconds[-1].l0_files


def test_the_toggle_takes_the_peak_that_compactions_left_on_cannot() -> None:
    """Section 4.3.1: 423 thousand writes against 222 thousand."""
    fixed, toggle = sine("fixed"), sine("toggle")
    at_end = {name: life.seconds[174].written_bytes for name, life in (("fixed", fixed), ("toggle", toggle))}
    assert at_end["toggle"] > 1.3 * at_end["fixed"]
    assert toggle.waited_s < 0.1 * fixed.waited_s


# -- SILK (silk-atc19, 6 and figure 8C): peaks in which clients take most of the device


def silk(law: str, **parameters: ParameterValue) -> Life:
    """Live through three peaks of five minutes, with SILK's own threads and memtables (6.1)."""
    load = Alternating(4.5 * MB, 31.5 * MB, period_s=600.0, high_share=0.5)
    options: Options = {"max_background_jobs": 4, "write_buffer_size": 128 * MIB}
    return live(law, replace(setup("cap-100", limiter=100 * MB, **options), workload=load), HALF_HOUR_S, **parameters)


def test_silk_lets_nobody_wait_for_level_0_and_keeps_the_queue_short() -> None:
    """As figure 8C has it, but for one half: the hold alone leaves a shorter queue here than both.

    SILK's own scheduler lets flushes go first. RocksDB's limiter does so only among those that wait at a refill, and
    not in a delay or a stop (RateLimiter): a smaller rate in peaks is then a slower flush, too.
    """
    fixed, both = silk("fixed"), silk("silk")
    bandwidth, hold = silk("silk", hold=False), silk("silk", bandwidth=False)

    def queue(life: Life) -> float:
        return life.mean(lambda each: each.backlog_bytes)

    assert of(both, "l0") < 0.05 * of(fixed, "l0")
    assert queue(both) < 0.5 * queue(fixed)
    assert queue(both) < 0.5 * queue(bandwidth)
    assert of(hold, "l0") < 0.05 * of(fixed, "l0")


def test_silk_gives_internal_work_less_in_peaks_than_in_valleys() -> None:
    """The floor while clients use the device; in a stop of writes they use nothing, and it may have nearly all."""
    life = silk("silk")

    def given(begin_s: float, end_s: float) -> list[int]:
        return [each.limiter_bytes_per_s or 0 for each in life.seconds if begin_s < each.at_s <= end_s]

    peak, valley = given(330.0, 600.0), given(60.0, 300.0)
    assert min(peak) == 25 * MB < min(valley)
    # The owner's 100 MB/s are in force only while a change waits.
    laws = [each for each in peak if each != 100 * MB]
    assert 0.8 * len(peak) < len(laws) < len(peak)
    assert sum(laws) / len(laws) < 0.85 * sum(valley) / len(valley)


# -- Performance stability and spring and gear (performance-stability-vldb19, 4.2 and 6): an open system with bursts

#: LevelDB's slowdown and stop, which the paper compares with (6.1).
_LEVELDB: Options = {"level0_slowdown_writes_trigger": 8, "level0_stop_writes_trigger": 12}
_FOUR_BURSTS_S = 1200.0


@pytest.mark.parametrize("rate", [10 * MB, 12 * MB])
def test_without_slowdowns_the_queue_is_shorter_at_the_same_bound_of_files(rate: float) -> None:
    """Theorem 1: writes as quickly as possible, then a stop, against LevelDB's slowdown at 8 files of 12."""
    slowed = live("fixed", setup(workload="burst", rate=rate, **_LEVELDB), _FOUR_BURSTS_S)
    stability = live("stability", setup(workload="burst", rate=rate, **_LEVELDB), _FOUR_BURSTS_S)
    assert any(each.condition == "delayed" for each in slowed.seconds)
    assert not any(each.condition == "delayed" for each in stability.seconds[2:])
    assert stability.most(lambda each: each.l0_files) <= 14
    assert stability.mean(lambda each: each.backlog_bytes) < 0.6 * slowed.mean(lambda each: each.backlog_bytes)


@pytest.mark.parametrize("rate", [8 * MB, 9 * MB])
def test_spring_and_gear_stops_writes_less_and_queues_more(rate: float) -> None:
    """Section 4.2: bounded processing latency, and worse latency with queueing."""
    stability = live("stability", setup(workload="burst", rate=rate), _FOUR_BURSTS_S)
    spring = live("spring-and-gear", setup(workload="burst", rate=rate), _FOUR_BURSTS_S)

    def stopped(life: Life) -> int:
        return sum(each.condition == "stopped" for each in life.seconds)

    assert stopped(spring) < 0.5 * stopped(stability)
    assert spring.most(lambda each: each.l0_files) < stability.most(lambda each: each.l0_files)
    assert spring.mean(lambda each: each.backlog_bytes) > 1.5 * stability.mean(lambda each: each.backlog_bytes)
