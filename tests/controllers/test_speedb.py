"""Speedb's dynamic delay: the rate is what is left before the nearest limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.model.knob import MIB, Knob
from adocd.model.options import UNIVERSAL_COMPACTION
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import OptionValues
from tests.builders import GIB, column_family, sample
from tests.controllers.laws import Plant, make, settings

#: RocksDB's limits: 20 and 36 files, 64 and 256 GiB.
D = 16_000_000


def delayed(*families: ColumnFamilySample, rate: int = D, in_force: int = D, quota: int = 0) -> Sample:
    """A database with this owner's rate whose writes are delayed."""
    found = sample(*families, condition="delayed", delayed_write_rate_bytes_per_s=in_force)
    database = {**found.options.database, "delayed_write_rate": str(rate), "db_write_buffer_size": str(quota)}
    options: OptionValues = replace(found.options, database=database)
    return replace(found, options=options, originals=options)


def rate_of(found: Sample) -> int | None:
    """The rate that is set from there on; None if it stays the owner's."""
    return settings(make("speedb").step(found)).get(Knob.DELAYED_WRITE_RATE)


@pytest.mark.parametrize(
    ("files", "rate"),
    [
        (20, None),  # 16 / 16 are left
        (21, None),  # 15 / 16, which is less than a tenth away
        (22, 14_000_000),
        (28, 8_000_000),
        (34, 2_000_000),
        (35, MIB),  # 1 / 16 is less than the floor
        (36, MIB),
        (50, MIB),
    ],
)
def test_by_files_of_level_0(files: int, rate: int | None) -> None:
    assert rate_of(delayed(column_family(l0_files=files))) == rate


def test_under_universal_compaction_sorted_runs_count() -> None:
    """As RocksDB counts them; by files of level 0 alone the law held the owner's rate against RocksDB's delay."""
    runs = column_family(l0_files=19, further_levels=(1,) * 6, compaction_style=UNIVERSAL_COMPACTION)
    assert rate_of(delayed(runs, in_force=5_120_000)) == 11_000_000


@pytest.mark.parametrize(
    ("pending", "rate"),
    [
        (64_000, None),
        (64_000 + 192, None),  # k = (192 div 192) = 1
        (64_000 + 20 * 192 - 1, 12_960_000),  # 19
        (64_000 + 20 * 192, 12_800_000),  # 20
        (64_000 + 75 * 192, 4_000_000),
        (83_250, MIB),
        (10**9, MIB),
    ],
)
def test_by_pending_bytes_in_whole_percent(pending: int, rate: int | None) -> None:
    """Soft 64,000 and hard 83,250 bytes: a hundredth of the way is 192 bytes, and half a byte is lost."""
    limits: dict[str, Any] = {
        "soft_pending_compaction_bytes_limit": 64_000,
        "hard_pending_compaction_bytes_limit": 83_250,
    }
    assert rate_of(delayed(column_family(pending_compaction_bytes=pending, **limits))) == rate


def test_without_a_hard_limit_pending_bytes_are_no_nearer_to_it() -> None:
    pending = column_family(pending_compaction_bytes=100 * GIB, hard_pending_compaction_bytes_limit=0)
    assert rate_of(delayed(pending)) is None


@pytest.mark.parametrize(
    ("number", "immutable", "rate"), [(3, 2, None), (4, 2, None), (4, 3, 1_600_000), (8, 6, None), (8, 7, 1_600_000)]
)
def test_at_the_last_of_more_than_3_memtables_it_is_a_tenth(number: int, immutable: int, rate: int | None) -> None:
    cf = column_family(max_write_buffer_number=number, immutable_memtables=immutable)
    assert rate_of(delayed(cf)) == rate


def test_memtables_that_wait_to_be_merged_are_nothing_to_flush_yet() -> None:
    waiting: dict[str, Any] = {"max_write_buffer_number": 4, "immutable_memtables": 3}
    assert rate_of(delayed(column_family(**waiting, min_write_buffer_number_to_merge=3))) is None
    assert rate_of(delayed(column_family(**waiting, min_write_buffer_number_to_merge=2))) == 1_600_000


def test_the_nearest_limit_of_all_families_counts() -> None:
    half = column_family("half", l0_files=28)
    full = column_family("full", pending_compaction_bytes=64 * GIB + 144 * GIB)  # k = 75: a quarter is left
    empty = column_family("empty")
    decision = make("speedb").step(delayed(empty, half, full))
    assert settings(decision) == {Knob.DELAYED_WRITE_RATE: 4_000_000}
    assert decision is not None
    assert decision.rule == "speedb.delay"
    assert "of full wait for compaction" in decision.signal
    assert decision.reason.startswith("25 % of the owner's 15.3 MiB/s")


def test_a_family_whose_compaction_is_off_is_not_delayed_by_files() -> None:
    assert rate_of(delayed(column_family(l0_files=34, disable_auto_compactions=True))) is None


@pytest.mark.parametrize(
    ("used", "rate"),
    [
        (69, None),
        (70, None),  # f is at least 1: 99 %
        (85, 8_000_000),  # f = 50
        (97, MIB + 551_424),  # f = 90: a tenth
        (100, MIB),
        (300, MIB),
    ],
)
def test_the_memtables_quota_counts_while_something_delays_writes(used: int, rate: int | None) -> None:
    memtables: dict[str, Any] = {"memtables_bytes": used * MIB}
    assert rate_of(delayed(column_family(l0_files=20, **memtables), quota=100 * MIB)) == rate
    assert rate_of(delayed(column_family(l0_files=19, **memtables), quota=100 * MIB)) is None


def test_it_holds_the_rate_against_rocksdbs_own_steps() -> None:
    """Half of D is wanted and set; one look of RocksDB's is let pass, the second one is not."""
    law, half = make("speedb"), column_family(l0_files=28)

    def looked(in_force: int) -> dict[Knob, int]:
        found = delayed(half, in_force=in_force)
        database = {**found.options.database, "delayed_write_rate": "8000000"}
        return settings(law.step(replace(found, options=replace(found.options, database=database))))

    assert looked(6_400_000) == {}
    assert looked(5_120_000) == {Knob.DELAYED_WRITE_RATE: 8_000_001}


def test_the_owners_rate_is_never_raised() -> None:
    """512 KiB/s are below the floor; so is what would be left of them."""
    assert rate_of(delayed(column_family(l0_files=34), rate=MIB // 2, in_force=MIB // 2)) is None


def test_it_begins_at_the_owners_rate_and_ends_there() -> None:
    plant, law = Plant(), make("speedb")
    assert settings(plant.step(law)) == {}
    plant.l0_files = 28
    assert settings(plant.step(law)) == {Knob.DELAYED_WRITE_RATE: 8 * MIB}
    assert settings(plant.step(law)) == {}
    plant.l0_files = 32
    assert settings(plant.step(law)) == {Knob.DELAYED_WRITE_RATE: 4 * MIB}
    plant.l0_files = 19
    decision = plant.step(law)
    assert settings(decision) == {Knob.DELAYED_WRITE_RATE: 16 * MIB}
    assert decision is not None
    assert decision.rule == "speedb.owners-rate"


def test_after_a_pause_it_goes_on_from_what_is_there() -> None:
    plant, law = Plant(), make("speedb")
    plant.l0_files = 28
    plant.step(law)
    plant.values = dict(plant.originals)
    plant.now_s += 600.0
    assert settings(plant.step(law)) == {Knob.DELAYED_WRITE_RATE: 8 * MIB}
