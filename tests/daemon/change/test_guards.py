"""Safety guards: what they refuse, that they say who spoke, and in whose way they do not stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.bounds import bounds
from adocd.daemon.change.guards.guard import ALONE, Beside, Guard, GuardRefusal, MemoryInUse, check
from adocd.daemon.change.guards.memory import (
    LatelyWritten,
    memory_budget,
    memory_shortage,
    promised_bytes,
    worst_case_bytes,
)
from adocd.daemon.change.guards.order import order
from adocd.daemon.change.guards.shared import shared
from adocd.model.knob import MIB
from adocd.model.sample import Sample
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family, of_pool
from tests.builders import GIB, column_family, sample
from tests.daemon.change.rocksdb_model import HARD, SLOWDOWN, SOFT, STOP, TRIGGER, database, family, opened


def said(
    guards: Iterable[Guard] | Guard,
    wanted: Values,
    now: Sample | None = None,
    beside: Beside = ALONE,
    exempt: Values | None = None,
) -> list[str]:
    guards = (guards,) if callable(guards) else guards
    return [str(refusal.note) for refusal in check(guards, wanted, now or sample(), beside, exempt=exempt).refusals]


def size(mib: int, name: str = "default") -> dict[OptionName, str]:
    return family(of=name, write_buffer_size=mib * MIB)


# -- bounds


@pytest.mark.parametrize(
    "good",
    [
        family(write_buffer_size=4096 * MIB, max_write_buffer_number=64),
        family({TRIGGER: 1, SLOWDOWN: 1 << 30, STOP: 1 << 30}),
        family({SOFT: 0, HARD: 0}),
        family(max_bytes_for_level_multiplier="2.5", disable_auto_compactions="true"),
        database(max_background_jobs=128, delayed_write_rate=MIB, max_background_flushes=-1),
        {RATE_LIMITER: str(MIB), of_pool("low"): "128"},
    ],
)
def test_within_bounds(good: Values) -> None:
    assert said(bounds, good) == []


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        (of_database("max_background_jobs"), "0", "max_background_jobs must be 1 to 128 jobs, not 0"),
        (
            of_database("delayed_write_rate"),
            "0",
            "delayed_write_rate must be at least 1 MiB/s, not 0; 0 would mean: at open the default "
            "of 16 MiB/s or the rate limiter's rate; set live about 1 byte/s",
        ),
        (
            of_family("default", "write_buffer_size"),
            str(4097 * MIB),
            f"write_buffer_size (default) must be 1 MiB to 4 GiB, not 4 GiB ({4097 * MIB} bytes)",
        ),
        (
            of_family("default", STOP),
            "0",
            f"{STOP} (default) must be 1 to {1 << 30} files, not 0; 0 would mean: writes are stopped for good",
        ),
        (
            of_family("default", "max_compaction_bytes"),
            "0",
            "max_compaction_bytes (default) must be at least 1 MiB, not 0; 0 would mean: 25 times "
            "target_file_size_base at open alone; live it stays 0, so that compactions are tiny and level 0 is never "
            "merged within itself: give the number itself",
        ),
        (
            of_family("default", "max_bytes_for_level_base"),
            str((1 << 44) + 1),
            f"max_bytes_for_level_base (default) must be 1 MiB to 16 TiB, not 16 TiB ({(1 << 44) + 1} bytes)",
        ),
        (
            of_database("bytes_per_sync"),
            "1M",
            "bytes_per_sync takes a whole number of bytes in plain decimals, not '1M'",
        ),
        (
            of_database("bytes_per_sync"),
            "-5",
            "bytes_per_sync takes a whole number of bytes in plain decimals, not '-5'",
        ),
        (of_database("bytes_per_sync"), "٣", "bytes_per_sync takes a whole number of bytes in plain decimals, not '٣'"),
        (
            of_family("default", "disable_auto_compactions"),
            "1",
            "disable_auto_compactions (default) is a switch: true or false, not '1'",
        ),
        (
            of_family("default", "max_bytes_for_level_multiplier"),
            "nan",
            "max_bytes_for_level_multiplier (default) must be 1 to 1000 times, not nan",
        ),
        (
            of_family("default", "max_bytes_for_level_multiplier"),
            "0.999999",
            "max_bytes_for_level_multiplier (default) must be 1 to 1000 times, not 0.999999",
        ),
        (
            of_family("default", "max_bytes_for_level_multiplier"),
            "ten",
            "max_bytes_for_level_multiplier (default) takes a number, not 'ten'",
        ),
        (
            of_database("db_write_buffer_size"),
            "1",
            "db_write_buffer_size cannot be changed while the database is open",
        ),
        (
            of_database("max_open_files"),
            "1",
            "adocd knows no bounds for max_open_files; docs/safety.md lists the options that it changes",
        ),
        (
            of_database("write_buffer_size"),
            "1",
            "adocd knows no bounds for write_buffer_size; docs/safety.md lists the options that it changes",
        ),
        (of_pool("low"), "0", "thread_pool_low must be 1 to 128 threads, not 0"),
        (RATE_LIMITER, "1", "rate_limiter_bytes_per_s must be at least 1 MiB/s, not 1 bytes/s"),
    ],
)
def test_out_of_bounds(option: OptionName, value: str, reason: str) -> None:
    assert said(bounds, {option: value}) == [f"bounds: {reason}"]


def test_what_is_there_already_is_left_alone() -> None:
    """A host may have its own reasons."""
    small = opened(write_buffer_size=4096).sample()
    assert said(bounds, family(write_buffer_size=4096), small) == []


# -- order


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({STOP: 19}, f"{TRIGGER} 4 <= {SLOWDOWN} 20 <= {STOP} 19"),
        (
            {SLOWDOWN: 3},
            f"{TRIGGER} 4 <= {SLOWDOWN} 3 <= {STOP} 36, and a RocksDB with assertions, such as Debian's, aborts the "
            "program at a trigger above the slowdown",
        ),
        ({SLOWDOWN: 100, STOP: 99}, f"{TRIGGER} 4 <= {SLOWDOWN} 100 <= {STOP} 99"),
        ({SOFT: 300 * GIB}, f"{SOFT} {300 * GIB} <= {HARD} {256 * GIB}"),
        ({SOFT: 0}, f"{SOFT} 0 <= {HARD} {256 * GIB}"),
    ],
)
def test_out_of_order(wanted: dict[str, int], reason: str) -> None:
    """A soft limit of 0 is off, which is more than any hard one."""
    assert said(order, family(wanted)) == [f"order: in column family default it must be that {reason}"]


@pytest.mark.parametrize(
    "wanted",
    [{TRIGGER: 20, SLOWDOWN: 20, STOP: 20}, {HARD: 0}, {SOFT: 0, HARD: 0}, {SLOWDOWN: 50, STOP: 60}, {STOP: 20}],
)
def test_in_order(wanted: dict[str, int]) -> None:
    assert said(order, family(wanted)) == []


def test_what_a_host_has_out_of_order_stays_until_something_of_it_is_changed() -> None:
    upside_down = opened({SLOWDOWN: 40}).sample()
    assert said(order, family({SLOWDOWN: 40}), upside_down) == []
    assert said(order, family({TRIGGER: 5}), upside_down) != []
    assert said(order, family({STOP: 40}), upside_down) == []


@pytest.mark.parametrize(("memtables", "is_refused"), [(2, True), (3, True), (4, False)])
def test_more_memtables_than_a_flush_waits_for(memtables: int, is_refused: bool) -> None:
    """With fewer, writes stop before a flush begins; what a host has so already stays, and leads back."""
    merging = sample(column_family(min_write_buffer_number_to_merge=3, max_write_buffer_number=6))
    wanted = family(max_write_buffer_number=memtables)
    reason = (
        f"order: max_write_buffer_number (default) {memtables} must be more than min_write_buffer_number_to_merge 3, "
        "which cannot be changed while the database is open: with fewer memtables writes stop before a flush begins"
    )
    assert said(order, wanted, merging) == ([reason] if is_refused else [])
    assert said(order, wanted, merging, exempt=wanted) == []
    already = sample(column_family(min_write_buffer_number_to_merge=3, max_write_buffer_number=memtables))
    assert said(order, wanted, already) == []


# -- memory


def test_growth_within_the_budget_passes() -> None:
    assert said(memory_budget, size(128), beside=Beside(256 * MIB)) == []


def test_growth_beyond_the_budget_is_refused_and_says_so() -> None:
    assert said(memory_budget, size(192), beside=Beside(256 * MIB)) == [
        "memory budget: 192 MiB x 2 for default would take the memtables to 384 MiB, the budget is 256 MiB"
    ]


def test_more_memtables_are_growth_too() -> None:
    wanted = family(max_write_buffer_number=8)
    assert said(memory_budget, wanted, beside=Beside(256 * MIB)) == [
        "memory budget: 64 MiB x 8 for default would take the memtables to 512 MiB, the budget is 256 MiB"
    ]
    assert said(memory_budget, wanted | size(32), beside=Beside(256 * MIB)) == [], (
        "half of the size pays for four times more"
    )


def test_growth_of_one_column_family_counts_against_the_next() -> None:
    families = sample(column_family("a"), column_family("b"))
    verdict = check([memory_budget], size(192, "a") | size(192, "b"), families, Beside(512 * MIB))
    assert verdict.values == size(192, "a")


def test_other_targets_count() -> None:
    beside = Beside(512 * MIB, memtables_bytes=256 * MIB)
    assert said(memory_budget, size(128), beside=beside) == []
    assert said(memory_budget, size(129), beside=beside) != []


def test_growth_beyond_what_the_container_can_bear_is_refused_and_says_so() -> None:
    beside = Beside(4096 * MIB, process_limit_bytes=1024 * MIB)
    assert said(memory_budget, size(128), beside=beside) == []
    assert said(memory_budget, size(192), beside=beside) == [
        "memory budget: 192 MiB x 2 for default would take this database's memtables to 384 MiB, and its process can "
        "have 1024 MiB, of which they may take a quarter"
    ]


def test_all_databases_of_a_process_together_get_a_quarter_of_its_memory() -> None:
    """Else twelve of them could each take one, and the process ends for want of memory."""
    beside = Beside(4096 * MIB, process_limit_bytes=1024 * MIB, process_memtables_bytes=100 * MIB)
    assert said(memory_budget, size(64), beside=beside) == []
    assert said(memory_budget, size(96), beside=beside) == [
        "memory budget: 96 MiB x 2 for default would take the memtables of this process's databases to 292 MiB, and "
        "its process can have 1024 MiB, of which they may take a quarter"
    ]


def test_a_family_that_was_flushed_a_moment_ago_still_counts() -> None:
    """Its memtables fill again, and others would have been granted that memory meanwhile."""
    lately = LatelyWritten()
    full, empty = (sample(column_family(memtables_bytes=size), monotonic_s=100.0) for size in (32 * MIB, 0))
    lately.observe(full)
    lately.observe(replace(empty, monotonic_s=159.0))
    assert worst_case_bytes(empty) == 0
    assert worst_case_bytes(empty, written=lately.families) == 128 * MIB
    beside = Beside(256 * MIB, memtables_bytes=64 * MIB, written=lately.families)
    assert said(memory_budget, size(96), empty, beside=beside) == []
    assert said(memory_budget, size(128), empty, beside=beside) != []
    lately.observe(replace(empty, monotonic_s=160.0))
    assert not lately.families


def test_shrinking_is_allowed_above_the_budget() -> None:
    large = sample(column_family(write_buffer_size_bytes=512 * MIB))
    assert said(memory_budget, size(256), large, beside=Beside(256 * MIB)) == []


def test_column_families_that_are_not_written_do_not_count() -> None:
    """Hundreds of idle column families would otherwise block every growth."""
    idle = [column_family(f"idle{n}", memtables_bytes=2048) for n in range(300)]
    now = sample(column_family(), *idle)
    assert said(memory_budget, size(128), now, beside=Beside(512 * MIB)) == []
    assert worst_case_bytes(now) == 128 * MIB
    assert worst_case_bytes(now, size(128)) == 256 * MIB, "a growth that is on its way counts"
    assert worst_case_bytes(now, size(128, "idle7")) == 256 * MIB, "even that of an idle one"


def test_idle_column_families_do_not_grow_past_the_budget_a_few_in_each_cycle() -> None:
    """What was added to one goes on counting, though nothing is written to it yet."""
    mib = {f"idle{n}": 64 for n in range(10)}
    wanted, originals = ({o: v for name in mib for o, v in size(each, name).items()} for each in (512, 64))
    for _ in range(5):
        idle = [
            column_family(name, memtables_bytes=2048, write_buffer_size_bytes=each * MIB) for name, each in mib.items()
        ]
        let_through = check([memory_budget], wanted, sample(*idle), Beside(2048 * MIB), exempt=originals).values
        mib |= {str(option.name): 512 for option in let_through}
        assert list(mib.values()).count(512) == 2, "each adds 448 MiB x 2"


@pytest.mark.parametrize(("available", "refused"), [(180, False), (179, True), (None, False)])
def test_no_growth_when_memory_is_short(available: int | None, refused: bool) -> None:
    """A twentieth of it stays free, whatever a memtable may come to need."""
    memory = MemoryInUse(None if available is None else available * MIB, 1024 * MIB)
    expected = "memory shortage: 128 MiB x 2 for default can take 128 MiB more, and of 1024 MiB only 179 MiB are free"
    beside = Beside(read_memory=lambda: (MemoryInUse(), memory))
    assert said(memory_shortage, size(128), beside=beside) == ([expected] if refused else [])


def test_growth_that_was_granted_before_counts_when_memory_is_short() -> None:
    """A second later the memtables have not taken it, so all of it still seems to be free."""
    promised = MemoryInUse(320 * MIB, 1024 * MIB, promised_bytes=150 * MIB)
    growing = sample(column_family(), column_family("b"))
    (told,) = said(memory_shortage, size(96) | size(96, "b"), growing, Beside(read_memory=lambda: (promised,)))
    assert told == (
        "memory shortage: 96 MiB x 2 for b can take 64 MiB more, and of 1024 MiB only 106 MiB are free, "
        "without 150 MiB that were granted and are not used yet"
    ), "the first family has just been granted 64 MiB"


def test_what_our_growth_has_yet_to_take() -> None:
    """Nothing where the owner allows as much, and nothing that the memtables have taken."""
    taken, none = (
        column_family(name, memtables_bytes=mib * MIB, write_buffer_size_bytes=128 * MIB, max_write_buffer_number=2)
        for name, mib in (("default", 200), ("idle", 0))
    )
    now = sample(taken, none)
    assert promised_bytes(now, {}, {}) == 0, "the owner's own values"
    assert promised_bytes(now, {}, size(64) | size(64, "idle")) == (56 + 128) * MIB
    assert promised_bytes(now, size(256), size(64) | size(64, "idle")) == (312 + 128) * MIB, "one is in flight"


def test_nothing_is_refused_but_growth_when_memory_is_short() -> None:
    beside = Beside(read_memory=lambda: (MemoryInUse(0, 1024 * MIB),))
    assert said(memory_shortage, size(32) | database(max_background_jobs=8), beside=beside) == []


# -- one after the other


def test_guards_are_asked_in_turn() -> None:
    wanted = size(128) | size(5000, "b")
    notes = said((bounds, memory_budget), wanted, sample(column_family(), column_family("b")), Beside(100 * MIB))
    assert [note.partition(":")[0] for note in notes] == ["bounds", "memory budget"]


def test_options_that_carry_one_knob_fall_together() -> None:
    batch = family(write_buffer_size=128 * MIB, target_file_size_base=128 * MIB, max_bytes_for_level_base=512 * MIB)
    jobs = database(max_background_jobs=4)
    verdict = check([memory_budget], batch | jobs, sample(), Beside(0), groups=(batch, jobs))
    assert verdict.values == jobs
    assert [refusal.options for refusal in verdict.refusals] == [batch.keys()]


def test_a_guard_may_put_something_in_its_place() -> None:
    off, on = (family(disable_auto_compactions=switch) for switch in ("true", "false"))

    def guard(wanted: Values, now: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
        return (GuardRefusal("compaction", frozenset(off), "no", on),)

    assert check([guard], off | size(32), sample()).values == on | size(32)


# -- no guard stands in the way of a restore


def test_no_guard_stands_in_the_way_of_a_restore() -> None:
    original = opened({TRIGGER: 50}, write_buffer_size=4096, max_write_buffer_number=1).values
    now = opened({TRIGGER: 4}, write_buffer_size=MIB, max_write_buffer_number=2).sample()
    beside = Beside(0, read_memory=lambda: (MemoryInUse(0, GIB),))
    back = family({TRIGGER: 50}, write_buffer_size=4096, max_write_buffer_number=1)
    assert len(said(GUARDS, back, now, beside)) == 3
    assert said(GUARDS, back, now, beside, exempt=original) == []


def test_growth_back_to_the_original_passes_and_other_growth_beside_it_does_not() -> None:
    now = opened(families=("default", "index"), write_buffer_size=32 * MIB)
    wanted, exempt = size(64) | size(65, "index"), opened(families=("default", "index")).values
    verdict = check([memory_budget], wanted, now.sample(), Beside(100 * MIB), exempt=exempt)
    assert verdict.values == size(64)


def test_an_original_that_is_wrong_beside_what_is_still_wanted_waits_for_it() -> None:
    """The pin of the slowdown stays, the one of the stop has ended: half-way back, 36 would be below 50."""
    pinned = opened({SLOWDOWN: 50, STOP: 100}).sample()
    original = opened().values
    verdict = check([order], family({SLOWDOWN: 50, STOP: 36}), pinned, exempt=original)
    assert verdict.values == {}
    assert verdict.refusals[0].options == family({SLOWDOWN: 0, STOP: 0}).keys(), "whoever wants the other is told"
    assert said(order, family({SLOWDOWN: 20, STOP: 36}), pinned, exempt=original) == []


def test_an_original_waits_only_for_what_is_really_beside_it() -> None:
    """A wish that is refused anyway does not keep the others from going back."""
    pinned = opened({SLOWDOWN: 50, STOP: 100}).sample()
    wanted = family({TRIGGER: 60, SLOWDOWN: 20, STOP: 36})
    verdict = check([order], wanted, pinned, exempt=opened().values)
    assert verdict.values == family({SLOWDOWN: 20, STOP: 36})


def test_a_size_goes_back_only_with_the_number_that_fits_it() -> None:
    """8 MiB x 64 was within the budget, and the original 64 MiB was: 64 MiB x 64 is not."""
    pinned = opened(write_buffer_size=8 * MIB, max_write_buffer_number=64)
    beside, more = Beside(GIB), family(max_write_buffer_number=64)
    assert check([memory_budget], size(64) | more, pinned.sample(), beside, exempt=opened().values).values == {}
    back = size(64) | family(max_write_buffer_number=2)
    assert check([memory_budget], back, pinned.sample(), beside, exempt=opened().values).values == back


def test_one_database_of_a_process_alone_turns_what_they_share() -> None:
    """Two laws would undo each other's turns for ever, and one would take the other's values for originals."""
    wanted = {of_pool("low"): "6", of_family("default", "write_buffer_size"): str(96 * MIB)}
    verdict = check([shared], wanted, sample(), Beside(shared_with="/data/a"))
    assert verdict.values == {of_family("default", "write_buffer_size"): str(96 * MIB)}
    (refusal,) = verdict.refusals
    assert str(refusal.note) == "shared: thread_pool_low belong to the process, and are turned for /data/a already"
    assert check([shared], wanted, sample()).refusals == ()
