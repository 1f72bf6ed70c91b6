"""Programs of another user: root runs none of their code, and their user must be able to read the agent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from adocd.process import compiled, native
from adocd.process.attach import attachment, layout
from adocd.process.attach.problem import AttachRefused
from adocd.process.attach.program import running
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment
from tests.support.users import NOBODY, ROOT

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to start a program of another user")
#: Starts one with a database and these environment variables.
Start = Callable[..., Program]


@pytest.fixture
def base(run_dir: Path) -> Path:
    """A directory that every user may enter."""
    run_dir.chmod(0o755)
    return run_dir


@pytest.fixture
def start(base: Path, native_programs: Path) -> Iterator[Start]:
    with ExitStack() as started:

        def nobodys(**extra: str) -> Program:
            shutil.copy(native_programs / "lifecycle", base)
            (base / "database").mkdir()
            os.chown(base / "database", NOBODY, NOBODY)
            program = started.enter_context(
                Program([base / "lifecycle"], environment(None, None, **extra), user=NOBODY)
            )
            program.ask("open", base / "database")
            return program

        yield nobodys


@pytest.mark.parametrize("whose", ["its file", "its directory", "everyone's"])
def test_a_library_that_they_could_have_written_is_not_run(
    start: Start, base: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it would run as root, to learn its layout."""
    libraries, here = base / "libraries", compiled.rocksdb().path
    libraries.mkdir()
    for each in here.parent.glob("librocksdb.so*"):
        shutil.copy(here, libraries / each.name)
        if whose == "its file":
            os.chown(libraries / each.name, NOBODY, NOBODY)
    if whose == "its directory":
        os.chown(libraries, NOBODY, NOBODY)
    libraries.chmod(0o777 if whose == "everyone's" else 0o755)
    program = start(LD_LIBRARY_PATH=str(libraries))
    assert running(program.pid).rocksdb.path.parent == libraries
    monkeypatch.setattr(layout, "learned", lambda _: pytest.fail("its code runs as root"))
    with pytest.raises(AttachRefused, match=f"others than root may write {libraries}.*: adocd would run the code of"):
        attachment.look(program.pid)


def test_root_attaches_to_them(
    start: Start, base: Path, native_agent_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is the system's, and the agent is where everyone may read it."""
    agent, run = base / native.LIBRARY, base / "run"
    shutil.copy(native_agent_library, agent)
    monkeypatch.setattr(native, "find", lambda _: agent)
    run.mkdir()
    os.chown(run, NOBODY, NOBODY)
    program = start()
    attached = attachment.attach(program.pid, run, {})
    assert [each.directory for each in attached.databases] == [base / "database"]
    socket = attachment.socket_of(program.pid, run)
    assert socket is not None
    with AgentClient(socket) as client:
        assert client.only_database()["path"] == str(base / "database")
    attachment.detach(program.pid, run)


def test_an_agent_that_their_user_may_not_read(
    start: Start, base: Path, native_agent_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one in the cache of root, who has compiled it."""
    cache = base / "cache"
    cache.mkdir(mode=0o700)
    agent = cache / native.LIBRARY
    shutil.copy(native_agent_library, agent)
    monkeypatch.setattr(native, "find", lambda _: agent)
    program = start()
    with pytest.raises(AttachRefused, match=f"as another user, who may not read {agent}: set XDG_CACHE_HOME to"):
        attachment.attach(program.pid, base, {})
    assert running(program.pid).agent() is None, "something was loaded"
