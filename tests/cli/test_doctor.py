"""`adocctl doctor`: what it finds, each with the way out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from adocd import __version__
from adocd.cli.doctor import agents, daemon, places, processes, web
from adocd.cli.doctor.finding import DoctorFinding
from adocd.daemon.book.tokens import TokenStore
from tests.cli.harness import command
from tests.cli.harness import quickly_serving as serving
from tests.process.attach.test_whose_socket import LISTENS
from tests.support.fake_agent import FakeAgent
from tests.support.fake_daemon import HEALTH, FakeDaemon
from tests.support.fake_database import FakeDatabase
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

ROCKSDB = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 123   /usr/lib/x86_64-linux-gnu/librocksdb.so.7.8.3"
AGENT = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 124   /opt/my agents/libadocd_agent.so"
ROCKSDICT = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 125   /venv/rocksdict/rocksdict.cpython-311-x86_64.so"

MYROCKS = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 126   /usr/lib/mysql/plugin/ha_rocksdb.so"


def found(run_dir: Path) -> tuple[int, list[dict[str, Any]]]:
    done = command("adocctl", "doctor", "--json", run_dir=run_dir)
    assert done.err == ""
    return done.status, json.loads(done.out)["findings"]


def levels(findings: list[dict[str, Any]], check: str) -> list[str]:
    return [finding["level"] for finding in findings if finding["check"] == check]


# -- as an operator runs it


def test_a_good_installation(run_dir: Path) -> None:
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), serving(run_dir, "--port", "0"):
        eventually(
            lambda: levels(found(run_dir)[1], "web") == ["ok"] and "answers" in str(found(run_dir)[1]),
            what="the web process serves",
        )  # fmt: skip
        status, findings = found(run_dir)
        assert status == 0
        for check in ("run directory", "daemon", "databases", "journal", "clock", "configuration", "web", "tokens"):
            assert levels(findings, check), f"nothing was found out of the {check}"
            assert "problem" not in levels(findings, check), findings
        assert levels(findings, "daemon") == ["ok"]
        assert any("the daemon follows 1" in finding["what"] for finding in findings)
        assert any("1 open" in finding["what"] for finding in findings if finding["check"] == "agents")
        assert any("answers" in finding["what"] for finding in findings if finding["check"] == "web")
        shown = command("adocctl", "doctor", run_dir=run_dir).ok()
        assert shown.splitlines()[-1].startswith("0 problems")


def test_every_finding_that_is_not_well_has_a_way_out(run_dir: Path) -> None:
    (run_dir / "agent-1.sock").touch()  # no socket: passed by
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(run_dir / "agent-2.sock"))
    dead.close()
    run_dir.chmod(0o707)
    done = command("adocctl", "doctor", run_dir=run_dir)
    assert done.status == 1
    assert "problem  run directory: everyone may write to the run directory" in done.out
    assert "problem  daemon: no daemon answers at" in done.out
    assert "way out: start one by `adocd serve`" in done.out
    assert f"way out: it does no harm; rm {run_dir}/agent-2.sock" in done.out
    findings = found(run_dir)[1]
    assert {finding["level"] for finding in findings} >= {"ok", "problem"}
    for finding in findings:
        assert (finding["level"] == "ok") == (finding["way_out"] is None), finding


def test_without_a_run_directory(run_dir: Path) -> None:
    status, findings = found(run_dir / "none")
    assert status == 1
    assert levels(findings, "run directory") == ["problem"]
    assert not (run_dir / "none").exists(), "it changes nothing"


# -- programs without an agent


def process(proc: Path, pid: int, *maps: str, comm: str = "mydb") -> Path:
    directory = proc / str(pid)
    (directory / "fd").mkdir(parents=True)
    (directory / "maps").write_text("\n".join(("55d0-55d1 rw-p 00000000 00:00 0 ", *maps)) + "\n")
    (directory / "comm").write_text(f"{comm}\n")
    return directory


def test_programs_without_an_agent(tmp_path: Path, run_dir: Path) -> None:
    process(tmp_path, 1, AGENT)
    process(tmp_path, 20, ROCKSDB, comm="plain")
    process(tmp_path, 3, ROCKSDB, AGENT, comm="elsewhere")
    process(tmp_path, 4, ROCKSDICT, comm="python3")
    process(tmp_path, 5, MYROCKS, comm="mariadbd")
    (tmp_path / "self").mkdir()
    database = tmp_path / "db"
    database.mkdir()
    (database / "CURRENT").touch()
    for number, target in enumerate((str(database / "LOCK"), "/tmp/LOCK", "pipe:[1]")):
        for pid in ("20", "4", "5"):
            (tmp_path / pid / "fd" / str(number)).symlink_to(target)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(run_dir / "agent-3.sock"))
    # As of a container, where the program has another pid.
    with Program([sys.executable, "-c", LISTENS, run_dir / "agent-20.sock"], environment(None, None)) as contained:
        process(tmp_path, contained.pid, ROCKSDB + " (deleted)", AGENT, comm="old")
        findings = list(processes.without_agent(run_dir, tmp_path))
    assert [finding.level for finding in findings] == ["warning"] * 5
    elsewhere, bundled, myrocks, plain, replaced = findings
    assert "elsewhere (3) has an agent, and its socket is not in" in elsewhere.what
    assert "adocd_agent.attach" in (bundled.way_out or "")
    assert "nothing to do: MyRocks brings its own copy" in (myrocks.way_out or "")
    assert f"adocd serve --directory {database}" in (myrocks.way_out or "")
    assert "replaced on the disk" in replaced.what
    assert plain.what == f"plain (20) has RocksDB loaded and {database} open, without an agent"
    assert "adocd exec -- PROGRAM" in (plain.way_out or "")
    assert f"adocd serve --directory {database}" in (plain.way_out or "")


def test_a_program_that_could_be_attached_to_while_it_runs(run_dir: Path, native_programs: Path) -> None:
    with Program([native_programs / "lifecycle"], environment(None, None)) as program:
        program.ask("open", run_dir / "db")
        (found,) = [
            each for each in processes.without_agent(run_dir) if each.what.startswith(f"lifecycle ({program.pid})")
        ]
        assert f"`adocd attach {program.pid}`" in (found.way_out or "")
        program.process.send_signal(signal.SIGSTOP)
        eventually(lambda: "T (stopped)" in Path(f"/proc/{program.pid}/status").read_text(), what="the stop")
        (stopped,) = [
            each for each in processes.without_agent(run_dir) if each.what.startswith(f"lifecycle ({program.pid})")
        ]
        program.process.send_signal(signal.SIGCONT)
        assert "not while it runs: " in (stopped.way_out or "")
        assert f"kill -CONT {program.pid}" in (stopped.way_out or "")


def test_a_real_program_without_an_agent(run_dir: Path, native_programs: Path) -> None:
    """A Python with rocksdict is at hand wherever the tests run; it has its database open until it is told to end."""
    script = "import rocksdict, sys; db = rocksdict.Rdict(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(run_dir / "db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        seen = [each for each in processes.programs(Path("/proc"))[0] if each.pid == program.pid]
        program.communicate("")
    (one,) = seen
    assert not one.has_agent
    assert one.directories == (str((run_dir / "db").resolve()),)


# -- agents, daemon, places


@pytest.mark.parametrize(
    ("protocol", "level", "words"),
    [("1.2", "warning", "0 open; this adocd is"), ("9.0", "problem", "speaks version 9.0")],
)
def test_an_agents_version(run_dir: Path, protocol: str, level: str, words: str) -> None:
    with FakeAgent(run_dir, protocol=protocol):
        (finding,) = agents.running(run_dir)
    assert finding.level == level
    assert words in finding.what


def test_a_daemon_of_another_version(run_dir: Path) -> None:
    newer = HEALTH[1] | {"version": "9.9.9"}
    listed = {"targets": [], "problems": {"/run/agent-1.sock": "it does not speak HTTP"}, "journal": newer["journal"]}
    with FakeDaemon(run_dir, {"/healthz": (200, newer), "/v1/targets": (200, listed)}):
        health, findings = daemon.health(run_dir)
    assert health == newer
    assert [(finding.check, finding.level) for finding in findings] == [
        ("daemon", "warning"), ("databases", "warning"), ("databases", "ok"),
    ]  # fmt: skip
    assert f"this adocctl is {__version__}" in findings[0].what


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(("free", "level"), [(1 << 20, "problem"), (100 << 20, "warning"), (1 << 40, "ok")])
def test_the_journals_disk(run_dir: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 41, 0, free))
    health = HEALTH[1] | {"journal": HEALTH[1]["journal"] | {"path": str(run_dir / "journal.sqlite")}}
    assert [each.level for each in places.journal(run_dir, health)] == ["ok", level]


def test_a_journal_that_cannot_be_written(run_dir: Path) -> None:
    journal = HEALTH[1]["journal"] | {"problem": "the disk is full", "rescued": "a damaged journal was set aside"}
    findings = list(places.journal(run_dir, HEALTH[1] | {"journal": journal}))
    assert [each.level for each in findings[:2]] == ["problem", "warning"]
    assert "the disk is full" in findings[0].what


def test_a_clock_that_went_back(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    journal = run_dir / "journal.sqlite"
    journal.touch()
    assert [each.level for each in places.clock(run_dir)] == ["ok"]
    ahead_s = time.time() + 7200
    os.utime(journal, (ahead_s, ahead_s))
    (finding,) = places.clock(run_dir)
    assert finding.level == "warning"
    assert "in the future: the clock went back" in finding.what


@pytest.mark.parametrize(("content", "level"), [(None, "ok"), ("[daemon]\n", "ok"), ("[deamon]\n", "problem")])
def test_a_configuration(tmp_path: Path, content: str | None, level: str) -> None:
    file = tmp_path / "adocd.toml"
    if content is not None:
        file.write_text(content)
    assert [each.level for each in places.configuration(file)] == [level]


def test_what_cannot_be_looked_at_is_no_traceback(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user outside the state directory gets PermissionError; a name that is too long gives as good an OSError."""
    nowhere = run_dir / ("x" * 300)
    monkeypatch.setenv("STATE_DIRECTORY", str(nowhere))
    assert [each.check for each in places.journal(run_dir, None)] == ["journal", "disk of the journal"]
    health = HEALTH[1] | {"journal": HEALTH[1]["journal"] | {"path": str(nowhere / "journal.sqlite")}}
    assert [each.check for each in places.journal(run_dir, health)] == ["journal", "disk of the journal"]
    assert [each.check for each in places.configuration(nowhere)] == ["configuration"]


# -- TCP and who may come by it


def test_tokens_from_the_first_to_the_last(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    now_s, store = time.time(), TokenStore(run_dir / "tokens.json")

    def looked(at_s: float = now_s) -> tuple[str, str]:
        (finding,) = web.tokens(run_dir, at_s)
        assert (finding.way_out is None) == (finding.level == "ok")
        return finding.level, finding.what

    assert looked()[0] == "ok"
    assert "there is none" in looked()[1]
    store.make("deploy", "operate", 30 * 86400.0, "root")
    assert looked() == ("ok", "1 of 1 are good")
    level, what = looked(now_s + 25 * 86400.0)
    assert (level, "expires within a week: deploy at 20" in what) == ("warning", True)
    assert looked(now_s + 31 * 86400.0) == ("warning", "every one has expired: deploy")
    store.make("grafana", "read", None, "root")
    assert looked(now_s + 31 * 86400.0) == ("ok", "1 of 2 are good")
    store.path.chmod(0o644)
    assert looked()[0] == "problem"
    store.path.unlink()
    kept = {"name": "a", "expires_unix_s": now_s + 60.0}
    with FakeDaemon(run_dir, {"/v1/tokens": (200, {"tokens": [kept]})}):
        assert "expires within a week: a at" in looked()[1], "the daemon knows where they are"


def test_where_the_configuration_wants_to_listen(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADOCD_RUN_DIR", str(run_dir))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    file = run_dir / "adocd.toml"

    def looked(listen: str, *, answers: bool = False) -> list[tuple[str, str]]:
        file.write_text(f'[web]\nlisten = "{listen}"\n')
        return [(each.level, each.what) for each in web.configured(file, run_dir, answers=answers)]

    assert looked("") == []
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for where in (f"127.0.0.1:{port}", f"0.0.0.0:{port}"):
            ((level, what),) = looked(where)
            assert (level, f"({os.getpid()}) listens there" in what) == ("problem", True)
        assert looked(f"127.0.0.1:{port}", answers=True) == [], "what it has is looked at, not what it would have"
    ((level, what),) = looked(f"0.0.0.0:{port}")
    assert (level, "there is no valid one" in what) == ("warning", True)
    TokenStore(run_dir / "tokens.json").make("a", "read", None, "root")
    assert [level for level, _ in looked(f"0.0.0.0:{port}")] == ["ok"]
    assert [level for level, _ in looked(f"127.0.0.1:{port}")] == ["ok"]
    file.write_text("nonsense")
    assert list(web.configured(file, run_dir, answers=False)) == []


def test_what_the_daemon_cannot_serve_is_a_problem() -> None:
    trouble = "0.0.0.0:9631 is not served, while databases are controlled: every token has expired; make one"
    (finding,) = web.served(HEALTH[1] | {"web_problem": trouble})
    assert (finding.level, finding.way_out) == ("problem", "make one")


@pytest.mark.parametrize(
    ("shown", "answers", "level"),
    [
        ({"LoadState": "not-found"}, False, "ok"),
        ({"ActiveState": "failed", "Result": "exit-code"}, False, "problem"),
        ({"ActiveState": "inactive"}, False, "problem"),
        ({"ActiveState": "inactive"}, True, "ok"),
        ({"ActiveState": "active"}, False, "problem"),
        ({"ActiveState": "active", "NRestarts": "3"}, True, "warning"),
        ({"ActiveState": "active", "UnitFileState": "disabled"}, True, "warning"),
        ({"ActiveState": "active", "UnitFileState": "enabled", "NRestarts": "0"}, True, "ok"),
    ],
)
def test_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: dict[str, str], answers: bool, level: str
) -> None:
    monkeypatch.setattr(daemon, "_SYSTEMD", tmp_path)
    monkeypatch.setattr(daemon, "_show", lambda: shown)
    findings: list[DoctorFinding] = list(daemon.systemd(answers=answers))
    assert [each.level for each in findings] == [level]
