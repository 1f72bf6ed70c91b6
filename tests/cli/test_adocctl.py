"""adocctl against a real daemon process, which controls a fake agent's database."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from datetime import datetime
from pathlib import Path

import pytest

from adocd.api.client import AnswerLost, RestClient
from adocd.cli import show, steer
from adocd.targets.run_dir import daemon_socket
from tests.cli.harness import (
    BIN,
    adocctl_json,
    command,
    environment_of,
    log_of,
    script,
    script_serving,
    serving,
    start_script,
    wait_for_target,
)
from tests.daemon.harness import overflowing
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually


def batch(database: FakeDatabase) -> str:
    return database.options.column_families["default"]["write_buffer_size"]


def test_an_operators_way_through(run_dir: Path) -> None:
    """Watch with a dry run, let it act, look why, and put everything back."""
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), serving(run_dir):
        wait_for_target(run_dir)
        assert "fixed" in command("adocctl", "targets", run_dir=run_dir).ok()
        shown = command("adocctl", "status", run_dir=run_dir).ok()
        assert "memory" in shown
        assert "2 immutable memtables" in shown
        assert "The tuner is not acting. The policy fixed watches and changes nothing." in " ".join(shown.split())

        assert "dry run" in command("adocctl", "set-policy", "adoc", "--dry-run", run_dir=run_dir).ok()
        eventually(lambda: adocctl_json(run_dir, "decisions"), what="a decision")
        assert adocctl_json(run_dir, "decisions", "-n", "1")[0]["outcome"] == "dry-run"
        assert batch(database) == str(64 << 20)

        command("adocctl", "set-policy", "adoc", "--set", "batch_max_bytes=134217728", run_dir=run_dir).ok()
        eventually(lambda: batch(database) == str(128 << 20), what="it is tuned")
        tuned = "write_buffer_size = 134217728 (originally 67108864)"
        eventually(lambda: tuned in command("adocctl", "status", run_dir=run_dir).ok(), what="status shows it")
        judged = adocctl_json(run_dir, "status")["verdict"]
        assert judged["kind"] == "unknown", "of neither side there is half a minute"
        assert "adoc" in judged["sentence"]
        shown = command("adocctl", "decisions", run_dir=run_dir).ok()
        assert "adoc.memory" in shown
        assert "applied" in shown

        shown = command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        assert "originals" in shown or "restoring" in shown
        assert "also one that opens later, until: adocctl resume --all" in shown
        eventually(lambda: batch(database) == str(64 << 20), what="the originals are back")
        assert "adoc batch_max_bytes=134217728 (paused)" in command("adocctl", "targets", run_dir=run_dir).ok()
        assert "restored the originals; resume" in command("adocctl", "status", run_dir=run_dir).ok()


def test_decisions_of_a_run_that_has_ended(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with serving(run_dir), FakeAgent(run_dir, [database]):
        wait_for_target(run_dir)
        command("adocctl", "set-policy", "adoc", "--dry-run", run_dir=run_dir).ok()
        eventually(lambda: adocctl_json(run_dir, "decisions"), what="a decision")
        (before,) = {each["rule"] for each in adocctl_json(run_dir, "decisions", "-n", "1")}
    with serving(run_dir):  # the database stays closed
        known = adocctl_json(run_dir, "decisions", "--all-runs", "db")
        assert (known[-1]["rule"], known[-1]["outcome"]) == (before, "dry-run")
        shown = command("adocctl", "decisions", "--all-runs", "db", run_dir=run_dir).ok()
        assert before in shown
        assert f"{datetime.fromtimestamp(known[-1]['unix_s']).astimezone():%Y-%m-%d}" in shown
        named = f"{run_dir / 'db'} is closed, and remembered"
        command("adocctl", "decisions", "db", run_dir=run_dir).failed(4, named)
        both = ("decisions", "--all-runs", "--before", "2")
        command("adocctl", *both, run_dir=run_dir).failed(2, "say --before or --all-runs, not both")
        assert "set the policy to adoc" in command("adocctl", "audit", "db", run_dir=run_dir).ok()
        command("adocctl", "events", "db", run_dir=run_dir).ok()


def test_panic_works_while_the_daemon_is_dead(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    config = run_dir / "adocd.toml"
    config.write_text("[daemon]\nlease_ttl_s = 3600\n")  # it is not the lease's end that is seen
    with FakeAgent(run_dir, [database]):
        with serving(run_dir, "--policy", "adoc", "--config", str(config)) as daemon:
            eventually(lambda: batch(database) != str(64 << 20), what="it is tuned")
            daemon.kill()
            daemon.wait()
        shown = command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        assert "No daemon remembers it" in shown
        eventually(lambda: batch(database) == str(64 << 20), what="the originals are back")


def test_panic_passes_by_what_a_killed_process_has_left(run_dir: Path) -> None:
    killed = FakeAgent(run_dir, pid=1)
    killed.start()
    killed.die()
    with FakeAgent(run_dir, [overflowing(run_dir / "db")]):
        command("adocctl", "restore", "--all", run_dir=run_dir).ok()
    assert killed.socket_path.exists()


def test_a_clean_stop_restores(run_dir: Path) -> None:
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]):
        with script_serving(run_dir, "--policy", "adoc"):
            eventually(lambda: batch(database) != str(64 << 20), what="it is tuned")
        assert batch(database) == str(64 << 20)
        assert not (run_dir / "daemon.sock").exists()
        assert "adoc.memory" in log_of(run_dir)


def test_controllers(run_dir: Path) -> None:
    with serving(run_dir):
        laws = adocctl_json(run_dir, "controllers")
        assert [law["name"] for law in laws if law["default"]] == ["tide"]
        assert {"name", "knobs", "source", "needs", "parameters"} <= laws[0].keys()
        assert next(law for law in laws if law["name"] == "mimd")["parameters"] == {
            "max_bytes_per_s": None,
            "refill_period_ms": 100,
        }
        shown = command("adocctl", "controllers", run_dir=run_dir)
        assert "ADOC, FAST'23, section 5" in shown.ok()
        assert shown.err == ""
    assert adocctl_json(run_dir, "controllers") == laws, "what is installed can be seen without a daemon, too"


def test_a_law_of_another_package_that_cannot_be_used_is_told(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = run_dir / "site"
    (site / "theirs-1.0.dist-info").mkdir(parents=True)
    (site / "theirs-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    entry_points = "[adocd.controllers]\nadoc = theirs:Law\n"
    (site / "theirs-1.0.dist-info" / "entry_points.txt").write_text(entry_points)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    with serving(run_dir):
        sentence = "adoc of theirs 1.0: the name 'adoc' is one of adocd's own laws: choose another"
        shown = command("adocctl", "controllers", "--json", run_dir=run_dir)
        assert isinstance(json.loads(shown.ok()), list)
        assert shown.err == f"warning: {sentence}\n"
        assert sentence in log_of(run_dir)


def test_what_cannot_be_done_is_one_sentence_and_an_exit_code(run_dir: Path) -> None:
    databases = [FakeDatabase(run_dir / "one"), FakeDatabase(run_dir / "two")]
    with FakeAgent(run_dir, databases), serving(run_dir):
        eventually(lambda: len(adocctl_json(run_dir, "targets")["targets"]) == 2, what="two targets")
        for arguments, status, words in [
            (("status",), 2, ("say which target is meant", "/one", "/two")),
            (("status", "three"), 4, ("there is no target 'three'; there are",)),
            (("explain", "three"), 4, ("there is no file 'three', and there is no target 'three'; there are", "/one")),
            (("explain", ""), 4, ("there is no file '', and there is no target ''",)),
            (
                ("set-policy", "adco", "one"),
                2,
                ("there is no controller 'adco'; did you mean adoc?",),
            ),
            (("set-policy", "adoc", "one", "--set", "threads"), 2, ("--set takes KEY=VALUE",)),
            (("set-policy", "adoc", "one", "--set", "thread_max=3"), 2, ("did you mean threads_max?",)),
            (("restore",), 2, ("say which target to restore, or --all",)),
            (("restore", "three"), 4, ("there is no target 'three'",)),
        ]:
            sentence = command("adocctl", *arguments, run_dir=run_dir).failed(status, *words)
            assert sentence.startswith("adocctl: ")
        assert adocctl_json(run_dir, "status", "one")["policy"]["controller"] == "fixed"


@pytest.mark.parametrize("arguments", [("targets",), ("status",), ("set-policy", "adoc"), ("decisions",)])
def test_without_a_daemon(run_dir: Path, arguments: tuple[str, ...]) -> None:
    script("adocctl", *arguments, run_dir=run_dir).failed(3, "no daemon answers at", "start one by `adocd serve`")


@pytest.mark.parametrize(
    "arguments", [("controllers",), ("controllers", "--json"), ("--help",), ("--version",)], ids=" ".join
)
def test_output_to_a_full_disk_is_one_sentence(run_dir: Path, arguments: tuple[str, ...]) -> None:
    err = run_dir / "err"
    process = start_script("adocctl", *arguments, env=environment_of(run_dir), out=Path("/dev/full"), err=err)
    assert process.wait(60) == 1
    assert err.read_text() == "adocctl: the output cannot be written: No space left on device\n"


def test_a_restore_does_not_claim_that_a_daemon_which_is_there_remembers_nothing(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = list[str]()
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.setattr(show.console, "print", lambda *said: printed.extend(map(str, said)))
    monkeypatch.setattr(steer, "daemon", lambda: RestClient(daemon_socket(run_dir), timeout_s=0.2))
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), socket.socket(socket.AF_UNIX) as hangs:
        hangs.bind(str(daemon_socket(run_dir)))
        hangs.listen()
        steer.restore(target=None, everything=True)
    assert "The daemon did not say whether it remembers this" in printed[-1]


def cut_off(listening: socket.socket) -> None:
    """Take a request and end before it is answered, as a daemon that is restarted meanwhile."""
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)


def test_a_restore_whose_answer_is_lost_may_be_remembered(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = list[str]()
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.setattr(show.console, "print", lambda *said: printed.extend(map(str, said)))
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(daemon_socket(run_dir)))
        listening.listen()
        ends = threading.Thread(target=cut_off, args=[listening])
        ends.start()
        steer.restore(target=None, everything=True)
        ends.join()
        assert "did not say whether it remembers this" in printed[-1]
        ends = threading.Thread(target=cut_off, args=[listening])
        ends.start()
        with pytest.raises(
            AnswerLost, match="closed the connection before it had answered POST /v1/pause: it may have"
        ):
            RestClient(daemon_socket(run_dir)).post("/v1/pause")
        ends.join()


def test_without_a_daemon_a_name_that_fits_several_restores_none(run_dir: Path) -> None:
    one, other = (FakeDatabase(run_dir / name / "db") for name in "ab")
    with FakeAgent(run_dir, [one]), FakeAgent(run_dir, [other], pid=os.getppid()):
        done = command("adocctl", "restore", "db", run_dir=run_dir)
        done.failed(2, "say which target is meant: ", str(run_dir / "a" / "db"), str(run_dir / "b" / "db"))
        done = command("adocctl", "restore", "a/db", run_dir=run_dir)
        assert (done.status, "FAILED" in done.out) == (0, False)


def test_a_restore_without_an_output_restores_all_the_same(run_dir: Path) -> None:
    """As a hook that closes its descriptors starts it."""
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]):
        done = subprocess.run(
            ["sh", "-c", f"exec {BIN / 'adocctl'} restore --all >&-"],
            env=os.environ | {"ADOCD_RUN_DIR": str(run_dir)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_restore_without_daemon_and_agents(run_dir: Path) -> None:
    command("adocctl", "restore", "--all", run_dir=run_dir).failed(4, "no daemon answers, and no database has an agent")


def test_a_restore_of_one_database_without_daemon_says_which_agent_is_silent(run_dir: Path) -> None:
    """It may be that agent's; only where another has the database, a silent one is nobody's business."""
    silent = run_dir / f"agent-{os.getppid()}.sock"
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), socket.socket(socket.AF_UNIX) as hangs:
        hangs.bind(str(silent))
        hangs.listen()
        done = command("adocctl", "restore", "/somewhere/else", run_dir=run_dir)
        assert done.status == 1
        assert f"{silent}: FAILED: " in done.out
        done = command("adocctl", "restore", str(run_dir / "db"), run_dir=run_dir)
        assert (done.status, "FAILED" in done.out) == (0, False)
