"""What a decision's record says of what is left of it."""

from __future__ import annotations

from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.control.law import Law
from adocd.daemon.control.steering import Steering
from adocd.daemon.control.weighing import weigh
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
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
