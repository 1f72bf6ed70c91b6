"""The planner: only what differs, in an order that is safe, and a way back from everything touched."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from adocd.daemon import planner
from adocd.daemon.planner import Touched
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.snapshot import OptionValues
from adocd.model.threads import ThreadsBy
from adocd.targets.base import Change, ColumnFamilyChange, DatabaseChange, RestoreStep, ThreadPoolChange
from tests.builders import DATABASE_OPTIONS, FAMILY_OPTIONS, column_family, option_values, sample

ORIGINALS = option_values()


def test_the_batch_is_three_options_in_one_call() -> None:
    plan = planner.plan([Setting(Knob.BATCH_SIZE, 128 * MIB, "default")], sample(), ORIGINALS, Touched())
    wanted = {
        "write_buffer_size": str(128 * MIB),
        "target_file_size_base": str(128 * MIB),
        "max_bytes_for_level_base": str(4 * 128 * MIB),
    }
    assert plan.changes == (ColumnFamilyChange("default", wanted),)
    assert plan.restore == (
        RestoreStep(ColumnFamilyChange("default", {option: FAMILY_OPTIONS[option] for option in sorted(wanted)})),
    )


def test_what_is_there_already_is_not_sent() -> None:
    settings = [Setting(Knob.BACKGROUND_JOBS, 2), Setting(Knob.BATCH_SIZE, 64 * MIB, "default")]
    assert planner.plan(settings, sample(), ORIGINALS, Touched()).changes == ()


def test_column_families_come_before_the_database() -> None:
    """A column family's change lowers the delayed rate; the database's call, coming last, sets it."""
    settings = [Setting(Knob.BACKGROUND_JOBS, 4), Setting(Knob.BATCH_SIZE, 128 * MIB, "default")]
    plan = planner.plan(settings, sample(), ORIGINALS, Touched())
    assert [change.scope for change in plan.changes] == ["column_family", "database"]


def test_during_a_delay_a_database_change_carries_the_rate_in_force() -> None:
    delayed = sample(condition="delayed", delayed_write_rate_bytes_per_s=3 * MIB)
    plan = planner.plan([Setting(Knob.BACKGROUND_JOBS, 4)], delayed, ORIGINALS, Touched())
    assert plan.changes == (DatabaseChange({"max_background_jobs": "4", "delayed_write_rate": str(3 * MIB)}),)
    assert plan.restore == (
        RestoreStep(DatabaseChange({"delayed_write_rate": str(16 * MIB), "max_background_jobs": "2"})),
    )


def test_the_carried_rate_has_a_floor() -> None:
    delayed = sample(condition="delayed", delayed_write_rate_bytes_per_s=17)
    plan = planner.plan([Setting(Knob.BACKGROUND_JOBS, 4)], delayed, ORIGINALS, Touched())
    assert isinstance(plan.changes[0], DatabaseChange)
    assert plan.changes[0].options["delayed_write_rate"] == str(MIB)


def test_the_brake_is_released_only_after_the_delay_and_only_if_we_set_it() -> None:
    carried = OptionValues(DATABASE_OPTIONS | {"delayed_write_rate": str(3 * MIB)}, ORIGINALS.column_families)
    ours = Touched(frozenset({"delayed_write_rate"}))
    still = sample(options=carried, condition="delayed", delayed_write_rate_bytes_per_s=3 * MIB)
    over = sample(options=carried)
    assert planner.release_brake(still, ORIGINALS, ours).changes == ()
    assert planner.release_brake(over, ORIGINALS, Touched()).changes == ()
    assert planner.release_brake(over, ORIGINALS, ours).changes == (
        DatabaseChange({"delayed_write_rate": str(16 * MIB)}),
    )


def test_a_configured_delayed_write_rate_of_zero_is_never_put_back() -> None:
    """Set live, 0 freezes writes (and killed a 6.29 process); at open it means the default."""
    zero = OptionValues(DATABASE_OPTIONS | {"delayed_write_rate": "0"}, ORIGINALS.column_families)
    delayed = sample(condition="delayed", delayed_write_rate_bytes_per_s=2 * MIB)
    plan = planner.plan([Setting(Knob.BACKGROUND_JOBS, 4)], delayed, zero, Touched())
    assert plan.restore[-1].change.wanted()["delayed_write_rate"] == str(16 * MIB)


def test_what_an_earlier_lease_left_changed_is_in_the_way_back() -> None:
    left = OptionValues(
        DATABASE_OPTIONS | {"max_background_jobs": "8"},
        {"default": FAMILY_OPTIONS | {"write_buffer_size": str(256 * MIB)}},
    )
    touched = planner.differing_from(ORIGINALS, left, ThreadsBy.OPTION)
    assert touched == Touched(frozenset({"max_background_jobs"}), {"default": frozenset({"write_buffer_size"})})


def test_where_max_background_jobs_cannot_be_changed_the_pools_are_divided_as_rocksdb_would() -> None:
    originals = replace(ORIGINALS, thread_pools={"low": 1, "high": 1, "bottom": 0})
    now = sample(threads_by=ThreadsBy.POOLS, options=originals, delayed_write_rate_bytes_per_s=3 * MIB)
    plan = planner.plan([Setting(Knob.BACKGROUND_JOBS, 8)], now, originals, Touched())
    assert plan.changes == (ThreadPoolChange("high", 2), ThreadPoolChange("low", 6))
    assert [step.change for step in plan.restore] == [ThreadPoolChange("high", 1), ThreadPoolChange("low", 1)]
    assert plan.touched == Touched(thread_pools=frozenset({"low", "high"}))


def test_a_pool_that_has_its_size_is_left_alone() -> None:
    originals = replace(ORIGINALS, thread_pools={"low": 1, "high": 1})
    now = sample(threads_by=ThreadsBy.POOLS, options=originals)
    plan = planner.plan([Setting(Knob.BACKGROUND_JOBS, 4)], now, originals, Touched())
    assert plan.changes == (ThreadPoolChange("low", 3),)


def test_pools_left_changed_count_only_where_they_are_the_knob() -> None:
    """Elsewhere RocksDB itself lets them grow with max_background_jobs, and they never shrink."""
    originals = replace(ORIGINALS, thread_pools={"low": 1, "high": 1})
    left = replace(ORIGINALS, thread_pools={"low": 6, "high": 1})
    by_pools = planner.differing_from(originals, left, ThreadsBy.POOLS)
    assert by_pools == Touched(thread_pools=frozenset({"low"}))
    assert planner.differing_from(originals, left, ThreadsBy.OPTION) == Touched()


def test_bytes_per_sync_that_rocksdb_raised_by_itself_is_no_change_of_ours() -> None:
    """Any effective SetDBOptions makes 1 MiB of 0, and 0 cannot be set back live."""
    originals = OptionValues(DATABASE_OPTIONS | {"bytes_per_sync": "0"})
    current = OptionValues(DATABASE_OPTIONS | {"bytes_per_sync": str(MIB)})
    assert planner.differing_from(originals, current, ThreadsBy.OPTION) == Touched()


def test_an_option_that_is_not_reported_is_not_taken_for_changed() -> None:
    assert planner.differing_from(ORIGINALS, OptionValues(), ThreadsBy.OPTION) == Touched()


_settings = st.lists(
    st.one_of(
        st.builds(Setting, st.just(Knob.BACKGROUND_JOBS), st.integers(1, 128)),
        st.builds(
            Setting,
            st.just(Knob.BATCH_SIZE),
            st.integers(MIB, 4096 * MIB),
            st.sampled_from(["default", "index", "gone"]),
        ),
    ),
    max_size=6,
)


@given(
    history=st.lists(_settings, min_size=1, max_size=6),
    rate=st.integers(0, 16 * MIB),
    by=st.sampled_from(ThreadsBy),
)
def test_the_way_back_always_leads_to_the_originals(history: list[list[Setting]], rate: int, by: ThreadsBy) -> None:
    """Whatever was decided before, applying the last plan's changes and then its restore gives the originals."""
    originals = replace(option_values(("default", "index")), thread_pools={"low": 3, "high": 1, "bottom": 0})
    live = Live(originals)
    touched = Touched()
    restore: tuple[RestoreStep, ...] = ()
    for settings in history:
        now = sample(
            column_family("default"),
            column_family("index"),
            delayed_write_rate_bytes_per_s=rate,
            threads_by=by,
            options=live.values(),
        )
        plan = planner.plan(settings, now, originals, touched)
        for change in plan.changes:
            live.apply(change)
        touched = plan.touched
        restore = plan.restore or restore
    for step in restore:
        live.apply(step.change)
    assert live.values() == originals


class Live:
    """Option values that changes are applied to."""

    def __init__(self, values: OptionValues) -> None:
        self.database = dict(values.database)
        self.families = {name: dict(options) for name, options in values.column_families.items()}
        self.pools = dict(values.thread_pools)

    def apply(self, change: Change) -> None:
        """Do what RocksDB would."""
        match change:
            case DatabaseChange(options):
                self.database.update(options)
            case ColumnFamilyChange(name, options):
                self.families[name].update(options)
            case ThreadPoolChange(pool, threads):
                self.pools[pool] = threads

    def values(self) -> OptionValues:
        """Copy them."""
        families = {name: dict(options) for name, options in self.families.items()}
        return OptionValues(dict(self.database), families, thread_pools=dict(self.pools))
