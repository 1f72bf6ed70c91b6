"""The diagnosis on a target's page."""

from __future__ import annotations

from typing import Any

from adocd.api.explained import READING
from adocd.api.remedy import Remedy
from adocd.api.web.page.views import why
from tests.diagnosis.logs import diagnosed, flushed, opened, stall

STOP = "we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"


def test_the_diagnosis_says_what_stalled_and_what_would_help() -> None:
    found = diagnosed(opened(max_background_jobs=2), stall(10, STOP, stopped=True), flushed(20), flushed(40))
    shown = why.diagnosis(found)
    assert "1 stall in the 40 s since" in shown
    assert '<li value="1"><b>10 s</b> stopped by memtables' in shown
    assert found["advice"]
    assert found["advice"][0]["do"] in shown.replace("&#x27;", "'")


def test_what_hurts_is_undone_before_any_other_advice_is_taken() -> None:
    found = diagnosed(opened(max_background_jobs=2), stall(10, STOP, stopped=True), flushed(20), flushed(40))
    shown = why.diagnosis(found, Remedy("Undo it:", "adocctl restore aff"))
    assert "<code>adocctl restore aff</code>" in shown
    assert shown.index("adocctl restore") < shown.index('id="more-advice"') < shown.index("<details><summary>")


def test_what_a_log_says_is_escaped() -> None:
    found = diagnosed(opened(), stall(10, STOP, family="<b>"), flushed(20, family="<b>"))
    assert found["stalls"]
    evil = found | {
        "advice": [{"do": "<b>", "why": "<b>", "source": "<b>", "cause": "memtable", "column_family": "<b>"}]
    }
    shown = why.diagnosis(evil)
    assert shown.count("&lt;b&gt;") == 4
    assert "<b>&lt;b&gt;</b>" in shown
    assert "of <b>" not in shown


def test_where_nothing_stalled_there_is_no_advice() -> None:
    shown = why.diagnosis(diagnosed(opened(), flushed(20)))
    assert "Nothing has stalled in the 20 s since" in shown
    assert "help" not in shown
    assert "Nothing has been seen" in why.diagnosis(None)


def test_a_log_that_is_still_being_read_is_called_neither_calm_nor_whole() -> None:
    calm: dict[str, Any] = {"begin": 0.0, "end": 60.0, "stalls": []}
    assert "nothing to tune" in why.diagnosis(calm)
    reading = why.diagnosis(calm | {"is_reading": True})
    assert READING in reading
    assert "nothing to tune" not in reading
