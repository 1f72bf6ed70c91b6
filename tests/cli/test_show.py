"""How targets and a target's figures look in a terminal and in a pipe."""

from __future__ import annotations

import importlib
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from adocd.cli import console, show, show_targets
from adocd.model.labels import labels_of

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
    show_targets.targets({"targets": list(targets), "problems": problems, "journal": JOURNAL})
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
    importlib.reload(show)
    show_targets.targets({"targets": [target("/[red]/[/x]")], "problems": {"/[/y]": "it is gone"}, "journal": JOURNAL})
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
    monkeypatch.setattr(
        show, "console", Console(width=console.columns(), soft_wrap=True, highlight=False, markup=False)
    )
    show_targets.targets({"targets": [target("/" + "long/" * 100)], "problems": {}, "journal": JOURNAL})
    assert len(capsys.readouterr().out.splitlines()) == 2
    monkeypatch.setenv("COLUMNS", "60")
    assert console.columns() is None


@pytest.mark.parametrize(
    ("fraction", "words"), [(1.824, "waited, added up, 1.8 times the last"), (0.5, "waited 50% of the last")]
)
def test_writers_that_wait_at_once(fraction: float, words: str) -> None:
    assert words in show._waited({"waited_fraction": fraction, "interval_s": 1.0}, is_directory=False)


def test_what_is_known_of_a_silent_database_is_called_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody shall take a stall that was there before for one that is there now."""
    sample: dict[str, Any] = {
        "writes_per_s": 10.0, "written_bytes_per_s": None, "waited_fraction": 0.5, "interval_s": 1.0,
        "stopped_fraction": 0.0, "delayed_fraction": 1.0, "condition": "delayed", "overflow": [],
        "background_jobs": None, "column_families": [],
        "write_latency": {"p50_s": None, "mean_s": 0.004, "why": "only the mean is known"},
    }  # fmt: skip
    more: dict[str, Any] = {
        "sentence": "the agent has been silent for 10 s", "sample": sample, "lease": None, "restore": None,
        "unseen_column_families": [], "overrides": [], "options": None, "originals": None, "last_decision": None,
        "process": {"program": "db_bench", "host": "h", "pid": 7, "rocksdb_version": "7.8.3", "agent": "native 0.1.0"},
    }  # fmt: skip
    output = StringIO()
    monkeypatch.setattr(show, "console", Console(file=output, width=200, highlight=False, markup=False))
    show.status(target("/db") | more | {"state": "silent"})
    assert "ps -o pid,stat,wchan,cmd -p 7" in output.getvalue()
    assert "it is silent: what follows is what was known before" in output.getvalue()
    assert "delayed 100%; then delayed" in output.getvalue()
    assert "mean 4 ms; only the mean is known" in output.getvalue()
    show.status(target("/db") | more)
    assert "delayed 100%; now delayed" in output.getvalue()
    assert output.getvalue().count("known before") == 1


def test_a_restore_that_was_not_answered_says_what_becomes_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = StringIO()
    monkeypatch.setattr(show, "console", Console(file=output, width=200, highlight=False, markup=False))
    show.restored(
        {"restored": {}, "unlike": {}, "failed": {"id": "/run/agent-7.sock did not answer DELETE within 2.0 s"}}
    )
    show.restored({"restored": {}, "unlike": {}, "failed": {"id": "it speaks protocol 9"}})
    assert output.getvalue().count("restores its originals when its lease expires") == 1
    assert capsys.readouterr().err == ""


def test_a_restore_says_back_only_of_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    output = StringIO()
    monkeypatch.setattr(show, "console", Console(file=output, width=200, highlight=False, markup=False))
    done = {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}
    option = {"option": "write_buffer_size (default)", "value": "7", "original": "5"}
    compared = {
        "back": [],
        "theirs": [option | {"is_ours": False}],
        "ours": [option | {"is_ours": True}],
        "unknown": [option | {"is_ours": None}],
    }
    answer: dict[str, Any] = {"restored": dict.fromkeys([*compared, "unread"], done), "unlike": compared, "failed": {}}
    show.restored(answer)
    lines = output.getvalue().splitlines()
    assert lines[0] == "back: the originals are back"
    assert lines[1] == "theirs: the originals are back"
    assert lines[2] == "    write_buffer_size (default) is 7, not its original 5: somebody else has set it"
    assert lines[3] == "ours: the agent has nothing left to restore, but not all originals are back"
    assert lines[4].endswith("is 7, not its original 5: NOT BACK")
    assert lines[5].startswith("unknown: the agent has nothing left to restore, but not all")
    assert "NOT BACK, or set by its own program" in lines[6]
    assert lines[7].startswith("unread: the agent has nothing left to restore, but the values could not be read")
    del answer["unlike"]
    output.truncate(0)
    show.restored(answer)
    assert output.getvalue().count("could not be read") == 5, "a daemon from before an upgrade does not compare"


FLINK = {
    "job": "127b2b84f80b368b8edfe02b2762d10d", "operator": "KeyedProcessOperator",
    "operator_id": "0d49016af99997646695a030f69aa7ee", "subtask": "2/4",
}  # fmt: skip


def stores(count: int) -> list[dict[str, Any]]:
    """Make targets of a Kafka Streams application."""
    paths = [f"/var/lib/kafka-streams/orders/0_{n}/rocksdb/balances" for n in range(count)]
    return [target(path) | {"id": f"{n:016x}", "labels": dict(labels_of(path))} for n, path in enumerate(paths)]


def test_labels_have_a_column_where_a_target_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 240, *stores(1), target("/var/lib/db") | {"labels": {}}).splitlines()
    assert lines[0].split()[:3] == ["target", "path", "labels"]
    assert lines[1].split()[1:5] == [
        "/var/lib/kafka-streams/orders/0_0/rocksdb/balances", "application=orders", "task=0_0", "store=balances",
    ]  # fmt: skip
    assert lines[2].split()[1:3] == ["/var/lib/db", "db_bench"]
    assert "labels" not in shown(monkeypatch, 240, target("/var/lib/db") | {"labels": {}})


def test_300_databases_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    header, *rows = shown(monkeypatch, 120, *stores(300), target("/var/lib/db")).splitlines()
    assert header.startswith("target            labels or path")
    assert len(rows) == 301
    assert rows[7].split()[:5] == [f"{7:016x}", "orders", "0_7", "balances", "db_bench"]
    assert rows[300].split()[1] == "/var/lib/db"


def test_flinks_ids_are_shortened_to_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    one = target(f"/tmp/tm_1/{'x' * 200}/db") | {"labels": FLINK}
    _, row = shown(monkeypatch, 140, one).splitlines()
    assert row.split()[1:5] == ["127b2b84*", "KeyedProcessOperator", "0d49016a*", "2/4"]
    lines = shown(monkeypatch, 60, one).splitlines()
    assert lines[1] == "  " + " ".join(f"{name}={value}" for name, value in FLINK.items()), "whole, to be copied"


def test_of_many_that_are_remembered_some_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    output = StringIO()
    monkeypatch.setattr(show, "console", Console(file=output, width=200, highlight=False, markup=False))
    kept = [{"id": f"{n:016x}", "path": f"/w/w.{n}", "policy": True, "paused": False, "overrides": 0, "originals": []}
            for n in range(300)]  # fmt: skip
    show_targets.targets({"targets": [target("/db")], "kept": kept, "problems": {}, "journal": JOURNAL})
    lines = output.getvalue().splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[2] == "/w/w.0 is closed, and remembered: its policy (0000000000000000)"
    assert lines[-1] == "and 280 more that are closed and remembered; adocctl targets --json lists them"
