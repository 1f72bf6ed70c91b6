"""How long, how deep and how large compaction may stay off, whatever anybody wants."""

import pytest

from adocd.daemon.change.guards.compaction import CompactionGuard, CompactionLimits
from adocd.daemon.change.guards.guard import ALONE, GuardVerdict, check
from adocd.model.knob import MIB
from adocd.model.values import Values
from tests.daemon.change.rocksdb_model import HARD, SLOWDOWN, SOFT, SWITCH, RocksDB, family, opened, universal

LIMITS = CompactionLimits(off_s=10.0, l0_files=100, pending_bytes=1024 * MIB)
OFF, ON = family({SWITCH: "true"}), family({SWITCH: "false"})


def is_off() -> RocksDB:
    return opened({SWITCH: "true"})


def said(guard: CompactionGuard, database: RocksDB, now_s: float, originals: Values | None = None) -> str | None:
    """Say why it must go on now; None when it may be off."""
    sample = database.sample(now_s)
    guard.observe(sample, originals or {})
    refusals = guard(OFF, sample, ALONE)
    return refusals[0].reason if refusals else None


def test_how_long() -> None:
    guard = CompactionGuard(LIMITS)
    assert [said(guard, is_off(), now_s) for now_s in (100.0, 105.0, 109.9)] == [None, None, None]
    assert said(guard, is_off(), 110.0) == "compaction of default must go on: it was off for 10 s, the limit is 10 s"


def test_the_time_begins_anew_when_it_was_on_in_between() -> None:
    guard = CompactionGuard(LIMITS)
    said(guard, is_off(), 100.0)
    said(guard, opened(), 105.0)
    assert said(guard, is_off(), 106.0) is None
    assert said(guard, is_off(), 112.0) is None
    assert said(guard, is_off(), 116.0) is not None


@pytest.mark.parametrize("switch", ["true", "false"])
@pytest.mark.parametrize(
    ("piled", "reason"),
    [
        ({"l0": 100}, "compaction of default must go on: level 0 has 100 files, the limit is 100"),
        (
            {"pending": 1024 * MIB},
            "compaction of default must go on: 1024 MiB are waiting for it, the limit is 1024 MiB",
        ),
    ],
)
def test_how_deep_and_how_large_also_before_it_is_switched_off(switch: str, piled: dict[str, int], reason: str) -> None:
    database = opened({SWITCH: switch})
    assert said(CompactionGuard(LIMITS), database, 100.0) is None
    database.l0["default"] = piled.get("l0", 0)
    database.pending["default"] = piled.get("pending", 0)
    assert said(CompactionGuard(LIMITS), database, 100.0) == reason


def test_where_it_is_off_it_goes_on_and_where_it_is_on_nothing_is_sent() -> None:
    guard = CompactionGuard(LIMITS)
    (refusal,) = guard(OFF, opened({SWITCH: "true"}, l0=100).sample(), ALONE)
    assert refusal.instead == ON
    assert str(refusal.note).startswith("compaction: compaction of default must go on")
    (refusal,) = guard(OFF, opened(l0=100).sample(), ALONE)
    assert refusal.instead == {}


def test_what_had_to_go_on_must_drain_before_it_is_off_again() -> None:
    """Or a law that still wants it off would have it off again with the first file below the limit."""
    guard = CompactionGuard(LIMITS)
    deep = "compaction of default must go on: level 0 has 100 files, the limit is 100"
    assert said(guard, opened({SWITCH: "true"}, l0=100), 100.0) == deep
    assert said(guard, opened(l0=99), 101.0) == deep
    assert said(guard, opened(l0=20), 102.0) == deep, "writes are still slowed down"
    assert said(guard, opened(l0=19, pending=64 << 30), 103.0) == deep, "and by the pending bytes, too"
    assert said(guard, opened(l0=19), 104.0) is None


def test_it_must_drain_below_the_owners_limits_where_those_in_force_are_out_of_the_way() -> None:
    """Or a bulk load with its triggers lifted would have it off again after a second."""
    guard, owners = CompactionGuard(LIMITS), family({SLOWDOWN: "20", SOFT: str(64 << 30)})
    lifted = {SLOWDOWN: str(1 << 30), SOFT: "0"}
    deep = "compaction of default must go on: level 0 has 100 files, the limit is 100"
    assert said(guard, opened({SWITCH: "true", **lifted}, l0=100), 100.0, owners) == deep
    assert said(guard, opened(lifted, l0=20), 101.0, owners) == deep
    assert said(guard, opened(lifted, l0=19, pending=64 << 30), 102.0, owners) == deep, "and by the pending bytes, too"
    assert said(guard, opened(lifted, l0=19), 103.0, owners) is None


def test_under_universal_compaction_the_sorted_runs_must_drain() -> None:
    guard = CompactionGuard(LIMITS)
    deep = "compaction of default must go on: level 0 has 100 files, the limit is 100"
    assert said(guard, universal(l0=100, disable_auto_compactions="true"), 100.0) == deep
    assert said(guard, universal(l0=15), 101.0) == deep, "with five levels these are 20 runs, which slow writes down"
    assert said(guard, universal(l0=14), 102.0) is None


def test_a_soft_limit_of_0_slows_nothing_down() -> None:
    guard = CompactionGuard(LIMITS)
    said(guard, opened({SWITCH: "true"}, l0=100), 100.0)
    assert said(guard, opened({SOFT: 0, HARD: 0}, pending=1 << 40, l0=1), 101.0) == (
        "compaction of default must go on: 1048576 MiB are waiting for it, the limit is 1024 MiB"
    )
    assert said(guard, opened({SOFT: 0, HARD: 0}, pending=512 * MIB, l0=1), 102.0) is None


def test_the_hosts_own_off_is_left_alone() -> None:
    """Its owner may be loading in bulk, and no guard stands in the way of an original."""
    guard = CompactionGuard(LIMITS)
    loading = opened({SWITCH: "true"}, l0=5000)
    sample = loading.sample(100.0)
    guard.observe(sample, loading.values)
    for wanted in ({}, OFF):
        assert check([guard], wanted, sample, exempt=loading.values) == GuardVerdict(wanted, ())
    assert guard(ON, sample, ALONE) == ()


def test_ours_goes_on_also_when_nobody_says_so() -> None:
    """A pin that another guard has refused, say: the option would stay as it is."""
    sample = opened({SWITCH: "true"}, l0=100).sample(100.0)
    verdict = check([CompactionGuard(LIMITS)], {}, sample, exempt=opened().values)
    assert verdict.values == ON


def test_each_family_has_its_own_time_and_files() -> None:
    guard = CompactionGuard(LIMITS)
    database = opened({SWITCH: "true"}, families=("default", "index"))
    database.l0["index"] = 100
    both = OFF | family({SWITCH: "true"}, of="index")
    refusals = guard(both, database.sample(), ALONE)
    assert [option.name for refusal in refusals for option in refusal.options] == ["index"]
