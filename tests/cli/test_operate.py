"""Overrides, pauses and what survives the daemon, at the terminal, with a real daemon and a fake agent's database."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path

import pytest

from adocd.daemon.book.journal.schema import APPLICATION_ID
from tests.cli.harness import Done, Running, adocctl_json, command, log_of, wait_for_target
from tests.cli.harness import quickly_serving as serving
from tests.cli.test_adocctl import batch
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import always, eventually

pytestmark = pytest.mark.long

MIB = 1 << 20
SLOWDOWN = "level0_slowdown_writes_trigger"


def adocctl(run_dir: Path, *arguments: str) -> Done:
    return command("adocctl", *arguments, run_dir=run_dir)


def slowdown(database: FakeDatabase) -> str:
    return database.options.column_families["default"][SLOWDOWN]


def sentence(run_dir: Path) -> str:
    return str(adocctl_json(run_dir, "status")["sentence"])


def kill(daemon: Running) -> None:
    daemon.send_signal(signal.SIGKILL)
    daemon.wait(60)


def journal(run_dir: Path) -> Path:
    return run_dir / "journal.sqlite"


# -- overrides


def test_a_pin_from_the_terminal(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir, "--policy", "adoc"):
        wait_for_target(run_dir)
        assert adocctl(run_dir, "override", "list").ok() == "Nothing is pinned.\n"
        said = adocctl(
            run_dir, "override", "set", "write_buffer_size=96MiB", "--for", "2h", "--reason", "a bulk load"
        ).ok()  # fmt: skip
        assert "write_buffer_size is pinned to 96 MiB for 120 min" in said
        eventually(lambda: batch(database) == str(96 * MIB), what="it beats the law")
        eventually(lambda: "in force" in adocctl(run_dir, "override", "list").ok(), what="the list says so")
        shown = adocctl(run_dir, "override", "list").ok()
        for words in ("write_buffer_size", "96 MiB", "min", "a bulk load"):
            assert words in shown
        always(lambda: batch(database) == str(96 * MIB), for_s=1.5, what="the law keeps its hands off")

        assert adocctl(run_dir, "override", "remove", "write_buffer_size").ok() == (
            "write_buffer_size is not pinned any more\n"
        )
        eventually(lambda: int(batch(database)) > 96 * MIB, what="the law has it again")
        sent = [change for decision in adocctl_json(run_dir, "decisions") for change in decision["changes"]]
        assert {"write_buffer_size", str(96 * MIB)} <= {
            word for c in sent for word in (c["option"]["option"], c["value"])
        }


def test_a_pin_for_all_targets(run_dir: Path) -> None:
    databases = [FakeDatabase(run_dir / "one"), FakeDatabase(run_dir / "two")]
    with FakeAgent(run_dir, databases), serving(run_dir):
        eventually(lambda: len(adocctl_json(run_dir, "targets")["targets"]) == 2, what="two targets")
        adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30", "--all", "--for", "ever").ok()
        for database in databases:
            eventually(lambda d=database: slowdown(d) == "30", what="it is pinned")  # type: ignore[misc]
        shown = adocctl(run_dir, "override", "list", "--all").ok()
        assert "all targets" in shown
        assert "until it is removed" in shown
        assert [pin["target"] for pin in adocctl_json(run_dir, "override", "list", "one")] == [None]
        adocctl(run_dir, "override", "remove", SLOWDOWN, "--all").ok()
        for database in databases:
            eventually(lambda d=database: slowdown(d) == "20", what="it is back")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("set", "write_buffer_size"), 2, "an override is OPTION=VALUE, such as write_buffer_size=128MiB"),
        (("set", "write_buffer_size", "64MiB"), 2, "an override is OPTION=VALUE: write write_buffer_size=64MiB"),
        (("set", "write_buffer_size=64M"), 2, "must be 64MB (64,000,000 bytes) or 64MiB (67,108,864 bytes)"),
        (
            ("set", f"{SLOWDOWN}=30", "--for", "2"),
            2,
            "--for must be a time such as 500ms, 30s, 5min, 2h, 1d or 2h30min, not '2'; or `ever`",
        ),
        (("set", f"{SLOWDOWN}=30", "--for", "9999d"), 2, "for_s must be at most 366 d"),
        (("set", f"{SLOWDOWN}=30", "db", "--all"), 2, "say which target is meant, or --all, not both"),
        (("set", f"{SLOWDOWN}=30", "nowhere"), 4, "there is no target 'nowhere'"),
        (("set", "write_buffer_size=1KiB"), 2, "must be 1 MiB to 4 GiB, not 1 KiB"),
        (("set", "no_such_option=1"), 2, "it does not know its bounds; docs/safety.md lists what it can"),
        (("set", "max_background_job=4"), 2, "did you mean max_background_jobs?"),
        (("set", f"{SLOWDOWN}=30", "--column-family", "no"), 2, "there is no column family 'no' here"),
        (("remove", "max_background_jobs"), 4, "max_background_jobs is not pinned on "),
        (("remove", "write_buffer_size "), 4, "write_buffer_size  is not pinned on "),
        (("remove", "write?buffer#size"), 4, "write?buffer#size is not pinned on "),
    ],
)
def test_what_cannot_be_pinned_is_one_sentence_and_an_exit_code(
    served: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    assert adocctl(served, "override", *arguments).failed(status, words).startswith("adocctl: ")


# -- pauses


def test_pause_and_resume(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir, "--policy", "adoc"):
        eventually(lambda: batch(database) != str(64 * MIB), what="it is tuned")
        said = adocctl(run_dir, "pause", "--reason", "a look").ok()
        assert said.startswith("paused: ")
        assert "paused it: a look" in said
        eventually(lambda: sentence(run_dir).startswith("paused: "), what="it is paused")
        tuned = batch(database)
        assert tuned != str(64 * MIB), "what is set stays"
        assert "adoc (paused)" in adocctl(run_dir, "targets").ok()
        adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30").ok()
        eventually(lambda: slowdown(database) == "30", what="overrides act")
        assert batch(database) == tuned
        assert adocctl(run_dir, "resume").ok() == "resumed\n"
        eventually(lambda: batch(database) != tuned, what="the law goes on")
        assert adocctl(run_dir, "resume").ok() == "it was not paused\n"
        assert adocctl(run_dir, "resume", "--all").ok() == "it was not paused\n"
        adocctl(run_dir, "pause", "db", "--all").failed(2, "say which target is meant, or --all, not both")


# -- what survives the daemon


def test_what_was_set_survives_a_restart_and_a_kill_until_it_is_reset(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with serving(run_dir, "--policy", "fixed"):
            wait_for_target(run_dir)
            adocctl(
                run_dir, "set-policy", "adoc", "--set", "threads_max=8", "--shape", "pacing_s=5"
            ).ok()  # fmt: skip
            adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30", "--all", "--reason", "for long").ok()
            wanted = adocctl_json(run_dir, "status")["policy"]
        with serving(run_dir, "--policy", "fixed") as daemon:
            wait_for_target(run_dir)
            assert adocctl_json(run_dir, "status")["policy"] == wanted
            assert wanted["shaping"]["pacing_s"] == 5
            (pin,) = adocctl_json(run_dir, "override", "list", "--all")
            assert (pin["reason"], pin["value"]) == ("for long", "30")
            kill(daemon)
        with serving(run_dir, "--policy", "fixed") as daemon:
            wait_for_target(run_dir)
            assert adocctl_json(run_dir, "status")["policy"] == wanted
            assert len(adocctl_json(run_dir, "override", "list")) == 1
            assert "The policy is now fixed" in adocctl(run_dir, "reset-policy").ok()
            kill(daemon)
        with serving(run_dir):
            wait_for_target(run_dir)
            assert adocctl_json(run_dir, "status")["policy"]["controller"] == "fixed"


@pytest.mark.parametrize("arguments", [("pause",), ("restore", "--all")], ids=" ".join)
def test_a_stop_outlives_the_daemon_that_is_killed(run_dir: Path, arguments: tuple[str, ...]) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with serving(run_dir, "--policy", "fixed") as daemon:
            wait_for_target(run_dir)
            adocctl(run_dir, *arguments).ok()
            eventually(lambda: sentence(run_dir).startswith("paused: "), what="it is paused")
            kill(daemon)
        with serving(run_dir, "--policy", "adoc"):
            wait_for_target(run_dir)
            always(lambda: batch(database) == str(64 * MIB), for_s=1.5, what="nothing is changed")
            assert sentence(run_dir).startswith("paused: ")
            adocctl(run_dir, "resume", *(("--all",) if "--all" in arguments else ())).ok()
            eventually(lambda: batch(database) != str(64 * MIB), what="it goes on")


def test_serve_with_dry_run_changes_nothing_whatever_was_set_before(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with serving(run_dir):
            wait_for_target(run_dir)
            adocctl(run_dir, "set-policy", "adoc").ok()
            eventually(lambda: batch(database) != str(64 * MIB), what="it is tuned")
        assert batch(database) == str(64 * MIB)
        with serving(run_dir, "--dry-run"):
            wait_for_target(run_dir)
            eventually(lambda: adocctl_json(run_dir, "decisions"), what="a decision")
            assert "adoc (dry run)" in adocctl(run_dir, "targets").ok()
            assert batch(database) == str(64 * MIB)


# -- the journal


def test_a_second_daemon_cannot_have_the_journal(run_dir: Path) -> None:
    with serving(run_dir) as daemon:
        elsewhere = run_dir / "elsewhere"
        elsewhere.mkdir()
        done = command("adocd", "serve", run_dir=elsewhere, STATE_DIRECTORY=str(run_dir))
        done.failed(1, f"the journal {journal(run_dir)} is in use by process {daemon.pid}")


def test_a_damaged_journal_is_set_aside_and_everyone_is_told(run_dir: Path) -> None:
    database = FakeDatabase(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with serving(run_dir):
            wait_for_target(run_dir)
            adocctl(run_dir, "set-policy", "adoc", "--dry-run").ok()
        with journal(run_dir).open("r+b") as file:
            file.write(b"no journal" * 20)
        with serving(run_dir):
            wait_for_target(run_dir)
            said = adocctl(run_dir, "targets").ok()
            assert "and a new one begins with what could be read of it" in said
            assert f"it is now {journal(run_dir)}.damaged-" in log_of(run_dir)
            assert adocctl_json(run_dir, "targets")["journal"]["problem"] is None
            assert adocctl_json(run_dir, "status")["policy"]["controller"] == "adoc", "it could be read"
    assert len(list(run_dir.glob("journal.sqlite.damaged-*"))) == 1


def test_while_the_journal_cannot_be_written_nothing_new_is_changed(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with serving(run_dir):
            wait_for_target(run_dir)
        journal(run_dir).rename(run_dir / "away")
        journal(run_dir).mkdir()
        with serving(run_dir, "--policy", "adoc"):
            wait_for_target(run_dir)
            always(lambda: batch(database) == str(64 * MIB), for_s=1.5, what="nothing is changed")
            assert f"the journal {journal(run_dir)} is a directory" in log_of(run_dir)
            assert "adocd changes nothing new, but restores continue: the journal" in adocctl(run_dir, "targets").ok()
            adocctl(run_dir, "set-policy", "adoc").failed(5, "the policy would be lost in a restart of the daemon")
            adocctl(run_dir, "override", "set", f"{SLOWDOWN}=30").failed(5, "nothing is pinned: ")
            adocctl(run_dir, "restore", "--all").ok()


def test_a_newer_journal_is_left_alone(run_dir: Path) -> None:
    connection = sqlite3.connect(journal(run_dir))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1000")
    connection.close()
    done = command("adocd", "serve", run_dir=run_dir)
    done.failed(1, "is of schema version 1000", "use the newer adocd, or move the file away")


def test_decisions_are_in_the_journal(run_dir: Path) -> None:
    """For whoever opens it with sqlite3 after an incident."""
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]), serving(run_dir, "--policy", "adoc", "--dry-run"):
        eventually(lambda: adocctl(run_dir, "decisions", "--json").out.startswith("[{"), what="one")
    connection = sqlite3.connect(f"file:{journal(run_dir)}?mode=ro", uri=True)
    (content,) = connection.execute("SELECT content FROM decisions LIMIT 1").fetchone()
    connection.close()
    assert json.loads(content)["rule"] == "adoc.memory"
