"""What is shown as HTML: nothing of what others named is ever taken for markup."""

from __future__ import annotations

from adocd.api.web.page.charts import spec
from adocd.api.web.page.model import decisions
from adocd.api.web.page.model.settings import Changed
from adocd.api.web.page.views import parts
from adocd.diagnosis.held import held
from tests.diagnosis import writers
from tests.page.points import decision, held_points, point, stall, target

EVIL = "<img src=x onerror=alert(1)>"


def test_names_that_look_like_markup_stay_names() -> None:
    evil_stall = stall() | {"why": EVIL, "causes": [{"cause": EVIL, "column_family": EVIL}]}
    evil = target(path=EVIL, sentence=EVIL, paused=EVIL, stall=evil_stall) | {"lease": {"holder": EVIL}, "id": EVIL}
    evil["policy"] = {"controller": EVIL, "parameters": {EVIL: EVIL}, "dry_run": False, "shaping": {}}
    evil["process"] = dict.fromkeys(("host", "program", "rocksdb_version", "agent"), EVIL) | {"pid": 1}
    evil["restore"] = {"state": "waiting", "steps_left": 1, "waiting_for": EVIL}
    evil_held = {"measured_s": 9.0, "share": 0.1, "by_cause": {EVIL: 0.1}, "writes_per_s": None}
    evil_verdict = {"kind": EVIL, "title": EVIL, "sentence": EVIL, "before": evil_held, "since": evil_held}
    record = decision(signal=EVIL, rule=EVIL, reason=EVIL, guards=[EVIL], detail=EVIL)
    told = decisions.told(record, [], 0.0)
    shown = [
        parts.state_card(evil), parts.verdict_card(evil_verdict),
        parts.last_card(evil, told), parts.decision_list([told], 0), parts.facts(evil), parts.restore_note(evil),
        parts.glance_row(evil, [], EVIL), parts.problems({EVIL: EVIL}, {"problem": EVIL}),
        parts.findings([{"severity": EVIL, "subject": EVIL, "reason": EVIL, "fix": EVIL}]),
        parts.audit([{"unix_s": 1.0, "who": EVIL, "what": EVIL, "sentence": EVIL, "target": None}]),
        parts.changed_table([Changed(EVIL, EVIL, EVIL, EVIL)]),
    ]  # fmt: skip
    for html in shown:
        assert "<img" not in html
        assert "&lt;img" in html


def test_a_stall_is_said_with_its_cause_and_since_when() -> None:
    html = parts.state_card(target(stall=stall("stopped", "l0")))
    assert "Writes are STOPPED" in html
    assert "Cause: level-0 files" in html
    assert '<time-ago unix="50.000">' in html


def test_a_verdict_is_shown_with_what_was_before_and_since() -> None:
    before = {"measured_s": 60.0, "share": 0.3, "by_cause": {"l0": 0.3, "other": 0.0}, "writes_per_s": None}
    since = {"measured_s": 60.0, "share": 0.02, "by_cause": {"memtable": 0.02}, "writes_per_s": None}
    verdict = {"kind": "helps", "title": "The tuner helps", "sentence": "so it is", "before": before, "since": since}
    html = parts.verdict_card(verdict)
    assert "The tuner helps" in html
    assert "<b>30 %</b> held (level-0 files 30 %)" in html
    assert "<b>2.0 %</b> held (memtables 2.0 %)" in html
    assert "<dt>lately</dt>" in parts.verdict_card(verdict | {"before": None})
    assert "Nothing is measured yet" in parts.verdict_card(None)


def test_the_small_chart_says_its_figure_to_who_cannot_see_it() -> None:
    html = parts.sparkline([held(writers.held_points(0, 10, 0.5), 0, 10)])
    assert 'aria-label="writes held 50 % of 10 s"' in html


def test_a_share_is_of_what_was_measured_not_of_what_the_chart_could_show() -> None:
    seconds = [held([], 0, 890), held(writers.held_points(890, 900, 1.0), 890, 900)]
    assert "held 100 % of 10 s" in parts.glance_row(target(), seconds, "")
    assert "nothing measured" in parts.glance_row(target(), seconds[:1], "")


def test_a_row_says_since_when_writes_are_held() -> None:
    assert 'since <local-time unix="50.000">' in parts.glance_row(target(stall=stall("stopped", "l0")), [], "")


def test_rows_have_a_column_for_every_line_and_limits_that_are_off_are_none() -> None:
    (row,) = spec.rows([point(1.5, stalled_by_cause={"l0": 0.25})], ["background_jobs"])
    assert len(row) == 1 + len(spec.COLUMNS) + 1
    named = dict(zip(("at", *spec.COLUMNS, "background_jobs"), row, strict=True))
    assert (named["at"], named["cause_l0"], named["background_jobs"]) == (1500, 0.25, 2)
    assert named["hard_pending_compaction_bytes_limit"] is None
    assert named["soft_pending_compaction_bytes_limit"] == 64 << 30


def test_marks_carry_signal_rule_guard_and_effect() -> None:
    points = held_points(0, 100, 0.2)
    records = [decision(1, -50.0), decision(2, 50.0), decision(3, 51.0, outcome="refused", guards=["order: no"])]
    applied, refused = spec.marks(records, points, 100.0)
    words = dict(refused["lines"])
    assert (refused["number"], refused["good"]) == (3, False)
    assert words["guard"] == "order: no"
    assert words["signal"] == "memory overflow"
    assert words["effect"] == "none: nothing was changed"
    assert dict(applied["lines"])["effect"].startswith("held 20 %")


def test_a_chart_with_very_many_decisions_marks_the_last_ones() -> None:
    records = [decision(number, number / 10) for number in range(1, 1000)]
    marks = spec.marks(records, held_points(0, 100, 0.0), 100.0)
    assert len(marks) == decisions.MOST_MARKS
    assert marks[-1]["number"] == 999
