"""Safety guards: what they refuse, and that they say who spoke."""

from adocd.daemon import guards
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from tests.builders import column_family, sample


def batch(mib: int, family: str = "default") -> Setting:
    return Setting(Knob.BATCH_SIZE, mib * MIB, family)


def test_bounds() -> None:
    good = Setting(Knob.BACKGROUND_JOBS, 128)
    verdict = guards.bounds((good, Setting(Knob.BACKGROUND_JOBS, 0), batch(4097)), sample())
    assert verdict.settings == (good,)
    assert verdict.notes == (
        "bounds: background_jobs 0 is outside of 1 to 128 jobs",
        f"bounds: batch_size {4097 * MIB} is outside of {MIB} to {4096 * MIB} bytes",
    )


def test_growth_within_the_budget_passes() -> None:
    guard = guards.memory_budget(256 * MIB)
    assert guard((batch(128),), sample()) == guards.Verdict((batch(128),), ())


def test_growth_beyond_the_budget_is_refused_and_says_so() -> None:
    verdict = guards.memory_budget(256 * MIB)((batch(192),), sample())
    assert verdict.settings == ()
    assert verdict.notes == (
        "memory budget: 192 MiB for default would take the memtables to 384 MiB, the budget is 256 MiB",
    )


def test_growth_of_one_column_family_counts_against_the_next() -> None:
    families = sample(column_family("a"), column_family("b"))
    verdict = guards.memory_budget(512 * MIB)((batch(192, "a"), batch(192, "b")), families)
    assert verdict.settings == (batch(192, "a"),)


def test_growth_beyond_what_the_container_can_bear_is_refused_and_says_so() -> None:
    guard = guards.memory_budget(4096 * MIB, process_limit=lambda: 1024 * MIB)
    assert guard((batch(128),), sample()).settings == (batch(128),)
    verdict = guard((batch(192),), sample())
    assert verdict.settings == ()
    assert verdict.notes == (
        "memory budget: 192 MiB for default would take this database's memtables to 384 MiB, and its process can have "
        "1024 MiB, of which they may take a quarter",
    )


def test_shrinking_is_allowed_above_the_budget() -> None:
    large = sample(column_family(write_buffer_size_bytes=512 * MIB))
    assert guards.memory_budget(256 * MIB)((batch(256),), large).settings == (batch(256),)


def test_column_families_that_are_not_written_do_not_count() -> None:
    """Hundreds of idle column families would otherwise block every growth."""
    idle = [column_family(f"idle{n}", memtables_bytes=2048) for n in range(300)]
    verdict = guards.memory_budget(512 * MIB)((batch(128),), sample(column_family(), *idle))
    assert verdict.settings == (batch(128),)


def test_guards_are_asked_in_turn() -> None:
    verdict = guards.check((guards.bounds, guards.memory_budget(100 * MIB)), (batch(128), batch(5000)), sample())
    assert verdict.settings == ()
    assert [note.partition(":")[0] for note in verdict.notes] == ["bounds", "memory budget"]
