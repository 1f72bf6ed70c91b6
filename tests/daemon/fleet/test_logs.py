"""The log's two formats."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from datetime import datetime

import pytest

from adocd.daemon.book.audit import Audit
from adocd.daemon.book.journal.records import What
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.control.log_context import ABOUT, LoggedTarget
from adocd.daemon.fleet.logs import JsonFormatter, TextFormatter
from adocd.daemon.fleet.noted import noted


def record(message: str, level: int = logging.INFO, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("adocd.daemon.x", level, __file__, 1, "%s", (message,), None)
    made.__dict__ |= extra
    return made


def test_json_says_when_what_and_about_whom() -> None:
    token = ABOUT.set(LoggedTarget("t1", "/srv/db"))
    try:
        line = JsonFormatter().format(record("a\nb", logging.WARNING, rule="adoc.memtable", outcome="rejected"))
    finally:
        ABOUT.reset(token)
    assert "\n" not in line
    said = json.loads(line)
    assert datetime.fromisoformat(said.pop("time")).tzinfo is not None
    assert said == {
        "level": "warning",
        "logger": "adocd.daemon.x",
        "message": "a\nb",
        "target": "t1",
        "path": "/srv/db",
        "rule": "adoc.memtable",
        "outcome": "rejected",
    }


class Notes(Audit):
    """An audit trail in memory."""

    def __init__(self) -> None:
        self.all: list[tuple[str | None, ...]] = []

    def note(self, what: What, who: str, sentence: str, *, target: str | None = None, path: str | None = None) -> None:
        """Remember it."""
        self.all.append((what, who, sentence, target, path))


def test_what_an_operator_did_to_a_closed_database_says_to_which(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caplog.handler.setFormatter(JsonFormatter())
    audit = Notes()
    noted(audit, "forget", KeptTarget("t1", "/srv/db", False, False, 0, ()), "ann", "ann let adocd forget it")
    (line,) = caplog.text.splitlines()
    said = json.loads(line)
    assert (said["target"], said["path"]) == ("t1", "/srv/db")
    assert said["message"] == "/srv/db: ann let adocd forget it"
    assert audit.all == [("forget", "ann", "ann let adocd forget it", "t1", "/srv/db")]


def test_json_has_what_was_raised_and_nothing_that_is_not_known() -> None:
    failed = record("it failed", logging.ERROR)
    try:
        raise ValueError("no")
    except ValueError:
        failed.exc_info = sys.exc_info()
    said = json.loads(JsonFormatter().format(failed))
    assert said["exception"].endswith("ValueError: no")
    assert "target" not in said


@pytest.mark.parametrize(("level", "priority"), [(logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6)])
def test_text_for_the_journal_has_priorities_on_each_line(level: int, priority: int) -> None:
    formatter = TextFormatter(for_journal=True)
    assert formatter.format(record("a\nb", level)) == f"<{priority}>a\\nb", "no message makes a second entry"
    failed = record("it failed", level)
    try:
        raise ValueError("no\nmore")
    except ValueError:
        failed.exc_info = sys.exc_info()
    first, *more = formatter.format(failed).splitlines()
    assert first == f"<{priority}>it failed"
    assert len(more) >= 3
    assert all(line.startswith(f"<{priority}>  ") for line in more)


def test_text_for_a_person_has_the_time() -> None:
    assert TextFormatter(for_journal=False).format(record("a")).endswith(" INFO a")


@pytest.mark.parametrize("is_journal", [True, False])
def test_the_journal_is_known_by_its_stream(is_journal: bool) -> None:
    read, write = os.pipe()
    found = os.fstat(write)
    stream = f"{found.st_dev}:{found.st_ino}" if is_journal else "1:1"
    program = "import logging; from adocd.daemon.fleet import logs; logs.to_stderr('text'); logging.warning('a word')"
    subprocess.run(
        [sys.executable, "-c", program], stderr=write, check=True, env=dict(os.environ) | {"JOURNAL_STREAM": stream}
    )
    os.close(write)
    with os.fdopen(read) as lines:
        said = lines.read()
    assert (said == "<4>a word\n") == is_journal
    assert said.endswith("a word\n")
