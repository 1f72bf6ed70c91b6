"""The program lives, whatever becomes of whoever attaches to it: frida is gone from it before anybody ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adocd.process import compiled
from adocd.process.attach import attachment, injector
from adocd.process.attach.problem import AttachRefused
from tests.support.programs import Program, debugger_of, environment
from tests.support.users import NOBODY, ROOT
from tests.support.waiting import eventually

TIMES, AT_ONCE = 10, 4
#: An injection takes about 0.15 s here, most of it to start.
KILLED_AFTER_S = (0.0, 0.05, 0.1, 0.2)


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


def injections(pid: int) -> list[int]:
    """Find the processes that inject something into a program at the moment."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if str(pid) in arguments and any(argument.endswith("/inject.py") for argument in arguments):
                found.append(int(each.name))
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
    in_the_middle = 0
    for seconds in KILLED_AFTER_S:
        with subprocess.Popen(
            [sys.executable, "-m", "adocd", "attach", str(host.pid), "--experimental"],
            env={**os.environ, "ADOCD_RUN_DIR": str(run_dir)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as attaching:  # fmt: skip
            while attaching.poll() is None and not injections(host.pid):
                pass
            time.sleep(seconds)
            in_the_middle += bool(injections(host.pid))
            attaching.send_signal(number)
            attaching.wait(60)
        eventually(lambda: not injections(host.pid), what="the injection to end")
        assert left_in(host.pid) == []
        host.ask("put", tmp_path / "database", 10, "default", 10)
        if attachment.socket_of(host.pid, run_dir) is not None:
            attachment.detach(host.pid, run_dir)
    assert in_the_middle


def test_why_it_cannot_be_injected(host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path) -> None:
    (broken := tmp_path / "loader.so").write_text("no library")
    with pytest.raises(AttachRefused, match=f"^the agent cannot be loaded into process {host.pid}: .*file too short$"):
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


def test_injections_into_one_program_wait_for_each_other(
    host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    """Where it may not stop the program, because another one does, frida would write over its malloc instead."""
    loader = injector.loader(compiled.rocksdb(attachment.look(host.pid).program.rocksdb.path))
    with ThreadPoolExecutor() as threads:
        calls = [
            threads.submit(injector.call, host.pid, loader, native_agent_library, run_dir, {"do": "end"})
            for _ in range(AT_ONCE)
        ]
    assert {each.result()["error"] for each in calls} == {"no agent was attached to this process"}
    assert left_in(host.pid) == []
    host.ask("put", tmp_path / "database", 10, "default", 10)


def test_a_program_under_a_debugger_is_left_alone(
    host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    with (
        debugger_of(host.pid),
        pytest.raises(
            AttachRefused, match=f"^the agent cannot be loaded into process {host.pid}: a debugger is at it$"
        ),
    ):
        injector.call(host.pid, tmp_path / "loader.so", native_agent_library, run_dir, {"do": "end"})


def test_a_main_thread_that_never_pauses_is_left_alone(
    native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    """It could be stopped while it holds a lock of malloc, and frida lets it call malloc."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            with pytest.raises(AttachRefused, match=r": its main thread has worked for 2 s without a pause, in which"):
                injector.call(busy.pid, tmp_path / "loader.so", native_agent_library, run_dir, {"do": "end"})
        finally:
            busy.kill()


def copied(program: Path, directory: str) -> str:
    """Put a program where everybody may run it."""
    Path(directory).chmod(0o755)
    return shutil.copy(program, directory)


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_a_program_that_cannot_answer(native_programs: Path, tmp_path: Path, native_agent_library: Path) -> None:
    """Such as one of a user who may not enter the run directory."""
    (closed := tmp_path / "run").mkdir(mode=0o700)
    loader = injector.loader(compiled.rocksdb())
    with (
        tempfile.TemporaryDirectory() as everybodys,
        Program([copied(native_programs / "lifecycle", everybodys)], environment(None, None), user=NOBODY) as program,
        pytest.raises(AttachRefused, match=f"has loaded the agent, but it cannot answer: .* write into {closed}$"),
    ):
        injector.call(program.pid, loader, native_agent_library, closed, {"do": "end"})
