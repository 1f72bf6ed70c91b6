"""What a run's record has of samples, decisions, counts, processors and noise, against figures made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.evaluation import one, raw
from adocd_bench.evaluation.counted import Counted
from adocd_bench.evaluation.loads.program import LoadOutcome
from adocd_bench.host.cap import Cap
from adocd_bench.host.device import parse_profile
from adocd_bench.host.usage import Usage
from adocd_bench.run.observe import ObservedRun, Tick
from adocd_bench.run.settle import Due, Settlement

from adocd.model.decision_record import OptionChange
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import Counters, OptionValues
from adocd.model.values import of_database
from tests.bench.evaluation.builders import MACHINE, wanted_run
from tests.bench.samples import decision
from tests.controllers.laws import Plant

#: The measured phase is from 100 to 110 s of the monotonic clock.
BEGIN_S, MEASURED_S = 100.0, 10.0


def family(name: str, **members: Any) -> ColumnFamilySample:
    (made,) = Plant().sample().column_families
    off = members.pop("off", False)
    return replace(made, name=name, options=replace(made.options, disable_auto_compactions=off), **members)


def tick(at_s: float, *families: ColumnFamilySample, **counters: int) -> Tick:
    """Make a sample so many seconds into the phase."""
    made: Sample = replace(Plant().sample(), monotonic_s=BEGIN_S + at_s, counters=Counters(**counters))
    return Tick(replace(made, column_families=families) if families else made, "")


def observed(*ticks: Tick, **members: Any) -> ObservedRun:
    given: dict[str, Any] = {"decisions": (), "usage": {}, "log": ()} | members
    used = Usage(0.25, 7 << 20, 0)
    return ObservedRun(
        "", ticks, given["decisions"], OptionValues(), given["log"], given["usage"], used, unix_minus_monotonic_s=0.0
    )


def assembled(seen: ObservedRun, *, writes: int = 0, is_drained: bool = True, profile: str = "cap-50") -> raw.RawRun:
    ended_s = BEGIN_S + MEASURED_S
    operations = (raw.Operations("write", writes, None),) if writes else ()
    outcome = LoadOutcome(operations, (), BEGIN_S, MEASURED_S, ended_s, "7.8.3")
    quiet_s = ended_s if is_drained else None
    settlement = Settlement(ended_s, ended_s, ended_s, {}, quiet_s, Due(ended_s, 0, 0, 0, 0, 0, 0))
    return one.assembled(
        replace(wanted_run(), profile=profile), MACHINE, seen, outcome, raw.Noise(0.0), (0.0, 12.0), settlement
    )


def test_a_sample_has_the_worst_of_its_families_or_their_sum() -> None:
    families = (
        family("a", l0_files=3, immutable_memtables=1, memtables_bytes=10, pending_compaction_bytes=100),
        family("b", l0_files=7, immutable_memtables=0, memtables_bytes=20, pending_compaction_bytes=50, off=True),
    )
    (found,) = assembled(observed(tick(4.0, *families))).samples
    assert found.at_s == pytest.approx(4.0)
    assert (found.l0_files, found.immutable_memtables) == (7, 1)
    assert (found.memtables_bytes, found.pending_compaction_bytes) == (30, 150)
    assert not found.compaction_enabled, "it is off for one of them"
    (on,) = assembled(observed(tick(4.0, family("a"), family("b")))).samples
    assert on.compaction_enabled


def test_samples_are_those_since_the_phase_began() -> None:
    found = assembled(observed(tick(-1.0), tick(0.5), tick(11.0))).samples
    assert [each.at_s for each in found] == pytest.approx([0.5, 11.0])


def test_decisions_are_at_seconds_of_the_phase() -> None:
    sent = (OptionChange(of_database("max_background_jobs"), "2", "1"),)
    made = replace(decision(1, -395.0), changes=sent)
    (found,) = assembled(observed(tick(11.0), decisions=(made,))).decisions
    assert found.at_s == pytest.approx(5.0)
    assert (found.rule, found.outcome) == ("MMO", "applied")
    assert found.changes == {"max_background_jobs": ("2", "1")}


def test_the_processs_own_time_is_that_of_the_phase() -> None:
    usage = {
        BEGIN_S - 10: Usage(1.0, 5, 0),
        BEGIN_S + 2: Usage(7.0, 9, 0),  # half a second of it a second: 6 s when the phase began
        BEGIN_S + 8: Usage(13.0, 6, 0),
        BEGIN_S + 16: Usage(17.0, 6, 0),  # 14 s when it ended
    }
    found = assembled(observed(tick(11.0), usage=usage)).database
    assert found.measured_cpu_s == pytest.approx(8.0)
    assert (found.cpu_s, found.peak_rss_bytes) == (17.0, 9)
    short = assembled(observed(tick(11.0), usage={BEGIN_S + 1: Usage(3.0, 1, 0), BEGIN_S + 9: Usage(4.0, 1, 0)}))
    assert short.database.measured_cpu_s == 4.0, "none before it was first seen, and none after it was last seen"
    assert assembled(observed(tick(11.0))).database.measured_cpu_s is None


def test_the_daemons_use_is_its_own() -> None:
    assert assembled(observed(tick(11.0), usage={BEGIN_S: Usage(1.0, 1, 0)})).daemon == raw.Process(0.25, 7 << 20)


@pytest.mark.parametrize(
    ("ticked", "warned"), [(1000, False), (1020, False), (980, False), (1021, True), (979, True)], ids=str
)
def test_two_counts_that_are_apart_are_told(ticked: int, warned: bool) -> None:
    run = assembled(observed(tick(11.0, writes=ticked)), writes=1000)
    assert any("more than 2% apart" in warning for warning in run.warnings) == warned


def test_what_is_missing_at_the_end_is_told() -> None:
    assert assembled(observed(tick(11.0))).warnings == ()
    (early,) = assembled(observed(tick(9.0))).warnings
    assert "saw nothing after the measured phase" in early


def test_a_drain_that_was_not_reached_is_known_and_nothing_that_was_noticed() -> None:
    """As a warning it marked the run as disturbed, and took a law's worst repetitions out of its medians."""
    owing = assembled(observed(tick(11.0)), is_drained=False)
    assert (owing.drain_s, owing.cut_off, owing.warnings) == (None, True, ())
    assert not assembled(observed(tick(11.0))).cut_off


def test_what_is_read_after_the_phase_is_at_seconds_of_the_phase() -> None:
    seen = observed(tick(31.0))
    span_s = (BEGIN_S + MEASURED_S + 0.5, BEGIN_S + 30.0)
    outcome = LoadOutcome((), (), BEGIN_S, MEASURED_S, None, "7.8.3", after_span_monotonic_s=span_s)
    made = one.assembled(wanted_run(), MACHINE, seen, outcome, raw.Noise(0.0), (0.0, 32.0), Settlement())
    assert made.after_span_s == pytest.approx((10.5, 30.0))
    assert not made.cut_off, "nobody waited for a drain"
    assert assembled(seen).after_span_s is None


def test_the_wal_is_outside_the_cap_where_the_profile_says_so() -> None:
    outside = {
        profile: assembled(observed(tick(11.0)), profile=profile).wal_outside_cap
        for profile in ("cap-50", "cap-50-wal-outside", "uncapped")
    }
    assert outside == {"cap-50": False, "cap-50-wal-outside": True, "uncapped": False}


def test_clients_writes_count_to_the_sample_after_the_phase_and_background_writes_to_its_end() -> None:
    """The end of a phase is known to a tenth of a second; clients write nothing after it, flushes go on."""
    names = ("written_bytes", "wal_bytes", "flush_written_bytes", "compaction_written_bytes", "compaction_read_bytes")
    kinds = {name: factor for factor, name in enumerate(names, 1)} | {"stall_micros": 500_000}
    ticks = [tick(at_s, **{name: factor * at_s for name, factor in kinds.items()}) for at_s in (2, 9, 11, 12, 20)]
    found = assembled(observed(*ticks)).at_end
    assert (found.user_written_bytes, found.wal_bytes) == (12, 24), "of the sample after the first one past the end"
    assert (found.flush_written_bytes, found.compaction_written_bytes, found.compaction_read_bytes) == (30, 40, 50)
    assert found.stalled_s == pytest.approx(5.0)


def test_the_debt_is_that_of_the_last_sample_by_then_of_all_families() -> None:
    """The first one after it may be of the restore, under whose options more is due."""
    owing = [
        tick(at_s, family("a", pending_compaction_bytes=each), family("b", pending_compaction_bytes=1))
        for at_s, each in ((1.0, 10), (2.0, 20), (3.0, 30))
    ]
    counted = Counted(owing, BEGIN_S)
    assert [counted.moved(at_s).pending_compaction_bytes for at_s in (0.5, 2.0, 2.5, 9.0)] == [11, 21, 21, 31]
    restored = [tick(9.9, family("a")), tick(11.6, family("a", pending_compaction_bytes=1274 << 20))]
    assert assembled(observed(*restored)).at_end.pending_compaction_bytes == 0


SHARED = Cap(parse_profile("cap-50-wal-outside"), Path("/nowhere"))


def written(before: int | None, after: int | None, own: int, group: int) -> int | None:
    usage = {BEGIN_S: Usage(1.0, 1, own // 2), BEGIN_S + 1: Usage(1.0, 1, own)}
    return one._others_bytes(SHARED, observed(tick(1.0), usage=usage), group, before, after)


def test_what_others_wrote_is_the_devices_less_the_programs_own() -> None:
    assert written(100, 1100, own=600, group=0) == 400
    assert written(100, 1100, own=600, group=700) == 300, "what its group wrote is more"
    assert written(100, 1100, own=600, group=500) == 400
    assert written(100, 1100, own=2000, group=0) == 0, "what it dirtied had not all reached the device"
    assert written(None, 1100, own=600, group=0) is None
    assert one._others_bytes(SHARED, observed(tick(1.0)), 700, 100, 1100) is None
