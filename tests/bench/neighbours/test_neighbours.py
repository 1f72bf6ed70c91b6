"""The bench of several databases on one device: a short run, and what its tables show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.evaluation.report.percentiles import Percentiles
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.neighbours.__main__ import tables
from adocd_bench.neighbours.measured import FILE, HOT, DatabaseRun, Decided, MeasuredNeighbours, NeighbourSeen, Run
from adocd_bench.neighbours.runs import ARMS, OPTIONS, Load, names, run
from adocd_bench.run.workspace import workspace

from adocd.model.allowance import Allowance
from adocd.probes.block_device import storage_of
from tests.bench.roots import capping

FAST = Percentiles(10.0, 20.0, 1000.0, 2000.0, 3000.0, 4000.0)


def database(name: str, operations: int, p99_us: float) -> DatabaseRun:
    return DatabaseRun(name, operations, 0, 10.0, replace(FAST, p99_us=p99_us), (), (), ())


def seen(shared: str) -> NeighbourSeen:
    return NeighbourSeen(1.0, "normal", 0.0, 0, 0, 0, 0, 0, 2, 4, 2, 1, None, 0.0, 0.0, None, shared, 0.2)


def of(arm: str, repetition: int, hot: int, p99_us: float) -> Run:
    databases = (database(HOT, hot, 100.0), database("modest-1", 1000, p99_us))
    return Run(arm, repetition, 1.0, 10.0, 10.0, (5_000_000_000, 1_000_000_000), 0.1, databases)


def test_tables_have_the_worst_database_and_the_total(tmp_path: Path) -> None:
    runs = (of("tide", 1, 9_000, 8_000.0), of("tide", 2, 19_000, 2_000.0), of("tide + arbiter", 1, 99_000, 3_000.0))
    found = MeasuredNeighbours(2, "cap-100", 10.0, 100.0, OPTIONS, runs)
    FILE.write(tmp_path / "kept.json", found)
    assert FILE.read(tmp_path / "kept.json") == found
    shown = tables(found)
    assert "| tide | 2 | 1,500 | 1,400 | 750 | 5 ms |" in shown
    assert "| tide + arbiter | 1 | 10,000 | 9,900 | 5,000 | 3 ms |" in shown
    assert "| tide + arbiter | 100 µs | 2 ms | 3 ms | 2 ms | 4 ms | 5.0 | 1.0 | 10 % |" in shown
    assert "default" not in shown
    assert "| tide + arbiter | 10.00 | 10.00 | 0.38 |" in shown, "times the same repetition of tide"


def test_tables_say_what_the_arbiter_did_and_who_was_not_drained() -> None:
    told = seen(Allowance(4, 0.2, 0.2, 1e6, 1, None, is_scarce=True, width=1, waiting=1).in_words())
    calm = seen(Allowance(4, 0.2, 0.2, 1e6, 1, None).in_words())
    decided = (Decided(1.0, "tide.yield", "applied", {}), Decided(2.0, "tide.flood", "applied", {}))
    acted = replace(database("modest-1", 1000, 1.0), seen=(told, calm), decided=decided)
    one = of("tide + arbiter", 1, 9_000, 1.0)
    owes = replace(one, repetition=2, drain_s=None)
    runs = (replace(one, databases=(one.databases[0], acted)), replace(owes, databases=(owes.databases[0], acted)))
    shown = tables(MeasuredNeighbours(2, "cap-100", 10.0, 100.0, OPTIONS, runs))
    assert "| tide + arbiter | 50 % of the time | 50 % of the time | 1 |" in shown
    assert "| 1 of 2 drained |" in shown


def test_the_same_memory_is_divided_among_the_databases_own_memtables() -> None:
    load = Load(60.0, 100.0, memory_mib=1000)
    assert load.own_memtables == {"write_buffer_size": 50 << 20, "max_write_buffer_number": 4}
    assert Load(60.0, 100.0).own_memtables == {}


@pytest.mark.long
def test_a_short_run_writes_into_all_databases_and_shares_their_disk_out(
    disk: Path, native_agent_library: Path
) -> None:
    assert native_agent_library.exists()
    arm = next(arm for arm in ARMS if arm.arbiter)
    # Under a cap, or the hot database takes all processors that there are.
    profile = parse_profile(capping(disk, "cap-50"))
    with workspace(disk) as place, capped(profile, place, 2_000_000_000) as cap:
        found = run(arm, 1, Load(6.0, 200.0), cap, drains=False)
        has_disks = bool(storage_of(cap.directory).disks)
    assert [each.name for each in found.databases] == list(names())
    hot, *modest = found.databases
    assert all(600 < each.operations <= 1600 for each in modest), "6 s of 200 operations/s, at random times"
    assert hot.operations > max(each.operations for each in modest)
    if has_disks:  # else the run has failed
        told = {seen.shared for each in found.databases for seen in each.seen}
        assert any("shares its disks with 4 other databases" in str(one) for one in told)
