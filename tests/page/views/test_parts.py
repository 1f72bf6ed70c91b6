"""What is shown as HTML: nothing of what others named is ever taken for markup."""

from __future__ import annotations

import time
from typing import Any

import pytest

from adocd.api.repeats import in_rows
from adocd.api.web.page.charts import span, spec
from adocd.api.web.page.feed import OLD_S, Glance
from adocd.api.web.page.model import decisions
from adocd.api.web.page.model.state import Lately, state_of
from adocd.api.web.page.views import parts
from adocd.diagnosis.held import held
from adocd.model.options import BYTES_PER_SYNC_OFF
from tests.diagnosis import writers
from tests.page.points import decision, held_points, point, stall, target

EVIL = "<img src=x onerror=alert(1)>"


def test_names_that_look_like_markup_stay_names() -> None:
    evil_stall = stall() | {"why": EVIL, "causes": [{"cause": EVIL, "column_family": EVIL}]}
    evil = target(path=EVIL, sentence=EVIL, paused=EVIL, stall=evil_stall) | {"lease": {"holder": EVIL}, "id": EVIL}
    evil["policy"] = {"controller": EVIL, "parameters": {EVIL: EVIL}, "dry_run": False, "shaping": {}}
    evil["process"] = dict.fromkeys(("host", "program", "rocksdb_version", "agent"), EVIL) | {"pid": 1}
    evil["restore"] = {"state": "waiting", "steps_left": 1, "waiting_for": EVIL, "errors": [EVIL]}
    values = {"database": {EVIL: EVIL}, "column_families": {}}
    evil |= {"options": values, "originals": {"database": {EVIL: "1"}, "column_families": {}}}
    evil_held = {"measured_s": 9.0, "share": 0.1, "by_cause": {EVIL: 0.1}, "writes_per_s": None}
    evil_verdict = {
        "kind": EVIL,
        "title": EVIL,
        "sentence": EVIL,
        "before": evil_held,
        "since": evil_held,
        "pinned": {"option": EVIL, "column_family": EVIL, "everywhere": False},
    }
    record = decision(signal=EVIL, rule=EVIL, reason=EVIL, guards=[EVIL], detail=EVIL)
    (row,) = in_rows([record])
    told = decisions.told(row, [], 0.0)
    shown = [
        parts.state_card(state_of(evil)), parts.verdict_card(evil_verdict, evil),
        parts.last_card(evil, told),
        parts.last_card(target(), None, [{"option": EVIL, "value": EVIL}]),
        parts.decision_list([told], 0), parts.facts(evil), parts.restore_note(evil),
        parts.glance_row(evil, state_of(evil), []), parts.problems({EVIL: EVIL}, {"problem": EVIL}),
        parts.findings([{"severity": EVIL, "subject": EVIL, "reason": EVIL, "fix": EVIL}], evil),
        parts.audit([{"unix_s": 1.0, "who": EVIL, "what": EVIL, "sentence": EVIL, "target": None}]),
        parts.changed_table(evil),
    ]  # fmt: skip
    for html in shown:
        assert "<img" not in html
        assert "&lt;img" in html


def test_a_stall_is_said_with_its_cause_and_since_when() -> None:
    html = parts.state_card(state_of(target(stall=stall("stopped", "l0"))))
    assert "Writes are held much of the time" in html
    assert "mostly by level-0 files" in html
    assert '<time-ago unix="50.000">' in html


def test_a_verdict_is_shown_with_what_was_before_and_since() -> None:
    before = {"measured_s": 60.0, "share": 0.3, "by_cause": {"l0": 0.3, "other": 0.0}, "writes_per_s": None}
    since = {"measured_s": 60.0, "share": 0.02, "by_cause": {"memtable": 0.02}, "writes_per_s": None}
    verdict = {"kind": "helps", "title": "The tuner helps", "sentence": "so it is", "before": before, "since": since,
               "pinned": None}  # fmt: skip
    html = parts.verdict_card(verdict, target(id="aff"))
    assert "Undo" not in html
    assert "The tuner helps" in html
    assert "<b>30 %</b> held (level-0 files 30 %)" in html
    assert "<b>2.0 %</b> held (memtables 2.0 %)" in html
    assert "<dt>lately</dt>" in parts.verdict_card(verdict | {"before": None}, target(id="aff"))
    assert "Nothing is measured yet" in parts.verdict_card(None, target(id="aff"))


def test_what_hurts_is_to_be_undone_first() -> None:
    verdict = {"kind": "hurts", "title": "", "sentence": "", "before": None, "since": None, "pinned": None}
    assert "<code>adocctl restore aff</code>" in parts.verdict_card(verdict, target(id="aff"))


def test_a_silent_agent_has_a_remedy_and_its_last_figures() -> None:
    html = parts.state_card(state_of(target(state="silent"), Lately.of(writers.held_points(0, 60, 0.0))))
    assert "<code>ps -o pid,stat" in html
    assert 'writes per second in its last minute, until <local-time unix="60.000">' in html
    assert "writes per second" not in parts.state_card(state_of(target(state="silent")))


def test_screen_readers_are_told_the_title_alone() -> None:
    """The figures and ages below it change every second."""
    html = parts.state_card(state_of(target(stall=stall("stopped", "l0"))))
    assert '<span role="status">Writes are held much of the time</span>' in html
    assert html.count("role=") == 1


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("closed", "while it is closed"),
        ("silent", "while its agent does not answer"),
        ("attached", "before it is measured"),
    ],
)
def test_what_is_not_known_is_not_shown_as_good(state: str, why: str) -> None:
    detail = target(state=state) | {"options": None, "originals": None}
    for html in (parts.changed_table(detail), parts.findings(None, detail)):
        assert f"Not known {why}." in html
    values = {"database": {"max_background_jobs": "2"}, "column_families": {}}
    known = target() | {"options": values, "originals": values}
    assert "All options are as their owner set them" in parts.changed_table(known)
    assert "Nothing in its configuration" in parts.findings([], known)
    restored = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
    assert parts.restore_note(detail | {"paused": "alice restored it", "restore": restored}) == ""


def test_what_failed_of_a_restore_is_said() -> None:
    running = {"state": "running", "steps_left": 2, "waiting_for": None, "errors": ["the OPTIONS file: no space"]}
    values = {"database": {"max_background_jobs": "2"}, "column_families": {}}
    detail = target(paused="alice restored it") | {"options": values, "originals": values}
    html = parts.restore_note(detail | {"restore": running})
    assert "2 steps left. The restore FAILED: the OPTIONS file: no space." in html
    done = running | {"state": "done", "steps_left": 0}
    assert "The restore FAILED: the OPTIONS file: no space. All options have" in parts.restore_note(
        detail | {"restore": done}
    )
    tuned = detail | {"options": values | {"database": {"max_background_jobs": "4"}}}
    assert "FAILED: the OPTIONS file" in parts.restore_note(tuned | {"restore": done})
    assert parts.restore_note(detail | {"restore": done, "paused": None}) == ""


def test_the_end_of_a_restore_is_said_while_it_lasts() -> None:
    restore = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
    back = target(paused="alice restored it", restore=restore)
    values = {"database": {"max_background_jobs": "2"}, "column_families": {}, "rate_limiter_bytes_per_s": None}
    back |= {"options": values, "originals": values}
    assert "original values again" in parts.restore_note(back)
    assert parts.restore_note(back | {"paused": None}) == ""
    tuned = values | {"database": {"max_background_jobs": "4"}}
    assert "these differ from their originals: max_background_jobs 4 (originally 2)." in parts.restore_note(
        back | {"options": tuned}
    )
    zero, off = (values | {"database": {"bytes_per_sync": value}} for value in ("0", str(BYTES_PER_SYNC_OFF)))
    assert "original values again" in parts.restore_note(back | {"originals": zero, "options": off}), "as adocctl says"


def test_the_small_chart_says_its_figure_to_who_cannot_see_it() -> None:
    html = parts.sparkline([held(writers.held_points(0, 10, 0.5), 0, 10)])
    assert 'aria-label="writes held 50 % of 10 s"' in html


def test_a_small_chart_is_a_path_per_colour_and_small() -> None:
    html = parts.sparkline([held(writers.held_points(n, n + 1, 0.5 if n % 2 else 0.0), n, n + 1) for n in range(60)])
    assert html.count("<path") == 2
    assert 'class="amber" d="M3 28v-14.0M7 28v-14.0' in html
    assert len(html) < 2000


def test_a_row_is_known_by_its_target() -> None:
    assert 'id="target-aff"' in parts.glance_row(target(id="aff"), state_of(target()), [])


def test_a_share_is_of_what_was_measured_not_of_what_the_chart_could_show() -> None:
    seconds = [held([], 0, 890), held(writers.held_points(890, 900, 1.0), 890, 900)]
    assert "held 100 % of 10 s" in parts.glance_row(target(), state_of(target()), seconds)
    assert "nothing measured" in parts.glance_row(target(), state_of(target()), seconds[:1])


def test_a_row_that_was_read_long_ago_says_when() -> None:
    new, old = Glance(time.time()), Glance(time.time() - 10 * OLD_S)
    rows = [parts.glance_row(target(), state_of(target()), [], each.old_unix_s) for each in (Glance(), new, old)]
    assert ["Read <time-ago" in row for row in rows] == [False, False, True]


def test_rows_have_a_column_for_every_line_and_limits_that_are_off_are_none() -> None:
    (row,) = spec.rows([point(1.5, stalled_by_cause={"l0": 0.25})], ["background_jobs"])
    assert len(row) == 1 + len(spec.COLUMNS) + 1
    named = dict(zip(("at", *spec.COLUMNS, "background_jobs"), row, strict=True))
    assert (named["at"], named["cause_l0"], named["background_jobs"]) == (1500, 0.25, 2)
    assert named["hard_pending_compaction_bytes_limit"] is None
    assert named["soft_pending_compaction_bytes_limit"] == 64 << 30


def test_where_nothing_was_measured_the_curves_end() -> None:
    """A silent agent's next point covers the time of its silence; that of a database that was closed does not."""
    found = spec.rows([point(100.0), point(2800.0)], [])
    assert [row[0] for row in found] == [100_000, 100_001, 2_800_000]
    assert len(found[1]) == 1
    assert len(spec.rows([point(100.0), point(2800.0, interval_s=2700.0)], [])) == 2
    assert [row[0] for row in spec.rows([point(2800.0)], [], after=point(100.0))] == [100_001, 2_800_000]
    minutes = [point(60.0 * n, interval_s=58.0) for n in range(3)]
    assert len(spec.rows(minutes, [])) == 3


@pytest.mark.parametrize(
    ("knob", "unit"),
    [
        ("rate_limiter_bytes_per_sec", "bytes_per_s"), ("delayed_write_rate", "bytes_per_s"),
        ("bytes_per_sync", "bytes"), ("write_buffer_size", "bytes"), ("background_jobs", "count"),
        ("disable_auto_compactions", "switch"),
    ],
)  # fmt: skip
def test_a_knobs_axis_has_its_unit(knob: str, unit: str) -> None:
    assert spec.knob_unit(knob) == unit


def jobs(value: int) -> dict[str, Any]:
    return {"knob": "background_jobs", "value": value, "column_family": None}


def test_a_repeat_is_one_row_and_one_mark() -> None:
    records = [decision(3, 50.0, settings=[jobs(4)], outcome="dry-run", times=38, until_unix_s=88.0)]
    (row,) = in_rows(records)
    html = parts.decision_list([decisions.told(row, [], 100.0)], 0)
    assert "background jobs → 4" in html
    assert '<local-time unix="50.000"></local-time> to <local-time unix="88.000">' in html
    assert f">{row.often}<" in html
    assert row.often.endswith("38")
    assert 'class="tag quiet">dry run' in html
    (mark,) = spec.marks(records, held_points(0, 100, 0.2), 100.0, all_known=True)["items"]
    assert (mark["at"], mark["until"], mark["short"]) == (50_000, 88_000, f"background jobs → 4 dry run {row.often}")


def test_where_a_list_is_cut_is_said() -> None:
    tolds = [decisions.told(row, [], 100.0) for row in in_rows([decision(501)])]
    assert "older ones" not in parts.decision_list(tolds, 0)
    assert "and 1,200 older ones: see adocctl decisions" in parts.decision_list(tolds, 1200)
    # Of what was not read it is not known how often it was repeated.
    assert "and at least 1,700 older ones: see adocctl decisions" in parts.decision_list(tolds, 1200, 500)
    done = [{"unix_s": 1.0, "who": "ann", "what": "pause", "sentence": "ann paused it", "target": "t1"}]
    assert "adocctl audit" not in parts.audit(done)
    assert "and older ones: see adocctl audit" in parts.audit(done, more=True)
    assert spec.as_data(["background_jobs"])["note"] == ""
    assert spec.as_data(["a"], ["b", "c"])["note"] == "not drawn, but turned as well: b, c"


def test_marks_carry_signal_rule_guard_and_effect() -> None:
    points = held_points(0, 100, 0.2)
    records = [decision(1, -50.0), decision(2, 50.0, outcome="refused", guards=["order: no"])]
    (mark,) = spec.marks(records, points, 100.0, all_known=True)["items"]
    words = dict(mark["lines"])
    assert (mark["number"], mark["look"]) == (2, "bad")
    assert words["guard"] == "order: no"
    assert words["signal"] == "memory overflow"
    assert words["effect"] == decisions.NO_EFFECT, "it was refused"


def test_a_chart_says_which_decisions_are_marked() -> None:
    def marked(count: int, begin: int, *, all_known: bool) -> dict[str, Any]:
        records = [decision(number, 1 + number / 20, settings=[jobs(number)]) for number in range(1, count + 1)]
        return spec.marks(records, held_points(begin, 100, 0.0), 100.0, all_known=all_known)

    many = marked(999, 0, all_known=True)
    assert len(many["items"]) == decisions.MOST_MARKS
    assert many["items"][-1]["number"] == 999
    assert many["note"].startswith(f"the last {decisions.MOST_MARKS} decisions")
    assert marked(20, 0, all_known=True)["note"].startswith("all 20 decisions")
    assert marked(20, 0, all_known=False)["note"].startswith("the last 20 decisions")
    assert marked(40, 1, all_known=False)["note"].startswith("all 21 decisions"), "older ones are outside anyway"
    assert marked(20, 50, all_known=True)["note"] == "no decision in this time"


def test_the_time_under_a_law_is_a_span_of_the_charts() -> None:
    free, under = held_points(0, 10, 0.0), held_points(10, 20, 0.0, controller="adoc")
    assert spec.acted(free + under) == [(10_000, 20_000, "adoc")]
    again = held_points(60, 62, 0.0, controller="adoc") + held_points(62, 64, 0.0, controller="mimd")
    assert spec.acted(free + under + again)[1:] == [(60_000, 62_000, "adoc"), (62_000, 64_000, "mimd")]
    assert spec.acted(free) == []


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ({}, ""), ({"span": "3600"}, "span=3600"), ({"span": "900"}, ""), ({"span": "7"}, ""),
        ({"from": "1700000000", "to": "1700000060"}, "from=1700000000&to=1700000060"),
        ({"from": "1700000060", "to": "1700000000"}, ""), ({"from": "nan", "to": "inf"}, ""),
        ({"from": "<img>", "to": "1"}, ""), ({"from": "5"}, ""), ({"from": "1", "to": "99999999"}, ""),
    ],
)  # fmt: skip
def test_a_link_keeps_the_range_and_takes_nothing_else(query: dict[str, str], link: str) -> None:
    shown = span.of_query(query)
    assert shown.query == link
    assert span.of_query(dict(pair.split("=") for pair in link.split("&") if pair)) == shown
