"""The figures of laws against each other in docs/results.md, and README's, are what the kept raw results come to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.accounting import RunFigures, figures
from adocd_bench.evaluation.report.measures import MEASURES, latency
from adocd_bench.evaluation.report.read import found_in
from adocd_bench.evaluation.report.summary import Block, compared, summarise

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


@functools.lru_cache(maxsize=1)
def raw_runs(directory: str) -> tuple[RawRun, ...]:
    """Read a directory; only the last one stays, because each holds a sample a second."""
    return found_in(RAW / directory).runs


@functools.cache
def runs(directory: str, scheme: str) -> tuple[RawRun, ...]:
    """Read a scheme's runs, by repetition."""
    found = [run for run in raw_runs(directory) if run.scheme.name == scheme]
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


#: The rows of pairs that were restored before they were drained: directory, profile and scheme.
PAID = {
    "| `tide` |": ("tide-cap-210", "cap-210", "tide"),
    "| `adoc` |": ("tide-cap-210", "cap-210", "adoc"),
    "| no law, with the memtables of `tide` |": ("tide-cap-210", "cap-210", "default-with-tide-memory"),
    "| 210 MB/s |": ("wal-cap-210", "cap-210", "adoc"),
    "| 210 MB/s, the write-ahead log outside the cap |": ("wal-cap-210", "cap-210-wal-outside", "adoc"),
    "| `tide`, five minutes |": ("flood-cap-13", "cap-13", "tide"),
    "| `adoc`, five minutes |": ("flood-cap-13", "cap-13", "adoc"),
    "| no law, the memtables of `tide` |": ("flood-cap-13", "cap-13", "default-with-tide-memory"),
    "| no law, the memtables of `adoc` |": ("flood-cap-13", "cap-13", "default-with-adoc-memory"),
    "| no law, a grid's best threads |": ("flood-cap-13", "cap-13", "grid-best-within-memory"),
}
WAVE = {
    "| compaction disabled, six memtables, no limits |": "compaction-disabled",
    "| the thesis's toggle, without our bounds |": "toggle-without-bounds",
    "| `tide`, in the wave |": "tide",
    "| `toggle`, two memtables |": "toggle-two-memtables",
    "| no law, limits raised |": "limits-raised",
    "| no law, six memtables |": "default-with-toggle-memory",
}
PEAKS = {
    "| `tide`, in the peaks |": "tide",
    "| `silk-hold`: deeper compactions wait, no limiter |": "silk-hold",
    "| no law, the memtables of `tide`, in the peaks |": "default-with-tide-memory",
    "| RocksDB's own auto-tuned limiter, in the peaks |": "auto-tuned",
    "| `silk` |": "silk",
    "| `silk-bandwidth`: the limiter alone |": "silk-bandwidth",
}
#: Which of them README has, and how it names them.
IN_README = {
    "| `tide`, adocd's own law |": "| `tide` |",
    "| `adoc` |": "| `adoc` |",
    "| no law, with the memtables of `tide` |": "| no law, with the memtables of `tide` |",
}


def paid_pairs(directory: str, profile: str, scheme: str, member: str, *, missing: int = 0) -> str:
    """Write the ratios of a scheme to the default, pair by pair; `missing` of its runs failed."""
    kept = [run for run in raw_runs(directory) if run.profile == profile]
    assert all(run.settled is not None for run in kept)
    of_scheme, default = (
        {run.repetition: getattr(figures(run), member) for run in kept if run.scheme.name == name}
        for name in (scheme, "default")
    )
    assert len(of_scheme) + missing == len(default) >= 5
    return listed([of_scheme[repetition] / default[repetition] for repetition in sorted(of_scheme)], ".2f")


@pytest.mark.parametrize("row", PAID)
def test_what_a_law_is_worth_once_its_debt_is_paid(row: str) -> None:
    ran, paid = (paid_pairs(*PAID[row], member) for member in ("throughput_per_s", "with_drain_per_s"))
    assert f"{row} {ran} | {paid} |\n" in PAGE


@pytest.mark.parametrize("row", WAVE)
def test_what_a_law_is_worth_under_a_wave(row: str) -> None:
    kept = [run for run in raw_runs("wave-350-cap-13") if run.scheme.name == WAVE[row]]
    shares = [figures(run).completed_share for run in sorted(kept, key=lambda run: run.repetition)]
    assert len(shares) >= 5
    done = listed([100 * (share or 0.0) for share in shares], ".0f")
    paid = paid_pairs("wave-350-cap-13", "cap-13", WAVE[row], "with_drain_per_s")
    assert f"{row} {done} % | {paid} |\n" in PAGE


def test_what_the_thesis_toggle_does_in_the_wave() -> None:
    kept = raw_runs("wave-350-cap-13")
    (block,) = summarise(kept)
    found = {scheme.name: scheme for scheme in block.schemes}

    def times(other: str) -> str:
        compared_with = compared("operations", found["toggle-without-bounds"], found[other])
        assert compared_with.difference == "more"
        assert compared_with.ratio is not None
        return f"{compared_with.ratio.median:.2f}"

    def of(scheme: str, measure: str) -> float:
        return found[scheme].cells[measure].median

    assert f"toggle wrote all that arrived: {times('default')} times as much as the defaults in the same time" in WORDS
    assert f"{times('limits-raised')} times as much as raised limits alone" in WORDS
    late_s = [of(scheme, latency("write", "total", "p99_us")) / 1e6 for scheme in ("toggle-without-bounds", "tide")]
    assert f"arrival to its end was {late_s[0]:.0f} s; under `tide` it was {late_s[1]:.0f} s" in WORDS
    after = [of(scheme, "reads_after_per_s") for scheme in ("toggle-without-bounds", "tide", "default")]
    reads = sum(each.count for run in kept if run.scheme.name == "toggle-without-bounds" for each in run.after)
    assert f"went at {after[0]:.2f}/s ({reads} reads in all five runs), under `tide` at {after[1]:.2f}/s" in WORDS
    assert f"/s, under the defaults at {after[2]:.0f}/s" in WORDS
    files = {
        scheme: max(sample.l0_files for run in kept if run.scheme.name == scheme for sample in run.samples)
        for scheme in ("toggle-without-bounds", "compaction-disabled")
    }
    assert f"it left up to {files['toggle-without-bounds']} files in level 0" in WORDS
    assert f"leaves up to {files['compaction-disabled']} files in level 0" in WORDS


def test_what_the_toggle_does_in_the_wave() -> None:
    paid = paid_pairs("wave-350-cap-13", "cap-13", "toggle", "with_drain_per_s", missing=1)
    assert f"it has four runs only ({paid})" in WORDS
    off = {
        scheme: [
            round(100 * off_s(run) / run.measured_s) for run in raw_runs("wave-350-cap-13") if run.scheme.name == scheme
        ]
        for scheme in ("toggle", "toggle-two-memtables")
    }
    assert f"off for {min(off['toggle'])} to {max(off['toggle'])} % of the phase with six memtables" in WORDS
    assert f"for at most {max(off['toggle-two-memtables'])} % with two, in two of those five runs not at all" in WORDS
    assert off["toggle-two-memtables"].count(0) == 2
    by_knob = [
        figures(run).acted.away_share("auto_compaction")
        for run in raw_runs("wave-350-cap-13")
        if run.scheme.name in off
    ]
    assert max(by_knob) < 0.25, "the report must not count them as having acted"


@functools.cache
def in_the_peaks(scheme: str) -> tuple[str, list[float]]:
    """Write what was done of what arrived, in percent; and p99.9 of the time from the arrival on, in seconds."""
    kept = [run for run in raw_runs("peaks-100-cap-5") if run.scheme.name == scheme]
    found = [figures(run) for run in sorted(kept, key=lambda run: run.repetition)]
    assert len(found) >= 5
    late_s = [MEASURES[latency("all", "total", "p999_us")].of(each) for each in found]
    assert None not in late_s
    shares = [100 * (each.completed_share or 0.0) for each in found]
    return listed(shares, ".0f"), [(each or 0.0) / 1e6 for each in late_s]


def listed(values: list[float], form: str) -> str:
    told = [format(each, form) for each in values]
    return f"{', '.join(told[:-1])} and {told[-1]}"


@pytest.mark.parametrize("row", PEAKS)
def test_what_a_law_does_to_peaks(row: str) -> None:
    done, late_s = in_the_peaks(PEAKS[row])
    _, default_s = in_the_peaks("default")
    ratios = [one / other for one, other in zip(late_s, default_s, strict=True)]
    assert f"{row} {done} % | {listed(late_s, '.0f')} s | {listed(ratios, '.2f')} |\n" in PAGE


def test_what_the_defaults_do_in_the_peaks() -> None:
    done, late_s = in_the_peaks("default")
    assert f"The defaults did {done} % of what arrived, and p99.9 was {listed(late_s, '.0f')} s" in WORDS


READS = {
    "| `tide`, beside readers |": "tide",
    "| no law, the memtables of `tide`, beside readers |": "default-with-tide-memory",
}


def beside_readers(scheme: str, of: Callable[[RawRun], float]) -> str:
    """Write the ratios of a scheme to the default, pair by pair."""
    kept = raw_runs("reads-cap-210")
    mine, default = (
        {run.repetition: of(run) for run in kept if run.scheme.name == name} for name in (scheme, "default")
    )
    assert len(mine) == len(default) == 5
    return listed([mine[repetition] / default[repetition] for repetition in sorted(mine)], ".2f")


@pytest.mark.parametrize("row", READS)
def test_what_a_law_does_beside_readers(row: str) -> None:
    def done(kind: str, run: RawRun) -> float:
        return figures(run).operations_by_kind[kind] / run.measured_s

    def late(run: RawRun) -> float:
        return MEASURES[latency("read", "processing", "p99_us")].of(figures(run)) or 0.0

    cells = [
        beside_readers(READS[row], functools.partial(done, "write")),
        beside_readers(READS[row], lambda run: figures(run).with_drain_per_s or 0.0),
        beside_readers(READS[row], functools.partial(done, "read")),
        beside_readers(READS[row], late),
    ]
    assert f"{row} {' | '.join(cells)} |\n" in PAGE


def test_the_verdicts_beside_readers() -> None:
    (block,) = summarise(raw_runs("reads-cap-210"))
    assert not block.weak
    verdict = functools.partial(difference, block)
    for other in ("default", "default-with-tide-memory"):
        assert verdict("with_drain_per_s", "tide", other) == "more"
    p99 = latency("read", "processing", "p99_us")
    assert [verdict(p99, "tide", other) for other in ("default", "default-with-tide-memory")] == ["more", "not shown"]
    assert verdict(p99, "default-with-tide-memory", "default") == "more"
    for run in raw_runs("reads-cap-210"):
        if run.scheme.name == "tide":
            assert figures(run).acted.away_share("level0_compaction_trigger") > 0.5, "it acted"


def difference(block: Block, measure: str, one: str, other: str) -> str:
    """Name the report's verdict on two schemes of a block."""
    schemes = block.scheme(one), block.scheme(other)
    assert schemes[0] is not None
    assert schemes[1] is not None
    return compared(measure, schemes[0], schemes[1]).difference


def test_the_verdicts_on_the_peaks() -> None:
    (block,) = summarise(raw_runs("peaks-100-cap-5"))

    verdict = functools.partial(difference, block, "all_total_p999_us")
    others = {scheme.name for scheme in block.schemes} - {"tide"}
    assert len(others) == 6
    assert {verdict("tide", other) for other in others} == {"less"}
    assert "calls it better than everything else here, also than the same memtables without a law" in WORDS
    assert verdict("silk", "default") == "more"
    silk = block.scheme("silk")
    assert silk is not None
    assert f"writers waited {100 * silk.cells['waited_share'].median:.0f} % of the time, for memtables" in WORDS
    assert [verdict("silk-hold", "default"), verdict("silk-hold", "silk")] == ["less", "less"]
    assert "It is better than the defaults and than `silk`. Against the memory of `tide`" in WORDS
    assert verdict("silk-hold", "default-with-tide-memory") == "not shown"
    floors = [at_the_floor(run) for run in raw_runs("peaks-100-cap-5") if run.scheme.name == "silk"]
    assert f"For {min(floors):.0f} to {max(floors):.0f} % of the phase the limiter was at its floor" in WORDS
    p99 = latency("all", "total", "p99_us")
    assert difference(block, p99, "silk", "default") == "not shown"


def at_the_floor(run: RawRun) -> float:
    """Say in how many of the phase's samples the limiter was at a quarter of 5 MB/s, in percent."""
    limits = [each.rate_limit_bytes_per_s for each in run.samples if 0 <= each.at_s <= run.measured_s]
    return 100 * limits.count(1_250_000) / len(limits)


def test_the_pairs_that_were_made_again_after_the_review() -> None:
    """The row's pairs are new, what they are compared with is in the five pairs above."""
    member_of = {
        "| five minutes of random writes, while it ran |": ("flood-cap-13", "throughput_per_s", max),
        "| over run, restore and drain |": ("flood-cap-13", "with_drain_per_s", max),
        "| peaks of 100 s, p99.9 from the arrival on |": ("peaks-100-cap-5", "p99.9", min),
    }
    for row, (directory, member, better) in member_of.items():
        again = ratios_to_default(RESULTS / "again" / directory, member)
        before = ratios_to_default(RAW / directory, member)
        assert f"{row} {pair(again)} | {min(before):.2f} to {max(before):.2f} |\n" in PAGE
        assert better(again[0], 1.0) == again[0]
    for directory in ("flood-cap-13", "peaks-100-cap-5"):
        (*_, last) = [run for run in found_in(RESULTS / "again" / directory).runs if run.scheme.name == "tide"]
        assert "tide.flood" in {decision.rule for decision in last.decisions}, "it acted"


def ratios_to_default(directory: Path, member: str) -> list[float]:
    """Return what `tide` comes to, by the default's of the same repetition; `p99.9` counts from the arrival on."""

    def of(run: RawRun) -> float:
        found = figures(run)
        if member != "p99.9":
            return float(getattr(found, member))
        return MEASURES[latency("all", "total", "p999_us")].of(found) or 0.0

    kept = found_in(directory).runs
    tide, default = ({run.repetition: of(run) for run in kept if run.scheme.name == n} for n in ("tide", "default"))
    return [tide[repetition] / default[repetition] for repetition in sorted(tide)]


def test_the_order_in_the_wave() -> None:
    """By the time until all is merged, reads after the phase included."""
    (block,) = summarise(raw_runs("wave-350-cap-13"))
    verdict = functools.partial(difference, block, "with_drain_per_s")
    assert verdict("toggle-without-bounds", "tide") == "less"
    assert verdict("compaction-disabled", "toggle-without-bounds") == "more"


def test_no_paid_row_is_of_anything_else() -> None:
    section = PAGE.partition("## With the debt paid")[2].partition("\n## ")[0]
    rows = [
        line for line in section.splitlines() if line.startswith("|") and not line.startswith(("|---", "| |", "| dev"))
    ]
    assert [" | ".join(row.split(" | ")[:1]) + " |" for row in rows] == list(PAID)


@pytest.mark.parametrize("row", IN_README)
def test_what_readme_says_of_a_law(row: str) -> None:
    members = ("throughput_per_s", "with_drain_per_s", "peak_memory_bytes")
    told = (paid_pairs(*PAID[IN_README[row]], member) for member in members)
    assert f"{row} {' | '.join(told)} |" in README


def test_what_readme_says_of_the_earlier_pairs() -> None:
    assert f"could be shown ({paid_pairs('wal-cap-210', 'cap-210', 'adoc', 'with_drain_per_s')})" in README


@pytest.mark.parametrize(
    ("law", "directory", "rules"),
    [
        ("adoc", "wal-cap-210", {"adoc.memory", "actuator.repeat"}),
        ("adoc", "tide-cap-210", {"adoc.memory", "actuator.repeat"}),
        ("tide", "tide-cap-210", {"tide.flood", "actuator.repeat"}),
    ],
)
def test_the_laws_acted_in_the_phase(law: str, directory: str, rules: set[str]) -> None:
    found = [figures(run) for run in raw_runs(directory) if run.scheme.name == law]
    assert len(found) >= 5
    for each in found:
        assert {acted.rule for acted in each.acted.of("phase")} == rules


def test_the_verdicts_on_the_pairs_whose_debt_was_paid() -> None:
    (block,) = summarise(raw_runs("tide-cap-210"))

    verdict = functools.partial(difference, block, "with_drain_per_s")
    assert [verdict(law, "default") for law in ("tide", "adoc")] == ["more", "more"]
    assert "calls `tide` and `adoc` better than the defaults over run, restore and drain" in WORDS
    assert [verdict("tide", "adoc"), verdict("default-with-tide-memory", "default")] == ["not shown", "not shown"]
    assert "shows no difference between the two, and none for memory alone" in WORDS


def test_what_tide_merges_and_owes() -> None:
    kept = raw_runs("tide-cap-210")
    drains_s = sorted(run.drain_s or 0.0 for run in kept if run.scheme.name == "tide")
    assert drains_s[1] * 1.4 < drains_s[2], "merged once in two of five"
    assert "in two of the five, level 0 was merged once; in three, it was merged again in the drain" in WORDS

    def of(scheme: str, member: str) -> float:
        return float(median(getattr(figures(run), member) for run in kept if run.scheme.name == scheme))

    written = [of(scheme, "write_amplification_drained") for scheme in ("tide", "default")]
    assert (
        f"have written {written[0]:.2f} times what the user wrote, under the defaults {written[1]:.2f} times" in WORDS
    )
    debt = [of(scheme, "debt_bytes") / (1 << 30) for scheme in ("tide", "default")]
    assert f"minute {debt[0]:.1f} GiB of compactions are pending, under the defaults {debt[1]:.1f} GiB" in WORDS


def test_what_five_minutes_show() -> None:
    kept = raw_runs("flood-cap-13")
    (block,) = summarise(kept)
    tide = block.scheme("tide")
    assert tide is not None
    assert not block.weak
    ratios = []
    for other in block.schemes:
        if other.name != "tide":
            found = compared("with_drain_per_s", tide, other)
            assert found.difference == "more", other.name
            assert found.ratio is not None
            ratios.append((other.name, f"{found.ratio.median:.2f} times"))
    told = dict(ratios)
    adoc, memory = block.scheme("adoc"), block.scheme("default-with-adoc-memory")
    assert adoc is not None
    assert memory is not None
    assert compared("with_drain_per_s", adoc, memory).difference == "same"
    assert "`adoc` is the same as its memory without a law" in WORDS
    assert f"restore and drain: {told['adoc']} `adoc`, {told['grid-best-within-memory']} the best threads" in WORDS
    assert f"and {told['default-with-tide-memory']} the same memory without a law" in WORDS
    waited = {
        name: median(100 * (figures(run).waited_share or 0.0) for run in kept if run.scheme.name == name)
        for name in ("tide", "default")
    }
    assert f"waited {waited['tide']:.0f} % of the time under `tide`, and {waited['default']:.0f} % under" in WORDS
    paid = paid_pairs("flood-cap-13", "cap-13", "tide", "with_drain_per_s")
    assert f"`tide` had {paid} times the writes/s over run, restore and drain" in README
    for run in kept:
        if run.scheme.policy in ("adoc", "tide"):
            assert figures(run).acted.of("phase"), f"{run.scheme.name} did not act"


def test_what_adocs_drain_writes() -> None:
    kept = [figures(run) for run in raw_runs("wal-cap-210") if run.scheme.name == "adoc"]
    written = [each.write_amplification_drained for each in kept if each.write_amplification_drained is not None]
    assert len(written) == len(kept) == 10
    assert f"compactions had written {min(written):.1f} to {max(written):.1f} times what the user wrote" in WORDS


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
