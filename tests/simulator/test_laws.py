"""Every law on every workload: bounded, at rest on a steady load, and everything put back (`make laws` for an hour)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from adocd.controllers import registry
from adocd.simulator.device import MB
from adocd.simulator.workload import WORKLOADS

from .lived import LIMITED, Life, live, turns
from .scenes import GIB, MIB, setup

pytestmark = pytest.mark.long

FULL = os.environ.get("ADOCD_LAWS") == "full"
SECONDS = 3600.0 if FULL else 600.0
DEVICE = 210 * MB
#: What every database here can take for good, merges included; the workloads' own means are more than it can.
STEADY = 6.0 * MB


@dataclass(frozen=True, slots=True)
class Most:
    """What a law may let a database come to. Memtables fill once more while one that was larger is being flushed."""

    memtables_bytes: int = 2 * 64 * MIB
    #: RocksDB's stop trigger, and what memtables that are full by then add.
    l0_files: int = 36 + 2
    jobs: int = 2
    batch_bytes: int = 64 * MIB


MOST = {
    "fixed": Most(),
    "manual": Most(memtables_bytes=2 * 128 * MIB, jobs=4, batch_bytes=128 * MIB),
    # The bounds of its paper and of the authors' code.
    "adoc": Most(memtables_bytes=2 * 512 * MIB, jobs=20, batch_bytes=512 * MIB),
    "adoc-released": Most(memtables_bytes=2 * 512 * MIB, jobs=20, batch_bytes=512 * MIB),
    "mimd": Most(),
    # Its bound of 128 files is doubled until level 0, grown on for a window of 10 s, fits in half of it.
    "toggle": Most(memtables_bytes=6 * 64 * MIB, l0_files=512 + 6),
    "silk": Most(l0_files=128 + 2),
    "stability": Most(l0_files=12 + 2),
    "spring-and-gear": Most(),
    "speedb": Most(),
    "tikv": Most(),
    "cockroach": Most(l0_files=128 + 2),
    # Its budget of memory, and its bound of files.
    "tide": Most(memtables_bytes=512 * MIB, l0_files=200 + 4, jobs=12, batch_bytes=128 * MIB),
}
#: RocksDB stops writes there, and no law may let it grow for ever without.
PENDING_MOST = 256 * GIB
_lives: dict[tuple[str, str], Life] = {}


@pytest.fixture(scope="module", autouse=True)
def _figures() -> Iterator[None]:
    """Say what came of it, for who runs this with -s."""
    yield
    print(f"\n\n{SECONDS:.0f} s on cap-210\n")
    print("| law | workload | writes/s | writers waited | level-0 files, most | pending, most | turns of knobs |")
    print("|---|---|---|---|---|---|---|")
    for (law, load), life in sorted(_lives.items(), key=lambda each: (each[0][1], each[0][0])):
        last = life.seconds[-1]
        turned = {name: turns(values) for name, values in life.knobs(SECONDS / 3).items() if turns(values)}
        print(
            f"| `{law}` | {load} | {last.written_bytes / 1016 / last.at_s:,.0f} | {life.waited_s / last.at_s:.0%} "
            f"| {life.most(lambda each: each.l0_files):.0f} "
            f"| {life.most(lambda each: each.pending_bytes) / GIB:.0f} GiB "
            f"| {', '.join(f'{name} {count}' for name, count in turned.items()) or 'none'} |"
        )


def lived(law: str, load: str, rate: float | None = None) -> Life:
    """Live once through a law's time on a workload."""
    limiter = DEVICE if law in LIMITED else None
    name = load if rate is None else f"{load}, {rate / MB:g} MB/s"
    if (law, name) not in _lives:
        _lives[law, name] = live(law, setup("cap-210", load, rate=rate, limiter=limiter), SECONDS)
    return _lives[law, name]


def test_all_laws_are_here() -> None:
    assert set(MOST) == set(registry.LAWS)


@pytest.mark.parametrize("load", WORKLOADS)
@pytest.mark.parametrize("law", MOST)
def test_whatever_the_load_a_law_stays_within_bounds_and_everything_goes_back(law: str, load: str) -> None:
    life, most = lived(law, load), MOST[law]
    assert not life.fell_back
    assert bool(life.decisions) == (law != "fixed")
    assert not {record.outcome for record in life.decisions} & {"failed", "rejected", "changed-by-someone-else"}
    assert life.most(lambda each: each.l0_files) <= most.l0_files
    assert life.most(lambda each: each.pending_bytes) <= PENDING_MOST
    assert life.most(lambda each: each.memtables_bytes) <= most.memtables_bytes + MIB
    assert life.most(lambda each: each.database.max_background_jobs) <= most.jobs
    assert life.most(lambda each: each.family.write_buffer_size) <= most.batch_bytes
    opened = setup("cap-210", load)
    # A 0 cannot be set live (db_impl.cc, DBImpl::SetDBOptions): what stands for it stays.
    assert life.after is not None
    family, database, limiter = life.after
    assert family == opened.family
    assert replace(database, bytes_per_sync=0) == opened.database
    assert limiter == (DEVICE if law in LIMITED else None)


@pytest.mark.parametrize("law", sorted(set(MOST) - {"fixed"}))
def test_a_law_that_is_bounded_acts(law: str) -> None:
    """Else its bounds would say nothing."""
    assert [load for load in WORKLOADS if "applied" in {record.outcome for record in lived(law, load).decisions}]


@pytest.mark.parametrize("law", sorted(set(MOST) - {"mimd", "cockroach"}))
def test_on_a_steady_load_nothing_turns_round_and_nobody_waits(law: str) -> None:
    life = lived(law, "constant", STEADY)
    assert life.waited_s == 0
    # The first third is for coming to rest.
    assert {name: turns(values) for name, values in life.knobs(SECONDS / 3).items() if turns(values) > 1} == {}


def test_on_a_steady_load_cockroach_limits_now_and_then_and_nobody_waits() -> None:
    """Where level 0 has 5 files at the end of an interval there is a limit, else none; it is above the load."""
    life = lived("cockroach", "constant", STEADY)
    assert life.waited_s == 0
    turned = {name: turns(values) for name, values in life.knobs(SECONDS / 3).items() if turns(values) > 1}
    assert turned.keys() <= {"delayed_write_rate"}
    assert sum(turned.values()) < SECONDS / 60 / 4
    assert min(each.database.delayed_write_rate for each in life.seconds) > STEADY


def test_on_a_steady_load_the_limiters_own_law_hunts_as_its_source_does() -> None:
    """RocksDB's tuning holds between 50 and 90 % of drained periods, and one compaction drains nearly all or few.

    So the rate goes a step of 5 % up and back; and once nothing is drained for a whole window of 10 s, it falls to a
    twentieth and climbs again. It never does anything else, and hardly anybody waits.
    """
    life = lived("mimd", "constant", STEADY)
    rates = life.knobs(SECONDS / 2)["rate_limiter"]
    moves = [(before, after) for before, after in itertools.pairwise(rates) if after != before]
    assert any(after > before for before, after in moves)
    assert any(after < before for before, after in moves)
    assert all(0.94 < after / before < 1.06 or after == DEVICE // 20 for before, after in moves)
    assert min(rates) >= DEVICE // 20
    assert max(rates) <= DEVICE
    assert life.waited_s < 0.01 * SECONDS
