"""The figures of laws against each other in docs/results.md, and README's, are what the kept raw results come to."""

from __future__ import annotations

import functools
from itertools import pairwise

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.accounting import RunFigures, figures
from adocd_bench.evaluation.report.read import found_in

from tests.bench.kept import RESULTS, needs_results
from tests.conftest import REPOSITORY

pytestmark = needs_results
RAW = RESULTS / "evaluation"
PAGE = (REPOSITORY / "docs" / "results.md").read_text()
#: The page's words on one line, to look for a sentence in.
WORDS = " ".join(PAGE.split())
README = " ".join((REPOSITORY / "README.md").read_text().split())
#: Where a row's runs are kept, and as which scheme.
ROWS = {
    "| random writes as fast as they go, 60 s at 210 MB/s | `adoc`": ("fillrandom-cap-210", "adoc"),
    "| | `adoc` with `tune_threads=false`": ("fillrandom-cap-210", "adoc-batch"),
    "| | `adoc` with `tune_batch=false`": ("fillrandom-cap-210", "adoc-threads"),
    "| | RocksDB's own auto-tuned limiter": ("fillrandom-cap-210", "auto-tuned"),
    "| the same for 30 s | `adoc`": ("quick", "adoc"),
    "| | `silk`": ("quick", "silk"),
    "| 95 % of what RocksDB can do for a minute, 60 s at 100 MB/s | `stability`": ("two-phase-cap-100", "stability"),
    "| | `spring-and-gear`": ("two-phase-cap-100", "spring-and-gear"),
}


@functools.cache
def runs(directory: str, scheme: str) -> tuple[RawRun, ...]:
    """Read a scheme's runs, by repetition."""
    found = [run for run in found_in(RAW / directory).runs if run.scheme.name == scheme]
    assert [run.repetition for run in sorted(found, key=lambda run: run.repetition)] == [1, 2]
    return tuple(sorted(found, key=lambda run: run.repetition))


def all_figures(directory: str, scheme: str) -> list[RunFigures]:
    return [figures(run) for run in runs(directory, scheme)]


def pair(values: list[float], form: str = "{:.2f}") -> str:
    return " and ".join(form.format(value) for value in values)


def over_default(directory: str, scheme: str, member: str) -> str:
    """Write the two ratios to the default's run of the same repetition."""
    mine, default = all_figures(directory, scheme), all_figures(directory, "default")
    return pair([getattr(one, member) / getattr(other, member) for one, other in zip(mine, default, strict=True)])


def off_s(run: RawRun) -> float:
    """Say how long compaction was off in the measured phase, by the daemon's samples."""
    return sum(
        min(after.at_s, run.measured_s) - max(before.at_s, 0.0)
        for before, after in pairwise(run.samples)
        if not before.compaction_enabled and before.at_s < run.measured_s
    )


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_what_was_measured(row: str) -> None:
    directory, scheme = ROWS[row]
    paid, ran = (over_default(directory, scheme, member) for member in ("with_drain_per_s", "throughput_per_s"))
    assert f"{row} | {paid} | {ran} |\n" in PAGE


def test_no_row_is_of_anything_else() -> None:
    table = PAGE.partition("| load | law |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [row.rsplit(" | ", 2)[0] for row in table] == list(ROWS)


#: The pairs that were restored before they were drained, by profile.
PAID = {"cap-210": "| 210 MB/s |", "cap-210-wal-outside": "| 210 MB/s, the write-ahead log outside the cap |"}


def paid_pairs(directory: str, profile: str, scheme: str, member: str) -> str:
    """Write the ratios of a scheme to the default, pair by pair."""
    kept = [run for run in found_in(RAW / directory).runs if run.profile == profile]
    assert all(run.settled is not None for run in kept)
    of_scheme, default = (
        {run.repetition: getattr(figures(run), member) for run in kept if run.scheme.name == name}
        for name in (scheme, "default")
    )
    assert len(of_scheme) == len(default) >= 3
    told = [f"{of_scheme[repetition] / default[repetition]:.2f}" for repetition in sorted(default)]
    return f"{', '.join(told[:-1])} and {told[-1]}"


def adoc_pairs(member: str, profile: str = "cap-210") -> str:
    return paid_pairs("wal-cap-210", profile, "adoc", member)


@pytest.mark.parametrize("profile", PAID)
def test_what_adoc_is_worth_once_its_debt_is_paid(profile: str) -> None:
    ran, paid = (adoc_pairs(member, profile) for member in ("throughput_per_s", "with_drain_per_s"))
    assert f"{PAID[profile]} {ran} | {paid} |\n" in PAGE


def test_what_readme_says_of_adoc() -> None:
    assert f"`adoc` wrote {adoc_pairs('throughput_per_s')} times as much per second as RocksDB's" in README
    assert f"over run, restore and drain it was {adoc_pairs('with_drain_per_s')} times as much" in README
    memory = adoc_pairs("peak_memory_bytes")
    assert f"Only ADOC's memory rule acted: it grew the memtables, so that the database took {memory} times" in README
    for run in found_in(RAW / "wal-cap-210").runs:
        if run.scheme.name == "adoc":
            assert {each.rule for each in figures(run).acted.of("phase")} == {"adoc.memory", "actuator.repeat"}


def test_what_adoc_turned() -> None:
    for directory in ("quick", "fillrandom-cap-210"):
        for run in runs(directory, "adoc"):
            turned = {knob for decision in run.decisions for knob in decision.settings}
            assert turned == {"batch_size"}
    assert "`adoc` grew memtables only; its threads never moved" in WORDS


def test_what_adocs_memory_rule_cost() -> None:
    for run in runs("fillrandom-cap-210", "adoc"):
        assert {each.rule for each in figures(run).acted.of("phase")} == {"adoc.memory", "actuator.repeat"}
    memory = over_default("fillrandom-cap-210", "adoc", "peak_memory_bytes")
    assert f"only its memory rule acted, and at 60 s the database took {memory} times the default's memory" in WORDS


def test_latencies_at_95_percent() -> None:
    def p99_s(scheme: str) -> list[float]:
        found = [each.latency("write") for each in all_figures("two-phase-cap-100", scheme)]
        return [each.total.p99_us / 1e6 for each in found if each is not None and each.total is not None]

    assert [run.stalls for run in runs("two-phase-cap-100", "default")] == [(), ()]
    default_ms = pair([each * 1e3 for each in p99_s("default")], "{:.1f}")
    laws = [*p99_s("stability"), *p99_s("spring-and-gear")]
    assert f"is {default_ms} ms, and {min(laws):.0f} to {max(laws):.0f} s under the laws that stop or delay" in WORDS


def test_the_toggle_did_not_act_in_30_s() -> None:
    kept = runs("quick", "toggle")
    assert [off_s(run) for run in kept] == [0.0, 0.0]
    first = [min(each.at_s for each in run.decisions if each.settings.get("auto_compaction") == 0) for run in kept]
    after = [at_s - run.measured_s for at_s, run in zip(first, kept, strict=True)]
    assert f"went off {pair(sorted(after), '{:.1f}')} s after the phase" in WORDS
    ran, paid = (over_default("quick", "toggle", member) for member in ("throughput_per_s", "with_drain_per_s"))
    assert f"It wrote {ran} times as much because of its preparations" in WORDS
    assert f"with the debt paid it was {paid} times." in WORDS


def test_the_toggle_hardly_acted_in_the_sine() -> None:
    kept = runs("sine-cap-210", "toggle")
    assert f"compaction was off for {pair([off_s(run) for run in kept], '{:.0f}')} s" in WORDS
    for run in kept:
        (ended,) = [each for each in run.decisions if each.rule == "toggle.bound"]
        assert ended.settings["auto_compaction"] == 1
        assert ended.at_s < 350 / 2, "the wave's peak is in its middle"
    assert (
        len({round(run.measured_s) for run in kept} | {round(r.measured_s) for r in runs("sine-cap-210", "default")})
        > 1
    )
    toggle, raised = (over_default("sine-cap-210", scheme, "operations") for scheme in ("toggle", "limits-raised"))
    assert f"It wrote {toggle} times as much, but in phases of unequal length" in WORDS
    assert f"without any law gave {raised}." in WORDS


def test_silk_held_nothing_back_in_the_peaks() -> None:
    for run in runs("peaks-cap-100", "silk"):
        in_the_phase = [each for each in run.decisions if 0 <= each.at_s <= run.measured_s]
        assert in_the_phase
        assert {knob for each in in_the_phase for knob in each.settings} == {"rate_limit"}
        assert run.at_end.user_written_bytes is not None
        assert run.at_end.user_written_bytes / run.measured_s / 100e6 == pytest.approx(0.1, abs=0.01)
    for run in runs("peaks-cap-100", "silk-hold"):
        assert [each for each in run.decisions if 0 <= each.at_s <= run.measured_s] == []
    assert "clients wrote a tenth of the bandwidth, and `silk` never held a compaction back" in WORDS
    assert "decided nothing at all" in WORDS
