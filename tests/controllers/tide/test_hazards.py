"""What tide must never do to a database: hold it up by its own doing, or go on when there is nothing to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.controllers.tide.law import Tide
from adocd.controllers.tide.learned import Learned
from adocd.controllers.tide.memory import flood_memtables, spare_bytes
from adocd.controllers.tide.parameters import TideParameters
from adocd.controllers.tide.regime import Regime
from adocd.model.allowance import Allowance
from adocd.model.knob import MIB, Knob
from adocd.model.levels import LevelTargets
from adocd.model.sample import ColumnFamilyOptions
from adocd.model.snapshot import Event
from adocd.model.values import nested, of_database, of_family
from tests.controllers.laws import MB, Plant
from tests.controllers.tide.test_law import GIB, MEMTABLE, READ, Scene
from tests.controllers.tide.test_shared_disks import AROUND

#: A database of a terabyte, whose levels are as full as the owner's base level of 256 MiB has them.
FULL = (GIB // 4, 5 * GIB // 2, 25 * GIB, 250 * GIB, 700 * GIB, 0)
SOFT, HARD = 64 * GIB, 256 * GIB
TRIGGER = of_family("default", "level0_file_num_compaction_trigger")
STOP = of_family("default", "level0_stop_writes_trigger")


def pending(scene: Scene) -> int:
    """What RocksDB would say is pending, under the options in force."""
    assert scene.plant.level_bytes is not None
    levels = LevelTargets.of(scene.plant.level_bytes, int(scene.plant.now("max_bytes_for_level_base")), 10)
    return levels.pending_bytes(is_l0_due=False)


def ebbing(scene: Scene, files: int = 2) -> Scene:
    """End the flood."""
    scene.plant.immutable_memtables = 0
    scene.plant.l0_files = files
    scene.writes(1)
    scene.background(0, 0, running=0)
    return scene


# -- the base level


def test_the_base_level_of_a_large_database_comes_back_in_steps_that_stop_nobody() -> None:
    scene = Scene()
    scene.plant.level_bytes = (0, *FULL)
    scene.flooded()
    scene.plant.values[of_family("default", "max_bytes_for_level_base")] = str(25 * GIB)
    ebbing(scene)
    first, second, *deeper = FULL
    left, seen = 25 * GIB, []
    for _second in range(600):
        scene.plant.level_bytes = (2 * MEMTABLE, first + left, second + 25 * GIB - left, *deeper)
        scene.plant.pending_bytes = pending(scene)
        base = int(scene.plant.now("max_bytes_for_level_base"))
        seen.append((base, scene.plant.pending_bytes))
        left = max(0, min(left, base), left - 150 * MIB)
        scene.step()
    bases = [base for base, _ in seen]
    assert bases[0] == 25 * GIB
    assert bases == sorted(bases, reverse=True)
    assert len(set(bases)) > 2, "in steps"
    assert max(owed for _, owed in seen) < SOFT
    assert scene.plant.now("level0_file_num_compaction_trigger") != "100"


def test_the_bound_is_less_where_the_owners_base_level_would_stop_writes() -> None:
    """A restore brings the base level back at once: what level 0 hands down is due in every full level then."""
    scene = Scene()
    scene.plant.level_bytes = (0, *FULL)
    stop = scene.flooded()[1][Knob.LEVEL0_STOP]
    assert stop < 100
    levels = LevelTargets.of((0, FULL[0] + stop * MEMTABLE, *FULL[1:]), 256 * MIB, 10)
    assert levels.pending_bytes(is_l0_due=False) <= HARD / 2


def test_with_dynamic_levels_level_0_is_merged_with_the_level_that_has_data() -> None:
    rates = []
    for level in (4, 6):
        scene = Scene()
        if level == 4:
            scene.opened_with(of_family("default", "level_compaction_dynamic_level_bytes"), "true")
        scene.flooded()
        scene.plant.l0_files = 190
        scene.plant.level_bytes = (190 * MEMTABLE, 0, 0, 0, 60 * GIB, 0, 60 * GIB)
        scene.step()
        rates.append(int(scene.plant.now("delayed_write_rate")))
    assert rates[0] < 0.7 * rates[1], "60 GiB are read and written again with each merge"


# -- the owner's limits


def test_where_somebody_reads_the_owners_limits_stay_also_when_level_0_reaches_them() -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.flooded()
    for files in (19, 20, 25, 30, 21, 19, 20):
        scene.level0(files)
        found = scene.step()[1]
        assert not {Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP} & found.keys(), files


def test_what_is_due_where_somebody_reads_stays_due_until_it_is_merged() -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    scene.flooded()
    triggers = []
    for files in (20, 15, 13, 11, 15):
        scene.level0(files)
        scene.step()
        triggers.append(scene.plant.now("level0_file_num_compaction_trigger"))
    assert triggers == ["4", "4", "4", "12", "12"]


def test_a_stop_that_the_owner_has_switched_off_stays_off() -> None:
    scene = Scene()
    scene.opened_with(STOP, str(1 << 30))
    found = scene.flooded()[1]
    assert found[Knob.LEVEL0_TRIGGER] == 100
    assert Knob.LEVEL0_STOP not in found
    scene.level0(200)
    assert scene.step()[1][Knob.DELAYED_WRITE_RATE] < 25 * MB, "the slope ends at the bound"


def test_a_bound_that_falls_below_what_level_0_holds_stops_nobody() -> None:
    scene = Scene()
    scene.flooded()
    scene.level0(150)
    scene.background(5, 5)
    scene.step(600)
    assert scene.plant.now("level0_stop_writes_trigger") == "200"
    assert int(scene.plant.now("level0_file_num_compaction_trigger")) < 20
    scene.level0(10)
    scene.step()
    assert scene.plant.now("level0_stop_writes_trigger") == "36"


def test_a_column_family_whose_owner_has_disabled_compaction_is_left_alone() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "disable_auto_compactions"), "true")
    scene.opened_with(STOP, "2000")
    scene.level0(100)
    assert scene.flooded() == ("", {})
    scene.plant.immutable_memtables = 0
    assert scene.step(60) == ("", {})


def test_before_the_slope_nobody_is_held_below_the_owners_rate() -> None:
    """Four memtables make a delay possible that two had not, and in its first second the law knows of no peak yet."""
    scene = Scene()
    scene.writes(5)
    scene.plant.members["flush_written_bytes_per_s"] = 5.0 * MB
    scene.step(30)
    scene.plant.values[of_database("delayed_write_rate")] = str(32 * MIB)
    scene.plant.immutable_memtables = 2
    scene.step(3)
    assert int(scene.plant.now("delayed_write_rate")) >= 16 * MIB


# -- an end


def test_memtables_that_wait_to_be_merged_with_others_are_no_flood() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "min_write_buffer_number_to_merge"), "3")
    assert scene.flooded() == ("", {})
    scene.plant.immutable_memtables = 4
    assert scene.step()[0] == "tide.flood"


def test_a_flood_ends_where_clients_write_little_for_the_device() -> None:
    """One moment of pressure at 30 of 200 MB/s, which the owner's options can do."""
    scene = Scene()
    scene.writes(30)
    scene.flooded()
    scene.plant.immutable_memtables = 0
    scene.level0(3)
    assert scene.step(50) == ("tide.flood", {Knob.SUBCOMPACTIONS: 1})
    scene.step(30)
    assert scene.plant.values == scene.plant.originals


def test_debt_that_does_not_become_less_is_the_owners() -> None:
    scene = Scene()
    scene.flooded()
    ebbing(scene, files=0)
    scene.level0(0)
    scene.plant.pending_bytes = 300 * MIB
    scene.step(30)
    assert scene.plant.now("write_buffer_size") == str(MEMTABLE)
    scene.step(60)
    assert scene.plant.values == scene.plant.originals


@pytest.mark.parametrize("option", ["max_bytes_for_level_base", "level0_file_num_compaction_trigger"])
def test_what_an_operator_holds_keeps_nothing_else(option: str) -> None:
    scene = Scene()
    scene.flooded()
    pinned = of_family("default", option)
    held = scene.plant.values[pinned]
    scene.plant.members["pinned"] = frozenset({pinned})
    ebbing(scene)
    scene.level0(2)
    for _second in range(60):
        scene.step()
        scene.plant.values[pinned] = held
    assert scene.plant.now("write_buffer_size") == str(64 * MIB)
    assert scene.plant.now("max_background_jobs") == "2"


def test_another_style_beside_it_makes_no_flood_that_never_ends() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleFIFO")
    scene.level0(300)
    scene.plant.members["allowance"] = Allowance(1, 0.5, 0.5, 100.0 * MB, 512 * MIB, None, is_scarce=True)
    scene.step(30)
    scene.plant.members["allowance"] = None
    scene.step(30)
    assert isinstance(scene.law, Tide)
    assert scene.law._regime is Regime.CALM


def test_a_merge_whose_end_no_event_told_is_over_some_time() -> None:
    scene = Scene()
    scene.flooded()
    scene.plant.members["events"] = (Event(9, 100.0, "compaction_begin", "default", job=7, base_level=0),)
    ebbing(scene, files=60)
    scene.background(60, 140)
    scene.step(10)
    scene.plant.members["events"] = ()
    scene.step(300)
    assert scene.plant.now("level0_file_num_compaction_trigger") == "100"
    scene.step(400)
    assert scene.plant.now("level0_file_num_compaction_trigger") == "12"


# -- budgets


def test_files_of_several_memtables_count_by_their_bytes() -> None:
    scene = Scene(debt_max_bytes=4 * GIB)
    assert scene.flooded()[1][Knob.LEVEL0_TRIGGER] == 16
    scene.plant.l0_files, scene.plant.level_bytes = 12, (12 * 3 * MEMTABLE, 0, 0, 0, 0, 0, 0)
    scene.step(15)
    assert int(scene.plant.now("level0_file_num_compaction_trigger")) <= 5, "4 GiB are 10 files of 384 MiB"


def test_the_memory_of_owners_above_the_budget_does_not_grow() -> None:
    """Two column families with two memtables each, of 64 and of 512 MiB, and a budget of 512."""
    plant = Plant()
    large = {**nested(plant.originals).column_families["default"], "write_buffer_size": str(512 * MIB)}
    options = nested({**plant.originals, **{of_family("large", name): value for name, value in large.items()}})
    sample = plant.sample()
    (small,) = sample.column_families
    families = (small, replace(small, name="large", options=ColumnFamilyOptions.read(large)))
    both = replace(sample, options=options, originals=options, column_families=families)
    parameters = TideParameters(memory_max_bytes=512 * MIB)
    spare = spare_bytes(both, {"default", "large"}, parameters)
    taken = [flood_memtables(cf, both, spare, parameters) for cf in families]
    assert taken == [(64 * MIB, 2), (512 * MIB, 2)]
    more = TideParameters(memory_max_bytes=1536 * MIB)
    taken = [flood_memtables(cf, both, spare_bytes(both, {"default", "large"}, more), more) for cf in families]
    assert sum(size * number for size, number in taken) <= 1536 * MIB
    assert taken[0] > (64 * MIB, 2)


def test_a_memory_budget_that_moves_a_little_changes_the_memtables_once() -> None:
    scene = Scene()
    sizes = []
    for second in range(60):
        most = (512 if second % 2 else 502) * MIB
        scene.plant.members["allowance"] = Allowance(1, 0.5, 0.5, 100.0 * MB, most, None)
        scene.plant.immutable_memtables = 2
        scene.step()
        sizes.append(int(scene.plant.now("write_buffer_size")))
        assert 4 * sizes[-1] <= most
    assert set(sizes) == {125 * MIB}


def test_a_memory_budget_that_moves_a_little_changes_the_number_of_memtables_once() -> None:
    """There is no room for larger files, so the budget is taken in more memtables."""
    scene, numbers = Scene(), []
    scene.plant.members["surroundings"] = replace(AROUND, free_bytes=6 * GIB)
    for second in range(60):
        most = (512 if second % 2 else 502) * MIB
        scene.plant.members["allowance"] = Allowance(1, 0.5, 0.5, 100.0 * MB, most, None)
        scene.plant.immutable_memtables = 2
        scene.step()
        numbers.append(int(scene.plant.now("max_write_buffer_number")))
    assert set(numbers) == {7}


def test_no_memtable_is_larger_than_rocksdb_allows() -> None:
    scene = Scene(memory_max_bytes=64 * GIB, debt_max_bytes=1024 * GIB)
    scene.opened_with(of_family("default", "soft_pending_compaction_bytes_limit"), "0")
    assert scene.flooded()[1][Knob.MEMTABLE_SIZE] == 4 * GIB


def test_a_large_budget_of_memory_makes_no_larger_files_than_the_debt_allows() -> None:
    """32 GiB are 20 files of 1.6 GiB, and 1 GiB is 64 MiB doubled four times."""
    found = Scene(memory_max_bytes=64 * GIB).flooded()[1]
    assert (found[Knob.MEMTABLE_SIZE], found[Knob.MEMTABLE_NUMBER]) == (GIB, 64)


def test_there_are_never_more_memtables_than_adocd_may_send() -> None:
    scene = Scene(memory_max_bytes=8 * GIB)
    scene.plant.members["surroundings"] = replace(AROUND, free_bytes=6 * GIB)
    assert scene.flooded()[1][Knob.MEMTABLE_NUMBER] == 64, "8 GiB are 128 of the owner's memtables"


def test_where_pools_limit_the_jobs_no_more_are_asked_for() -> None:
    scene = Scene()
    scene.plant.members["background_jobs_max"] = 4
    assert scene.flooded()[1][Knob.BACKGROUND_JOBS] == 4


def test_a_base_level_is_never_above_the_bound_for_an_owners_trigger_that_is_never_reached() -> None:
    scene = Scene()
    scene.opened_with(TRIGGER, str(1 << 30))
    assert scene.flooded()[1].get(Knob.LEVEL_BASE_SIZE, 0) <= 200 * MEMTABLE


# -- what is learned


def test_merges_that_drop_what_they_read_are_no_slow_device() -> None:
    learned, plant = Learned(), Plant()
    for seconds, flush, read, written in ((30, 60, 140, 140), (600, 1, 400, 3)):
        for _second in range(seconds):
            learned.observe(
                replace(
                    plant.sample(),
                    running_compactions=1,
                    flush_written_bytes_per_s=float(flush * MB),
                    compaction_read_bytes_per_s=float(read * MB),
                    compaction_written_bytes_per_s=float(written * MB),
                )
            )
    assert learned.device is not None
    assert learned.device > 150 * MB


def test_one_sample_without_tickers_does_not_turn_the_law() -> None:
    scene = Scene()
    scene.flooded()
    scene.plant.tickers = None
    assert scene.step(5) == ("", {})
    assert scene.step(10)[1][Knob.LEVEL0_TRIGGER] == 12, "without tickers for longer, reads are taken for granted"


def test_the_steps_of_a_scan_are_reads() -> None:
    scene = Scene()
    scene.plant.tickers = {READ: 0, "rocksdb.number.db.seek": 5, "rocksdb.number.db.next": 5_000_000}
    assert scene.flooded()[1][Knob.LEVEL0_TRIGGER] == 12


def test_a_database_without_column_families_is_nothing_to_decide() -> None:
    scene = Scene()
    scene.flooded()
    scene.plant.values[of_database("max_background_jobs")] = "5"
    assert scene.law.step(replace(scene.plant.sample(), column_families=())) is None


def test_a_stop_that_is_never_reached_does_not_take_the_readahead() -> None:
    scene = Scene()
    scene.opened_with(of_family("default", "compaction_style"), "kCompactionStyleUniversal")
    scene.opened_with(STOP, str(1 << 30))
    scene.opened_with(of_database("compaction_readahead_size"), str(2 * MIB))
    assert scene.flooded()[1][Knob.COMPACTION_READAHEAD] == 512 * MIB // 4 // (4 * 200)
