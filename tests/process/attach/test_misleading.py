"""Real databases in a process that does all it can to mislead: only what is open is found, and called."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from adocd.process import compiled, native
from adocd.process.attach import attachment
from adocd.process.bundled import agent_directory
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment

LONG = os.environ.get("ADOCD_MISLEADING") == "long"
#: A round is one change, and one look.
ROUNDS, ATTACHES_EACH = (10_000, 100) if LONG else (40, 10)


class Misled:
    """The program, and what is open in it in truth."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self.directory = directory
        (directory / "log").mkdir()
        self.program = Program([programs / "misleading", directory / "log"], environment(None, None))
        self.open: set[Path] = set()
        self.left: set[Path] = set()
        self.opening: set[Path] = set()
        self.program.ask("lies")

    def path(self, number: int) -> Path:
        """Name a database."""
        return self.directory / f"database-{number}"

    def turn(self, chance: random.Random) -> None:
        """Do one thing that could mislead."""
        path = self.path(chance.randrange(6))
        if path in self.opening:
            self.program.ask("opened", path)
            self.opening.remove(path)
            self.open.add(path)
        elif path in self.left:
            self.program.ask("close", path)
            self.left.remove(path)
        elif path in self.open:
            what = chance.choice(["close", "leave", "copies", "close"])
            self.program.ask(what, path)
            if what != "copies":
                self.open.remove(path)
            if what == "leave":
                self.left.add(path)
        elif path.exists() and chance.random() < 0.3:
            self.program.ask("opening", path)
            self.opening.add(path)
        else:
            self.program.ask("open", path)
            self.open.add(path)


def sanitized(directory: Path) -> tuple[Path, Path]:
    """Compile the program and the agent with AddressSanitizer; returns the program's directory, and the agent."""
    sources, library = Path(__file__).parents[2] / "native_programs", compiled.rocksdb().path
    flags = ("-std=c++17", "-O1", "-g", "-fno-rtti", "-fsanitize=address", "-fno-omit-frame-pointer")
    subprocess.run(["g++", *flags, sources / "misleading.cc", "-o", directory / "misleading", library], check=True)
    build = directory / "agent"
    configure: list[str | Path] = ["cmake", "-S", agent_directory("native"), "-B", build, "-DADOCD_SANITIZE=address"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", "adocd_agent", "-j2"], check=True, stdout=subprocess.DEVNULL)
    [agent] = build.rglob(native.LIBRARY)
    return directory, agent


@pytest.fixture
def programs(
    native_programs: Path,
    native_agent_library: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """In the long profile AddressSanitizer ends the program where its code or the agent's touches what is freed."""
    if not LONG:
        assert native_agent_library.exists()
        return native_programs
    directory, agent = sanitized(tmp_path_factory.mktemp("sanitized"))
    monkeypatch.setattr(native, "find", lambda _: agent)
    return directory


def call_each(misled: Misled, run_dir: Path) -> int:
    """Attach, read a snapshot of each database, and detach; returns how many were open."""
    attached = attachment.attach(misled.program.pid, run_dir, {})
    assert {each.directory for each in attached.databases} == misled.open
    socket = attachment.socket_of(misled.program.pid, run_dir)
    assert socket is not None
    with AgentClient(socket) as client:
        databases = client.databases()
        assert {Path(each["path"]) for each in databases} == misled.open
        for each in databases:
            assert client.fresh_snapshot(each["id"])["column_families"]
    attachment.detach(misled.program.pid, run_dir)
    return len(databases)


def test_only_open_databases_are_found_and_called(programs: Path, tmp_path: Path, run_dir: Path) -> None:
    chance, seen, called = random.Random(ROUNDS), 0, 0  # noqa: S311 (the same turns each time)
    misled = Misled(programs, tmp_path)
    with misled.program as program:
        for number in range(ROUNDS):
            misled.turn(chance)
            found = attachment.look(program.pid)
            assert {each.directory for each in found.databases} == misled.open
            assert set(found.unproven) == misled.left | misled.opening
            seen += len(misled.open) * len(misled.left | misled.opening)
            if number % ATTACHES_EACH == ATTACHES_EACH - 1 and misled.open:
                called += call_each(misled, run_dir)
        assert (program.finish(), program.stderr()) == (0, "")
    assert seen > 0, "never was one open while another one was being opened or closed"
    assert called > 0


@pytest.mark.usefixtures("native_agent_library")
def test_only_open_databases_are_called(native_programs: Path, tmp_path: Path, run_dir: Path) -> None:
    misled = Misled(native_programs, tmp_path)
    ask = misled.program.ask
    with misled.program as program:
        for number in (1, 2, 3, 4):
            ask("open", misled.path(number))
            ask("copies", misled.path(number))
        ask("close", misled.path(2))
        ask("leave", misled.path(3))
        ask("close", misled.path(4))
        ask("opening", misled.path(4))
        attached = attachment.attach(program.pid, run_dir, {})
        assert [each.directory for each in attached.databases] == [misled.path(1)]
        assert set(attached.left_alone) == {misled.path(3), misled.path(4)}
        socket = attachment.socket_of(program.pid, run_dir)
        assert socket is not None
        with AgentClient(socket) as client:
            assert client.only_database()["path"] == str(misled.path(1))
            # What was being opened then is not seen; what is opened from now on is, by the redirected call.
            ask("opened", misled.path(4))
            ask("open", misled.path(2))
            assert [each["path"] for each in client.databases()] == [str(misled.path(1)), str(misled.path(2))]
            ask("close", misled.path(3))
            ask("close", misled.path(1))
            assert client.only_database()["path"] == str(misled.path(2))
        attachment.detach(program.pid, run_dir)
        ask("open", misled.path(1))
        assert program.finish() == 0
        assert program.stderr() == ""
