"""What a law did, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from adocd_bench.evaluation.raw import RawDecision, RawRun, Sampled
from adocd_bench.evaluation.report.acting import Acted, Fired, acted

from tests.bench.evaluation.report.builders import MIB, decided, run, turned, used

OPEN = {"write_buffer_size": str(64 * MIB), "max_background_jobs": "2", "max_bytes_for_level_base": str(256 * MIB)}


def of(*decisions: RawDecision, **scheme: object) -> Acted:
    """Say what these decisions did in a run of 10 s."""
    used_as = used("adoc", **{"options": OPEN, **scheme})
    return acted(replace(run("adoc"), scheme=used_as, decisions=decisions))


def spans(found: Acted) -> dict[str, tuple[tuple[float, float], ...]]:
    return {each.knob: each.away_s for each in found.knobs}


def test_nothing_was_done() -> None:
    found = of()
    assert len(found.fired) == len(found.knobs) == 0
    assert found.controlled_share == 0


def test_a_knob_moves_and_returns() -> None:
    found = of(turned(2, batch_size=128 * MIB), turned(3, batch_size=192 * MIB), turned(7, batch_size=64 * MIB))
    (knob,) = found.knobs
    assert (knob.moves, knob.first_s, knob.last_s) == (3, 2, 7)
    assert (knob.at_open, knob.at_begin, knob.at_end) == (64 * MIB, 64 * MIB, 64 * MIB)
    assert (knob.low, knob.high) == (64 * MIB, 192 * MIB)
    assert list(knob.away_s) == [(2, 3), (3, 7)]
    assert found.controlled_share == pytest.approx(0.5)
    assert found.fired == (Fired("adoc.memory", "phase", 3, 2, 7),)


def test_what_comes_after_the_phase_is_told_apart_and_controls_nothing() -> None:
    found = of(turned(-3, "a", background_jobs=2), turned(11, "b", background_jobs=4))
    assert [(each.rule, each.when) for each in found.fired] == [("a", "before"), ("b", "after")]
    assert len(found.knobs) == 0
    assert found.controlled_share == 0


def test_the_open_values_that_come_back_after_the_phase_are_no_sign_of_what_was_in_it() -> None:
    assert of(turned(11, background_jobs=2)).controlled_share == 0
    assert of(turned(4, background_jobs=2)).away_share("background_jobs") == pytest.approx(0.4), "an older run"


def test_a_change_from_before_the_phase_lasts() -> None:
    found = of(turned(-3, background_jobs=8), turned(4, background_jobs=2))
    (knob,) = found.knobs
    assert (knob.at_begin, knob.at_end, knob.moves, knob.away_s) == (8, 2, 1, ((0, 4),))


def test_it_counts_from_when_it_was_applied() -> None:
    late = RawDecision(4.0, "toggle.off", "", {"auto_compaction": 0}, "applied", 3.0)
    assert spans(of(late)) == {"auto_compaction": ((7.0, 10.0),)}
    too_late = replace(late, elapsed_s=7.0)
    found = of(too_late)
    assert [each.when for each in found.fired] == ["after"]
    assert found.away_share("auto_compaction") == 0


@pytest.mark.parametrize("outcome", ["refused", "failed", "dry-run"])
def test_what_was_not_applied_is_nothing(outcome: str) -> None:
    found = of(replace(decided(1.0), outcome=outcome))
    assert len(found.fired) == 0
    assert found.controlled_share == 0


def test_several_knobs_control_the_time_that_they_cover_together() -> None:
    found = of(
        turned(1, background_jobs=4), turned(3, batch_size=MIB, background_jobs=2), turned(6, batch_size=64 * MIB)
    )
    assert spans(found) == {"background_jobs": ((1, 3),), "batch_size": ((3, 6),)}
    assert found.controlled_share == pytest.approx(0.5)
    assert found.away_share("batch_size") == pytest.approx(0.3)
    assert found.away_share("batch_size", "background_jobs") == pytest.approx(0.5)


def sent(
    at_s: float, rule: str, changes: dict[str, tuple[str, str]], outcome: str = "applied", **wanted: int
) -> RawDecision:
    """A decision with what was sent for it; the daemon's own and a guard's want no knob."""
    return replace(turned(at_s, rule, **wanted), outcome=outcome, changes=changes)


def test_what_a_guard_or_the_daemon_put_back_is_away_no_longer() -> None:
    switch = "disable_auto_compactions"
    off = sent(2, "toggle.off", {switch: ("false", "true")}, auto_compaction=0)
    assert spans(of(off, sent(4, "safety.compaction", {switch: ("true", "false")}))) == {"auto_compaction": ((2, 4),)}
    found = of(off, sent(4, "actuator.put_back", {switch: ("true", "false")}, "failed"))
    assert found.away_share("auto_compaction") == pytest.approx(0.8), "it failed"
    found = of(
        off,
        sent(4, "actuator.put_back", {switch: ("true", "false")}),
        sent(7, "toggle.again", {switch: ("false", "true")}),
    )
    assert found.away_share("auto_compaction") == pytest.approx(0.5)
    (knob,) = found.knobs
    assert (knob.moves, knob.low, knob.high) == (3, 0, 1)


def test_a_knob_is_what_was_sent_of_it_and_not_what_the_law_wants() -> None:
    jobs, size = ("max_background_jobs", "max_write_buffer_number")
    kept = sent(3, "adoc.l0", {jobs: ("2", "4")}, background_jobs=4, batch_size=MIB)
    assert spans(of(kept)) == {"background_jobs": ((3, 10),)}, "a guard left the batch as it was"
    waits = sent(1, "tide", {size: ("2", "6")}, memtable_number=6), sent(4, "tide", {}, memtable_number=2)
    later = sent(9, "tide.again", {size: ("6", "2")})
    assert spans(of(*waits, later)) == {"memtable_number": ((1, 9),)}, "before the first change it was the owner's"
    same = sent(5, "actuator.repeat", {jobs: ("4", "4")})
    assert of(kept, same).knobs == of(kept).knobs


def test_a_value_that_a_call_carries_is_no_knob_of_the_law() -> None:
    carried = sent(
        2, "adoc.l0", {"max_background_jobs": ("2", "4"), "delayed_write_rate": ("9", "5")}, background_jobs=4
    )
    assert spans(of(carried)) == {"background_jobs": ((2, 10),)}


def test_what_was_sent_is_named_as_the_option_of_its_family() -> None:
    knobs = {"metadata.level_multiplier": 800, "rate_limit": 5}
    changes = {
        "metadata.max_bytes_for_level_multiplier": ("10.000000", "8.000000"),
        "max_bytes_for_level_multiplier": ("10.000000", "9.000000"),
        "rate_limiter_bytes_per_s": ("10", "5"),
    }
    found = of(RawDecision(5, "a", "", knobs, "applied", None, changes), rate_limiter_bytes_per_s=10)
    assert [(each.knob, each.at_open, each.low) for each in found.knobs] == [
        ("metadata.level_multiplier", 1000, 800),
        ("rate_limit", 10, 5),
    ]


def test_a_column_family_counts_as_its_knob() -> None:
    knobs = {"metadata.batch_size": 128 * MIB}
    found = of(RawDecision(5, "adoc.memory", "", knobs, "applied"))
    assert spans(found) == {"metadata.batch_size": ((5, 10),)}
    assert found.away_share("batch_size") == pytest.approx(0.5)


def test_a_knob_that_is_first_put_back_was_away_before() -> None:
    found = of(turned(4, "silk.valley", level_base_size=256 * MIB))
    (knob,) = found.knobs
    assert knob.at_begin is None
    assert list(knob.away_s) == [(0, 4)]
    assert not of(turned(-4, "silk.valley", level_base_size=256 * MIB)).knobs


def test_where_nothing_is_recorded_of_the_open_every_value_is_another() -> None:
    assert spans(of(turned(4, flush_threads=4))) == {"flush_threads": ((4, 10),)}
    assert spans(of(turned(4, rate_limit=10), rate_limiter_bytes_per_s=20)) == {"rate_limit": ((4, 10),)}


def _sample(at_s: float, rate_limit: int) -> Sampled:
    return Sampled(at_s, "normal", 0.0, 1, 0, 0, 0, 2, 64 * MIB, True, rate_limit, None, None, None)


def test_the_auto_tuned_limiter_is_seen_in_the_samples() -> None:
    samples = (_sample(1, 100), _sample(2, 80), _sample(3, 80), _sample(8, 100))
    tuned = used("auto-tuned", rate_limiter_bytes_per_s=100, auto_tuned=True)
    whole: RawRun = replace(run("auto-tuned"), scheme=tuned, samples=samples)
    (knob,) = acted(whole).knobs
    assert (knob.knob, knob.moves, knob.away_s) == ("rate_limit", 2, ((2, 8),))
    assert not acted(replace(whole, scheme=replace(tuned, auto_tuned=False))).knobs


def test_what_an_open_loop_does_late_is_none_of_its_phase() -> None:
    """A law that was away for half of the load was so for a quarter of a phase that had become twice as long."""
    behind = replace(
        run("adoc", offered_per_s=1000),
        measured_s=20.0,
        scheme=used("adoc", options=OPEN),
        decisions=(
            turned(2, batch_size=128 * MIB),
            turned(7, batch_size=64 * MIB),
            turned(12, "late", batch_size=128 * MIB),
        ),
    )
    found = acted(behind)
    assert found.away_share("batch_size") == found.controlled_share == pytest.approx(0.5)
    assert [(each.rule, each.when) for each in found.fired] == [("adoc.memory", "phase"), ("late", "after")]


@pytest.mark.parametrize(("rate", "away"), [(8 * MIB + 1, False), (8 * MIB, False), (7 * MIB, True), (9 * MIB, True)])
def test_a_rate_that_is_sent_again_as_one_byte_more_is_not_away(rate: int, away: bool) -> None:
    options = {**OPEN, "delayed_write_rate": str(8 * MIB)}
    found = of(turned(1, delayed_write_rate=6 * MIB), turned(2, delayed_write_rate=rate), options=options)
    assert found.away_share("delayed_write_rate") == pytest.approx(0.9 if away else 0.1)


def test_one_thread_more_is_away_and_so_is_a_switch() -> None:
    assert of(turned(5, background_jobs=3)).controlled_share == pytest.approx(0.5)
    assert of(turned(5, auto_compaction=0)).controlled_share == pytest.approx(0.5)
