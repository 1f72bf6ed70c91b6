"""A rate that a change carried during a delay rises again as RocksDB recovers, and never faster than it would alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.daemon.change.brake import Brake
from adocd.daemon.control.unasked import unasked
from adocd.model.knob import MIB
from adocd.model.sample import Sample
from adocd.model.snapshot import Event
from adocd.model.values import Values
from adocd.simulator.options import FamilyOptions
from adocd.simulator.write_controller import StallInputs, WriteController
from tests.builders import GIB
from tests.daemon.change.rocksdb_model import RocksDB, database, opened
from tests.daemon.control.test_steering import Wheel

RATE = "delayed_write_rate"
OWNERS = 16 * MIB
JOBS = database(max_background_jobs=4)


def delayed(rate: int, ceiling: int, looks: int) -> Sample:
    found = opened()
    found.values |= database({RATE: ceiling})
    found.delay(rate, looks)
    return found.sample()


def risen(*samples: Sample) -> int | None:
    brake = Brake()
    for sample in samples:
        brake.observe(sample)
    return brake.may_rise_to


HELD = delayed(4 * MIB, 4 * MIB, looks=1)


def test_a_rate_that_is_at_its_ceiling_after_a_look_may_rise_by_one_step_of_rocksdbs() -> None:
    assert risen(HELD, HELD) == 5 * MIB


@pytest.mark.parametrize(
    "samples",
    [
        (HELD,),
        (delayed(3 * MIB, 3 * MIB, 1), HELD),
        (HELD, delayed(4 * MIB, 4 * MIB, looks=0)),
        (HELD, delayed(3 * MIB, 4 * MIB, 1)),
        (HELD, delayed(0, 4 * MIB, 0)),
        (HELD, delayed(0, 4 * MIB, 0), HELD),
    ],
    ids=["just carried", "carried anew", "no look", "lowered since", "over", "over and begun anew"],
)
def test_in_every_other_case_it_stays(samples: tuple[Sample, ...]) -> None:
    assert risen(*samples) is None


def test_a_step_of_ours_is_followed_by_the_next() -> None:
    assert risen(HELD, HELD, delayed(5 * MIB, 5 * MIB, 1)) == 25 * MIB // 4


def test_where_slowdowns_are_not_counted_jobs_that_end_are_looks() -> None:
    (family,) = HELD.column_families
    uncounted = replace(HELD, column_families=(replace(family, stall_counts={}),))
    assert risen(uncounted, uncounted) is None
    ended = replace(uncounted, events=(Event(1, 100.0, "compaction_end"),))
    assert risen(uncounted, ended) == 5 * MIB


class Delay:
    """A delay for pending bytes, in RocksDB's write controller, under steering; and the same left alone."""

    def __init__(self) -> None:
        self.wheel = Wheel(RocksDB(opened().values))
        self.steered, self.alone = WriteController(OWNERS), WriteController(OWNERS)
        self.sent: list[Values] = []

    def live(self, pending_gib: float) -> None:
        """Let RocksDB look at so many pending bytes, then look ourselves and send what is next."""
        load = StallInputs(unflushed_memtables=0, l0_files=5, pending_bytes=int(pending_gib * GIB))
        for controller in (self.steered, self.alone):
            controller.recalculate(load, FamilyOptions())
        model = self.wheel.database
        is_delayed = self.steered.condition == "delayed"
        model.delayed_rate, model.looks = (self.steered.rate_bytes_per_s, 1) if is_delayed else (0, 0)
        sent = dict(self.wheel.turn())
        if any(option.scope == "database" for option in sent):
            self.steered.set_max_rate(self.ceiling)
            self.sent.append(sent)

    @property
    def ceiling(self) -> int:
        """The delayed_write_rate in force, in bytes/s."""
        return int(self.wheel.database.values[next(iter(database({RATE: 0})))])


def test_a_carried_rate_recovers_as_rocksdb_alone_would_and_no_faster() -> None:
    delay = Delay()
    for step in range(8):
        delay.live(70 + step)
    low = delay.steered.rate_bytes_per_s
    assert low < OWNERS // 4
    delay.wheel.want(JOBS)
    delay.live(78)
    carried = delay.ceiling
    assert carried < low, "the change carries the rate in force"
    for step in range(16):
        delay.live(77 - step / 2)
        assert delay.steered.rate_bytes_per_s <= delay.alone.rate_bytes_per_s
        assert delay.steered.rate_bytes_per_s >= delay.alone.rate_bytes_per_s * 0.75, "it is a step behind at most"
    assert delay.alone.condition == "delayed"
    assert delay.ceiling == OWNERS
    assert delay.steered.rate_bytes_per_s == delay.alone.rate_bytes_per_s == OWNERS
    assert len(delay.sent) < 16, "each step costs a SetDBOptions"


def test_what_rounding_leaves_of_the_way_takes_no_step_of_its_own() -> None:
    wheel = Wheel()
    wheel.want(JOBS)
    wheel.database.delay(OWNERS * 4 // 5, 1)
    wheel.turn()
    for _ in range(2):
        wheel.database.delay(OWNERS, 1)
        sent = wheel.turn()
    assert sent == database({RATE: OWNERS})


def test_a_carried_rate_stays_while_debt_grows() -> None:
    delay = Delay()
    for step in range(4):
        delay.live(70 + step)
    delay.wheel.want(JOBS)
    delay.live(74)
    carried = delay.ceiling
    for step in range(10):
        delay.live(75 + step)
    assert delay.ceiling == carried
    assert len(delay.sent) == 1
    delay.live(0)
    assert delay.ceiling == OWNERS, "the delay is over"


def test_the_record_says_which_it_was() -> None:
    wheel = Wheel()
    wheel.want(JOBS)
    wheel.database.delay(4 * MIB, 1)
    wheel.turn()
    wheel.database.delay(OWNERS, 1)
    assert not wheel.turn(), "the first look tells nothing of a rate that was carried just now"
    step = wheel.next()
    assert step.plan.sent == database({RATE: 5 * MIB})
    assert step.plan.held == (f"delayed_write_rate goes back to {OWNERS} when the delay is over",)
    assert unasked(step, "adoc").signal == "RocksDB has raised the delayed rate to its ceiling"
    wheel.database.delay(0)
    assert unasked(wheel.next(), "adoc").signal == "the write delay is over"
