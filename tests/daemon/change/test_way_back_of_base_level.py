"""The way back of a raised base level and level 0's limits after a flood, in the restore plan and in the planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adocd.daemon.change import planner
from adocd.model.change import Below, ColumnFamilyChange, DatabaseChange, RestoreStep
from adocd.model.knob import MIB
from adocd.model.options import BYTES_PER_SYNC_OFF
from adocd.model.sample import Sample
from adocd.model.values import Values, of_database
from tests.builders import GIB
from tests.daemon.change.planned import AWAY, plan, waits
from tests.daemon.change.rocksdb_model import (
    IMMUTABLE_MEMTABLES,
    L0_FILES,
    MEMTABLES,
    SLOWDOWN,
    STOP,
    TRIGGER,
    RocksDB,
    defaults,
    family,
    opened,
)

SUBCOMPACTIONS, BYTES_PER_SYNC = of_database("max_subcompactions"), of_database("bytes_per_sync")


def with_levels(sample: Sample, levels: tuple[int, ...]) -> Sample:
    """Let each level of each column family have so many bytes."""
    families = tuple(replace(cf, level_bytes=levels) for cf in sample.column_families)
    return replace(sample, column_families=families)


def back_from(raised: Mapping[str, str | int], *, levels: tuple[int, ...] = (), l0: int = 0) -> tuple[RestoreStep, ...]:
    """Plan the way back from values that are in force."""
    sample = with_levels(opened(raised, l0=l0).sample(), levels)
    return planner.plan({}, sample, defaults(), family(raised).keys()).restore


def test_a_larger_base_level_comes_back_when_level_0_is_merged() -> None:
    base = "max_bytes_for_level_base"
    found = plan(family({base: 16 * GIB}))
    assert found.restore == (waits(base, str(256 * MIB), L0_FILES, below=20),)
    # The daemon's own way back waits for the same where the trigger was raised too, which leaves level 0 to one merge.
    ours = family({base: 0, TRIGGER: 0}).keys()
    large = opened({base: 16 * GIB, TRIGGER: 6}, l0=20)
    back = plan(family({base: 256 * MIB}), large, defaults(), ours)
    assert back.changes == ()
    assert back.held == (f"{base} of default goes to {256 * MIB} when level 0, now 20 files, has less than 20",)
    merged = opened({base: 16 * GIB, TRIGGER: 6}, l0=19)
    assert plan(family({base: 256 * MIB}), merged, defaults(), ours).sent == family({base: 256 * MIB})
    # One that was made smaller is no reason to wait.
    smaller = plan(family({base: 64 * MIB}))
    assert smaller.restore == (RestoreStep(ColumnFamilyChange("default", {base: str(256 * MIB)})),)


def test_a_base_level_comes_back_at_once_where_level_0_is_merged_all_the_time() -> None:
    """SILK holds the base alone: a load that keeps level 0 full must not make the hold last as long as itself."""
    base = "max_bytes_for_level_base"
    held = opened({base: 1 << 44}, l0=127)
    found = plan(family({base: 256 * MIB}), held, defaults(), family({base: 0}).keys())
    assert found.sent == family({base: 256 * MIB})
    assert found.held == ()


def test_a_trigger_is_held_no_higher_than_a_slowdown_that_comes_down_in_the_same_change() -> None:
    base = "max_bytes_for_level_base"
    raised = opened({base: 16 * GIB, TRIGGER: 8}, l0=10)
    back = plan(
        family({base: 256 * MIB, TRIGGER: 4, SLOWDOWN: 6}), raised, defaults(), family({base: 0, TRIGGER: 0}).keys()
    )
    assert back.sent == family({base: 256 * MIB, TRIGGER: 6, SLOWDOWN: 6})


def test_a_raised_trigger_comes_back_with_the_base_level_once_few_files_are_left() -> None:
    """At the original trigger of 4, five files that a large merge left behind would be merged with all of level 1."""
    base = "max_bytes_for_level_base"
    raised, originals = {base: 16 * GIB, TRIGGER: 80, SLOWDOWN: 100}, family({base: 256 * MIB, TRIGGER: 4})
    assert back_from(raised) == (
        RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "80", TRIGGER: "80"})),
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "16", SLOWDOWN: "20"}), Below("default", L0_FILES, 80)),
        waits(base, str(16 * GIB), L0_FILES, below=20),
        waits(base, str(256 * MIB), IMMUTABLE_MEMTABLES, below=1),
        waits(TRIGGER, "4", L0_FILES, below=16),
    )
    # The change that raises them may fail, and then the stop trigger is the owner's, and no base level waits.
    assert plan(family(raised | {STOP: 200})).restore == (
        RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "20", TRIGGER: "16"})),
        waits(STOP, "36", L0_FILES, below=28),
        waits(base, str(256 * MIB), L0_FILES, below=20),
        waits(TRIGGER, "4", L0_FILES, below=16),
    )
    # The daemon's own way back has the same steps, by what the levels hold; here that is unknown.
    merging = opened({base: 16 * GIB, TRIGGER: 80, SLOWDOWN: 100}, l0=80)
    assert plan(originals, merging, defaults(), originals.keys()).sent == {}, "what has come would be merged alone"
    large = opened({base: 16 * GIB, TRIGGER: 80, SLOWDOWN: 100}, l0=74)
    back = plan(originals, large, defaults(), originals.keys())
    assert back.sent == family({TRIGGER: 14})
    assert back.held == (
        f"{TRIGGER} of default goes to 4 when level 0, now 74 files, has less than 14",
        f"{base} of default goes to {256 * MIB} when level 0, now 74 files, has less than 20",
    )
    large.apply(back.changes[0])
    large.l0["default"] = 19
    again = plan(originals, large, defaults(), originals.keys())
    assert again.sent == family({base: 256 * MIB}), "a load that goes on must not keep the base level"
    assert again.held == (f"{TRIGGER} of default goes to 4 when level 0, now 19 files, has less than 8",)
    few = opened({base: 16 * GIB, TRIGGER: 8}, l0=7)
    assert plan(originals, few, defaults(), originals.keys()).sent == originals
    large.apply(again.changes[0])
    assert plan(originals, large, defaults(), originals.keys()).sent == family({TRIGGER: 4}), (
        "nothing is left to wait for"
    )
    # A trigger that was not raised so far goes up, and the base level comes back as it would alone.
    low = plan(family({base: 16 * GIB, TRIGGER: 6}))
    assert low.restore == (
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "8"})),
        waits(base, str(256 * MIB), L0_FILES, below=20),
        waits(TRIGGER, "4", L0_FILES, below=8),
    )


def test_a_few_files_above_a_large_level_1_are_not_merged_before_the_base_level_comes_back() -> None:
    """18 files that came during a merge are a fifth of what level 1 holds now, or less."""
    base = "max_bytes_for_level_base"
    originals = family({base: 256 * MIB, TRIGGER: 4})

    def back(files: int, base_gib: int, trigger: int) -> planner.ChangePlan:
        sample = opened({base: 16 * GIB, TRIGGER: trigger}, l0=files).sample()
        levels = (files * 128 * MIB, base_gib * GIB, 0, 0, 0, 0, 0)
        return planner.plan(originals, with_levels(sample, levels), defaults(), originals.keys())

    assert back(145, 16, trigger=128).sent == family({TRIGGER: 20}), "while a merge runs"
    assert back(145, 16, trigger=20).sent == {}
    assert back(18, 32, trigger=20).sent == originals
    assert back(18, 2, trigger=20).sent == family({base: 256 * MIB, TRIGGER: 8}), "level 1 has about as many"


def test_a_base_level_does_not_come_back_while_a_memtable_is_flushed() -> None:
    """The flush would leave the raised one in force for level 1, which then waits while level 0 is merged with it."""
    base = "max_bytes_for_level_base"
    raised = opened({base: 16 * GIB, TRIGGER: 100, SLOWDOWN: 120}, l0=130)
    ours = family({base: 0, TRIGGER: 0, SLOWDOWN: 0}).keys()
    assert plan({}, raised, ours=ours).restore == (
        RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "100", TRIGGER: "100"})),
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "26", SLOWDOWN: "26"}), Below("default", L0_FILES, 100)),
        waits(base, str(16 * GIB), L0_FILES, below=26),
        waits(base, str(256 * MIB), IMMUTABLE_MEMTABLES, below=1),
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "4", SLOWDOWN: "20"}), Below("default", L0_FILES, 26)),
    )
    # The daemon's own way back waits for the same.
    originals = family({base: 256 * MIB, TRIGGER: 4, SLOWDOWN: 20})
    few = opened({base: 16 * GIB, TRIGGER: 26, SLOWDOWN: 26}, l0=7)
    few.immutable["default"] = 1
    back = plan(originals, few, ours=ours)
    assert back.sent == {}
    assert back.held == (
        f"{base} of default goes to {256 * MIB} when none of its memtables is being flushed",
        f"{TRIGGER} of default goes to 4 when none of its memtables is being flushed",
        f"{SLOWDOWN} of default goes to 20 when none of its memtables is being flushed",
    )
    few.immutable["default"] = 0
    assert plan(originals, few, ours=ours).sent == originals
    # No trigger stays above a stop trigger that comes back: all of them wait, unless one goes elsewhere.
    all_back = originals | family({STOP: 36})
    few = opened({base: 16 * GIB, TRIGGER: 67, SLOWDOWN: 67, STOP: 300}, l0=20)
    few.immutable["default"] = 1
    sample = with_levels(few.sample(), (20 * 128 * MIB, 32 * GIB, 0, 0, 0, 0, 0))
    held = planner.plan(all_back, sample, defaults(), ours)
    assert (held.sent, len(held.held)) == ({}, 4)
    elsewhere = family({TRIGGER: 47, SLOWDOWN: 67, STOP: 300})
    assert planner.plan(elsewhere | family({base: 256 * MIB}), sample, defaults(), ours).sent == family({TRIGGER: 47})
    # So does the base level where the trigger comes down to the few files first.
    several = opened({base: 16 * GIB, TRIGGER: 100, SLOWDOWN: 120, STOP: 200}, l0=14)
    several.immutable["default"] = 1
    assert plan(all_back, several, ours=ours).sent == family({TRIGGER: 8, SLOWDOWN: 20, STOP: 36})
    # Where a flush takes two, one may wait for the other as long as nobody writes.
    two = {"min_write_buffer_number_to_merge": 2}
    few = opened({base: 16 * GIB, TRIGGER: 26, SLOWDOWN: 26, **two}, l0=7)
    few.immutable["default"] = 1
    owners = defaults() | family(two)
    assert plan(originals, few, owners, ours).sent == originals
    assert plan({}, few, owners, ours).restore[3] == waits(base, str(256 * MIB), IMMUTABLE_MEMTABLES, below=2)


def test_limits_that_are_out_of_the_way_say_nothing_of_few_files() -> None:
    """With a slowdown above 178,956,970 files nothing would end flushes that follow each other."""
    base = "max_bytes_for_level_base"
    away: dict[str, str | int] = {base: 2 * GIB, TRIGGER: AWAY, SLOWDOWN: AWAY, STOP: AWAY}
    assert back_from(away, l0=90) == (
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "18", SLOWDOWN: "20"})),
        waits(STOP, "36", L0_FILES, below=28),
        waits(base, str(2 * GIB), L0_FILES, below=20),
        waits(base, str(256 * MIB), IMMUTABLE_MEMTABLES, below=1),
        waits(TRIGGER, "4", L0_FILES, below=18),
    )


def test_what_may_be_the_owners_or_has_no_slowdown_waits_for_no_flush() -> None:
    """A step that may raise it would not be one back; and nothing else ends flushes that follow each other."""
    base = "max_bytes_for_level_base"
    alone = (waits(base, str(256 * MIB), L0_FILES, below=20),)
    assert plan(family({base: 16 * GIB})).restore == alone
    # Where the trigger is the owner's, level 0 is merged all the time.
    assert back_from({base: 16 * GIB}) == alone
    owners = defaults() | family({SLOWDOWN: 0})
    large = opened({base: 16 * GIB, SLOWDOWN: 0})
    back = plan({}, large, owners, family({base: 0}).keys()).restore
    assert back == (waits(base, str(256 * MIB), L0_FILES, below=8),)


def test_a_raised_slowdown_comes_back_with_the_trigger_where_few_files_are_more_than_it() -> None:
    """RocksDB asserts that no trigger is above its slowdown, and delays what it does not merge."""
    base = "max_bytes_for_level_base"
    raised = {base: 16 * GIB, TRIGGER: 125, SLOWDOWN: 150, STOP: 300}
    assert back_from(raised) == (
        RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "125", TRIGGER: "125"})),
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "25", SLOWDOWN: "25"}), Below("default", L0_FILES, 125)),
        waits(STOP, "36", L0_FILES, below=28),
        waits(base, str(16 * GIB), L0_FILES, below=25),
        waits(base, str(256 * MIB), IMMUTABLE_MEMTABLES, below=1),
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "4", SLOWDOWN: "20"}), Below("default", L0_FILES, 25)),
    )
    # Of 250 files 50 are few: more than the original stop trigger allows, which comes back last.
    last = back_from(raised | {TRIGGER: 250, SLOWDOWN: 250})
    assert [step.when and step.when.below for step in last] == [None, 250, 50, 1, 50, 28]
    # The daemon does the same, by what the levels hold.
    originals = family({base: 256 * MIB, TRIGGER: 4, SLOWDOWN: 20, STOP: 36})

    def back(files: int, now: Mapping[str, str | int]) -> Values:
        sample = opened({base: 16 * GIB, STOP: 300, **now}, l0=files).sample()
        levels = (files * 128 * MIB, 32 * GIB, 0, 0, 0, 0, 0)
        return planner.plan(originals, with_levels(sample, levels), defaults(), originals.keys()).sent

    assert back(150, {TRIGGER: 150, SLOWDOWN: 180}) == family({SLOWDOWN: 150})
    assert back(149, {TRIGGER: 150, SLOWDOWN: 150}) == family({TRIGGER: 81, SLOWDOWN: 81})
    assert back(149, {TRIGGER: 81, SLOWDOWN: 81}) == {}
    assert back(400, {TRIGGER: 30, SLOWDOWN: 200}) == family({SLOWDOWN: 30}), "level 0 grows while it is merged"
    assert back(30, {TRIGGER: 81, SLOWDOWN: 81}) == family({base: 256 * MIB, TRIGGER: 4, SLOWDOWN: 20})


def test_few_files_are_few_beside_the_base_level_where_that_follows_from_the_size_of_the_data() -> None:
    base = "max_bytes_for_level_base"
    originals = family({base: 256 * MIB, TRIGGER: 4})
    dynamic = {"level_compaction_dynamic_level_bytes": "true"}
    sample = opened({base: 16 * GIB, TRIGGER: 100, **dynamic}, l0=19).sample()
    levels = (19 * 128 * MIB, 0, 0, 0, 0, 32 * GIB, 0)
    sample = with_levels(sample, levels)
    assert planner.plan(originals, sample, defaults(), originals.keys()).sent == originals


def test_the_base_level_counts_for_what_is_few_as_it_is_when_the_plan_is_made() -> None:
    """256 files in level 1 and 128 in level 0: a merge of at least the trigger's 100 files would write many more."""
    base = "max_bytes_for_level_base"
    raised = {base: 16 * GIB, TRIGGER: 100, SLOWDOWN: 120, STOP: 200}
    last = back_from(raised, levels=(128 * 128 * MIB, 256 * 128 * MIB, 0, 0, 0, 0, 0), l0=128)
    assert last[0] == RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "100", TRIGGER: "100"}))
    assert [step.when and step.when.below for step in last] == [None, 100, 76, 1, 76, 28]


def test_a_trigger_goes_up_where_few_files_are_more() -> None:
    """A gate that opens early, above a large level 1: the files that its merge leaves are not merged at 24, nor at 4.

    RocksDB begins the next merge before the agent looks at level 0.
    """
    base = "max_bytes_for_level_base"
    raised = {base: 64 * GIB, TRIGGER: 24, SLOWDOWN: 120, STOP: 200}
    last = back_from(raised, levels=(18 * 128 * MIB, 300 * 128 * MIB, 0, 0, 0, 0, 0), l0=18)
    assert last[0] == RestoreStep(ColumnFamilyChange("default", {SLOWDOWN: "63", TRIGGER: "63"}))
    assert [step.when and step.when.below for step in last] == [None, 63, 1, 63, 28]


def test_no_step_waits_behind_a_flush_that_does_not_need_to() -> None:
    """Under a load one flush may follow the other for long: of several families, and what is in the database."""
    base = "max_bytes_for_level_base"
    options = {base: 16 * GIB, TRIGGER: 80, SLOWDOWN: 100, STOP: 200, MEMTABLES: 6}
    values = family(options, of="a") | family(options, of="b")
    now = opened(families=("a", "b"))
    now.values |= values | {SUBCOMPACTIONS: "4"}
    back = plan({}, now, ours={*values, SUBCOMPACTIONS}).restore
    steps = [(step.when.property, step.change.scope, step.when.below) for step in back if step.when]
    of_a = [(L0_FILES, 80), (L0_FILES, 28), (L0_FILES, 20)]
    assert [(prop, below) for prop, _, below in steps[:6]] == [*of_a, *of_a]
    assert [(prop, below) for prop, _, below in steps[6:8]] == [(IMMUTABLE_MEMTABLES, 2)] * 2
    assert [(prop, below) for prop, _, below in steps[8:12]] == [(IMMUTABLE_MEMTABLES, 1), (L0_FILES, 16)] * 2
    assert steps[12:] == [(L0_FILES, "database", 20)]


def test_a_slowdown_that_is_not_ours_is_the_most_that_few_files_can_be() -> None:
    base = "max_bytes_for_level_base"
    owners = defaults() | family({SLOWDOWN: 24, STOP: 400})
    first, last, then = plan(family({base: 16 * GIB, TRIGGER: 300}), RocksDB(owners), owners).restore
    assert first.change.sets() == family({TRIGGER: 24})
    assert (last, then) == (waits(base, str(256 * MIB), L0_FILES, below=24), waits(TRIGGER, "4", L0_FILES, below=24))


def test_merges_stay_wide_until_the_base_level_comes_back() -> None:
    """One thread needs twice as long and more for a flood's level 0; and a database-wide change carries its pair."""
    base = "max_bytes_for_level_base"
    owners = defaults() | {BYTES_PER_SYNC: "0"}
    raised = family({base: 16 * GIB}) | {SUBCOMPACTIONS: "4", of_database("max_background_jobs"): "12"}
    off = str(BYTES_PER_SYNC_OFF)
    assert plan(raised, RocksDB(owners), owners).restore == (
        RestoreStep(DatabaseChange({"bytes_per_sync": off, "max_background_jobs": "2"})),
        waits(base, str(256 * MIB), L0_FILES, below=20),
        RestoreStep(DatabaseChange({"bytes_per_sync": off, "max_subcompactions": "1"}), Below("default", L0_FILES, 20)),
    )
    # The daemon's own way back keeps them wide, too, for as long as it holds the base level.
    ours = family({base: 0, TRIGGER: 0}) | {SUBCOMPACTIONS: ""}
    large = opened({base: 16 * GIB, TRIGGER: 6}, l0=20)
    large.values[SUBCOMPACTIONS] = "4"
    goal = family({base: 256 * MIB}) | {SUBCOMPACTIONS: "1"}
    held = plan(goal, large, defaults(), ours.keys())
    assert held.changes == ()
    assert held.held[1:] == ("max_subcompactions goes to 1 when the base level has gone back",)
    large.l0["default"] = 19
    assert plan(goal, large, defaults(), ours.keys()).sent == goal
    # Narrower than the owner's is no help to anybody, and without a base level there is nothing to wait for.
    narrow = {SUBCOMPACTIONS: "1"}
    wide = defaults() | {SUBCOMPACTIONS: "4"}
    for changed, host in ((family({base: 16 * GIB}) | narrow, wide), ({SUBCOMPACTIONS: "4"}, defaults())):
        back = plan(changed, RocksDB(host), host).restore
        assert [step.when for step in back if SUBCOMPACTIONS in step.change.sets()] == [None]


def test_where_the_slowdown_is_off_the_base_level_waits_for_few_files() -> None:
    """-1 switches it off: no number of files is below that."""
    base = "max_bytes_for_level_base"
    owners = defaults() | family({SLOWDOWN: -1})
    raised, originals = family({base: 16 * GIB, TRIGGER: 80}), family({base: 256 * MIB, TRIGGER: 4})
    in_force = opened({base: 16 * GIB, TRIGGER: 80, SLOWDOWN: -1})
    assert plan({}, in_force, owners, raised.keys()).restore == (
        RestoreStep(ColumnFamilyChange("default", {TRIGGER: "80"})),
        waits(TRIGGER, "16", L0_FILES, below=80),
        waits(base, str(256 * MIB), L0_FILES, below=16),
        waits(TRIGGER, "4", L0_FILES, below=16),
    )
    large = opened({base: 16 * GIB, TRIGGER: 80, SLOWDOWN: -1}, l0=74)
    back = plan(originals, large, owners, originals.keys())
    assert back.sent == family({TRIGGER: 14})
    assert [sentence.rpartition(" ")[2] for sentence in back.held] == ["14", "14"]
