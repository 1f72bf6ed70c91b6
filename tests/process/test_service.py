"""`adocd serve` as a service: what systemd is told, SIGHUP, and the log's format."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.cli.harness import BIN, command, log_of, no_traceback, serving
from tests.support.waiting import eventually


@contextlib.contextmanager
def manager(run_dir: Path) -> Iterator[socket.socket]:
    """Listen as systemd does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(run_dir / "notify"))
        listener.settimeout(20)
        yield listener


def until_said(listener: socket.socket, word: str) -> list[str]:
    """Read until a word comes; all that came."""
    said: list[str] = []
    while word not in said:
        said += listener.recv(4096).decode().splitlines()
    return said


def test_it_says_when_it_serves_reloads_and_ends(run_dir: Path) -> None:
    file = run_dir / "adocd.toml"
    file.write_text("[daemon]\ntick_s = 1.0\n")
    with manager(run_dir) as listener:
        environment = {"NOTIFY_SOCKET": str(run_dir / "notify"), "WATCHDOG_USEC": "2000000"}
        with serving(run_dir, "--config", str(file), **environment) as daemon:
            assert "READY=1" in until_said(listener, "WATCHDOG=1")
            file.write_text("[daemon]\ntick_s = 0.5\ndirectories = ['/srv/db']\n")
            daemon.send_signal(signal.SIGHUP)
            said = until_said(listener, "RELOADING=1")
            said = until_said(listener, "READY=1")
            status = next(word for word in said if word.startswith("STATUS="))
            assert "taken: daemon.tick_s 1.0 -> 0.5" in status
            assert "not taken: daemon.directories [] -> [/srv/db]: it needs a restart" in status
            file.write_text("nonsense")
            daemon.send_signal(signal.SIGHUP)
            until_said(listener, "RELOADING=1")
            said = until_said(listener, "READY=1")
            assert any(word.startswith("STATUS=") and "the configuration stays as it was" in word for word in said)
            until_said(listener, "WATCHDOG=1")
            daemon.send_signal(signal.SIGTERM)
            until_said(listener, "STOPPING=1")
            assert daemon.wait(60) == 0
    assert "taken: daemon.tick_s 1.0 -> 0.5" in log_of(run_dir)
    no_traceback(run_dir)


def test_each_line_of_its_log_can_be_json(run_dir: Path) -> None:
    with serving(run_dir, "--log-format", "json", "--port", "0"):
        pass
    lines = [json.loads(line) for line in log_of(run_dir).splitlines()]
    assert any(line["message"].startswith("serving at ") for line in lines)
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


def test_a_format_that_is_none_is_named(run_dir: Path) -> None:
    command("adocd", "serve", "--log-format", "xml", run_dir=run_dir).failed(2, "--log-format is text or json", "'xml'")


def in_a_terminal(run_dir: Path, *, nohup: bool) -> tuple[int, int]:
    """Start a daemon in a terminal of its own; its pid, and what closes the terminal when it is closed."""
    (run_dir / "serve.log").touch()
    pid, terminal = pty.fork()
    if pid == 0:
        # Whatever the tests themselves were started with.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)
        os.environ["ADOCD_RUN_DIR"] = str(run_dir)
        with (run_dir / "serve.log").open("w") as log:
            os.dup2(log.fileno(), 2)
        os.execv(BIN / "adocd", ["adocd", "serve"])  # noqa: S606
    return pid, terminal


def test_under_nohup_it_outlives_its_terminal(run_dir: Path) -> None:
    pid, terminal = in_a_terminal(run_dir, nohup=True)
    try:
        eventually(lambda: "serving at " in log_of(run_dir), what="it serves")
        os.close(terminal)
        eventually(lambda: "the configuration" in log_of(run_dir), what="SIGHUP is a reload")
        command("adocctl", "targets", run_dir=run_dir).ok()
    finally:
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, log_of(run_dir)
    assert "the terminal has gone" not in log_of(run_dir)


def test_its_terminals_end_is_its_own(run_dir: Path) -> None:
    """SIGHUP means two things: whoever closes a terminal does not ask for a reload, and wants nothing left running."""
    pid, terminal = in_a_terminal(run_dir, nohup=False)
    try:
        eventually(lambda: "serving at " in log_of(run_dir), what="it serves")
        os.kill(pid, signal.SIGHUP)
        eventually(lambda: "the configuration" in log_of(run_dir), what="that is a reload")
    finally:
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, log_of(run_dir)
    assert "stopping: restoring what was changed" in log_of(run_dir)


def test_without_systemd_nothing_is_missed(run_dir: Path) -> None:
    with serving(run_dir) as daemon:
        daemon.send_signal(signal.SIGHUP)
        eventually(lambda: "the configuration" in log_of(run_dir), what="it says what came of it")
        assert daemon.poll() is None
        command("adocctl", "targets", run_dir=run_dir).ok()
