"""What a decision's record says of what is left of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.control.law import Law
from adocd.daemon.control.steering import Steering
from adocd.daemon.control.weighing import weigh
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy, Shaping
from adocd.model.snapshot import OptionValues
from adocd.model.values import Values
from tests.builders import CAPABILITIES, GIB
from tests.daemon.change.rocksdb_model import database, family, opened


def reason(
    batch_mib: int, *, families: tuple[str, ...] = ("default",), pins: Values | None = None, **options: int
) -> str:
    """Step the batch of all column families, the first of which has these options, and read the record's reason."""
    found = opened(options, families=families)
    sample = found.sample()
    settings = tuple(Setting(Knob.BATCH_SIZE, batch_mib * MIB, name) for name in families)
    steering = Steering(Ledger(dict(found.values)), (), CompactionLimits())
    asked = Decision((*settings, Setting(Knob.BACKGROUND_JOBS, 4)), "signal", "rule", "because")
    return weigh(Law(Policy("adoc"), CAPABILITIES), steering, (asked, sample), pins or {}, sample, 0.0).decision.reason


def test_a_step_that_shrinks_the_base_level_says_so() -> None:
    assert reason(128, max_bytes_for_level_base=4 * GIB) == (
        "because; max_bytes_for_level_base shrinks with it from 4 GiB to 512 MiB in default"
    )


def test_files_that_become_smaller_are_said_too() -> None:
    assert reason(128, target_file_size_base=256 * MIB) == (
        "because; target_file_size_base shrinks with it from 256 MiB to 128 MiB in default"
    )


def test_a_step_that_shrinks_nothing_says_nothing() -> None:
    assert reason(128) == "because"
    assert reason(64, max_bytes_for_level_base=256 * MIB) == "because"


def test_what_a_pin_has_taken_out_of_it_shrinks_nothing() -> None:
    assert reason(128, pins=family(write_buffer_size=MIB), max_bytes_for_level_base=4 * GIB) == "because"
    assert "shrinks" in reason(128, pins=database(max_background_jobs=3), max_bytes_for_level_base=4 * GIB)


def test_of_many_column_families_the_first_are_named() -> None:
    words = reason(32, families=tuple("abcdef"))
    assert "max_bytes_for_level_base shrinks with it from 256 MiB to 128 MiB in a, b, c and 3 more" in words


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_what_is_carried_out_is_judged(*, dry_run: bool) -> None:
    """A dry run changes nothing, so what comes after its decisions says nothing of them."""
    found = opened({})
    law = Law(Policy("adoc", shaping=Shaping(judge_s=30.0), dry_run=dry_run), CAPABILITIES)
    began = replace(found.sample(), originals=OptionValues(database={"max_background_jobs": "2"}))
    steering = Steering(Ledger(dict(found.values)), (), CompactionLimits())
    asked = Decision((Setting(Knob.BACKGROUND_JOBS, 8),), "signal", "rule", "because")
    steady = replace(began, written_bytes_per_s=1e8, interval_s=1.0)
    for second in range(-30, 31):
        now = replace(steady, monotonic_s=began.monotonic_s + second, waited_fraction=0.1 if second <= 0 else 0.9)
        law.judge.observe(now)
        if not second:
            weigh(law, steering, (asked, now), {}, now, 0.0)
    found.values |= database(max_background_jobs=8)
    after = replace(found.sample(), monotonic_s=began.monotonic_s + 30.0, originals=began.originals)
    assert (law.judge.verdict(after) is None) == dry_run
