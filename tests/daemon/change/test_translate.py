"""What carries a law's knobs."""

from dataclasses import replace

from adocd.daemon.change.translate import options_of
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.threads import ThreadsBy
from adocd.model.values import of_pool
from tests.builders import column_family, sample
from tests.daemon.change.rocksdb_model import database, family


def test_the_batch_is_three_options_and_the_base_level_holds_what_triggers_its_compaction() -> None:
    assert options_of(Setting(Knob.BATCH_SIZE, 128 * MIB, "default"), sample()) == family(
        write_buffer_size=128 * MIB, target_file_size_base=128 * MIB, max_bytes_for_level_base=4 * 128 * MIB
    )


def test_memtables_that_are_merged_before_a_flush_make_larger_files() -> None:
    merging = sample(column_family(min_write_buffer_number_to_merge=2, level0_file_num_compaction_trigger=0))
    found = options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "default"), merging)
    assert found.items() >= family(max_bytes_for_level_base=2 * 64 * MIB).items(), "a trigger of 0 counts as 1"


def test_a_column_family_that_has_gone_has_no_options() -> None:
    assert options_of(Setting(Knob.BATCH_SIZE, 64 * MIB, "gone"), sample()) == {}


def test_background_jobs_are_one_option_of_the_database() -> None:
    assert options_of(Setting(Knob.BACKGROUND_JOBS, 8), sample()) == database(max_background_jobs=8)


def test_where_max_background_jobs_cannot_be_changed_the_pools_are_divided_as_rocksdb_would() -> None:
    by_pools = replace(sample(), threads_by=ThreadsBy.POOLS)
    jobs = {wanted: options_of(Setting(Knob.BACKGROUND_JOBS, wanted), by_pools) for wanted in (8, 2, 1)}
    assert jobs[8] == {of_pool("high"): "2", of_pool("low"): "6"}
    assert jobs[2] == jobs[1] == {of_pool("high"): "1", of_pool("low"): "1"}, "neither pool is ever empty"
