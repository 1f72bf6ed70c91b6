"""The program lives, whatever becomes of whoever attaches to it: frida is gone from it before anybody ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adocd.process import compiled
from adocd.process.attach import attachment, injector
from adocd.process.attach.problem import AttachRefused
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

TIMES = 10
#: While it is injected, and while the agent settles in (1 s).
KILLED_AFTER_S = (0.5, 0.7, 0.9, 1.3)


@pytest.fixture
def host(native_programs: Path, tmp_path: Path) -> Iterator[Program]:
    """A program with a database."""
    with Program([native_programs / "lifecycle"], environment(None, None)) as program:
        program.ask("open", tmp_path / "database")
        yield program


def tracers(pid: int) -> list[str]:
    """List who traces a thread of a program."""
    statuses = [each.read_text() for each in Path(f"/proc/{pid}/task").glob("*/status")]
    found = [line for text in statuses for line in text.splitlines() if line.startswith("TracerPid:")]
    assert len(found) == len(statuses) > 0
    return [line for line in found if line.split()[1] != "0"]


def left_in(pid: int) -> list[str]:
    """List what frida has in a program: its tracers, and memory that can be written and run."""
    mapped = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return tracers(pid) + [line for line in mapped if "rwxp" in line]


def injections() -> list[int]:
    """Find the processes that inject something at the moment."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if b"adocd.process.attach.inject\0" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
        except OSError:
            pass
    return found


def test_nothing_of_frida_is_left_when_it_returns(host: Program, native_agent_library: Path, run_dir: Path) -> None:
    """Without waiting for it: frida says that it has left before its last stop, whose registers it must put back."""
    assert left_in(host.pid) == []
    loader = injector.loader(compiled.rocksdb(attachment.look(host.pid).program.rocksdb.path))
    for _ in range(TIMES):
        answer = injector.call(host.pid, loader, native_agent_library, run_dir, {"do": "end"})
        assert left_in(host.pid) == []
        assert answer["error"] == "no agent was attached to this process"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whoever_attaches_ends_in_the_middle(
    host: Program, tmp_path: Path, run_dir: Path, native_agent_library: Path, number: signal.Signals
) -> None:
    assert native_agent_library.exists()
    ends = set()
    for seconds in KILLED_AFTER_S:
        with subprocess.Popen(
            [sys.executable, "-m", "adocd", "attach", str(host.pid), "--experimental"],
            env={**os.environ, "ADOCD_RUN_DIR": str(run_dir)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as attaching:  # fmt: skip
            try:
                ends.add(attaching.wait(seconds))
            except subprocess.TimeoutExpired:
                attaching.send_signal(number)
                ends.add(attaching.wait(60))
        eventually(lambda: not injections(), what="the injection to end")
        assert left_in(host.pid) == []
        host.ask("put", tmp_path / "database", 10, "default", 10)
        if attachment.socket_of(host.pid, run_dir) is not None:
            attachment.detach(host.pid, run_dir)
    assert ends - {0, 6}, "nothing was broken off"


def test_why_it_cannot_be_injected(host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path) -> None:
    (broken := tmp_path / "loader.so").write_text("no library")
    with pytest.raises(AttachRefused, match=f"^the agent cannot be loaded into process {host.pid}: .+$"):
        injector.call(host.pid, broken, native_agent_library, run_dir, {"do": "end"})
    assert tracers(host.pid) == []
    assert list(run_dir.iterdir()) == []


def test_a_program_that_has_ended_is_not_waited_for(
    native_programs: Path, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    """Nobody has asked for its status yet, so it is still listed."""
    program = Program([native_programs / "lifecycle"], environment(None, None))
    try:
        program.process.kill()
        eventually(lambda: program_state(program.pid) == "Z", what="the end")
        with pytest.raises(AttachRefused, match=f"^process {program.pid} has ended meanwhile$"):
            injector.call(program.pid, tmp_path / "loader.so", native_agent_library, run_dir, {"do": "end"})
    finally:
        program.stop()


def program_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
