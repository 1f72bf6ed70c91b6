"""An option is changed, and there is no room for the OPTIONS file that RocksDB writes with it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import command, no_traceback, serving
from tests.conformance.python_host import LIFECYCLE
from tests.support import full_disk
from tests.support.agent_client import AgentClient
from tests.support.bad_disk import bad_disk, make_good, socket_of
from tests.support.changes import back, family, threads
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

MIB = 1 << 20
ORIGINAL, TUNED = str(8 * MIB), str(4 * MIB)
CHANGE, UNDO = family(write_buffer_size=TUNED), back(family(write_buffer_size=ORIGINAL))
#: The default since RocksDB 9; before, SetOptions says nothing of a file that it could not write.
STRICT = "fail_if_options_file_error=true"


def decisions(run_dir: Path) -> list[Any]:
    listed: list[Any] = json.loads(command("adocctl", "decisions", "--json", run_dir=run_dir).ok())
    return listed


def test_a_change_that_cannot_be_persisted_is_in_force_all_the_same(
    run_dir: Path, native_agent_library: Path, native_programs: Path
) -> None:
    options = ("write_buffer_size=1048576", "compression=kNoCompression", STRICT)
    with bad_disk(native_programs, native_agent_library, run_dir, 0, *options) as program:
        socket = socket_of(program, run_dir)
        program.ask("fill")
        with AgentClient(socket) as agent, serving(run_dir, "--policy", "adoc", "--set", "tune_threads=false"):
            eventually(lambda: command("adocctl", "status", run_dir=run_dir).status == 0, what="a target")
            program.ask("write", 30 * MIB)
            made = eventually(
                lambda: [one for one in decisions(run_dir) if one["outcome"] == "applied-unpersisted"],
                every_s=0.2,
                what="a change without its file",
            )
            assert "No space left" in made[0]["detail"]
            assert not {"rejected", "failed", "applied"} & {one["outcome"] for one in decisions(run_dir)}
            assert int(program.ask("get_option", "write_buffer_size")) != MIB, "RocksDB has it"
            database = agent.only_database()["id"]
            shown = agent.fresh_snapshot(database)["options"]["column_families"]["default"]
            assert int(shown["write_buffer_size"]) != MIB, "and says so"
            written = int(program.ask("written"))
            eventually(lambda: int(program.ask("written")) > written + MIB, what="the database goes on")
            seen = status(run_dir)["sample"]["sequence"]
            eventually(lambda: status(run_dir)["sample"]["sequence"] > seen + 1, what="the daemon, too")
            program.ask("write", 0)
            make_good(program)
        with AgentClient(socket) as agent:
            restored = eventually(
                lambda: (found := agent.snapshot(database)["restore"])["state"] == "done" and found,
                what="the daemon's end brings the originals back",
            )
            assert restored["errors"] == []
            assert program.ask("get_option", "write_buffer_size") == str(MIB)
    no_traceback(run_dir)


def status(run_dir: Path) -> Any:
    return json.loads(command("adocctl", "status", "--json", run_dir=run_dir).ok())


# --- a file system that is full, under each agent -------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """A host whose database is in `directory`, and the lease of it."""

    kind: str
    program: Program
    directory: Path
    agent: AgentClient
    db: str
    epoch: int

    def change(self, change: Any, *more: Any) -> Any:
        """Change one thing, with UNDO and more in the plan, and return what became of it."""
        [step] = self.agent.change(self.db, self.epoch, [change], [UNDO, *more]).ok()["steps"]
        return step

    def write(self) -> str:
        """Let the host write a little; its answer."""
        if self.kind == "native":
            return self.program.try_ask("put", 10_000)
        return self.program.try_ask("put", self.directory / "db", 10, "default", 1000)

    def value(self) -> str:
        """Return what is shown."""
        shown = self.agent.fresh_snapshot(self.db)["options"]["column_families"]["default"]["write_buffer_size"]
        return str(shown)

    def release(self) -> None:
        """Give the lease back: what was changed is restored."""
        self.agent.delete_lease(self.db, holder="tester", epoch=self.epoch).ok(202)

    def restore_is(self, state: str) -> Any:
        """Wait for the restore to get there."""
        return eventually(
            lambda: (found := self.agent.snapshot(self.db)["restore"])["state"] == state and found, what=state
        )


@pytest.fixture
def small(run_dir: Path) -> bool:
    """Tell whether the host can have a small file system of its own."""
    (run_dir / "disk").mkdir()
    return full_disk.can_mount(run_dir / "disk")


@pytest.fixture(params=["native", "python"])
def scene(request: pytest.FixtureRequest, run_dir: Path, small: bool) -> Iterator[Scene]:
    """Start a host under each agent, its database on a small file system where that can be had."""
    kind: str = request.param
    directory = run_dir / "disk"
    before = full_disk.on_small_disk(directory) if small else []
    with contextlib.ExitStack() as stack:
        if kind == "native":
            library: Path = request.getfixturevalue("native_agent_library")
            programs: Path = request.getfixturevalue("native_programs")
            options = [f"write_buffer_size={ORIGINAL}", STRICT]
            command = [*before, programs / "bad_disk", directory / "db", "0", *options]
            program = stack.enter_context(Program(command, environment(library, run_dir)))
        else:
            environs = environment(None, run_dir, PYTHONUTF8="1")
            program = stack.enter_context(Program([*before, sys.executable, LIFECYCLE], environs))
            program.ask("open", directory / "db", f"write_buffer_size={ORIGINAL}")
        agent = stack.enter_context(AgentClient(socket_of(program, run_dir)))
        db = agent.only_database()["id"]
        yield Scene(kind, program, directory, agent, db, agent.acquire(db))
        assert program.finish() == 0, program.stderr()
        assert program.stderr() == ""


def test_a_full_file_system(scene: Scene, small: bool) -> None:
    """Nothing is called: Debian's librocksdb would abort, and rocksdict's take a value that is then in no file."""
    assert scene.write() == "ok"
    if not small:
        pytest.skip("only root can mount a small disk, and not in every container")
    inside = full_disk.seen_by(scene.program.pid, scene.directory)
    assert scene.change(CHANGE)["outcome"] == "applied"
    full_disk.fill(inside)
    step = scene.change(family(write_buffer_size=str(2 * MIB)))
    assert step["outcome"] == "error"
    assert step["error"].startswith("Not executed: less than 8 MiB are free for ")
    assert step["read_back"] == {"write_buffer_size": TUNED}
    pools = scene.agent.database(scene.db)["originals"]["thread_pools"]
    step = scene.change(threads("low", pools["low"] + 1), back(threads("low", pools["low"])))
    assert step["outcome"] == "applied", "what writes no file needs no room"
    scene.change(threads("low", pools["low"]), back(threads("low", pools["low"])))
    scene.release()
    assert "MiB are free" in scene.restore_is("waiting")["waiting_for"]
    full_disk.make_room(inside)
    assert scene.restore_is("done")["errors"] == []
    assert scene.value() == ORIGINAL
    assert scene.write() == "ok"


def test_an_options_file_that_cannot_be_created(scene: Scene) -> None:
    """For another reason, which needs no rights to bring about, and with room for the LOG."""
    names = full_disk.NoOptionsFile(full_disk.seen_by(scene.program.pid, scene.directory / "db"))
    names.block()
    step = scene.change(CHANGE)
    names.unblock()
    assert step["outcome"] == "error"
    assert "persist" in step["error"]
    assert step["read_back"] == {"write_buffer_size": TUNED if scene.kind == "native" else ORIGINAL}
    assert scene.write() == "ok"
    scene.release()
    assert scene.restore_is("done")["errors"] == []
    assert scene.value() == ORIGINAL
