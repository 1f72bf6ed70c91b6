"""Measured figures in README and docs: what raw results come to, or a sentence that says that none were kept."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from adocd_bench.attach import late
from adocd_bench.attach.measured import FILE as ATTACH
from adocd_bench.attach.measured import of_all
from adocd_bench.attach.measured import tables as attach_tables
from adocd_bench.cost.measured import FILE as COST
from adocd_bench.cost.waking import IN_FLIGHT, NOTHING_TO_CHANGE
from adocd_bench.demo.demo import DEFAULT_SECONDS
from adocd_bench.demo.figures import FILE as DEMO
from adocd_bench.detection.__main__ import page
from adocd_bench.detection.measured import FILE as DETECTION
from adocd_bench.host.device import DEFAULT_PROFILE, UNCAPPED, parse_profile
from adocd_bench.jvm import measured as jvm_tables
from adocd_bench.jvm.measured import FILE as JVM
from adocd_bench.latency.__main__ import tables
from adocd_bench.latency.measured import FILE as LATENCY
from adocd_bench.neighbours.measured import FILE as NEIGHBOURS
from adocd_bench.neighbours.measured import Run
from adocd_bench.programs.embedded_program import MEMTABLE_BYTES
from adocd_bench.results import results_in
from adocd_bench.run.workspace import needed_bytes

from adocd.cli.exits import Exit
from adocd.controllers.adoc import AdocParameters
from adocd.controllers.tide.parameters import TideParameters
from adocd.daemon.fleet.config import DaemonConfig
from adocd.model.in_words import time as latency
from tests.bench.kept import RESULTS, needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import listed

NOT_KEPT = "raw data not kept"
#: The arms of five databases on one device, and what the page calls them.
ARMS = {
    "default": "RocksDB's defaults",
    "default, same memory": "the same, with memtables as large as `tide` may make them",
    "tide": "all under `tide`, each for itself",
    "tide + arbiter": "all under `tide`, with the arbiter",
}


def text(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def words(name: str) -> str:
    """Read a page as one line, to look for a sentence in."""
    return " ".join(text(name).split())


def rows(of: str) -> list[str]:
    """Give all rows of all tables."""
    return [line for line in of.splitlines() if line.startswith("|")]


@needs_results
def test_detection() -> None:
    found = DETECTION.read(RESULTS / "detection" / "busy.json")
    assert rows(text("docs/detection.md")) == rows(page(found))
    said = words("docs/detection.md")
    native = [each for each in found.settings if each.agent == "native"]
    confirmed, true = sum(each.confirmed for each in native), sum(each.true for each in native)
    assert f"they confirm {confirmed} of {true} stalls of db_bench" in said
    assert f"of which other programs used {found.others_cpu_fraction:.0%} (".replace("%", " %") in said
    assert (len(native), len(found.settings) - len(native)) == (9, 2)
    assert (
        f"in nine settings, and a Python program (rocksdict, RocksDB 9.8.4) under the Python agent in two, {20} s"
        in said
    )
    assert found.seconds == 20
    false = {
        (of.name, each.detector, each.period_s): each.false
        for of in found.settings
        for each in of.outcomes
        if each.false
    }
    told = partial(lambda name: (name, "agent and LOG", 0.1))
    assert false == {told("everything at once"): 2, told("level-0 slowdowns"): 1, told("pending-bytes stops"): 1}
    assert (
        "`agent and LOG`, looked at ten times a second, told four false stalls: two in "
        '"everything at once", and one each in "level-0 slowdowns" and "pending-bytes stops".' in said
    )
    log_late_s = [
        late_s
        for of in found.settings
        for each in of.outcomes
        if (each.detector, each.period_s) == ("LOG", 0.1)
        for tally in each.tallies
        for late_s in tally.late_s
    ]
    assert f"Here that was within {max(log_late_s):.2f} s," in said


@needs_results
def test_the_time_of_writes() -> None:
    found = LATENCY.read(RESULTS / "latency" / "ten-pairs.json")
    shown = rows(text("docs/latency.md"))
    assert shown[-len(rows(tables(found))) :] == rows(tables(found))
    said = words("docs/latency.md")
    assert {len(pairs) for pairs in found.pairs.values()} == {10}
    assert f"ten interleaved pairs of {found.writes:,} writes each," in said
    ratios = [pair.ratio for pairs in found.pairs.values() for pair in pairs]
    assert f"The ratios of the pairs lie between {min(ratios):.3f} and {max(ratios):.3f}, on both sides of 1" in said
    one_thread = statistics.median(pair.off_us_per_write for pair in found.pairs[1])
    assert "takes **12.5 ns of CPU for each write**" in said
    assert f"That is {12.5e-3 / one_thread:.1%} of what".replace("%", " %") in said


@needs_results
def test_from_a_stall_to_a_change() -> None:
    found = COST.read(RESULTS / "cost" / "reaction-busy.json").found.figures()
    page_rows, said = rows(text("docs/cost.md")), words("docs/cost.md")
    for what, key in (
        ("from the stall's beginning to the change being sent", "sent_s"),
        ("to its being applied", "applied_s"),
    ):
        assert f"| {what} | {' | '.join(f'{found[key][each]:.2f} s' for each in ('p50', 'p90', 'max'))} |" in page_rows
    causes, why = found["stalls_by_cause"], list(found["not_answered"].items())
    assert set(causes) == {"memtable stopped", "l0 delayed"}
    (early, began), (flight, was), (nothing, decided) = why
    assert [early[:8], flight[:8], nothing[:8], decided] == ["it began", "an earli", "the law ", 1]
    assert (
        f"There were {found['stalls']} stalls in four runs ({causes['memtable stopped']} stops by memtables, "
        f"{causes['l0 delayed']} delays by level 0); {found['answered']} of them led to a change. Of the others "
        f"{began} began before the daemon had found the database and measured one window, {was} while an earlier "
        f"change was in flight, and on one the law decided nothing. Other programs used "
        f"{100 * found['machine_busy_with_others']:.0f} % of the machine." in said
    )
    assert (found["runs"], found["seconds"], found["profile"]) == (4, 30, "cap-50")


TIMES_OF_EVENTS = (
    ("the daemon's next look", "looked_s"),
    ("the change being sent", "sent_s"),
    ("its being applied", "applied_s"),
)


@needs_results
def test_from_an_event_that_wakes_the_daemon_to_a_change() -> None:
    found = COST.read(RESULTS / "cost" / "waking-busy.json.xz").found.figures()
    page_rows, said = rows(text("docs/cost.md")), words("docs/cost.md")
    in_words = {"woken": "woken", "asleep": "at ticks alone"}
    for (name, how), (what, key) in itertools.product(in_words.items(), TIMES_OF_EVENTS):
        figures = " | ".join(f"{1000 * found[name][key][each]:,.0f} ms" for each in ("p50", "p90", "max"))
        assert f"| from the event to {what}, {how} | {figures} |" in page_rows
    assert f"in {['no', 'one', 'two', 'three', 'four', 'five'][found['pairs']]} interleaved pairs" in said
    medians = found["woken"]["sent_s_median_by_run"]
    assert f"(by run {1000 * medians['min']:.0f} to {1000 * medians['max']:.0f} ms)" in said
    for name, how in in_words.items():
        of, why = found[name], found[name]["not_answered"]
        flight, nothing = (why.get(each, 0) for each in (IN_FLIGHT, NOTHING_TO_CHANGE))
        assert sum(of["events"].values()) == of["answered"] + flight + nothing
        assert (
            f"{how.capitalize()}, {of['answered']:,} of {sum(of['events'].values()):,} events led to a change at the "
            f"daemon's next look; {flight} came while an earlier change was in flight, and at {nothing} the law had "
            f"nothing to change. It looked {of['samples_per_s']['p50']:.1f} times a second, sent "
            f"{of['changes_per_s']['p50']:.1f} changes a second, and took "
            f"{100 * of['daemon_cpu_s_per_s']['p50']:.1f} % of a core."
        ) in said
    assert f"Other programs used {100 * found['machine_busy_with_others']:.0f} % of the machine meanwhile." in said


@needs_results
def test_what_a_change_of_the_rate_alone_takes() -> None:
    found = COST.read(RESULTS / "cost" / "rate-busy.json").found.figures()
    page_rows, said = rows(text("docs/cost.md")), words("docs/cost.md")
    for what, key in (
        ("the whole", "whole_ms"),
        ("RocksDB's SetDBOptions, of that", "rocksdb_ms"),
        ("everything beside it", "beside_ms"),
        ("the entry in the journal, of that", "journal_ms"),
    ):
        assert f"| {what} | {' | '.join(f'{found[key][each]:.2f} ms' for each in ('p50', 'p90', 'max'))} |" in page_rows
    assert f"{found['changes']} changes of the delayed write rate alone" in said
    rocksdb = found["rocksdb_ms"]
    assert f"Writes wait for it | {rocksdb['p50']:.0f} ms and {rocksdb['max'] / 1000:.1f} s |" in text("docs/cost.md")
    assert f"Beside RocksDB's own call a change takes {found['beside_ms']['p50']:.1f} ms at the median" in said


@needs_results
def test_what_five_databases_on_one_device_came_to() -> None:
    found = NEIGHBOURS.read(RESULTS / "neighbours" / "five.json")
    page = text("docs/controllers.md")
    by_arm = {
        arm: sorted((run for run in found.runs if run.arm == arm), key=lambda run: run.repetition) for arm in ARMS
    }
    for arm, name in ARMS.items():
        runs = by_arm[arm]
        assert [run.repetition for run in runs] == [1, 2, 3, 4, 5]
        totals = listed([run.per_s / 1000 for run in runs], ".1f")
        paid = listed([(run.drained_per_s or 0.0) / 1000 for run in runs], ".1f")
        worst = listed([run.worst("p99_us") / 1000 for run in runs], ".1f")
        assert f"| {name} | {totals} | {paid} | {worst} |" in rows(page)
    said = " ".join(page.split())

    def times(one: str, other: str, of: Callable[[Run], float]) -> list[float]:
        return [of(mine) / of(theirs) for mine, theirs in zip(by_arm[one], by_arm[other], strict=True)]

    def both(one: str, other: str) -> tuple[str, str]:
        ran = times(one, other, lambda run: run.per_s)
        paid = times(one, other, lambda run: run.drained_per_s or 0.0)
        return f"{min(ran):.2f} to {max(ran):.2f}", f"{min(paid):.2f} to {max(paid):.2f}"

    ran, paid = both("tide", "default")
    assert f"the five did {ran} times the defaults' operations while they ran, and {paid} times over run and" in said
    ran, paid = both("tide", "default, same memory")
    assert f"That is {ran} and {paid} times what the same memtables did without a law." in said
    p99 = times("default", "tide", lambda run: run.worst("p99_us"))
    assert f"The worst p99 was {min(p99):.1f} to {max(p99):.0f} times lower than under the defaults" in said
    assert min(times("tide", "default, same memory", lambda run: run.worst("p99_us"))) > 1
    ran, paid = both("tide + arbiter", "tide")
    assert (
        f"With the arbiter the five did {ran} times what they did under `tide` each for itself, and {paid} times"
        in said
    )
    waited = times("tide + arbiter", "tide", lambda run: run.worst("p99_us"))
    assert f"the worst p99 was {min(waited):.0f} to {max(waited):.0f} times as high" in said
    with_it = by_arm["tide + arbiter"]
    assert {run.decisions("tide.yield") for run in with_it} == {4}, "it acted, once for each of the others"
    brim_s = [min(each.at_s for each in run.databases[0].decided if each.rule == "tide.brim") for run in with_it]
    assert f"its merge begins after {min(brim_s):.0f} to {max(brim_s):.0f} s, within the minute" in said
    assert not any(run.decisions("tide.brim") for run in by_arm["tide"])
    longest_s = [max(each.latency.max_us for each in run.databases[1:]) / 1e6 for run in with_it]
    assert f"the four others wait once for {min(longest_s):.1f} to {max(longest_s):.1f} s" in said


@needs_results
def test_the_terminal_and_the_daemon() -> None:
    tools = COST.read(RESULTS / "cost" / "tools-busy.json").found.figures()
    table = text("docs/cost.md").partition("## The terminal")[2]
    spreads = {name: f"{of['p50']:.2f} ({of['min']:.2f} to {of['max']:.2f})" for name, of in tools["cpu_s"].items()}
    assert rows(table)[2:] == [f"| `{name}` | {spread} |" for name, spread in spreads.items()]
    busy = 100 * tools["machine_busy_with_others"]
    assert f"Medians of {tools['runs']} runs on 2026-11-23, while other programs used {busy:.0f} %" in " ".join(
        table.split()
    )
    daemon = COST.read(RESULTS / "cost" / "daemon-busy.json").found.figures()
    share, memory = 100 * daemon["share_of_a_core"], daemon["resident_mib"]
    assert f"at 1 Hz | {share:.1f} % of a core, {memory:.0f} MiB resident |" in text("docs/cost.md")
    assert f"the daemon takes {share:.0f} % of a core and {memory:.0f} MiB for one database" in words("README.md")


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("docs/cost.md", "## In short"),
        ("docs/cost.md", "## One daemon, many databases"),
        ("docs/cost.md", "## Memory"),
        ("docs/cost.md", "## The host"),
        ("docs/latency.md", "## What it costs, and whether it is right"),
        ("docs/laws-proof.md", "## Attached to db_bench"),
        ("docs/laws-proof.md", "## The thesis's sine"),
        ("docs/load-generator.md", "## What it costs"),
        ("agents/python/README.md", "## What it costs"),
    ],
)
def test_where_nothing_was_kept_the_page_says_so(name: str, section: str) -> None:
    part = " ".join(text(name).partition(f"{section}\n")[2].partition("\n## ")[0].split())
    assert re.search(rf"on 2026-11-2\d, {NOT_KEPT}\b", part), section


@needs_results
def test_the_demos_pairs_and_its_picture() -> None:
    page, said = rows(text("docs/results.md")), words("docs/results.md")
    others = 0.0
    for kind, pairs, seconds in (("embedded", "five", 40), ("db_bench", "three", 60)):
        kept = [DEMO.read(file).result for file in sorted((RESULTS / "demo").glob(f"{kind}-*.json"))]
        assert {round(half.seconds) for each in kept for half in (each.fixed, each.adoc)} == {seconds}
        assert all(each.adoc.decisions for each in kept), "the law acted"
        times = listed([each.throughput_ratio or 0.0 for each in kept], ".2f")
        waited = [
            listed([100 * half.stalled_fraction for half in halves], ".0f")
            for halves in ([each.fixed for each in kept], [each.adoc for each in kept])
        ]
        assert f"| `{kind}`, {pairs} pairs | {seconds} | {times} | {waited[0]} % | {waited[1]} % |" in page
        others = max(others, *(half.others_cpu_fraction for each in kept for half in (each.fixed, each.adoc)))
    assert f"Other programs used up to {100 * others:.0f} % of the machine" in said
    embedded = [DEMO.read(file).result for file in sorted((RESULTS / "demo").glob("embedded-*.json"))]
    fixed, adoc = (
        statistics.median(getattr(each, policy).writes_per_s for each in embedded) for policy in ("fixed", "adoc")
    )
    assert f"it wrote {fixed:,.0f} writes/s under `fixed` and {adoc:,.0f} under `adoc`" in said
    picture = (REPOSITORY / "docs" / "demo.svg").read_text()
    shown = embedded[3]
    for half in (shown.fixed, shown.adoc):
        assert f"{half.writes_per_s:,.0f}" in picture


@needs_results
def test_what_a_program_notices_of_being_attached_to() -> None:
    found = ATTACH.read(RESULTS / "attach" / "two-hundred.json")
    shown, said = rows(text("docs/attach.md")), words("docs/attach.md")
    assert set(rows(attach_tables(found))) <= set(shown)
    times = [each for host in found.hosts for each in host.times]
    assert f"adocd attached to them {len(times)} times while they wrote" in said
    longest = [each.longest for each in times if each.longest is not None]
    while_attached, while_detached, left_alone = (
        ", ".join(latency(us / 1e6) for us in of_all([getattr(each, name) for each in longest]))
        for name in ("attach_us", "detach_us", "left_alone_us")
    )
    assert f"{while_attached} while adocd attached, {while_detached} while it detached, and {left_alone} in as" in said


@needs_results
def test_a_law_that_is_attached_late() -> None:
    run = late.FILE.read(RESULTS / "attach" / "late-adoc.json")
    assert run.decisions
    page, said = text("docs/attach.md"), words("docs/attach.md")
    assert set(rows(late.table(run))) <= set(rows(page))
    assert late.picture(run).render(alone=True) + "\n" == text("docs/attach.svg")
    assert "(attach.svg)" in page
    assert f"on a device capped at {run.profile.removeprefix('cap-')} MB/s" in said
    assert {(each.rule, each.outcome) for each in run.decisions} == {("adoc.memory", "applied")}
    assert f"`adoc` decided {len(run.decisions)} times, each time to make memtables larger" in said
    begin_s = run.attached_at_s + run.attach_s
    ratio = run.writes_per_s(begin_s, 2.0 * run.seconds) / run.writes_per_s(0.0, run.attached_at_s)
    assert f"db_bench writes {ratio:.2f} times as much" in said
    stops = [(each.begin_s, each.end_s - each.begin_s) for each in run.held if each.condition == "stopped"]
    after_s = max(length_s for at_s, length_s in stops if at_s > begin_s)
    before_s = max(length_s for at_s, length_s in stops if at_s < run.attached_at_s)
    assert f"the longest stop takes {after_s:.1f} s instead of {before_s:.1f} s" in said


@needs_results
def test_the_jvm() -> None:
    page = text("docs/jvm.md")
    shown = set(rows(page))
    attached = JVM.read(RESULTS / "jvm" / "attach.json").attached
    assert {(each.program, len(each.times)) for each in attached} == {("kafka-streams", 50), ("flink", 50)}
    assert set(rows(jvm_tables.attached_table(attached))) <= shown
    laws = JVM.read(RESULTS / "jvm" / "laws.json").laws
    assert Counter((each.program, each.law) for each in laws) == dict.fromkeys(
        itertools.product(("kafka-streams", "flink"), ("fixed", "adoc")), 3
    )
    assert set(rows(jvm_tables.laws_table(laws))) <= shown
    assert all(each.rules for each in laws if each.law == "adoc"), "a law that did nothing is shown as one that did"
    assert set(rows(jvm_tables.cost_table(JVM.read(RESULTS / "jvm" / "cost.json").cost))) <= shown
    for program in ("kafka-streams", "flink"):
        run = late.FILE.read(RESULTS / "jvm" / f"late-{program}.json")
        assert late.picture(run).render(alone=True) + "\n" == text(f"docs/jvm-{program}.svg")
        assert f"(jvm-{program}.svg)" in page


@needs_results
def test_all_that_is_kept_is_shown_somewhere() -> None:
    for kept in ("attach", "cost", "detection", "jvm", "latency"):
        assert results_in(RESULTS / kept)
        assert f"bench/results/{kept}" in text(f"docs/{kept}.md")


#: Each figure of README's prose that no raw result has: a fact of the configuration, by the code that decides it; or a
#: name, with None. Its laws' figures are in test_results.py, also the longest restore.
PLAIN: dict[str, object] = {
    "FAST'23": None,
    f"a device capped at {round(parse_profile(DEFAULT_PROFILE).write_bytes_per_s or 0) // 10**6} MB/s: "
    f"{DEFAULT_SECONDS:.0f} s left alone, then {DEFAULT_SECONDS:.0f} s under ADOC": None,
    f"its memtables are {MEMTABLE_BYTES >> 20} MiB": None,
    "Python 3.11 or newer": 'requires-python = ">=3.11"' in text("pyproject.toml"),
    f"that needs {round(needed_bytes(40, UNCAPPED) / 1e9)} GB free": needed_bytes(40, parse_profile(DEFAULT_PROFILE))
    <= needed_bytes(40, UNCAPPED),
    "`make test` needs Debian 12": None,
    "On Debian 12 and x86-64, adocd tunes programs": None,
    "`librocksdb.so` of Debian 12 (tested: RocksDB 7.8.3, x86-64;": None,
    "(tested: 0.3.29, RocksDB 9.8.4)": "rocksdict==0.3.29" in text("requirements.lock"),
    "flushes and compactions to 64 MB/s": "--rate-limiter 64MB " in text("README.md"),
    f"silent for {DaemonConfig().lease_ttl_s:.0f} s": None,
    "a `bytes_per_sync` of 0": None,
    f"Exit code 0 means that the originals are back or that agents still put them back, {int(Exit.FAILED)} that an "
    f"option could not be restored or an agent did not answer, {int(Exit.NO_DAEMON)} that you may not use the run "
    f"directory, and {int(Exit.NO_TARGET)} that no daemon answers and the run directory has no agent": None,
    f"grow to {AdocParameters().batch_max_bytes >> 20} MiB": None,
    f"`tide` takes up to {TideParameters().memory_max_bytes >> 20} MiB": None,
    "level-0 files": None,
    "Limits that would stop writes come back once level 0, and what is pending, is small enough": None,
    "the triggers of level 0 come down in steps": None,
    "The longest wait that we saw was 228 s": None,
    "before 2026-11-29 it was up to 328 s": None,
    "the daemon takes 1 % of a core and 66 MiB": None,
    "Apache-2.0": None,
}


def test_every_number_of_readme_is_plain_or_measured() -> None:
    page = re.sub(r"```.*?```|\]\([^)]*\)", " ", text("README.md"), flags=re.DOTALL)
    before, begins, rest = page.partition(
        "The table shows a minute of random writes as fast as they go, on a device capped at 210 MB/s"
    )
    measured, ends, after = rest.partition("has all figures")
    assert begins
    assert ends
    assert "##" not in measured
    # test_results*.py have the tables' rows and these passages; and there is nothing else.
    said = re.sub(r"^\|.*\|$", "", measured, flags=re.MULTILINE)
    passages = (
        r"under\s+the\s+defaults\s+it\s+was.*?with\s+more\s+than\s+60\s+GB\s+free.*?run\s+`bench/evaluation\.sh\s+tide-cap-210`",
        r"A\s+device\s+of\s+13\s+or\s+15\s+MB/s.*?The\s+longest\s+stop\s+at\s+13\s+MB/s.*?under\s+the\s+defaults",
        r"\*\*Peaks\s+of\s+reads\s+and\s+writes\*\*.*?than\s+its\s+memtables\s+do\s+without\s+a\s+law",
    )
    for passage in passages:
        said, found = re.subn(passage, "", said, flags=re.DOTALL)
        assert found == 1, passage
    assert re.findall(r"\d+", said) == []
    prose = " ".join(f"{before} {after}".split())
    for sentence, holds in PLAIN.items():
        assert sentence in prose
        assert holds in (None, True), sentence
        prose = prose.replace(sentence, "")
    assert re.findall(r"\S*\d\S*", prose) == []
