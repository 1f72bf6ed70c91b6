"""Performance stability: the figures of the paper's section 6.1."""

from __future__ import annotations

from dataclasses import replace

from adocd.model.knob import MIB, Knob
from adocd.model.options import OUT_OF_THE_WAY
from tests.builders import GIB
from tests.controllers.laws import Plant, all_settings, make, settings


def test_what_it_holds() -> None:
    """A trigger of 4 and a stop at 12, the stop alone; soft = hard; 16 MiB between syncs."""
    law, plant = make("stability"), Plant(max_write_buffer_number="6", target_file_size_base=str(256 * MIB))
    assert settings(plant.step(law)) == {
        Knob.LEVEL0_SLOWDOWN: 12,
        Knob.LEVEL0_STOP: 12,
        Knob.SOFT_PENDING_LIMIT: 256 * GIB,
        Knob.MEMTABLE_NUMBER: 3,
        Knob.FILE_SIZE: 64 * MIB,
        Knob.BYTES_PER_SYNC: 16 * MIB,
    }
    assert plant.step(law) is None


def test_what_is_small_enough_already_stays() -> None:
    law, plant = make("stability"), Plant(max_write_buffer_number="2", target_file_size_base=str(8 * MIB))
    assert not settings(plant.step(law)).keys() & {Knob.MEMTABLE_NUMBER, Knob.FILE_SIZE}


def test_the_constraint_follows_the_trigger() -> None:
    plant = Plant(level0_file_num_compaction_trigger="8")
    assert settings(plant.step(make("stability")))[Knob.LEVEL0_STOP] == 24
    assert settings(plant.step(make("stability", stop_factor=2)))[Knob.LEVEL0_STOP] == 16


def test_a_trigger_out_of_the_way_is_not_multiplied() -> None:
    """RocksDB's trigger is a signed 32-bit number."""
    plant = Plant(level0_file_num_compaction_trigger=str(OUT_OF_THE_WAY))
    assert settings(plant.step(make("stability")))[Knob.LEVEL0_STOP] == OUT_OF_THE_WAY
    plant = Plant(level0_file_num_compaction_trigger=str((1 << 31) - 1))  # its largest
    assert not settings(plant.step(make("stability"))).keys() & {Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP}


def test_a_flush_that_merges_memtables_gets_as_many_as_it_waits_for() -> None:
    """A flush of four begins at the fourth, and with a limit of three writes would stop before it, for good."""
    plant = Plant(max_write_buffer_number="8", min_write_buffer_number_to_merge="4")
    assert settings(plant.step(make("stability")))[Knob.MEMTABLE_NUMBER] == 5


def test_hard_limits_that_are_off_take_the_soft_ones_along() -> None:
    plant = Plant(hard_pending_compaction_bytes_limit="0")
    assert settings(plant.step(make("stability")))[Knob.SOFT_PENDING_LIMIT] == 0


def test_universal_compaction_needs_the_global_constraint() -> None:
    """Twice a size ratio of 4 times 5 levels are 40 components."""
    plant = Plant(compaction_style="kCompactionStyleUniversal")
    law = make("stability")
    assert plant.step(law) is None
    assert law.declined is not None
    assert "give components, twice its size ratio times its levels" in law.declined
    assert settings(plant.step(make("stability", components=40)))[Knob.LEVEL0_STOP] == 40


def test_fifo_compaction_has_no_stop_and_keeps_none() -> None:
    """RocksDB opens it without triggers (SanitizeOptions): with a stop at 12 files writes would stop for good."""
    never = str((1 << 31) - 1)
    plant = Plant(
        compaction_style="kCompactionStyleFIFO", level0_slowdown_writes_trigger=never, level0_stop_writes_trigger=never
    )
    for law in (make("stability"), make("stability", components=40)):
        assert plant.step(law) is None
        assert law.declined is not None
        assert law.declined.startswith("no column family has level")


def test_it_governs_the_column_families_that_it_is_for_and_leaves_the_others_alone() -> None:
    plant = Plant()
    sample = plant.sample()
    (cf,) = sample.column_families
    values = sample.options.column_families["default"]
    styles = {"queue": "kCompactionStyleFIFO", "archive": "kCompactionStyleUniversal"}
    families = {"default": values, **{name: {**values, "compaction_style": style} for name, style in styles.items()}}
    sample = replace(
        sample,
        options=replace(sample.options, column_families=families),
        column_families=(cf, *(replace(cf, name=name) for name in styles)),
    )
    law = make("stability")
    assert {setting.column_family for setting in all_settings(law.step(sample))} == {None, "default"}
    assert law.declined is None
    universal_too = make("stability", components=40).step(sample)
    assert {setting.column_family for setting in all_settings(universal_too)} == {None, "default", "archive"}
    stops = {each.column_family: each.value for each in all_settings(universal_too) if each.knob is Knob.LEVEL0_STOP}
    assert stops == {"default": 12, "archive": 40}, "level compaction keeps its own bound"
