"""Where sockets are looked for, by the protocol's rule."""

import os
import socket
from pathlib import Path

import pytest

from adocd.targets import run_dir


def test_the_environment_decides(tmp_path: Path) -> None:
    assert run_dir.run_dir({"ADOCD_RUN_DIR": str(tmp_path)}) == tmp_path
    for relative in ("run", "./run", "~/run"):
        with pytest.raises(run_dir.BadRunDir, match=r"ADOCD_RUN_DIR must be a whole path, such as /.*, not "):
            run_dir.run_dir({"ADOCD_RUN_DIR": relative})


def test_root_uses_the_systems_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert run_dir.run_dir({"XDG_RUNTIME_DIR": "/run/user/0"}) == Path("/run/adocd")


def test_a_user_without_a_system_directory_uses_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run_dir.run_dir({"XDG_RUNTIME_DIR": "/run/user/1000"}) == Path("/run/user/1000/adocd")
    assert run_dir.run_dir({}) == Path("/run/adocd")


def test_only_agents_sockets_count(tmp_path: Path) -> None:
    (tmp_path / "agent-7.sock").write_text("a file is no socket")
    (tmp_path / "daemon.sock").touch()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "agent-8.sock"))
        assert run_dir.agent_sockets(tmp_path) == [tmp_path / "agent-8.sock"]
    assert run_dir.agent_sockets(tmp_path / "missing") == []


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too long for a Unix socket's path; choose a shorter one"):
        run_dir.ensure(tmp_path / ("x" * 100))


def test_a_missing_directory_is_made_and_closed_to_others(tmp_path: Path) -> None:
    made = tmp_path / "adocd"
    run_dir.ensure(made)
    assert made.stat().st_mode & 0o007 == 0


def test_another_process_may_make_it_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `adocd serve` and `adocd exec` do that one script starts."""
    made, make = tmp_path / "adocd", Path.mkdir

    def made_before(self: Path, mode: int, parents: bool) -> None:
        os.mkdir(self, 0o710)
        make(self, mode, parents)

    monkeypatch.setattr(Path, "mkdir", made_before)
    run_dir.ensure(made)
    assert made.stat().st_mode & 0o777 == 0o710, "it is left as the other made it"
