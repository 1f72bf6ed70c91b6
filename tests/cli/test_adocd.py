"""adocd: what it refuses, and how it says so. `exec` and the agent's build are in tests/native."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from adocd.cli import attach, serve
from adocd.cli.exits import Failure
from adocd.daemon.change.panic import PanicResult
from tests.cli.harness import command, log_of, serving
from tests.support.fake_agent import FakeAgent
from tests.support.waiting import eventually

NOT_BACK: dict[str, object] = {"option": "write_buffer_size", "value": "8", "original": "4", "is_ours": None}


def test_serve_refuses_an_agent_that_is_not_there(run_dir: Path) -> None:
    path = str(run_dir / "agent-1.sock")
    command("adocd", "serve", "--agent", path, run_dir=run_dir).failed(1, f"nothing answers at {path}: No such file")


def test_serve_refuses_a_socket_that_is_no_agent(run_dir: Path) -> None:
    path = str(run_dir / "other.sock")
    with serving(run_dir), socket.socket(socket.AF_UNIX):
        daemon = str(run_dir / "daemon.sock")
        other = run_dir / "second"
        other.mkdir()
        command("adocd", "serve", "--agent", daemon, run_dir=other).failed(1, "was refused with 404", "not as an agent")
        command("adocd", "serve", "--agent", path, run_dir=other).failed(1, "nothing answers at")


def test_serve_refuses_another_major_version(run_dir: Path) -> None:
    with FakeAgent(run_dir, protocol="2.0") as agent:
        command("adocd", "serve", "--agent", str(agent.socket_path), run_dir=run_dir).failed(
            1, "speaks version 2.0 of the admin protocol and this adocd 1: install matching versions"
        )


def test_serve_refuses_a_second_daemon_and_leaves_the_first_alone(run_dir: Path) -> None:
    with serving(run_dir):
        command("adocd", "serve", run_dir=run_dir).failed(1, "another adocd serves at")
        command("adocctl", "targets", run_dir=run_dir).ok()


def test_serve_refuses_a_port_that_is_taken(run_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command("adocd", "serve", "--port", port, run_dir=run_dir).failed(1, f"port {port} cannot be had on 127.0.0.1")
        assert not (run_dir / "daemon.sock").exists()


def test_serve_refuses_a_run_directory_it_cannot_make(run_dir: Path) -> None:
    (run_dir / "file").touch()
    command("adocd", "serve", run_dir=run_dir / "file" / "below").failed(1, "the run directory", "set ADOCD_RUN_DIR")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--policy", "adco"), "there is no controller 'adco'; did you mean adoc?"),
        (
            ("--policy", "adoc", "--set", "thread_max=2"),
            "adoc has no parameter 'thread_max'; did you mean threads_max?",
        ),
        (("--set", "threads_max=2"), "--set needs --policy"),
        (("--config", "/nonexistent.toml"), "/nonexistent.toml cannot be read: No such file or directory"),
    ],
)
def test_serve_refuses_a_bad_policy_or_configuration(run_dir: Path, arguments: tuple[str, ...], words: str) -> None:
    command("adocd", "serve", *arguments, run_dir=run_dir).failed(2, words)


def test_serve_on_tcp_outlives_its_web_process(run_dir: Path) -> None:
    with serving(run_dir, "--port", "0") as daemon:
        port = eventually(lambda: _port(run_dir), what="the port is logged")

        def healthy() -> bool:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                    return bool(json.load(answer)["pid"] == daemon.pid)
            except OSError:
                return False

        eventually(healthy, what="the web process answers")
        subprocess.run(["pkill", "-KILL", "-P", str(daemon.pid), "-f", "adocd.api.web"], check=True)
        eventually(lambda: "starting it anew" in log_of(run_dir), what="it is noticed")
        eventually(healthy, what="the web process answers again")


def test_the_web_process_ends_with_a_daemon_that_was_killed(run_dir: Path) -> None:
    """Otherwise it would keep the port, and the next daemon could not have it."""
    with serving(run_dir, "--port", "0") as daemon:
        port = eventually(lambda: _port(run_dir), what="the port is logged")
        eventually(lambda: _connects(port), what="the port is served")
        daemon.kill()
        daemon.wait()
        eventually(lambda: not _connects(port), what="the port is free")


def _connects(port: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _port(run_dir: Path) -> str:
    return log_of(run_dir).partition("http://127.0.0.1:")[2].partition("\n")[0]


def test_check_config(run_dir: Path) -> None:
    good, bad = run_dir / "good.toml", run_dir / "bad.toml"
    good.write_text('[policy]\ncontroller = "adoc"\n')
    bad.write_text("[policy]\ncontrol = 1\n")
    assert "is good" in command("adocd", "check-config", str(good), run_dir=run_dir).ok()
    shown = json.loads(command("adocd", "check-config", str(good), "--json", run_dir=run_dir).ok())
    assert shown["policy"]["controller"] == "adoc"
    assert shown["daemon"]["lease_ttl_s"] == 10
    command("adocd", "check-config", str(bad), run_dir=run_dir).failed(
        2, "policy: there is no key 'control'; did you mean controller?"
    )


@pytest.mark.parametrize("name", ["adocd", "adocctl"])
def test_help_and_version(run_dir: Path, name: str) -> None:
    assert "Exit codes" in command(name, "--help", run_dir=run_dir).ok()
    assert command(name, "--version", run_dir=run_dir).ok().startswith(f"{name} 0.")


@pytest.mark.parametrize(
    ("errors", "unlike", "stays"),
    [
        ([], [], False),
        (["IO error"], [], False),
        (["IO error"], [NOT_BACK], True),
        (["IO error"], None, True),
        ([], [NOT_BACK], False),
    ],
    ids=[
        "all is back",
        "an error, and all is back",
        "an error, and not all is back",
        "an error, and nobody knows",
        "its own program has set it",
    ],
)
def test_an_agent_whose_restore_failed_is_not_detached(
    errors: list[str], unlike: list[dict[str, object]] | None, stays: bool
) -> None:
    """Nothing would be left that could undo the change."""
    restored: dict[str, dict[str, object]] = {
        "a": {"state": "done", "steps_left": 0, "waiting_for": None, "errors": errors}
    }
    result = PanicResult(restored, {} if unlike is None else {"a": unlike})
    if stays:
        with pytest.raises(Failure, match="the options of process 7 are not restored, so its agent stays: IO error"):
            attach._left(7, result)
    else:
        assert attach._left(7, result) == unlike


def test_a_configuration_that_cannot_be_reached_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that took the defaults instead would say nothing of it, and control nothing."""
    file = tmp_path / "adocd.toml"
    assert not serve._is_there(file)
    assert not serve._is_there(file / "below")
    file.symlink_to(tmp_path / "nowhere")
    assert serve._is_there(file)
    monkeypatch.setattr(os, "lstat", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert serve._is_there(tmp_path / "closed" / "adocd.toml")
