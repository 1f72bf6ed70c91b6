"""`adocctl forget`: what the daemon remembers of a closed database, and what it must not lose."""

from __future__ import annotations

import os
import pwd
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.harness import adocctl_json, command, log_of, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.cli.test_operate import SLOWDOWN, adocctl, journal, slowdown
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

pytestmark = pytest.mark.long


def closed(run_dir: Path) -> None:
    eventually(
        lambda: all(t["state"] == "closed" for t in adocctl_json(run_dir, "targets")["targets"]), what="it is closed"
    )


def sequence(run_dir: Path) -> int:
    return int(adocctl_json(run_dir, "status")["sample"]["sequence"])


def pin(run_dir: Path, database: FakeDatabase) -> None:
    wait_for_target(run_dir)
    adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30", "--for", "ever").ok()
    eventually(lambda: slowdown(database) == "30", what="it is pinned")


def in_journal(run_dir: Path) -> list[str]:
    """Return the kinds of documents, and of decisions, in the journal."""
    with closing(sqlite3.connect(f"file:{journal(run_dir)}?mode=ro", uri=True)) as connection:
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM documents ORDER BY kind")]
        (decisions,) = connection.execute("SELECT count(*) FROM decisions").fetchone()
    return kinds + ["decisions"] * bool(decisions)


def test_a_closed_database_is_forgotten(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with serving(run_dir):
        with FakeAgent(run_dir, [database]):
            wait_for_target(run_dir)
            adocctl(run_dir, "set-policy", "adoc", "--dry-run").ok()
            adocctl(run_dir, "pause", "--reason", "a look").ok()
            adocctl(run_dir, "forget", "db").failed(5, "is open: adocd forgets closed databases alone")
        closed(run_dir)
        said = adocctl(run_dir, "forget", "db").ok()
        assert said == f"{run_dir / 'db'} is forgotten: its policy, its pause\n"
        assert adocctl_json(run_dir, "targets")["targets"] == []
        adocctl(run_dir, "forget", "db").failed(4, "there is no target 'db'")
        assert "forget" in [each["what"] for each in adocctl_json(run_dir, "audit")["operations"]]
        assert f"{run_dir / 'db'}: " in log_of(run_dir)
        assert " let adocd forget it" in log_of(run_dir)
        database.reopen()
        with FakeAgent(run_dir, [database]):
            wait_for_target(run_dir)
            assert adocctl_json(run_dir, "policy", "show")["controller"] == "fixed", "it is a new one"
            assert adocctl_json(run_dir, "status")["paused"] is None
    assert in_journal(run_dir) == []


def test_originals_that_are_due_are_not_forgotten(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with serving(run_dir):
        with FakeAgent(run_dir, [database]):
            pin(run_dir, database)
        closed(run_dir)
        adocctl(run_dir, "forget", "db").failed(
            5, f"adocd still owes {run_dir / 'db'} the original value of {SLOWDOWN} (default): open it under its agent"
        )
    assert set(in_journal(run_dir)) >= {"overrides", "tuned"}
    with serving(run_dir):  # of a database that is closed since the daemon began, only the journal knows
        shown = adocctl(run_dir, "targets").ok()
        assert f"{run_dir / 'db'} is closed, and remembered: 1 pin, the originals of {SLOWDOWN} (default)" in shown
        adocctl(run_dir, "forget", "db").failed(5, "adocd still owes")
        database.reopen(keep_options=True)
        with FakeAgent(run_dir, [database]):
            wait_for_target(run_dir)
            adocctl(run_dir, "override", "remove", SLOWDOWN).ok()
            eventually(lambda: slowdown(database) == "20", what="it is restored")
            eventually(lambda: adocctl_json(run_dir, "status")["lease"] is None, what="nothing is held")
            seen = sequence(run_dir)
            eventually(lambda: sequence(run_dir) > seen + 1, what="the daemon has seen it")
        closed(run_dir)
        assert command("adocctl", "forget", "db", run_dir=run_dir).ok() == f"{run_dir / 'db'} is forgotten\n"
    assert in_journal(run_dir) == []


def test_the_pins_of_a_database_that_is_closed_and_remembered_can_be_removed(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with serving(run_dir):
        with FakeAgent(run_dir, [database]):
            pin(run_dir, database)
            adocctl(run_dir, "override", "set", "max_background_jobs=4", "--for", "ever").ok()
        closed(run_dir)
    with serving(run_dir):
        (kept,) = adocctl_json(run_dir, "targets")["kept"]
        assert kept["overrides"] == 2
        shown = adocctl_json(run_dir, "override", "list", "db")
        assert {each["ineffective"] for each in shown} == {"the database is closed"}
        adocctl(run_dir, "override", "remove", "max_background_jobs", "db").ok()
        adocctl(run_dir, "override", "remove", "max_background_jobs", "db").failed(4, f"pinned is {SLOWDOWN}")
        (removed,) = adocctl_json(run_dir, "override", "clear", "--all")["removed"]
        assert removed["option"] == SLOWDOWN
        (kept,) = adocctl_json(run_dir, "targets")["kept"]
        assert kept["overrides"] == 0, "its originals are due as ever"
        assert adocctl(run_dir, "override", "clear", "db").ok() == "Nothing was pinned there.\n"
    assert "overrides" not in in_journal(run_dir)


def test_the_last_that_is_remembered_of_a_database_can_be_a_pin_that_is_cleared(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with serving(run_dir):
        with FakeAgent(run_dir, [database]):
            wait_for_target(run_dir)
            adocctl(run_dir, "pause").ok()
            adocctl(run_dir, "restore", "db").ok()  # so that the pin changes nothing, and no original is due
            adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30", "--for", "ever").ok()
        closed(run_dir)
        adocctl(run_dir, "resume", "db").ok()
        adocctl(run_dir, "override", "set", "max_background_jobs=4", "--all").ok()
    with serving(run_dir):
        (kept,) = adocctl_json(run_dir, "targets")["kept"]
        assert (kept["overrides"], kept["originals"]) == (1, [])
        cleared = adocctl_json(run_dir, "override", "clear", "db")
        assert [each["option"] for each in cleared["removed"]] == [SLOWDOWN]
        assert [each["option"] for each in cleared["left"]] == ["max_background_jobs"]
        assert adocctl_json(run_dir, "targets")["kept"] == []


def test_the_originals_of_a_database_that_was_deleted_are_forgotten_when_asked(run_dir: Path) -> None:
    """A window segment of Kafka Streams, for example: it never opens again."""
    database = FakeDatabase(run_dir / "db")
    with serving(run_dir):
        with FakeAgent(run_dir, [database]):
            pin(run_dir, database)
            adocctl(run_dir, "forget", "db", "--originals-too").failed(
                5, "is open: adocd forgets closed databases alone"
            )
        closed(run_dir)
        said = adocctl(run_dir, "forget", "db", "--originals-too").ok()
        assert said == f"{run_dir / 'db'} is forgotten: 1 pin, the originals of {SLOWDOWN} (default)\n"
        assert " let adocd forget it, and its originals" in log_of(run_dir)
        assert adocctl_json(run_dir, "targets")["kept"] == []
    assert in_journal(run_dir) == []


def test_what_an_operator_does_is_a_line_in_the_log(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir):
        wait_for_target(run_dir)
        for arguments in (
            ("set-policy", "adoc", "--dry-run"),
            ("reset-policy",),
            ("override", "set", f"{SLOWDOWN}=30", "--reason", "a bulk load"),
            ("override", "remove", SLOWDOWN),
            ("pause", "--reason", "a look"),
            ("resume",),
            ("restore", "db"),
            ("resume", "--all"),
        ):
            adocctl(run_dir, *arguments).ok()
        who = f" INFO {run_dir / 'db'}: {pwd.getpwuid(os.geteuid()).pw_name} "
        words = [line.partition(who)[2] for line in log_of(run_dir).splitlines() if who in line]
        assert words == [
            "set the policy to adoc, as a dry run",
            "left the policy to the configuration: fixed",
            f"pinned {SLOWDOWN} to 30 for 60 min: a bulk load",
            f"removed the pin of {SLOWDOWN}",
            "paused it: a look",
            "let its law go on",
            "restored the originals",
        ]
        assert " INFO all databases: " in log_of(run_dir)
