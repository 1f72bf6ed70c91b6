"""Settling after the measured phase, by a real daemon on a made-up database: restore, owner's options, nothing due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from adocd_bench.errors import RunFailed
from adocd_bench.run.daemon import RunDaemon, serving
from adocd_bench.run.observe import Watched
from adocd_bench.run.settle import Due, Settling, unlike
from adocd_bench.run.workspace import run_directory

from adocd.model.knob import MIB
from adocd.model.options import BYTES_PER_SYNC_OFF
from adocd.model.policy import Policy
from adocd.model.snapshot import ColumnFamilySnapshot
from tests.builders import snapshot
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

OWNERS = {"write_buffer_size": str(64 * MIB), "max_background_jobs": "2", "disable_auto_compactions": "false"}


@dataclass(frozen=True)
class Served:
    """A daemon, and its run directory."""

    room: Path
    daemon: RunDaemon


@contextmanager
def served(policy: Policy) -> Iterator[Served]:
    """Serve with five looks a second, so that nobody waits long for one."""
    with run_directory() as room, serving(room, policy, tick_s=0.2) as daemon:
        yield Served(room, daemon)


@pytest.fixture(scope="module")
def fixed() -> Iterator[Served]:
    """One daemon for all databases that it leaves alone."""
    with served(Policy("fixed")) as by:
        yield by


@contextmanager
def watched(database: FakeDatabase, by: Served) -> Iterator[tuple[Watched, Settling]]:
    room, daemon = by.room, by.daemon
    with FakeAgent(room, [database]):
        seen = Watched(daemon, Path(database.path))

        def has_a_sample() -> bool:
            seen.look()
            return seen.newest is not None

        eventually(has_a_sample, what="the daemon has a sample")
        with Settling(room, Path(database.path), OWNERS) as settling:
            yield seen, settling


def settle(seen: Watched, settling: Settling) -> None:
    def is_over() -> bool:
        seen.look()
        settling.look(seen)
        return settling.is_over(seen)

    eventually(is_over, what="it is settled")


def test_what_the_law_turned_is_restored_and_the_law_is_paused(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db", options={"write_buffer_size": OWNERS["write_buffer_size"]})
    with served(Policy("manual", {"batch_size": 128 * MIB})) as by, watched(database, by) as (seen, settling):
        size = database.options.column_families["default"]
        eventually(lambda: size["write_buffer_size"] == str(128 * MIB), what="the law has turned its knob")
        settle(seen, settling)
        assert size["write_buffer_size"] == OWNERS["write_buffer_size"]
        assert "paused" in seen.sentence
    found = settling.seen
    assert found.changed == {}, "the daemon restored it, not the bench"
    assert found.asked_s is not None
    assert found.restored_s is not None
    assert found.owners_s is not None
    assert found.quiet_s is not None
    assert found.asked_s < found.restored_s <= found.owners_s <= found.quiet_s


def test_a_scheme_of_other_options_at_the_open_is_brought_to_the_owners(tmp_path: Path, fixed: Served) -> None:
    options = {"write_buffer_size": str(512 * MIB), "disable_auto_compactions": "true"}
    database = FakeDatabase(tmp_path / "db", options=options, database_options={"max_background_jobs": "8"})
    with watched(database, fixed) as (seen, settling):
        settle(seen, settling)
        assert database.options.column_families["default"].items() >= {
            ("write_buffer_size", OWNERS["write_buffer_size"]),
            ("disable_auto_compactions", "false"),
        }
        assert database.options.database["max_background_jobs"] == "2"
    assert settling.seen.changed == OWNERS


def test_what_rocksdb_takes_back_silently_is_set_again(tmp_path: Path, fixed: Served) -> None:
    database = FakeDatabase(tmp_path / "db", options={"write_buffer_size": str(512 * MIB)})
    properties = database.measurements.column_families["default"]
    properties["rocksdb.compaction-pending"] = 1
    size = database.options.column_families["default"]
    with watched(database, fixed) as (seen, settling):

        def has(value: int) -> bool:
            seen.look()
            settling.look(seen)
            return settling.seen.owners_s is not None and size["write_buffer_size"] == str(value)

        database.revert_after_s["write_buffer_size"] = 0.2
        eventually(lambda: has(64 * MIB), what="the bench has set it")
        eventually(lambda: size["write_buffer_size"] == str(512 * MIB), what="RocksDB has taken it back")
        database.revert_after_s.clear()
        eventually(lambda: has(64 * MIB), what="the bench has set it again")
        properties["rocksdb.compaction-pending"] = 0
        settle(seen, settling)
        assert size["write_buffer_size"] == OWNERS["write_buffer_size"]


def test_it_waits_while_somebody_holds_the_lease(tmp_path: Path, fixed: Served) -> None:
    """The daemon takes it again after its restore, for what a compaction has taken back."""
    database = FakeDatabase(tmp_path / "db", options={"write_buffer_size": str(512 * MIB)})
    with watched(database, fixed) as (seen, settling):
        settling.look(seen)  # the restore revokes whatever lease there was
        database.keeper.hold("somebody", 60.0, None)

        def waits() -> bool:
            seen.look()
            settling.look(seen)
            return "which somebody holds the lease for" in settling.seen.waits_for

        eventually(waits, what="it waits for the lease")
        assert settling.seen.owners_s is None
        database.keeper.release(None, None, restore=False, force=True)
        settle(seen, settling)


def test_the_owners_options_come_back_although_one_cannot_be_what_it_was_at_the_open(tmp_path: Path) -> None:
    """A law's change of the database leaves bytes_per_sync at a number that no file reaches, where it was off."""
    database = FakeDatabase(
        tmp_path / "db",
        options={"write_buffer_size": str(512 * MIB)},
        database_options={"max_background_jobs": "2", "bytes_per_sync": "0"},
    )
    now = database.options
    with served(Policy("manual", {"background_jobs": 6})) as by, watched(database, by) as (seen, settling):
        eventually(lambda: now.database["max_background_jobs"] == "6", what="the law has turned its knob")
        settle(seen, settling)
        assert (now.database["max_background_jobs"], now.database["bytes_per_sync"]) == ("2", str(BYTES_PER_SYNC_OFF))
        assert now.column_families["default"]["write_buffer_size"] == OWNERS["write_buffer_size"]


def test_it_is_over_only_when_nothing_is_due_under_the_owners_options(tmp_path: Path, fixed: Served) -> None:
    database = FakeDatabase(tmp_path / "db")
    properties = database.measurements.column_families["default"]
    properties["rocksdb.compaction-pending"] = 1
    with watched(database, fixed) as (seen, settling):
        taken: set[float] = set()

        def has_looked_twice() -> bool:
            seen.look()
            settling.look(seen)
            taken.update([settling.seen.due.monotonic_s] if settling.seen.due else [])
            return len(taken) > 1

        eventually(has_looked_twice, what="it looks at what is due, and again")
        assert settling.seen.owners_s is not None
        assert (settling.seen.quiet_s, settling.is_over(seen)) == (None, False)
        assert "compaction_pending=1" in settling.seen.waits_for
        properties["rocksdb.compaction-pending"] = 0
        settle(seen, settling)


def test_a_program_that_closes_its_database_meanwhile_is_an_error(tmp_path: Path, fixed: Served) -> None:
    database = FakeDatabase(tmp_path / "db")
    with watched(database, fixed) as (seen, settling):
        settling.look(seen)
        database.close()
        with pytest.raises(RunFailed, match=r"db could not be settled .* waiting for the restore, which is none"):
            settling.look(seen)


@pytest.mark.parametrize(
    ("of_database", "of_family", "nothing"),
    [
        ({}, {}, True),
        ({}, {"rocksdb.estimate-pending-compaction-bytes": 1 << 30}, True),
        ({"rocksdb.num-running-flushes": 1}, {}, False),
        ({"rocksdb.num-running-compactions": 1}, {}, False),
        ({}, {"rocksdb.mem-table-flush-pending": 1}, False),
        ({}, {"rocksdb.compaction-pending": 1}, False),
        ({}, {"rocksdb.num-immutable-mem-table": 1}, False),
        ({}, {"rocksdb.cur-size-active-mem-table": 2048}, True),
        ({}, {"rocksdb.cur-size-active-mem-table": MIB}, False),
    ],
)
def test_what_is_due(of_database: dict[str, int], of_family: dict[str, int], *, nothing: bool) -> None:
    families = {"default": ColumnFamilySnapshot({}), "other": ColumnFamilySnapshot(of_family)}
    assert Due.of(snapshot(properties=of_database, column_families=families)).nothing == nothing


def test_an_option_that_the_agent_does_not_report_is_an_error() -> None:
    with pytest.raises(RunFailed, match="does not report no_such_option"):
        unlike(snapshot(), {"no_such_option": "1"})
