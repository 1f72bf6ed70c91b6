"""Tide where files are smaller than what clients write: rates and sizes in bytes of the same kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.controllers.tide.learned import Learned
from adocd.model.knob import MIB, Knob
from adocd.model.values import of_family
from tests.controllers.laws import MB, Plant
from tests.controllers.tide.test_law import MEMTABLE, READ, Scene


def flushes(scene: Scene, mb_per_s: float) -> None:
    """Let flushes that have ended add so many MB/s to level 0."""
    scene.plant.members["flushed_bytes_per_s"] = mb_per_s * MB


def files(scene: Scene, number: int, size: int) -> None:
    """Let level 0 have files of this size."""
    scene.plant.l0_files, scene.plant.level_bytes = number, (number * size, 0, 0, 0, 0, 0, 0)


def test_a_flood_ends_where_what_clients_write_is_little_for_the_device_once_it_is_compressed() -> None:
    """60 MB/s are a third of a device of 200 MB/s, but the 15 MB/s that reach it are a thirteenth."""
    scene = Scene()
    scene.writes(60)
    flushes(scene, 15)
    scene.background(15, 185)
    scene.step(30)
    scene.background(15, 5)
    scene.plant.immutable_memtables = 2
    assert scene.step()[0] == "tide.flood"
    scene.plant.immutable_memtables = 0
    scene.level0(3)
    assert scene.step(80)[0] == "tide.calm"
    assert scene.plant.values == scene.plant.originals


def test_the_rate_that_lasts_is_in_bytes_as_clients_write_them() -> None:
    """83.1 MB/s of files (test_law) are 166 MB/s of clients whose values are compressed to a half."""
    scene = Scene()
    flushes(scene, 50)
    scene.flooded()
    scene.level0(190, above=30 * MEMTABLE)
    scene.step()
    assert int(scene.plant.now("delayed_write_rate")) / MB == pytest.approx(166.2, rel=0.01)


def test_the_base_level_is_for_files_as_large_as_they_are() -> None:
    scene = Scene()
    assert scene.flooded()[1][Knob.LEVEL_BASE_SIZE] == 200 * MEMTABLE
    files(scene, 50, 32 * MIB)
    scene.step(15)
    assert int(scene.plant.now("max_bytes_for_level_base")) == 200 * 32 * MIB
    assert scene.plant.now("level0_file_num_compaction_trigger") == "100"
    files(scene, 3, 32 * MIB)
    assert scene.step(30) == ("", {}), "a merge makes files no larger"


def test_where_values_are_known_to_be_compressed_the_first_bound_is_for_that() -> None:
    """Level 0 of a database that is read never has many files."""
    scene = Scene()
    scene.plant.tickers = {READ: 50_000}
    flushes(scene, 25)
    assert scene.flooded()[1][Knob.LEVEL_BASE_SIZE] == 20 * MEMTABLE // 4


def test_a_few_files_from_before_the_flood_make_no_bound_for_small_files() -> None:
    scene = Scene()
    scene.flooded()
    files(scene, 12, 64 * MIB)
    assert scene.step(30) == ("", {})


def test_files_that_get_larger_raise_the_base_level_at_once() -> None:
    """Level 0 is due by its bytes, too."""
    scene = Scene()
    scene.flooded()
    files(scene, 50, 32 * MIB)
    scene.step(15)
    files(scene, 60, MEMTABLE)
    assert scene.step()[1][Knob.LEVEL_BASE_SIZE] == 200 * MEMTABLE


def test_an_owners_slowdown_counts_for_files_that_are_as_compressed() -> None:
    """60 files of 32 MiB slow down at 36, which is more than 20 of the owner's files, of 16 MiB each."""
    scene = Scene(debt_max_bytes=60 * 32 * MIB)
    flushes(scene, 25)
    assert scene.flooded()[1][Knob.LEVEL0_TRIGGER] == 30


# -- what is learned


def seen(learned: Learned, seconds: int, held: int = 0, **members: Any) -> Learned:
    """Let it see so many seconds, at each of which memtables hold so many bytes."""
    plant = Plant()
    for _ in range(seconds):
        sample = replace(plant.sample(), **members)
        (family,) = sample.column_families
        learned.observe(replace(sample, column_families=(replace(family, memtables_bytes=held),)))
    return learned


def test_what_flushes_keep_is_known_after_a_gigabyte_and_is_never_more_than_all() -> None:
    learned = seen(Learned(), 10, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=25.0 * MB)
    assert learned.kept == 1.0
    seen(learned, 5, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=25.0 * MB)
    assert learned.kept == pytest.approx(0.25)
    seen(learned, 300, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=120.0 * MB)
    assert learned.kept == pytest.approx(1.0, rel=0.01)
    assert learned.kept <= 1.0


def test_what_memtables_took_in_is_not_flushed_yet() -> None:
    """A flood begins with 512 MB in memtables: of what was written since, nothing is lost."""
    learned = seen(Learned(), 1, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=100.0 * MB)
    for second in range(1, 6):
        seen(learned, 1, held=second * 100 * MB, written_bytes_per_s=200.0 * MB, flushed_bytes_per_s=100.0 * MB)
    seen(learned, 120, held=500 * MB, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=100.0 * MB)
    assert learned.kept == pytest.approx(1.0, rel=0.01)


def test_without_counters_nothing_is_known_of_what_flushes_keep() -> None:
    assert seen(Learned(), 60, written_bytes_per_s=100.0 * MB, flushed_bytes_per_s=None).kept == 1.0


def with_blobs() -> Scene:
    """100 MB/s of clients whose values go to blob files: of a flush, an agent counts the 3 MB/s beside them."""
    scene = Scene()
    scene.opened_with(of_family("default", "enable_blob_files"), "true")
    flushes(scene, 3)
    scene.background(3, 0, running=0)
    scene.step(40)
    scene.background(3, 100)
    scene.step(40)
    return scene


def test_clients_whose_values_go_to_blob_files_do_not_write_little() -> None:
    scene, rules = with_blobs(), []
    for second in range(240):
        scene.plant.immutable_memtables = 2 if second % 15 < 2 else 0
        rules.append(scene.step()[0])
    assert set(rules) == {"tide.flood", ""}
    assert rules.count("tide.flood") == 1


def test_the_slope_counts_what_goes_to_blob_files() -> None:
    """The device is not what it would be if 3 of 100 bytes reached it: at 0.95 of the bound, writes are held."""
    scene = with_blobs()
    scene.plant.immutable_memtables = 2
    scene.step(2)
    most = int(scene.plant.now("level0_stop_writes_trigger"))
    files(scene, int(0.95 * most), 4 * MIB)
    scene.plant.level_bytes = (scene.plant.l0_files * 4 * MIB, most * 2 * MIB, 0, 0, 0, 0, 0)
    scene.step(2)
    assert int(scene.plant.now("delayed_write_rate")) < 100 * MB
