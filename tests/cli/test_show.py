"""How targets and a target's figures look in a terminal and in a pipe."""

from __future__ import annotations

import importlib
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from adocd.cli import show

JOURNAL = {"path": "/j", "problem": None, "rescued": None, "lost_decisions": 0}


def target(path: str) -> dict[str, Any]:
    return {
        "id": "ed765b120fe193ff",
        "path": path,
        "process": {"program": "db_bench", "pid": 19752},
        "state": "attached",
        "policy": {"controller": "adoc", "parameters": {}, "dry_run": True},
        "paused": None,
        "writes_per_s": None,
        "condition": "delayed",
        "stall": None,
        "decisions": 7,
    }


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *targets: dict[str, Any], **problems: str) -> str:
    output = StringIO()
    monkeypatch.setattr(
        show, "console", Console(file=output, width=width, soft_wrap=True, highlight=False, markup=False)
    )
    show.targets({"targets": list(targets), "problems": problems, "journal": JOURNAL})
    return output.getvalue()


def test_a_row_for_each_target_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    header, row = shown(monkeypatch, 200, target("/var/lib/my db")).splitlines()
    assert header.startswith("target            path")
    assert row.startswith("ed765b120fe193ff  /var/lib/my db")
    assert row.split()[3:] == ["db_bench", "(19752)", "attached", "adoc", "(dry", "run)", "-", "delayed", "7"]


def test_lines_where_a_row_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id and a path are there to be copied."""
    assert shown(monkeypatch, 60, target("/var/lib/[x]/db")) == (
        "ed765b120fe193ff  /var/lib/[x]/db\n"
        "  db_bench (19752): attached, adoc (dry run), decisions: 7\n"
        "  writes/s: -, writes are: delayed\n"
    )


@pytest.mark.parametrize("columns", ["60", "200"])
def test_a_path_is_no_markup(columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    made = importlib.reload(show)
    made.targets({"targets": [target("/[red]/[/x]")], "problems": {"/[/y]": "it is gone"}, "journal": JOURNAL})
    out = capsys.readouterr().out
    assert "/[red]/[/x]" in out
    assert "/[/y]: it is gone" in out


def test_a_problem_names_its_place_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shown(monkeypatch, 200, **{"/db": "/db has no LOG", "/run/agent-1.sock": "it does not speak HTTP"})
    assert found.endswith("\n/db has no LOG\n/run/agent-1.sock: it does not speak HTTP\n")
    assert "adocd exec -- PROGRAM" in found
    assert "adocd serve --directory PATH" in found


def test_what_is_piped_is_not_folded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(show, "console", Console(width=show.columns(), soft_wrap=True, highlight=False, markup=False))
    show.targets({"targets": [target("/" + "long/" * 100)], "problems": {}, "journal": JOURNAL})
    assert len(capsys.readouterr().out.splitlines()) == 2
    monkeypatch.setenv("COLUMNS", "60")
    assert show.columns() is None


@pytest.mark.parametrize(
    ("fraction", "words"), [(1.824, "waited, added up, 1.8 times the last"), (0.5, "waited 50% of the last")]
)
def test_writers_that_wait_at_once(fraction: float, words: str) -> None:
    assert words in show._waited({"stalled_fraction": fraction, "interval_s": 1.0}, is_directory=False)
