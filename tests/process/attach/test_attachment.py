"""Attach to real programs and detach from them: the terminal's commands, and what a program notices."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adocd.process import native
from adocd.process.attach import attachment
from adocd.process.attach.problem import AttachRefused
from tests.cli.harness import command
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("native_agent_library")
TIMES = 5


@pytest.fixture
def host(native_programs: Path, tmp_path: Path) -> Program:
    """A program with one database of two column families."""
    program = Program([native_programs / "lifecycle"], environment(None, None))
    program.ask("open", tmp_path / "database", "more")
    return program


def threads(pid: int) -> list[str]:
    return sorted(each.read_text().strip() for each in Path(f"/proc/{pid}/task").glob("*/comm"))


def sockets(pid: int) -> int:
    found = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        found += os.readlink(each).startswith("socket:")
    return found


def test_again_and_again(host: Program, tmp_path: Path, run_dir: Path) -> None:
    """Each time the program is as it was before, and its options are the originals again."""
    with host:
        before = threads(host.pid), sockets(host.pid)
        for _ in range(TIMES):
            attached = attachment.attach(host.pid, run_dir, {})
            assert [each.directory for each in attached.databases] == [tmp_path / "database"]
            socket = attachment.socket_of(host.pid, run_dir)
            assert socket is not None
            with AgentClient(socket) as client:
                database = client.only_database()
                assert database["opened_before_agent"]
                assert sorted(database["column_families"]) == ["default", "more"]
                host.ask("put", tmp_path / "database", 100, "more", 100)
                epoch = client.acquire(database["id"])
                small = family("more", write_buffer_size=str(1 << 20))
                original = client.database(database["id"])["originals"]["column_families"]["more"]["write_buffer_size"]
                plan = [back(family("more", write_buffer_size=original))]
                steps = client.change(database["id"], epoch, [small], plan).ok()["steps"]
                assert [step["outcome"] for step in steps] == ["applied"]
            said = command("adocd", "detach", str(host.pid), run_dir=run_dir)
            assert (said.status, said.err) == (0, "")
            assert not socket.exists()
            # The thread for changes ends by itself, a moment after it is told to.
            eventually(lambda: (threads(host.pid), sockets(host.pid)) == before, what="nothing of ours is left")
        assert attachment.look(host.pid).databases[0].directory == tmp_path / "database"
        options = max((tmp_path / "database").glob("OPTIONS-*"))
        assert f"write_buffer_size={original}" in options.read_text().partition('[CFOptions "more"]')[2]
        host.ask("close", tmp_path / "database")
        assert host.finish() == 0
        assert host.stderr() == ""


def test_the_program_goes_on_closing_opening_creating_and_dropping(
    host: Program, tmp_path: Path, run_dir: Path
) -> None:
    path = tmp_path / "database"
    with host:
        attachment.attach(host.pid, run_dir, {})
        socket = attachment.socket_of(host.pid, run_dir)
        assert socket is not None
        with AgentClient(socket) as client:
            host.ask("create_cf", path, "third")
            assert sorted(client.only_database()["column_families"]) == ["default", "more", "third"]
            host.ask("drop_cf", path, "more")
            host.ask("delete_handle", path, "more")
            assert sorted(client.only_database()["column_families"]) == ["default", "third"]
            assert client.fresh_snapshot(client.only_database()["id"])["column_families"].keys() == {"default", "third"}
            host.ask("close", path)
            assert client.databases() == []
            host.ask("open", path, "third")
            database = client.only_database()
            assert "opened_before_agent" not in database
            assert database["capabilities"]["waits_for"] == ["stall", "memtables_wait"]
        assert host.finish() == 0
        assert host.stderr() == ""


def test_the_terminal_warns_first_and_says_what_it_would_do(host: Program, tmp_path: Path, run_dir: Path) -> None:
    with host:
        warned = command("adocd", "attach", str(host.pid), run_dir=run_dir)
        assert warned.status == 2
        assert "repeat the command with --experimental" in warned.err
        looked = command("adocd", "attach", str(host.pid), "--dry-run", run_dir=run_dir)
        assert looked.status == 0
        assert f"would attach to {tmp_path / 'database'}, at 0x" in looked.out
        assert not list(run_dir.iterdir()), "nothing was to be loaded"
        refused = command("adocd", "attach", str(os.getpid()), "--experimental", run_dir=run_dir)
        assert refused.status == 6
        attached = command("adocd", "attach", str(host.pid), "--experimental", run_dir=run_dir)
        assert attached.out == f"attached to {tmp_path / 'database'}\n"
        again = command("adocd", "attach", str(host.pid), "--experimental", run_dir=run_dir)
        assert (again.status, again.err) == (
            6, f"adocd: lifecycle ({host.pid}) has an agent already: see it by `adocctl targets`\n"
        )  # fmt: skip


def test_an_agent_that_came_with_the_program_stays(
    native_programs: Path, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    with Program([native_programs / "lifecycle"], environment(native_agent_library, run_dir)) as program:
        program.ask("open", tmp_path / "database")
        with pytest.raises(AttachRefused, match="no agent was attached to this process"):
            attachment.detach(program.pid, run_dir)
        socket = attachment.socket_of(program.pid, run_dir)
        assert socket is not None
        with AgentClient(socket) as client:
            assert client.only_database()["path"] == str(tmp_path / "database")


def test_attaching_leaves_no_file_and_no_process_behind(
    host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    """Frida writes an identity into the user's configuration, and from its 17.25 on starts a process that stays."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    mine = {"HOME": str(home), "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(native_agent_library.parents[3])}
    with host:
        for what in (("attach", str(host.pid), "--experimental"), ("detach", str(host.pid))):
            done = command("adocd", *what, run_dir=run_dir, **mine)
            assert (done.status, done.err) == (0, "")
        assert list(home.rglob("*")) == []
        assert list(temporary.rglob("*")) == []
        assert os.getpid() in processes_with(f"HOME={os.environ['HOME']}")
        assert processes_with(f"HOME={home}") == set()


def test_among_the_file_systems_of_the_program(
    native_programs: Path, native_agent_library: Path, tmp_path: Path, run_dir: Path
) -> None:
    """What the refusal of a program with file systems of its own says."""
    assert native_agent_library.exists()
    with Program(["unshare", "--mount", native_programs / "lifecycle"], environment(None, None)) as program:
        program.ask("open", tmp_path / "database")
        attach = ["attach", str(program.pid), "--experimental"]
        among = ["nsenter", "--target", str(program.pid), "--mount"]
        command("adocd", *attach, run_dir=run_dir).failed(6, f"where `{' '.join(among)}` can run it")
        here = {**os.environ, "ADOCD_RUN_DIR": str(run_dir)}
        adocd = [sys.executable, "-m", "adocd", *attach]
        shown = subprocess.run([*among, *adocd], env=here, check=False, capture_output=True, text=True)
        assert (shown.returncode, shown.stdout) == (0, f"attached to {tmp_path / 'database'}\n")
        assert program.ask("put", tmp_path / "database", 10, "default", 10) == ""


def processes_with(setting: str) -> set[int]:
    """Name the processes whose environment has this setting."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if setting in (each / "environ").read_bytes().decode(errors="replace").split("\0"):
                found.add(int(each.name))
    return found


def test_again_where_the_agent_is_named_by_a_link(
    host: Program, native_agent_library: Path, tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a home directory that is a link; the kernel names the file that it leads to."""
    link = tmp_path / native.LIBRARY
    link.symlink_to(native_agent_library)
    monkeypatch.setattr(native, "find", lambda _: link)
    with host:
        for _ in range(2):
            attached = attachment.attach(host.pid, run_dir, {})
            assert [each.directory for each in attached.databases] == [tmp_path / "database"]
            attachment.detach(host.pid, run_dir)
