"""What the demo shows: in a terminal, in a pipe, and at the end."""

import io

import pytest
from adocd_bench.demo.figures import DemoFacts, DemoResult, HalfFigures, decision_note
from adocd_bench.demo.half import HalfProgress
from adocd_bench.demo.report import print_report
from adocd_bench.demo.view import LiveView, PlainView, view
from adocd_bench.demo.words import change_text, knob_text
from rich.console import Console

from tests.bench.samples import decision, sample

DECISION = decision(1, 3.0, "adoc.memory")
SAMPLES = tuple(
    sample(second, writes_per_s=1000.0 * second, condition="stopped" if second == 3 else "normal")
    for second in range(5)
)
RUNNING = HalfProgress("adoc", 10, SAMPLES, (DECISION,), "no overflow")


def _screen(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width, height=40)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_live_picture_fits_the_terminal_and_says_what_matters(width: int) -> None:
    console = _screen(width)
    picture = LiveView("title")
    picture.show(HalfProgress("fixed", 10))
    picture.show(RUNNING)
    console.print(picture)
    shown = _text(console)
    assert all(len(line) <= width for line in shown.splitlines())
    assert "starting ..." in shown
    assert "4,000 writes/s" in shown
    if width >= 80:
        assert "4,000 writes/s, normal" in shown
        assert "threads 2, batch 64 MiB, L0 files 3, immutable memtables 1" in shown
        assert "after 3.0 s adoc.memory: background_jobs 1, batch_size 128 MiB" in shown
        assert "4 s of 10 s" in shown


def test_before_the_first_decision_the_daemons_sentence_is_shown() -> None:
    console = _screen(100)
    picture = LiveView("title")
    picture.show(HalfProgress("fixed", 10, SAMPLES, (), "fixed: 900 writes/s, writes normal, no overflow"))
    console.print(picture)
    assert "fixed: 900 writes/s, writes normal, no overflow" in _text(console)


def test_plain_lines_name_the_half_and_do_not_flood() -> None:
    console = _screen(80)
    plain = PlainView(console)
    for _ in range(20):
        plain.show(RUNNING)
    lines = _text(console).splitlines()
    assert lines[0] == "adoc: starting"
    assert lines[1].startswith("adoc: 4 s of 10 s: 4,000 writes/s, normal, threads 2, batch 64 MiB")
    assert len(lines) == 2


def test_a_finished_half_shows_its_result_instead_of_its_last_sample() -> None:
    console = _screen(100)
    figures = HalfFigures("adoc", 60.0, 4_800_000, 80_000.0, 9_000.0, 0.04, 0.0, 0.02)
    picture, plain = LiveView("title"), PlainView(console)
    picture.show(RUNNING)
    picture.finish(figures)
    plain.finish(figures)
    console.print(picture)
    shown = _text(console)
    assert "adoc: 80,000 writes/s on average, worst second 9,000, writer waiting 4.0% of the time" in shown
    assert "threads 2" not in shown


def test_view_is_live_only_when_asked() -> None:
    picture = LiveView("title")
    with view(_screen(80), picture, live=True) as live:
        assert live is picture
    with view(_screen(80), picture, live=False) as plain:
        assert plain is not picture


def test_the_report_has_both_halves_the_reasons_and_the_warnings() -> None:
    note = decision_note(DECISION, 500.0)
    fixed = HalfFigures("fixed", 60.0, 3_600_000, 60_000.0, 1_200.0, 0.402, 0.05, 0.1)
    adoc = HalfFigures("adoc", 60.0, 4_800_000, 80_000.0, 9_000.0, 0.04, 0.0, 0.02, (note,) * 30)
    facts = DemoFacts("db_bench", 60, "cap-210", "vda", "/tmp", "7.8.3", 1)
    console = Console(file=io.StringIO(), width=110)
    print_report(console, DemoResult(facts, fixed, adoc, ("it was a noisy machine",)))
    shown = _text(console)
    for words in (
        "60,000",
        "80,000",
        "+33%",
        "40.2%",
        "-90%",
        "-100%",
        "cap-210 on vda",
        "adoc.memory",
        "2 immutable memtables wait for their flush",
        "and 6 more",
        "warning: it was a noisy machine",
    ):
        assert words in shown
    assert "Decisions of fixed" not in shown


def test_knobs_that_are_sizes_read_as_sizes() -> None:
    assert knob_text("batch_size", 128 << 20) == "batch_size 128 MiB"
    assert knob_text("background_jobs", 4) == "background_jobs 4"


def test_changes_are_percentages_of_what_was() -> None:
    assert [change_text(2, 3), change_text(4, 1), change_text(0, 0), change_text(0, 1)] == [
        "+50%",
        "-75%",
        "",
        "none before",
    ]
