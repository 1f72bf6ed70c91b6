"""Where the Python agent puts its socket: the rules of the contract, as the native agent keeps them."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest
from adocd_agent import run_dir as rules
from adocd_agent.run_dir import CannotListen, allowed_uids, find_run_dir, listen


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a path of ours in the place of /run/adocd."""
    directory = tmp_path / "system"
    monkeypatch.setattr(rules, "SYSTEM_DIRECTORY", directory)
    return directory


def test_the_variable_comes_first_and_has_to_exist(tmp_path: Path, system: Path) -> None:
    assert find_run_dir({"ADOCD_RUN_DIR": str(tmp_path)}) == tmp_path
    with pytest.raises(CannotListen, match="ADOCD_RUN_DIR must be a whole path, not 'run'"):
        find_run_dir({"ADOCD_RUN_DIR": "run"})
    with pytest.raises(CannotListen, match="ADOCD_RUN_DIR"):
        find_run_dir({"ADOCD_RUN_DIR": str(tmp_path / "missing")})
    assert not system.exists()


def test_root_creates_the_system_directory(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert find_run_dir({}) == system
    assert stat.S_IMODE(system.stat().st_mode) == 0o2770


def test_others_use_it_where_it_is_and_their_own_else(
    tmp_path: Path, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotListen, match="set ADOCD_RUN_DIR"):
        find_run_dir({})
    assert find_run_dir({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "adocd"
    assert stat.S_IMODE((tmp_path / "adocd").stat().st_mode) == 0o700
    system.mkdir()
    assert find_run_dir({"XDG_RUNTIME_DIR": str(tmp_path)}) == system


def test_a_living_agent_of_the_same_process_keeps_its_name(run_dir: Path) -> None:
    first, first_name = listen(run_dir)
    second, second_name = listen(run_dir)
    with first, second:
        assert first_name == run_dir / f"agent-{os.getpid()}.sock"
        assert second_name == run_dir / f"agent-{os.getpid()}-2.sock"
        assert sorted(run_dir.iterdir()) == sorted([first_name, second_name])


def test_a_name_that_a_dead_process_left_behind_is_taken_over(run_dir: Path) -> None:
    dead, name = listen(run_dir)
    dead.close()
    again, same_name = listen(run_dir)
    with again, socket.socket(socket.AF_UNIX) as client:
        assert same_name == name
        client.connect(str(name))
        assert list(run_dir.iterdir()) == [name]


def test_a_file_system_without_hard_links(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    listener, name = listen(run_dir)
    with listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(name))
        assert list(run_dir.iterdir()) == [name]


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotListen, match="missing"):
        listen(tmp_path / "missing")


def test_who_may_talk() -> None:
    assert allowed_uids({}) >= {0, os.geteuid()}
    assert allowed_uids({"ADOCD_ALLOW_UIDS": "4711, 4712,x,-1,"}) == allowed_uids({}) | {4711, 4712}
