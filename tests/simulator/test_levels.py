"""Scores, debt and the choice of the next compaction, by hand from version_set.cc and compaction_picker_level.cc."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adocd.simulator.levels import Compaction, L0File, Level, Levels, level_targets
from adocd.simulator.options import FamilyOptions

OPTIONS = FamilyOptions(max_bytes_for_level_base=1000, target_file_size_base=100, max_compaction_bytes=2500)
#: So many that hardly any is written twice.
MANY_KEYS = 10**15


def levels(l0: tuple[int, ...] = (), *sizes: int, keys: int = MANY_KEYS) -> Levels:
    """Levels with these files in level 0, the newest first, and these sizes below, in files of 100 bytes."""
    found = Levels(keys, [L0File(size) for size in l0])
    for number, size in enumerate(sizes, 1):
        found.deeper[number - 1] = Level(size, size // 100, covered=1.0)
    return found


def begun(found: Levels, options: FamilyOptions = OPTIONS) -> Compaction:
    """Pick the next compaction, which there must be, and begin it."""
    compaction = found.pick(options, options)
    assert compaction is not None
    found.begin(compaction)
    return compaction


def span(compaction: Compaction) -> tuple[int, int]:
    return compaction.input_level, compaction.output_level


def test_targets_are_the_base_and_ten_times_more_each() -> None:
    assert level_targets(OPTIONS) == (1000, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
    assert level_targets(replace(OPTIONS, max_bytes_for_level_multiplier=2.5))[1:4] == (1000, 2500, 6250)


@pytest.mark.parametrize(
    ("found", "scores"),
    [
        (levels((100,) * 6, 500), [(1.5, 0), (0.5, 1)]),  # files / trigger
        (levels((1500,) * 2, 500), [(3.0, 0), (0.5, 1)]),  # or the size of level 0 to that of level 1
        (levels((100,) * 4, 1200, 30_000), [(3.0, 2), (1.2, 1), (1.0, 0)]),
    ],
)
def test_scores(found: Levels, scores: list[tuple[float, int]]) -> None:
    assert [each for each in found.scores(OPTIONS) if each[0] > 0] == scores


def test_what_is_being_compacted_does_not_score() -> None:
    found = levels((100,) * 8, 1500, 500)
    assert found.scores(OPTIONS)[:2] == [(2.0, 0), (1.5, 1)]
    begun(found)
    assert found.scores(OPTIONS)[0] == (0.05, 2)


@pytest.mark.parametrize(
    ("found", "pending"),
    [
        (levels((100,) * 3, 900, 5000), 0),
        # Level 0 and level 1 are merged: 400 + 900. 300 are too many then, and level 2 is 5000 / 1300 as large.
        (levels((100,) * 4, 900, 5000), 400 + 900 + int(300 * (5000 / 1300 + 1))),
        # By its size alone level 0 is due, too.
        (levels((1000,), 0, 0), 1000),
        # 500 too many in level 1, and nothing in level 2 to merge them with (they would move).
        (levels((), 1500), 0),
        # 500 into 10,000: 500 x (10,000 / 1500 + 1); then 500 too many there, into 50,000.
        (levels((), 1500, 10_000, 50_000), int(500 * (10_000 / 1500 + 1)) + int(500 * (50_000 / 10_500 + 1))),
        # The last level is compacted into nothing.
        (levels((), 0, 0, 0, 0, 0, 10**12), 0),
    ],
)
def test_pending_bytes(found: Levels, pending: int) -> None:
    assert found.pending_bytes(OPTIONS) == pending


def test_level_0_goes_to_level_1_as_a_whole_and_alone() -> None:
    found = levels((100,) * 5, 900)
    first = begun(found)
    assert (span(first), first.upper_bytes, first.lower_bytes, first.output_bytes) == ((0, 1), 500, 900, 1400)
    found.l0[:0] = [L0File(100) for _ in range(4)]
    second = begun(found)
    assert span(second) == (0, 0), "four new files are merged among themselves while the way is taken"
    assert found.pick(OPTIONS, OPTIONS) is None
    found.finish(first, 100)
    assert (found.files[0], found.sizes[:2]) == (4, (400, 1400))
    found.finish(second, 100)
    assert found.files[0] == 1


def test_intra_level_0_takes_the_newest_as_long_as_it_pays() -> None:
    """Work for each file that goes away must not grow, nor the whole exceed max_compaction_bytes."""
    found = levels((), 900, 5000)
    found.begin(Compaction(1, 2, [], 100, 500, 600, 0.1))  # level 1 is taken: no way out of level 0
    found.l0 = [L0File(size) for size in (100, 100, 100, 100, 100, 2000, 100)]
    taken = begun(found)
    assert [file.bytes for file in taken.l0_files] == [100] * 5
    assert found.pick(OPTIONS, OPTIONS) is None, "the newest file is taken"

    found = levels((), 900, 5000)
    found.begin(Compaction(1, 2, [], 100, 500, 600, 0.1))
    found.l0 = [L0File(600) for _ in range(8)]
    assert begun(found).upper_bytes == 2400  # four; a fifth would be more than 2500


def test_level_1_waits_where_level_0_does() -> None:
    """Or the way out of level 0 would never be free (SetupInitialFiles, skipped_l0_to_base)."""
    found = levels((500,) * 4, 2000, 5000)
    found.begin(Compaction(1, 2, [], 100, 500, 600, 0.05))
    assert found.scores(OPTIONS)[:2] == [(2.0, 0), (1.9, 1)]
    assert found.pick(OPTIONS, OPTIONS) is None


def test_a_deeper_file_takes_what_it_overlaps_and_one_file_more() -> None:
    found = levels((), 2000, 8000)
    compaction = begun(found)
    # One of 20 files, a 20th of the keys: 400 of 8000 bytes, and a file at the edges.
    assert (span(compaction), compaction.upper_bytes, compaction.lower_bytes) == ((1, 2), 100, 500)
    found.finish(compaction, 100)
    assert found.sizes[1:3] == (1900, 8100)
    assert found.files[1:3] == (19, 81)


def test_deeper_compactions_run_beside_each_other_on_other_files() -> None:
    found = levels((), 2000, 8000)
    running = [begun(found) for _ in range(11)]
    assert {span(compaction) for compaction in running} == {(1, 2)}
    assert found.level(1).busy_bytes == 1100
    assert found.pick(OPTIONS, OPTIONS) is None, "what is left of level 1 is no more than it may have"


def test_what_overlaps_nothing_only_moves() -> None:
    found = levels((), 1500)
    moved = begun(found)
    assert (moved.is_move, moved.upper_bytes, moved.lower_bytes) == (True, 100, 0)
    found.finish(moved, 100)
    assert found.sizes[1:3] == (1400, 100)
    assert found.dropped_bytes == 0


def test_merging_drops_what_was_written_again() -> None:
    """Half of all keys are in each: of the upper run's 500 keys half are in the lower one, too."""
    found = levels((500,), 500, keys=1000)
    found.l0 += [L0File(0) for _ in range(3)]
    compaction = begun(found)
    assert (compaction.input_bytes, compaction.output_bytes) == (1000, 750)
    found.finish(compaction, 100)
    assert (found.sizes[1], found.dropped_bytes) == (750, 250)


def test_a_flush_keeps_each_key_once() -> None:
    """1 - exp(-1) of all keys are met when as many are drawn as there are."""
    found = levels(keys=1_000_000)
    assert found.flush(1_000_000) == 632_121
    assert found.dropped_bytes == 1_000_000 - 632_121
    assert levels().flush(64 << 20) == pytest.approx(64 << 20, rel=1e-6)


@given(st.lists(st.integers(1, 10**6), max_size=40), st.lists(st.integers(0, 10**8), max_size=6), st.integers(1, 10**9))
def test_scores_are_in_order_and_a_pick_is_of_a_full_level(l0: list[int], sizes: list[int], keys: int) -> None:
    found = levels(tuple(l0), *(size // 100 * 100 for size in sizes), keys=keys)
    scores = found.scores(OPTIONS)
    assert scores == sorted(scores, key=lambda each: -each[0])
    assert found.pending_bytes(OPTIONS) >= 0
    full = {number for score, number in scores if score >= 1}
    compaction = found.pick(OPTIONS, OPTIONS)
    assume(compaction is not None)
    assert compaction is not None
    assert compaction.input_level in full
    assert 0 < compaction.output_bytes <= compaction.input_bytes
