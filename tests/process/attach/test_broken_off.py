"""An attachment that is broken off: the reason is said in a sentence, and the agent does not stay for nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adocd.process.attach import attachment, injector
from adocd.process.attach.answer import answer_file
from adocd.process.attach.problem import AttachRefused
from tests.support.programs import Program, environment


@pytest.fixture
def host(native_programs: Path, tmp_path: Path) -> Iterator[Program]:
    """A program with a database."""
    with Program([native_programs / "lifecycle"], environment(None, None)) as program:
        program.ask("open", tmp_path / "database")
        yield program


def asked(monkeypatch: pytest.MonkeyPatch, begun: Callable[[], object]) -> list[str]:
    """Ask nobody instead of the agent, and do something once it has begun; returns what is asked from now on."""
    found: list[str] = []

    def call(pid: int, loader: Path, agent: Path, run_directory: Path, told: Mapping[str, str]) -> dict[str, Any]:
        del loader, agent
        with answer_file(pid, run_directory):
            found.append(told["do"])
        if told["do"] == "begin":
            begun()
        return {"error": "", "left_alone": {}}

    monkeypatch.setattr(injector, "call", call)
    monkeypatch.setattr(injector, "loader", lambda _: Path("/nonexistent"))
    return found


@pytest.mark.usefixtures("native_agent_library")
def test_a_program_that_ends_meanwhile(host: Program, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that the agent has made crash."""

    def end() -> None:
        host.process.kill()
        host.process.wait()

    found = asked(monkeypatch, end)
    with pytest.raises(AttachRefused, match=f"^there is no process {host.pid}: it has ended, or was never there$"):
        attachment.attach(host.pid, run_dir, {})
    assert found == ["begin"]
    assert list(run_dir.iterdir()) == []


@pytest.mark.usefixtures("native_agent_library")
def test_who_breaks_it_off_ends_the_agent(host: Program, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    found = asked(monkeypatch, lambda: None)
    monkeypatch.setattr(attachment, "time", SimpleNamespace(sleep=interrupt))
    with pytest.raises(KeyboardInterrupt):
        attachment.attach(host.pid, run_dir, {})
    assert found == ["begin", "end"]


@pytest.mark.usefixtures("native_agent_library")
@pytest.mark.parametrize(("error", "asks"), [(KeyboardInterrupt(), ["begin", "end"]), (AttachRefused("no"), ["begin"])])
def test_who_breaks_off_the_beginning_ends_it_unless_it_was_refused(
    host: Program, run_dir: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, asks: list[str]
) -> None:
    """A refusal may be of another's attachment, which stays."""

    def refuse() -> None:
        raise error

    found = asked(monkeypatch, refuse)
    with pytest.raises(type(error)):
        attachment.attach(host.pid, run_dir, {})
    assert found == asks


def test_a_process_that_has_ended_before_it_is_asked(run_dir: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with (
        pytest.raises(AttachRefused, match=f"^process {ended.pid} has ended meanwhile$"),
        answer_file(ended.pid, run_dir),
    ):
        pass


def test_a_run_directory_that_cannot_be_written(host: Program, run_dir: Path) -> None:
    sentence = r"^no file can be made in .*/none for .* \(No such file or directory\): .* set ADOCD_RUN_DIR"
    with pytest.raises(AttachRefused, match=sentence), answer_file(host.pid, run_dir / "none"):
        pass
