"""What carries a law's knobs."""

from dataclasses import replace

import pytest

from adocd.daemon.change.translate import options_of
from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, MIB, Knob
from adocd.model.reading import value_now
from adocd.model.snapshot import OptionValues
from adocd.model.threads import ThreadsBy
from adocd.model.values import nested, of_pool
from tests.builders import column_family, sample
from tests.daemon.change.rocksdb_model import database, family


def test_the_batch_is_three_options_and_the_base_level_holds_what_triggers_its_compaction() -> None:
    assert options_of(Setting(Knob.BATCH_SIZE, 128 * MIB, "default"), sample(), {}) == family(
        write_buffer_size=128 * MIB, target_file_size_base=128 * MIB, max_bytes_for_level_base=4 * 128 * MIB
    )


def test_the_base_level_follows_the_owners_trigger_whoever_holds_the_live_one() -> None:
    """The toggle has it at 2^30 while compaction is off, and a pin ends by itself; the base level would stay."""
    off = sample(column_family(level0_file_num_compaction_trigger=1 << 30))
    owners = family(level0_file_num_compaction_trigger=6)
    found = options_of(Setting(Knob.BATCH_SIZE, 128 * MIB, "default"), off, owners)
    assert found.items() >= family(max_bytes_for_level_base=6 * 128 * MIB).items()


def test_memtables_that_are_merged_before_a_flush_make_larger_files() -> None:
    merging = sample(column_family(min_write_buffer_number_to_merge=2, level0_file_num_compaction_trigger=0))
    found = options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "default"), merging, {})
    assert found.items() >= family(max_bytes_for_level_base=2 * 64 * MIB).items(), "a trigger of 0 counts as 1"


@pytest.mark.parametrize("style", ["kCompactionStyleUniversal", "kCompactionStyleFIFO", "kCompactionStyleNone"])
def test_without_levels_the_batch_is_the_memtable_alone(style: str) -> None:
    universal = replace(sample(), options=OptionValues(column_families={"default": {"compaction_style": style}}))
    found = options_of(Setting(Knob.BATCH_SIZE, 128 * MIB, "default"), universal, {})
    assert found == family(write_buffer_size=128 * MIB)


def test_a_batch_that_goes_back_to_the_owners_is_all_of_what_the_owner_had() -> None:
    """An owner's base level of 4 GiB would else come back as four batches, and everything above is due at once."""
    owners = family(write_buffer_size=64 * MIB, target_file_size_base=32 * MIB, max_bytes_for_level_base=4096 * MIB)
    grown = sample(column_family(write_buffer_size_bytes=128 * MIB, max_bytes_for_level_base_bytes=512 * MIB))
    assert options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "default"), grown, owners) == owners
    part = {name: value for name, value in owners.items() if name.option != "target_file_size_base"}
    unknown = options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "default"), replace(grown, options=OptionValues()), part)
    assert unknown.items() >= family(max_bytes_for_level_base=4 * 64 * MIB).items()


def test_threads_that_go_back_are_the_owners_pools() -> None:
    pools = replace(sample(), threads_by=ThreadsBy.POOLS)
    owners = {of_pool("high"): "4", of_pool("low"): "4"}
    assert options_of(Setting(Knob.BACKGROUND_JOBS, 8), pools, owners) == owners
    assert options_of(Setting(Knob.BACKGROUND_JOBS, 16), pools, owners) == {of_pool("high"): "4", of_pool("low"): "12"}


def test_a_column_family_that_has_gone_has_no_options() -> None:
    assert options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "gone"), sample(), {}) == {}


def test_background_jobs_are_one_option_of_the_database() -> None:
    assert options_of(Setting(Knob.BACKGROUND_JOBS, 8), sample(), {}) == database(max_background_jobs=8)


@pytest.mark.parametrize("knob", sorted(set(Knob) - {Knob.BATCH_SIZE}))
def test_every_other_knob_is_one_value_and_reads_back_as_it_was_set(knob: Knob) -> None:
    """What is read of a knob is what was set; the switch is RocksDB's the other way round."""
    name = "default" if KNOBS[knob].scope == "column_family" else None
    value = 0 if KNOBS[knob].unit == "switch" else 7
    found = options_of(Setting(knob, value, name), sample(), {})
    assert len(found) == 1
    assert value_now(knob, replace(sample(), options=nested(found), background_jobs=7), name) == value


def test_the_switch_is_rocksdbs_the_other_way_round() -> None:
    assert options_of(Setting(Knob.AUTO_COMPACTION, 0, "default"), sample(), {}) == family(
        disable_auto_compactions="true"
    )
    assert options_of(Setting(Knob.AUTO_COMPACTION, 1, "default"), sample(), {}) == family(
        disable_auto_compactions="false"
    )


def test_threads_of_their_own_are_old_style_options_or_pools() -> None:
    by_pools = replace(sample(), threads_by=ThreadsBy.POOLS)
    for knob, option, pool in (
        (Knob.FLUSH_THREADS, "max_background_flushes", "high"),
        (Knob.COMPACTION_THREADS, "max_background_compactions", "low"),
    ):
        assert options_of(Setting(knob, 3), sample(), {}) == database(**{option: 3})
        assert options_of(Setting(knob, 3), by_pools, {}) == {of_pool(pool): "3"}


def test_where_max_background_jobs_cannot_be_changed_the_pools_are_divided_as_rocksdb_would() -> None:
    by_pools = replace(sample(), threads_by=ThreadsBy.POOLS)
    jobs = {wanted: options_of(Setting(Knob.BACKGROUND_JOBS, wanted), by_pools, {}) for wanted in (8, 2, 1)}
    assert jobs[8] == {of_pool("high"): "2", of_pool("low"): "6"}
    assert jobs[2] == jobs[1] == {of_pool("high"): "1", of_pool("low"): "1"}, "neither pool is ever empty"
