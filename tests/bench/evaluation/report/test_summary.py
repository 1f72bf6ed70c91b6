"""Blocks, their baseline, who is left out, and the ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.raw import DeviceBytes, Noise, Operations, RawRun
from adocd_bench.evaluation.report.comparison import Cell
from adocd_bench.evaluation.report.document import Paragraph
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.sections import document
from adocd_bench.evaluation.report.sections_block import DRAINED_BEFORE, block_parts, command
from adocd_bench.evaluation.report.sections_notes import notes
from adocd_bench.evaluation.report.summary import NO_PLACE, Block, SchemeSummary, compared, summarise

from tests.bench.evaluation.report.builders import at, block, repeated, run, settled, stalling

NOISY = Noise(0.3)
DEFAULT, ADOC, BAD = (1000, 990, 1010, 1000, 1005), (1500, 1510, 1490, 1500, 1505), (50, 60, 55, 50, 55)


def only(runs: list[RawRun]) -> Block:
    (found,) = summarise(runs)
    return found


def named(found: Block, name: str) -> SchemeSummary:
    scheme = found.scheme(name)
    assert scheme is not None
    return scheme


def places(found: Block) -> dict[str, str]:
    return {scheme.name: str(scheme.standing) for scheme in found.schemes}


def test_a_law_that_only_puts_work_off_has_another_place_with_the_drain_in_it() -> None:
    found = only(block({"toggle": (1500,) * 5, "default": (1000,) * 5}))
    runs = [replace(judged.run, drain_s=90.0) for judged in named(found, "toggle").runs]
    found = only([*runs, *(replace(judged.run, drain_s=0.0) for judged in named(found, "default").runs)])
    assert places(found) == {"toggle": "2", "default": "1"}
    in_phase = {scheme.name: str(scheme.phase_standing) for scheme in found.schemes}
    assert in_phase == {"default": "2", "toggle": "1"}


def test_runs_that_were_drained_under_the_laws_options_are_never_compared_with_others() -> None:
    before = block({"default": (1000,) * 3, "adoc": (1500,) * 3}, settled=None)
    after = block({"default": (1000,) * 3, "toggle": (1500,) * 3})
    found = summarise([*before, *after])
    assert {one.name: [scheme.name for scheme in one.schemes] for one in found} == {
        "cap-210-fillrandom, 10 s, scale 1/1, not restored": ["adoc", "default"],
        "cap-210-fillrandom, 10 s, scale 1/1, restored": ["toggle", "default"],
    }
    assert all(len(scheme.runs) == 3 for one in found for scheme in one.schemes)
    for one in found:
        said = [part.text for part in block_parts(one) if isinstance(part, Paragraph)]
        assert [DRAINED_BEFORE in text for text in said[:1]] == [not one.restored]


def test_medians_spreads_and_paired_ratios() -> None:
    found = only(block({"default": (1000, 2000, 4000), "adoc": (1500, 2200, 8000)}))
    adoc = named(found, "adoc")
    assert adoc.cells["throughput_per_s"] == Cell(2200, 1500, 8000, 3)
    against = adoc.against["throughput_per_s"]
    assert against.ratio == Cell(1.5, 1.1, 2.0, 3)
    assert against.difference == "not shown"
    assert named(found, "default").against == {}


def test_the_bad_one_is_ranked_last() -> None:
    runs = block({"bad": BAD, "default": DEFAULT, "adoc": ADOC})
    found = only(runs)
    assert places(found) == {"adoc": "1", "default": "2", "bad": "3"}
    assert named(found, "bad").against["throughput_per_s"].difference == "less"


def test_what_was_shown_to_be_the_same_shares_a_place() -> None:
    runs = block({"adoc": ADOC, "silk": (1480, 1505, 1470, 1500, 1500), "mimd": DEFAULT, "bad": BAD})
    assert places(only(runs)) == {"adoc": "1=", "silk": "1=", "mimd": "3", "bad": "4"}


def test_where_neither_was_shown_a_place_is_a_range() -> None:
    wide = (1000, 2000, 1300, 1900, 1500)
    assert places(only(block({"adoc": ADOC, "silk": wide, "bad": BAD}))) == {
        "adoc": "1 to 2",
        "silk": "1 to 2",
        "bad": "3",
    }
    # Both are the same as the one between them, and not as each other.
    near = {"adoc": (1060,) * 5, "silk": (1030,) * 5, "mimd": (1000,) * 5}
    assert places(only(block(near))) == {"adoc": "1=", "silk": "1=", "mimd": "2="}


@pytest.mark.parametrize("repetitions", [1, 2, 3, 4])
def test_too_little_data_gives_no_place(repetitions: int) -> None:
    found = only(block({"default": DEFAULT[:repetitions], "mimd": DEFAULT[:repetitions], "bad": BAD[:repetitions]}))
    assert set(places(found).values()) == {NO_PLACE}
    assert found.weak == ("bad", "default", "mimd")


@pytest.mark.parametrize("repetitions", [3, 6])
def test_one_undisturbed_pair_gives_no_place(repetitions: int) -> None:
    """Blocks of three with one undisturbed pair were "1=" where p99 was 0.3, 2.8 and 9 s."""
    runs = [
        run(name, repetition, offered_per_s=1000, total=at(late, 10_000), processing=at(1, 10_000))
        for name, late in (("default", 300_000), ("stability", 2_800_000), ("spring-and-gear", 9_000_000))
        for repetition in range(1, repetitions + 1)
    ]
    runs = [each if each.repetition == 1 else replace(each, noise=NOISY) for each in runs]
    found = only(runs)
    assert set(places(found).values()) == {NO_PLACE}
    pairs = [scheme.against["all_total_p99_us"] for scheme in found.schemes if scheme.name != "default"]
    assert [(each.pairs, each.difference) for each in pairs] == [(1, "too few")] * 2
    # Nor do five, where two of a scheme were disturbed.
    runs = block({"default": DEFAULT, "bad": BAD})
    runs[:2] = [replace(each, noise=NOISY) for each in runs[:2]]
    found = only(runs)
    assert set(places(found).values()) == {NO_PLACE}
    assert found.weak == ("default",)


def test_where_a_baseline_was_hardly_held_held_time_shows_nothing() -> None:
    def against(default_s: float, adoc_s: float) -> str:
        runs = stalling("default", DEFAULT, [default_s] * 5) + stalling("adoc", DEFAULT, [adoc_s] * 5)
        found = named(only(runs), "adoc").against
        assert found["throughput_per_s"].difference == "same"
        assert found["held_share"].difference == found["stopped_share"].difference
        return found["held_share"].difference

    assert against(0.0, 0.0) == against(0.04, 0.0) == "nothing to improve"
    assert against(0.0, 3.0) == "more"
    assert against(3.0, 0.0) == "less"
    assert against(3.0, 3.0) == "same"


def test_what_neither_was_held_for_shows_no_tie() -> None:
    """The limit was never reached: that says nothing of who would have been held longer at it."""
    runs = stalling("default", DEFAULT, [3.0] * 5) + stalling("adoc", DEFAULT, [3.0] * 5)
    found = named(only(runs), "adoc").against
    assert found["memtable_l0_held_s"].difference == found["stopped_share"].difference == "same"
    assert found["pending_held_s"].difference == found["delayed_share"].difference == "nothing to improve"
    few = [each for each in runs if each.repetition < 3]
    assert named(only(few), "adoc").against["pending_held_s"].difference == "too few"


def test_an_open_loop_is_ranked_by_latency_from_the_intended_start() -> None:
    runs = [
        run(name, repetition, offered_per_s=1000, total=at(late + repetition, 10_000), processing=at(1, 10_000))
        for name, late in (("default", 9000), ("silk", 100), ("bad", 900_000))
        for repetition in (1, 2, 3, 4, 5)
    ]
    found = only(runs)
    assert found.open_loop
    assert places(found) == {"silk": "1", "default": "2", "bad": "3"}


def test_without_what_it_is_ranked_by_a_scheme_has_no_place() -> None:
    runs = [run("default", n, offered_per_s=1000, total=at(9, 10_000)) for n in (1, 2)]
    runs += [run("adoc", n, offered_per_s=1000) for n in (1, 2)]
    assert places(only(runs)) == {"default": "1", "adoc": "None"}


def test_disturbed_runs_are_left_out_where_enough_are_left() -> None:
    quiet = repeated("default", (1000, 1100))
    found = named(only([*quiet, run("default", 3, per_s=5000, noise=NOISY)]), "default")
    assert found.cells["throughput_per_s"] == Cell(1050, 1000, 1100, 2)
    assert len(found.runs) == 3
    assert not found.marked
    assert found.undisturbed == 2
    assert found.weak


def test_else_they_are_kept_and_marked() -> None:
    found = only([run("default", 1, per_s=1000), run("default", 2, per_s=3000, noise=NOISY)])
    scheme = named(found, "default")
    assert scheme.cells["throughput_per_s"] == Cell(2000, 1000, 3000, 2)
    assert scheme.marked
    assert found.weak == ("default",)


def test_a_pair_needs_both_runs_to_count() -> None:
    runs = block({"default": (1000, 1000, 1000), "adoc": (2000, 2000, 2000)})
    runs[1] = replace(runs[1], noise=NOISY)
    found = only(runs)
    assert compared("throughput_per_s", named(found, "adoc"), named(found, "default")).pairs == 2


def cut_off(each: RawRun, *repetitions: int) -> RawRun:
    """Cut off the drain of these repetitions."""
    if each.repetition not in repetitions:
        return each
    return replace(each, drain_s=None, drained=None, settled=settled(10.0, quiet_s=None))


def test_a_scheme_whose_drain_was_cut_off_has_no_verdict_over_run_and_drain_and_all_in_the_phase() -> None:
    """Marked as disturbed, a law's worst repetitions would drop out, and the others would look like all of them."""
    runs = [
        cut_off(each, 4, 5) if each.scheme.name == "toggle" else each
        for each in block({"toggle": (1500, 1510, 1490, 1500, 1505, 1500, 1510), "default": (1000,) * 7})
    ]
    found = only(runs)
    toggle = named(found, "toggle")
    assert (toggle.cut_off, toggle.undisturbed, len(toggle.used), toggle.marked) == (2, 7, 7, False)
    assert toggle.cells["throughput_per_s"].count == 7
    assert toggle.against["throughput_per_s"].difference == "more"
    over_the_drain = {"with_drain_per_s", "drain_s", "write_amplification_drained", "cpu_s", "decisions"}
    assert not over_the_drain & {*toggle.cells, *toggle.against}
    assert {name for name, measure in MEASURES.items() if measure.drained} == over_the_drain
    assert compared("with_drain_per_s", toggle, named(found, "default")).pairs == 0
    assert (str(toggle.phase_standing), toggle.standing, str(named(found, "default").standing)) == ("1", None, "1")
    said = str(block_parts(found))
    assert "The drain of 2 runs of toggle was cut off, so the scheme has no figure and no verdict over run" in said
    assert "'drain cut off'" in said
    (overview,) = [part for part in document([found], (), {}, ()).parts if getattr(part, "title", "") == "All blocks"]
    assert "default (1); no place, for a drain was cut off: toggle" in str(overview)


def test_a_program_that_is_not_drained_was_not_cut_off() -> None:
    """Nor is its drain measured."""
    runs = [
        replace(each, drain_s=None, drained=None, settled=None) for each in block({"default": DEFAULT, "adoc": ADOC})
    ]
    found = only(runs)
    assert named(found, "adoc").cut_off == 0
    assert named(found, "adoc").against["throughput_per_s"].difference == "more"
    assert not {"with_drain_per_s", "drain_s"} & named(found, "adoc").cells.keys()
    assert "cut off" not in str(block_parts(found))


def test_other_offered_rates_are_other_blocks() -> None:
    """Runs at 95 % of one maximum and of another were one block, and pairs."""

    def at_rate(per_s: float, name: str) -> list[RawRun]:
        return repeated(name, (900,) * 5, workload="two-phase", offered_per_s=per_s)

    low, high = summarise([*at_rate(950.0, "default"), *at_rate(1900.5, "tide"), *at_rate(1900.500001, "default")])
    assert (low.offered_per_s, high.offered_per_s) == (950, 1900.5)
    assert ([each.name for each in low.schemes], len(high.schemes)) == (["default"], 2)
    assert low.name == "cap-210-two-phase, 10 s, scale 1/1, restored, 950 offered/s"
    assert high.name == "cap-210-two-phase, 10 s, scale 1/1, restored, 1900.5 offered/s"


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"options": {"write_buffer_size": "1"}}, "options"),
        ({"parameters": {"memory_max_bytes": 1}}, "parameters"),
        ({"policy": "toggle"}, "policy"),
        ({"tick_s": 0.2, "rate_limiter_bytes_per_s": 1}, "rate_limiter_bytes_per_s, tick_s"),
    ],
)
def test_a_scheme_that_is_not_the_same_in_all_repetitions_is_refused(changed: dict[str, Any], what: str) -> None:
    """The name is; the report showed the options of the first repetition, as if they were those of all."""
    runs = block({"default": (1000, 1000, 1000), "adoc": (1500, 1500, 1500)})
    other = [
        replace(each, scheme=replace(each.scheme, **changed))
        if (each.scheme.name, each.repetition) == ("adoc", 3)
        else each
        for each in runs
    ]
    sentence = rf"adoc is not the same scheme in repetitions 1 and 3 of cap-210-fillrandom \({what} differ\)"
    with pytest.raises(BadArgument, match=sentence):
        summarise(other)
    assert summarise([replace(each, scheme=replace(each.scheme, title=str(each.repetition))) for each in runs])


def test_on_another_machine_a_schemes_parameters_may_differ_and_that_is_told() -> None:
    """Some are measured of the device."""
    runs = [
        replace(
            each,
            machine=replace(each.machine, kernel="6.2.0"),
            scheme=replace(each.scheme, parameters={"flush_rate": each.repetition // 3}),
        )
        if each.repetition > 2
        else replace(each, scheme=replace(each.scheme, parameters={"flush_rate": 0}))
        for each in repeated("toggle", (1000, 1000, 1000, 1000))
    ]
    assert list(notes(only(runs))) == ["toggle had other parameters on another machine, in repetition 3, 4."]


def test_what_some_runs_did_not_measure_is_not_measured() -> None:
    whole = run("default", 1, after=(Operations("read", 10, at(100, 10)),))
    assert "reads_after_per_s" in named(only([whole, replace(whole, repetition=2)]), "default").cells
    assert "reads_after_per_s" not in named(only([whole, run("default", 2)]), "default").cells


def test_what_was_not_run_together_is_not_compared() -> None:
    runs = [run("default"), run("adoc", profile="cap-490"), replace(run("adoc"), scale=4)]
    assert [found.name for found in summarise(runs)] == [
        "cap-210-fillrandom, 10 s, scale 1/1",
        "cap-210-fillrandom, 10 s, scale 1/4",
        "cap-490-fillrandom",
    ]
    assert all(scheme.against == {} for found in summarise(runs) for scheme in found.schemes)


def test_the_order_of_the_files_does_not_matter() -> None:
    runs = block({"default": (1000, 2000, 3000), "adoc": (1500, 2500, 3500)})
    assert summarise(runs) == summarise(runs[::-1])


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(BadArgument, match="cap-210-fillrandom, adoc, repetition 2"):
        summarise([run("adoc", 2), run("adoc", 2)])


def test_runs_on_a_device_of_the_size_that_was_asked_for_are_a_block_of_their_own() -> None:
    """A law may take a share of the free space."""

    def on(size_bytes: int) -> list[RawRun]:
        device = DeviceBytes("loop0", dedicated=True, written_bytes=1, read_bytes=0, most_written_bytes_per_s=None)
        sized = replace(device, size_bytes=size_bytes)
        return [replace(each, device=sized) for each in repeated("default", (1000, 1100))]

    follows, asked = summarise([*on(60_000_000_000 - 511), *on(25_120_000_123)])
    assert (follows.device_gb, asked.device_gb) == (None, 60)
    assert asked.name == f"{follows.name}, 60 GB"


def _first_paragraph(block: Block) -> str:
    return next(part.text for part in block_parts(block) if isinstance(part, Paragraph))


def test_runs_that_went_on_at_once_are_a_block_of_their_own() -> None:
    alone = repeated("default", (1000, 1100))
    first, second = summarise([*alone, *(replace(each, at_once=7) for each in alone)])
    assert (first.at_once, second.at_once) == (1, 7)
    assert second.name == f"{first.name}, 7 at once"
    assert (command(first).count("--at-once"), command(second).count("--at-once 7")) == (0, 1)
    assert "at the same time" not in _first_paragraph(first)
    assert "Up to 7 of its runs went on at the same time, each on a device of its own." in _first_paragraph(second)


def test_how_much_the_runs_beside_had_is_said_from_the_least_to_the_most() -> None:
    """The last run of a plan may have been alone."""

    def beside(*shares: float) -> str:
        runs = repeated("default", (1000,) * len(shares), at_once=7)
        noise = [Noise(0.0, bench_cpu_fraction=share) for share in shares]
        return _first_paragraph(only([replace(each, noise=had) for each, had in zip(runs, noise, strict=True)]))

    assert "own: the bench and the others had 2 % to 30 % of all processors beside a run." in beside(0.3, 0.02, 0.1)
    assert "own: the bench and the others had 30 % of all processors beside a run." in beside(0.3, 0.3)


def test_blocks_of_the_same_name_are_told_apart() -> None:
    short = repeated("default", (1000, 1100))
    long = [replace(each, workload=replace(each.workload, seconds=3600.0)) for each in short]
    alone, (first, second) = only(short), summarise([*short, *long])
    assert first.name == f"{alone.name}, {alone.seconds:g} s, scale 1/{alone.scale}"
    assert second.name == f"{alone.name}, 3600 s, scale 1/{alone.scale}"
    assert first.slug != second.slug
