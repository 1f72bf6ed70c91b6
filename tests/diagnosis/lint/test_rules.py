"""Each rule fires on its case and on nothing else; on RocksDB's defaults only those do that are about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.diagnosis.lint.facts import Bounds, Facts, MemtableMemory
from adocd.diagnosis.lint.finding import Severity
from adocd.diagnosis.lint.rules import RULES, findings
from adocd.model.capabilities import Capabilities
from adocd.model.database import AgentKind
from adocd.model.knob import MIB
from adocd.model.snapshot import ColumnFamilySnapshot, Event, Lease, Restore
from adocd.probes.options_file import Unreadable
from tests.builders import GIB, POOLS_ONLY
from tests.diagnosis.lint.databases import (
    FILES,
    ON_DEFAULTS,
    defaults,
    with_capabilities,
    with_file,
    with_options,
    with_snapshot,
    with_version,
)

TWO = ("default", "meta")
BULK_LOAD = str(1 << 30)
MANAGER, FULL = "Write Buffer Manager", "Write Buffer Full"
UNIVERSAL = "kCompactionStyleUniversal"


def live(database: dict[str, str] | None = None, **family: str) -> Facts:
    return with_options(defaults(), database, **family)


def file(database: dict[str, str] | None = None, **family: str) -> Facts:
    return with_file(defaults(), database, **family)


def remember(**bytes_: int) -> Facts:
    return replace(defaults(), memory=MemtableMemory(**bytes_))


def pools(jobs: int, **old: str) -> Facts:
    facts = with_capabilities(defaults(), database_options=(), rate_limiter=False)
    return with_options(facts, {"max_background_jobs": str(jobs), **old})


def limiter(added: dict[str, str], at_open: int = 10 * MIB, **members: Any) -> Facts:
    facts = with_snapshot(
        defaults(), options=replace(defaults().snapshot.options, rate_limiter_bytes_per_s=10 * MIB), **members
    )
    originals = replace(facts.detail.originals, rate_limiter_bytes_per_s=at_open)
    return replace(facts, detail=replace(facts.detail, added_options=added, originals=originals))


def limited(version: str, agent: str, protocol: str = "1.7") -> Facts:
    facts = with_version(limiter({}), version)
    return replace(facts, info=replace(facts.info, agent=AgentKind(agent, "0.1.0"), protocol=protocol))


def waiting(facts: Facts) -> Facts:
    condition = "rocksdb.num-files-at-level0 of default below 36 (it is 240)"
    return with_snapshot(facts, restore=Restore("waiting", 1, condition))


def flushed(*reasons: str) -> Facts:
    begun = [Event(0, 0.0, "flush_begin", reason="Write Buffer Manager")] * 9
    ended = [Event(0, 0.0, "flush_end", reason=reason) for reason in reasons]
    return with_snapshot(defaults(), events=(*begun, *ended))


def many(count: int) -> Facts:
    """Column families of which only the first is written, so that memory is not the matter."""
    names = tuple(f"cf{n}" for n in range(count))
    idle = dict.fromkeys(names, ColumnFamilySnapshot({}, {}))
    written = {"cf0": ColumnFamilySnapshot({"rocksdb.cur-size-all-mem-tables": MIB}, {})}
    return with_snapshot(defaults(families=names), column_families=idle | written)


CASES: dict[str, list[Facts]] = {
    "compaction-is-off": [live(disable_auto_compactions="true")],
    "restore-waits-without-compaction": [waiting(live(disable_auto_compactions="true"))],
    "level0-is-never-compacted": [
        live(level0_file_num_compaction_trigger="-1"),
        live(level0_file_num_compaction_trigger=BULK_LOAD),
    ],
    "stop-before-compaction": [
        live(level0_stop_writes_trigger="3"),
        live(level0_stop_writes_trigger="0"),
        live(level0_stop_writes_trigger="-1"),
    ],
    "stop-below-slowdown": [live(level0_stop_writes_trigger="19")],
    "slowdown-below-trigger": [live(level0_slowdown_writes_trigger="3"), live(level0_slowdown_writes_trigger="0")],
    "level0-never-slows": [
        live(level0_slowdown_writes_trigger="-1"),
        live(level0_slowdown_writes_trigger=BULK_LOAD, level0_stop_writes_trigger=BULK_LOAD),
    ],
    "soft-above-hard": [live(hard_pending_compaction_bytes_limit=str(GIB))],
    "soft-limit-is-off": [live(soft_pending_compaction_bytes_limit="0")],
    "hard-limit-is-off": [live(hard_pending_compaction_bytes_limit="0")],
    "too-few-memtables": [live(max_write_buffer_number="1"), live(max_write_buffer_number="0")],
    "memtables-delay": [live(max_write_buffer_number="4")],
    "delayed-writes-stand-still": [live({"delayed_write_rate": "0"}), live({"delayed_write_rate": str(MIB - 1)})],
    "delayed-writes-are-slow": [live({"delayed_write_rate": str(MIB)}), live({"delayed_write_rate": str(8 * MIB)})],
    "old-thread-options": [live({"max_background_flushes": "1"}), live({"max_background_compactions": "4"})],
    "threads-out-of-reach": [pools(2), with_capabilities(pools(8), thread_pools=("low",))],
    "threads-at-their-bound": [live({"max_background_jobs": "20"})],
    "batch-out-of-reach": [with_capabilities(defaults(), column_family_options=("write_buffer_size",))],
    "batch-at-its-bound": [live(write_buffer_size=str(512 * MIB))],
    "first-step-shrinks-the-base-level": [
        live(max_bytes_for_level_base=str(512 * MIB + 1)),
        live(max_bytes_for_level_base=str(4 * GIB), write_buffer_size=str(480 * MIB)),
    ],
    "memtables-are-capped": [file({"db_write_buffer_size": str(512 * MIB)})],
    "wal-caps-memtables": [with_options(defaults(families=TWO), {"max_total_wal_size": str(511 * MIB)})],
    "flushes-come-early": [
        flushed(FULL, FULL, FULL, MANAGER, MANAGER, MANAGER),
        flushed("WAL Full", "WAL Full", "WAL Full"),
    ],
    "families-flush-together": [with_file(defaults(families=TWO), {"atomic_flush": "true"})],
    "not-level-compaction": [
        file(compaction_style=UNIVERSAL),
        file(compaction_style="kCompactionStyleNone"),
        with_options(
            file(compaction_style="kCompactionStyleFIFO"),
            level0_slowdown_writes_trigger=str(2**31 - 1),
            level0_stop_writes_trigger=str(2**31 - 1),
            level0_file_num_compaction_trigger=str(2**31 - 1),
        ),
    ],
    "levels-are-dynamic": [file(level_compaction_dynamic_level_bytes="true")],
    "memory-over-limit": [
        remember(budget_bytes=8 * GIB, limit_bytes=2 * GIB - 1),
        remember(budget_bytes=8 * GIB, limit_bytes=256 * MIB - 1, group_bytes=256 * MIB - 1),
    ],
    "memory-over-budget": [
        remember(budget_bytes=128 * MIB - 1),
        remember(budget_bytes=GIB, beside_bytes=897 * MIB),
    ],
    "budget-before-bound": [remember(budget_bytes=GIB - 1), remember(budget_bytes=2 * GIB, beside_bytes=GIB + 1)],
    "rocksdb-is-too-old": [with_version(defaults(), "6.29.5")],
    "changes-may-revert": [with_version(defaults(), "9.10.0")],
    "agent-is-silent-during-stalls": [with_capabilities(defaults(), responds_during_stall=False)],
    "not-all-is-measured": [
        with_snapshot(defaults(), counters=replace(defaults().snapshot.counters, stall_micros=None)),
        with_snapshot(defaults(), column_families={"default": ColumnFamilySnapshot({}, None)}),
    ],
    "statistics-take-time": [with_capabilities(defaults(), statistics="all")],
    "limiter-may-stop-granting": [limited("8.5.2", "java"), limited("7.9", "java"), limited("7.8.3", "native", "1.6")],
    "limiter-tunes-itself": [limiter({}, 5 * MIB), limiter({"listeners": "adocd"}, 5 * MIB)],
    "limiter-may-tune-itself": [limiter({}), limiter({}, 5 * MIB, restore=Restore("done"))],
    "limiter-was-added": [limiter({"rate_limiter": "10485760"})],
    "sync-comes-with-changes": [live({"bytes_per_sync": "0"})],
    "families-are-many": [many(30)],
    "families-are-not-seen": [
        with_snapshot(with_file(defaults(families=TWO)), options=defaults().snapshot.options),
    ],
    "options-file-is-not-read": [replace(defaults(), options_file=Unreadable("/db", "Permission denied"))],
}
#: What fires beside a rule in each of its cases.
BESIDE = {"limiter-may-stop-granting": {"limiter-may-tune-itself"}}
SILENT = {
    "full memtables": flushed(*[FULL] * 9),
    "a few early ones": flushed(*[FULL] * 4, *[MANAGER] * 3),
    "too few flushes to say": flushed(MANAGER, MANAGER),
    "soft = hard": live(soft_pending_compaction_bytes_limit=str(256 * GIB)),
    # At the open RocksDB makes it 1 (column_family.cc, SanitizeOptions); set later, each L0 file is due at once.
    "every L0 file starts a compaction": live(level0_file_num_compaction_trigger="0"),
    "slowdown = trigger": live(level0_slowdown_writes_trigger="4"),
    "stop = slowdown": live(level0_stop_writes_trigger="20"),
    "three memtables": live(max_write_buffer_number="3"),
    "19 jobs": live({"max_background_jobs": "19"}),
    "a restore that waits": waiting(live()),
    "a law that holds compaction off": with_snapshot(
        live(disable_auto_compactions="true"), lease=Lease("adocd", 1, 10.0, 5.0), restore=Restore("armed", 3)
    ),
    "room in the pools": pools(3),
    "old options are the pools' room": pools(2, max_background_compactions="3"),
    "the log caps nothing with one column family": live({"max_total_wal_size": "1"}),
    "the log is large enough": with_options(defaults(families=TWO), {"max_total_wal_size": str(512 * MIB)}),
    "atomic flush of one": file({"atomic_flush": "true"}),
    "the cap is large enough": file({"db_write_buffer_size": str(586 * MIB)}),
    "just within the limit": remember(budget_bytes=8 * GIB, limit_bytes=2 * GIB),
    "a cgroup, of which adocd grants a quarter": remember(budget_bytes=8 * GIB, limit_bytes=GIB, group_bytes=GIB),
    "just within the budget": remember(budget_bytes=GIB),
    "an unknown limit": remember(budget_bytes=8 * GIB),
    "29 column families": many(29),
    "a version that is none": with_version(defaults(), "unknown"),
}


def fired(facts: Facts) -> set[str]:
    return {finding.rule for finding in findings(facts)}


def test_all_rules_have_a_case() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert set(names) == CASES.keys()


@pytest.mark.parametrize(("rule", "facts"), [(rule, facts) for rule, cases in CASES.items() for facts in cases])
def test_a_rule_fires_on_its_case_alone(rule: str, facts: Facts) -> None:
    assert fired(facts) - ON_DEFAULTS["7.8.3"] - {rule} == BESIDE.get(rule, set())
    (finding, *_) = [finding for finding in findings(facts) if finding.rule == rule]
    assert finding.reason
    assert finding.fix
    assert finding.source


@pytest.mark.parametrize("facts", SILENT.values(), ids=SILENT)
def test_at_the_edge_nothing_fires(facts: Facts) -> None:
    assert fired(facts) <= ON_DEFAULTS["7.8.3"]


@pytest.mark.parametrize("version", FILES)
def test_on_defaults_only_what_is_about_them(version: str) -> None:
    assert fired(defaults(version)) == ON_DEFAULTS[version]
    assert Severity.DANGER not in {finding.severity for finding in findings(defaults(version))}


@pytest.mark.parametrize(
    ("facts", "fires"),
    [
        (limited("7.0.0", "java"), True),
        (limited("8.5.3", "java"), False),
        (limited("6.29.5", "java"), False),
        (limited("8.5.2", "native"), False),
        (limited("8.5.2", "native", "unknown"), True),
    ],
)
def test_a_limiter_stops_granting_where_nobody_wakes_it(facts: Facts, *, fires: bool) -> None:
    assert ("limiter-may-stop-granting" in fired(facts)) is fires


def test_rules_about_defaults_are_silent_on_better_ones() -> None:
    facts = with_options(with_version(defaults(), "9.11.0"), {"bytes_per_sync": str(MIB)})
    assert findings(facts) == ()
    assert findings(with_version(facts, "10.2.1")) == ()


def test_where_nothing_can_be_changed_nobody_speaks_of_turning() -> None:
    facts = replace(defaults(), detail=replace(defaults().detail, capabilities=Capabilities()))
    assert {"threads-out-of-reach", "changes-may-revert"} <= {r.name for r in RULES if list(r.findings(facts))}
    assert fired(facts) == set()
    assert fired(with_version(facts, "6.29.5")) == set(), "MyRocks, of which only the directory can be observed"
    assert fired(with_options(facts, disable_auto_compactions="true")) == {"compaction-is-off"}


def test_the_worst_comes_first() -> None:
    facts = live({"max_background_flushes": "1"}, disable_auto_compactions="true")
    severities = [finding.severity for finding in findings(facts)]
    assert severities == sorted(severities, key=tuple(Severity).index)
    assert severities[:2] == [Severity.DANGER, Severity.USELESS]


def test_column_families_alike_make_one_finding() -> None:
    facts = with_options(defaults(families=("a", "b", "c")), level0_stop_writes_trigger="3")
    options = facts.snapshot.options
    families = {**options.column_families, "b": {**options.column_families["b"], "level0_stop_writes_trigger": "2"}}
    facts = with_snapshot(facts, options=replace(options, column_families=families))
    found = [finding for finding in findings(facts) if finding.rule == "stop-before-compaction"]
    assert [finding.column_families for finding in found] == [("a", "c"), ("b",)]


@pytest.mark.parametrize("held", [True, False])
def test_what_a_lease_has_changed_is_not_held_against_the_database(held: bool) -> None:
    facts = live(level0_stop_writes_trigger="3")
    lease = Lease("adocd", 1, 10.0, 5.0) if held else None
    leased = with_snapshot(facts, lease=lease, restore=Restore("none" if held else "waiting"))
    assert "stop-before-compaction" in fired(facts)
    assert "stop-before-compaction" not in fired(leased)


def test_reasons_name_the_option_and_its_value() -> None:
    (finding,) = [f for f in findings(live(level0_stop_writes_trigger="19")) if f.rule == "stop-below-slowdown"]
    assert finding.subject == "level0_stop_writes_trigger"
    assert finding.reason == (
        "level0_stop_writes_trigger = 19 is below level0_slowdown_writes_trigger = 20: writes stop without being "
        "slowed first, and before the law sees level-0 overflow"
    )
    (finding,) = [f for f in findings(remember(budget_bytes=100 * MIB)) if f.rule == "memory-over-budget"]
    assert "may take 128 MiB, and the budget is 100 MiB" in finding.reason


def test_the_law_s_own_bounds_count() -> None:
    facts = replace(live(), bounds=Bounds(batch_max_bytes=64 * MIB, threads_max=2))
    assert {"batch-at-its-bound", "threads-at-their-bound"} <= fired(facts)
    assert "budget-before-bound" not in fired(replace(facts, memory=MemtableMemory(128 * MIB)))


@pytest.mark.parametrize(
    ("base_mib", "batch_mib", "step_mib", "shrinks"),
    [(512, 64, 64, False), (513, 64, 64, True), (513, 64, None, False), (1024, 96, 0, True), (768, 96, 0, False)],
)
def test_what_the_law_s_first_step_makes_of_the_base_level(
    base_mib: int, batch_mib: int, step_mib: int | None, shrinks: bool
) -> None:
    facts = live(max_bytes_for_level_base=str(base_mib * MIB), write_buffer_size=str(batch_mib * MIB))
    facts = replace(facts, bounds=Bounds(batch_step_bytes=step_mib and step_mib * MIB))
    assert ("first-step-shrinks-the-base-level" in fired(facts)) is shrinks


def test_a_base_level_that_is_not_there_does_not_shrink() -> None:
    large = live(max_bytes_for_level_base=str(4 * GIB))
    assert "first-step-shrinks-the-base-level" in fired(large)
    assert "first-step-shrinks-the-base-level" not in fired(with_options(large, compaction_style=UNIVERSAL))


def test_pools_that_have_no_room_say_how_much_to_open_with() -> None:
    (finding,) = [f for f in findings(defaults("9.8.4")) if f.rule == "threads-out-of-reach"]
    assert POOLS_ONLY.thread_pools
    assert finding.fix.startswith("open the database with max_background_jobs = 20")


@pytest.mark.parametrize("style", [UNIVERSAL, "kCompactionStyleFIFO", "kCompactionStyleNone"])
@pytest.mark.parametrize(
    ("soft", "hard", "rule"),
    [(2 * GIB, GIB, "soft-above-hard"), (0, GIB, "soft-limit-is-off"), (GIB, 0, "hard-limit-is-off")],
)
def test_limits_for_pending_bytes_are_judged_under_level_compaction_alone(
    style: str, soft: int, hard: int, rule: str
) -> None:
    """RocksDB estimates these bytes for no other style, so there the limits hold no writes."""
    facts = live(soft_pending_compaction_bytes_limit=str(soft), hard_pending_compaction_bytes_limit=str(hard))
    assert rule in fired(facts)
    assert rule not in fired(with_options(facts, compaction_style=style))
