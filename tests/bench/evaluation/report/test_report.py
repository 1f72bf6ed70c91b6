"""The report as it is written: what it says, the same bytes each time, and the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from adocd_bench.cli.report import report
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.plan import FAILURES, FailedRun
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.comparison import Cell
from adocd_bench.evaluation.report.sections_claims import judgements
from adocd_bench.evaluation.report.write import report_of
from adocd_bench.evaluation.search import halving, maximum, sustained
from adocd_bench.evaluation.search.conditions import Conditions
from adocd_bench.evaluation.search.halving import Grid, Searched, TriedOptions
from adocd_bench.evaluation.search.maximum import Maximum
from adocd_bench.evaluation.search.sustained import Search, TriedRate
from markdown_it import MarkdownIt

from adocd.cli.exits import Exit, Failure
from tests.bench.evaluation.builders import run_of, wanted_run
from tests.bench.evaluation.report.directory import written
from tests.cli.harness import command

PICTURES = {
    "cap-210-fillrandom-held.svg",
    "cap-210-fillrandom-level0.svg",
    "cap-210-fillrandom-memory.svg",
    "cap-210-fillrandom-throughput.svg",
    "cap-210-fillrandom-write-processing.svg",
    "cap-210-wal-outside-peaks-100-held.svg",
    "cap-210-wal-outside-peaks-100-level0.svg",
    "cap-210-wal-outside-peaks-100-memory.svg",
    "cap-210-wal-outside-peaks-100-read-processing.svg",
    "cap-210-wal-outside-peaks-100-read-total.svg",
    "cap-210-wal-outside-peaks-100-throughput.svg",
    "cap-210-wal-outside-peaks-100-write-processing.svg",
    "cap-210-wal-outside-peaks-100-write-total.svg",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("results") / "DIR")


@pytest.fixture(scope="module")
def markdown(results: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("markdown")
    (file,) = report_of([results]).write(out, "md")
    assert {found.name for found in (out / "pictures").iterdir()} == PICTURES
    return file.read_text(encoding="utf-8")


def test_the_head_says_what_it_is_of(markdown: str) -> None:
    for said in (
        "2 processors, 8 GiB of memory; Debian 12, Linux 6.1.0",
        "1,500 MB/s writing, 2,000 MB/s reading",
        "RocksDB 7.8.3",
        "34 runs in 2 blocks, from 2026-01-01 00:01 UTC to 2026-01-01 00:10 UTC; they took 0.0333 h of the machines'",
        "1 of 34 runs were disturbed and are marked at the end; 1 failed",
        "What escapes the cap on profiles named -wal-outside: the write-ahead log",
        "Scale: 1/4",
        "Of 34 runs the kernel's time was not recorded",
        "Weak evidence, with fewer than 5 undisturbed repetitions of a scheme: cap-210-wal-outside-peaks-100.",
    ):
        assert said in markdown


def test_a_run_that_failed_is_named_with_its_attempts_and_why(markdown: str) -> None:
    assert "| cap-210-fillrandom-mimd-1 | 3 times | db_bench failed with status 1: no space left |" in markdown
    assert "Made after they had failed" not in markdown


def test_a_run_that_failed_before_it_succeeded_is_told_apart(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    kept = results / "failed"
    lucky = FailedRun("cap-210-fillrandom-adoc-1", "RocksDB said: `bytes <= refill' failed", 2, succeeded=True)
    # The command was ended before it wrote down that the run had succeeded.
    unsaid = FailedRun("cap-210-fillrandom-silk-2", "the disk was too small", 1)
    for each in (lucky, unsaid):
        FAILURES.write(kept / f"{each.run}.json", each)
    found = report_of([results])
    found.write(tmp_path, "both")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "are marked at the end; 1 failed and are not here; 2 failed before they succeeded." in text
    section = text.partition("## Runs that failed")[2].partition("\n## ")[0]
    never, _, after = section.partition("**Made after they had failed**")
    assert re.findall(r"^\| (cap-\S+) \| (\d times?) \|", never, re.MULTILINE) == [
        ("cap-210-fillrandom-mimd-1", "3 times")
    ]
    assert re.findall(r"^\| (cap-\S+) \| (\d times?) \| (.*) \|$", after, re.MULTILINE) == [
        ("cap-210-fillrandom-adoc-1", "2 times", r"RocksDB said: 'bytes \<= refill' failed"),
        ("cap-210-fillrandom-silk-2", "1 time", "the disk was too small"),
    ]
    as_json = found.as_json()
    assert as_json["failed"] == 1
    assert [(each["run"], each["succeeded"]) for each in as_json["failed_runs"]] == [
        ("cap-210-fillrandom-adoc-1", True),
        ("cap-210-fillrandom-mimd-1", False),
        ("cap-210-fillrandom-silk-2", True),
    ]


def test_a_damaged_record_of_a_failed_run_is_named(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    (results / "failed" / "broken.json").write_text("{}")
    refused("broken.json is no record of a failed run", directory=[results])


def test_every_table_of_a_block_says_its_command(markdown: str) -> None:
    blocks = re.split(r"^## ", markdown, flags=re.MULTILINE)
    closed = next(part for part in blocks if part.startswith("cap-210-fillrandom"))
    commands = re.findall(r"^By `(.*)`\.$", closed, re.MULTILINE)
    tables = re.findall(r"^\*\*.*\*\*$", closed, re.MULTILINE)
    assert len(commands) == len(tables) == 8
    assert set(commands) == {
        "adocd bench run --scheme adoc,auto-tuned,bad,default,silk --profile cap-210 --workload fillrandom "
        "--seconds 20 --repeat 6 --scale 4 --device-gb 60 --out DIR"
    }
    assert "Closed loop, on cap-210 (60 GB); 6 repetitions" in closed


def test_the_ranking_and_the_disturbed_run(markdown: str) -> None:
    placed = "adoc (1), silk (2), default (3), auto-tuned (4), bad (5)"
    assert f"| {placed} | operations/s over run and drain | {placed} | 6 |  |" in markdown
    assert "| not shown | p99 latency |  | 2 | weak |" in markdown
    assert "others had 40 % of the processors (left out)" in markdown


def test_a_row_by_hand(markdown: str) -> None:
    (row,) = re.findall(r"^\| adoc \| 1 \| 1 \| more.*$", markdown, re.MULTILINE)
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    # 1510, 1520 to 1560 operations/s against 1010, 1020 to 1060; held 1.5 s of 20 s against 3 s.
    assert cells[3] == "more: 1.48 (1.47 .. 1.5)"
    assert cells[4] == "less: 0.5"
    # 20 s and 5 s of drain.
    assert cells[5] == "1,228 (1,208 .. 1,248)"
    assert cells[6] == "1,535 (1,510 .. 1,560)"


def test_what_the_device_took_and_whether_it_was_under_the_cap(markdown: str) -> None:
    title = "**Written in the measured phase, per second**"
    (_, closed, opened) = markdown.split(title)
    (default,) = re.findall(r"^\| default .*$", closed.partition("\n\n")[2].partition("\n\n")[0], re.MULTILINE)
    # 100 MiB each by users and flush, four times that by compaction, in 20 s; the device counted 4.1 GB.
    assert default == "| default | 5.24 MB/s | 5.24 MB/s | 21 MB/s | 31.5 MB/s | 205 MB/s | 214 MB/s | 210 MB/s |"
    assert (
        "All that reached the device, the write-ahead log included, was under the cap: at most 205 MB/s over a run, "
        "and 214 MB/s in its highest second (a request counts in the second in which it ends)."
    ) in closed
    assert (
        "| default | 10.5 MB/s | 10.5 MB/s | 41.9 MB/s | 62.9 MB/s | not measured | not measured | 210 MB/s |" in opened
    )
    assert (
        "Not everything was under the cap: the write-ahead log was outside, and RocksDB wrote up to 62.9 MB/s in all "
        "where the cap is 210 MB/s."
    ) in opened


def test_what_a_law_did_is_told_run_by_run(markdown: str) -> None:
    rows = re.findall(r"^\| (\w+) \| 1 \| (82.4 %|0 %) \| (.*) \| (.*) \| (.*) \|$", markdown, re.MULTILINE)
    assert rows[0] == (
        "adoc",
        "82.4 %",
        "l0 (3.5 s)",
        "background_jobs not recorded to 4 (1 change, 3.5 s), away for 82.4 %",
        "",
    )
    assert rows[-1] == ("silk", "0 %", "nothing", "none", "")


def test_missing_is_said_and_never_zero(markdown: str) -> None:
    control = markdown.partition("**Decisions, and what control costs**")[2].partition("\n\nBy")[0]
    (default,) = re.findall(r"^\| default .*$", control, re.MULTILINE)
    assert default.count("not measured") == 2  # no reaction, nothing applied


def test_markdown_is_whole(markdown: str) -> None:
    tokens = MarkdownIt().enable("table").parse(markdown)
    assert sum(token.type == "table_open" for token in tokens) == 2 + 8 + 9 + 7 + 1 + 2
    # What is in a rule's name is text, not a cell's end and not HTML.
    (row,) = re.findall(r"^\| adoc \| mmo .*$", markdown, re.MULTILINE)
    assert row == r"| adoc | mmo \| \<b> | refused | 1 |"
    pictures = {str(child.attrs["src"]) for token in tokens for child in token.children or [] if child.type == "image"}
    assert pictures == {f"pictures/{name}" for name in PICTURES}


def test_the_pictures_are_xml_with_a_title_and_numbers(results: Path, tmp_path: Path) -> None:
    report_of([results]).write(tmp_path, "md")
    files = list((tmp_path / "pictures").iterdir())
    assert {file.name for file in files} == PICTURES
    for file in files:
        text = file.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)  # noqa: S314  # our own
        assert root.find("{*}title") is not None
        assert root.find("{*}desc") is not None
        assert "nan" not in text
        assert "inf" not in re.sub(r"<desc.*?</desc>", "", text)


def test_the_same_raw_results_give_the_same_bytes(results: Path, tmp_path: Path) -> None:
    once, again = tmp_path / "once", tmp_path / "again"
    report_of([results]).write(once, "both")
    report_of([results]).write(again, "both")
    files = sorted(found.relative_to(once) for found in once.rglob("*") if found.is_file())
    assert len(files) == 2 + len(PICTURES)
    for file in files:
        assert (once / file).read_bytes() == (again / file).read_bytes()


def test_the_command_writes_beside_the_results(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    out = command("adocd", "bench", "report", str(results), run_dir=tmp_path).ok()
    assert out.splitlines() == [str(results / "report.md"), str(results / "report.html")]
    assert (results / "pictures").is_dir()


def test_the_command_refuses_in_one_sentence(tmp_path: Path) -> None:
    said = command("adocd", "bench", "report", str(tmp_path), run_dir=tmp_path)
    said.failed(2, f"{tmp_path} has no raw results in runs/", "adocd bench run --out")


def test_one_format_elsewhere(results: Path, tmp_path: Path) -> None:
    report([results], "html", tmp_path / "new" / "place")
    assert [found.name for found in (tmp_path / "new" / "place").iterdir()] == ["report.html"]


def test_all_figures_as_json(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report([results], out=tmp_path / "none", as_json=True)
    assert not (tmp_path / "none").exists()
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["failed"] == 1
    closed, opened = found["blocks"]
    assert [scheme["scheme"] for scheme in closed["schemes"]] == ["adoc", "silk", "default", "auto-tuned", "bad"]
    adoc = closed["schemes"][0]
    assert adoc["figures"]["throughput_per_s"]["median"] == 1535
    assert adoc["against_default"]["throughput_per_s"]["difference"] == "more"
    assert adoc["runs"][0]["figures"]["reaction_s"] == 0.5
    assert adoc["runs"][0]["figures"]["completed_share"] is None
    assert adoc["standing"] == {"place": 1, "last": 1, "of": 5, "tied": False}
    assert [run["counts"] for run in closed["schemes"][-1]["runs"]] == [True] * 5 + [False]
    assert opened["rank_by"] == "all_total_p99_us"
    assert [len(claim["points"]) for claim in found["claims"]] == [15, 7, 9, 6, 6]
    assert found["claims"][0]["points"][0]["verdict"] == "reproduced"
    acted = adoc["runs"][0]["figures"]["acted"]
    assert acted["fired"] == [{"rule": "l0", "when": "phase", "count": 1, "first_s": 3.52, "last_s": 3.52}]
    assert [(knob["knob"], knob["away_s"]) for knob in acted["knobs"]] == [("background_jobs", [[3.52, 20.0]])]
    assert adoc["figures"]["controlled_share"]["median"] == pytest.approx(16.48 / 20)
    covered = {(each["paper"], each["label"]): each["verdict"] for each in found["coverage"]}
    assert covered["ADOC", "figure 2"] == "nothing measured"
    assert covered["SILK", "figure 8B"] == "did not act"


def test_rates_that_last_are_told(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    (results / "sustainable").mkdir()
    file = results / "sustainable" / "cap-210-two-phase-default.json"
    tried = [
        {"offered_per_s": 9500.0, "done_per_s": 9000.0, "p99_total_us": 5_000_000, "lasts": False},
        {"offered_per_s": 6000.0, "done_per_s": 6000.0, "p99_total_us": 9000, "lasts": True},
    ]
    file.write_text(json.dumps({"seconds": 60, "scale": 4, "maximum_per_s": 10_000.0, "tested": tried}))
    found = report_of([results])
    found.write(tmp_path, "md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    unknown = "not measured | not measured"
    assert f"| cap-210-two-phase-default | 10,000 | 6,000 | 60 % | {unknown} | 9,500 | 2 | 60 s | 1/4 |" in text
    assert "None of these runs is drained: what a law has left in level 0 at its highest rate is not paid for" in text
    assert "Not finished: cap-210-two-phase-default (interrupted)." in text
    assert found.as_json()["sustainable"]["cap-210-two-phase-default"]["lasts_per_s"] == 6000
    file.write_text("{}")
    refused("cap-210-two-phase-default.json", "is damaged", directory=[results])


def test_a_rate_above_which_nothing_failed_is_a_least_and_a_directory_of_searches_alone_is_reported(
    tmp_path: Path,
) -> None:
    tried = tuple(
        TriedRate(40_000.0, 40_000.0, 900, True, seed, l0_files=10 + seed, pending_compaction_bytes=seed << 20)
        for seed in (1, 2)
    )
    disturbed = replace(tried[0], offered_per_s=9500.0, seed=1, disturbed=("others wrote",))
    done = Search(60, 4, 10_000.0, (disturbed, replace(disturbed, seed=2, disturbed=()), *tried), at_once=7)
    sustained.keep(tmp_path / "sustainable" / "cap-210-two-phase-tide.json", done)
    failed = Search(60, 4, 10_000.0, (), failed="no memory")
    sustained.keep(tmp_path / "sustainable" / "cap-210-two-phase-adoc.json", failed)
    report_of([tmp_path]).write(tmp_path, "both")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    left = "11.5 (11 .. 12) | 1.5 MiB (1 MiB .. 2 MiB)"
    row = f"10,000 | at least 40,000 | at least 400 % | {left} | none | 4, 1 of them disturbed | 60 s | 1/4 |"
    assert f"| cap-210-two-phase-tide | {row}" in text
    assert "Not finished: cap-210-two-phase-adoc (no memory)." in text
    assert "--seconds 60 --scale 4 --at-once" in text
    assert "Searches alone; there are no runs to compare." in text
    assert "Every run" not in text


def test_runs_and_searches_of_another_kernel_than_the_maximum_are_told(tmp_path: Path) -> None:
    """Searches go on after a move to another machine, and their rates are shares of what was measured before."""
    here, block = run_of(wanted_run(), ()), "cap-50-constant"
    elsewhere = replace(here, machine=replace(here.machine, kernel="6.2"))
    made = {
        f"searches/{block}-maximum/seed-1-1.json": here,
        f"searches/{block}-maximum/seed-2-1.json": here,
        f"searches/{block}-tide/01-900-per-s-seed-1.json": here,
        f"searches/{block}-tide/02-950-per-s-seed-1.json": elsewhere,
        f"searches/{block}-adoc/01-900-per-s-seed-1.json": here,
        f"runs/{block}-default-1.json": elsewhere,
        f"runs/{block}-default-2.json": replace(here, repetition=2),
    }
    (tmp_path / "searches" / "cap-50-burst-maximum").mkdir(parents=True)
    for name, run in made.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        raw.write(tmp_path / name, run)
    found = report_of([tmp_path])
    told = f"{block}: different kernels in the first testing phase and in 1 of 2"
    assert found.unlike_maximum == (f"{told} runs", f"{told} searches")
    assert found.as_json()["unlike_maximum"] == list(found.unlike_maximum)
    found.write(tmp_path, "md")
    assert f"was possible when they ran: {told} runs; {told} searches." in (tmp_path / "report.md").read_text()


def test_directories_without_runs_are_reported_with_others_and_equal_searches_are_refused(tmp_path: Path) -> None:
    results, first, second = written(tmp_path / "DIR"), tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        sustained.keep(directory / "sustainable" / "cap-26-two-phase-tide.json", Search(60, 8, 1000.0))
    assert set(report_of([results, first]).searches) == {"cap-26-two-phase-tide"}
    refused(
        f"{first} and {second} both have a search named cap-26-two-phase-tide, 60 s, scale 1/8: make a report of each",
        directory=[results, first, second],
    )
    (tmp_path / "begun" / "runs").mkdir(parents=True)
    refused("begun has no raw results in runs/, and no searches", directory=[results, tmp_path / "begun"])
    maximum.keep(tmp_path / "begun" / "maximum" / "cap-26-two-phase.json", Maximum(Conditions(60, 8, 1, 4, 10**9)))
    assert not report_of([results, tmp_path / "begun"]).searches


def test_searches_of_another_length_are_told_apart(tmp_path: Path) -> None:
    tried = TriedRate(700.0, 700.0, 900, True), TriedRate(735.0, 400.0, 9_000_000, False)
    for name, seconds in (("first", 60), ("second", 600)):
        kept = tmp_path / name / "sustainable" / "cap-26-two-phase-default.json"
        sustained.keep(kept, Search(seconds, 8, 1000.0, tried))
    found = report_of([tmp_path / "first", tmp_path / "second"])
    assert set(found.searches) == {f"cap-26-two-phase-default, {seconds} s, scale 1/8" for seconds in (60, 600)}
    found.write(tmp_path, "md")
    text = (tmp_path / "report.md").read_text()
    assert "| 60 s | 1/8 |" in text
    assert "| 10 min | 1/8 |" in text
    assert "--seconds N --scale 8 --at-once 1" in text
    judged = [each for _, points in judgements(found.blocks, found.searches) for each in points]
    (lasts,) = (each for each in judged if "30 % below" in each.point.claims)
    assert [(finding.block, finding.verdict) for finding in lasts.findings] == [
        ("cap-26-two-phase-default, 60 s, scale 1/8", "not shown"),
        ("cap-26-two-phase-default, 600 s, scale 1/8", "direction"),
    ]


def test_the_grid_is_told_rung_by_rung_and_when_the_cap_came(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    grid = Grid("cap-210", "fillrandom", (2, 4), (64, 128))
    first = [TriedOptions(t, b << 20, 15, 1000.0 * t + b, 1.0) for t in (2, 4) for b in (64, 128)]
    searched = Searched(
        grid, 30, 1, 1, (*first, TriedOptions(4, 128 << 20, 30, 4000.0, 1.0)), {"2 threads": "no memory"}
    )
    halving.keep(results / "grid" / "cap-210-fillrandom.json", searched)
    kept = sorted((results / "runs").glob("*.json"))[0]
    raw.write(kept, replace(raw.read(kept), capped_at_s=0.31, law_at_s=0.52))
    report_of([results]).write(tmp_path, "md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    table = text[text.index("The grid for cap-210-fillrandom") :].splitlines()
    assert table[2].replace("-", "").split("|")[1:5] == [
        " threads ",
        " batch ",
        " operations/s, 15 s ",
        " operations/s, 30 s ",
    ]
    assert [row.split("|")[1:5] for row in table[4:6]] == [
        [" 4 ", " 128 MiB ", " 4,128 ", " 4,000 "],
        [" 4 ", " 64 MiB ", " 4,064 ", "  "],
    ]
    assert "Not run: 2 threads (no memory)." in text
    assert "--threads 2,4 --batch 64,128" in text
    assert "the cap came into force, 0.31 s after the measured phase's begin at the latest" in text
    assert "without the law, which was set 0.52 s after the measured phase's begin at the latest" in text


def refused(*words: str, code: Exit = Exit.USAGE, **given: Any) -> None:
    with pytest.raises(Failure) as caught:
        report(**given)
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)


def test_what_cannot_be_reported_is_said(results: Path, tmp_path: Path) -> None:
    refused("nowhere is no directory", directory=[tmp_path / "nowhere"])
    refused("--format is md, html, both, not 'pdf'", directory=[results], format_="pdf")
    (tmp_path / "file").touch()
    refused("file", "choose another --out", directory=[results], out=tmp_path / "file")
    refused("two raw results are of the same run", directory=[results, results])


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b'{"format": 1}'])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    results = written(tmp_path / "DIR")
    (results / "runs" / "broken.json").write_bytes(content)
    refused("broken.json is not a raw result of adocd bench", directory=[results])


def test_another_format_is_not_read(tmp_path: Path) -> None:
    results = written(tmp_path / "DIR")
    file = next(iter((results / "runs").iterdir()))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    refused(file.name, "format 99", directory=[results])


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (words.digits(0.0000123), "0.000012"),
        (words.digits(99.96), "100"),
        (words.digits(1234.5), "1,234"),
        (words.share(0.1234), "12.3 %"),
        (words.share(0), "0 %"),
        (words.micros(12.34), "12.3 µs"),
        (words.micros(1234), "1.23 ms"),
        (words.micros(12_345_678), "12.3 s"),
        (words.size(1536), "1.5 KiB"),
        (words.size(12), "12 bytes"),
        (words.span(0.0123), "12.3 ms"),
        (words.span(90), "90 s"),
        (words.span(600), "10 min"),
        (words.span(9000), "2.5 h"),
        (words.value("us", None), "not measured"),
        (words.cell("share", Cell(0.5, 0.25, 0.75, 2), True), "50 % † (25 % .. 75 %)"),
        (words.cell("bytes", Cell(4096, 4096, 4096, 3)), "4 KiB"),
        (words.cell("us", None), "not measured"),
        (words.ratio(None), "no ratio"),
    ],
)
def test_words(said: str, expected: str) -> None:
    assert said == expected
