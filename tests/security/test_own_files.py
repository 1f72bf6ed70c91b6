"""What somebody who may write to the directory puts in the place of our files: nothing of it is followed or changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from adocd.api import server
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.journal.journal import read_only
from adocd.daemon.book.tokens import TokenError, TokenStore, tokens_path
from adocd.targets import run_dir
from tests.cli.harness import command, log_of, script_serving, serving
from tests.daemon.harness import CLOCKS
from tests.support.users import ALICE, GROUP, ROOT, as_user, somebody
from tests.support.waiting import PATIENCE_S, eventually

as_root = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
PRECIOUS = b"precious\n" * 1000
#: Every name that the daemon opens beside its sockets.
NAMES = (
    "journal.sqlite.lock", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite.making",
    "journal.sqlite.making-wal", "journal.sqlite.rescued", "tokens.json", "tokens.json.making", "daemon.lock",
    "daemon.sock",
)  # fmt: skip


@pytest.fixture
def victim(base: Path) -> Path:
    """A file that nobody but its owner may change, or learn."""
    path = base / "victim"
    path.write_bytes(PRECIOUS)
    path.chmod(0o600)
    return path


def everything(directory: Path) -> list[str]:
    """Open all that a daemon and `adocctl token` open there; what was refused, in words."""
    said = []

    def attempt(what: Callable[[], object]) -> None:
        try:
            what()
        except (JournalError, TokenError, OSError) as error:
            said.append(str(error))

    async def journal() -> None:
        book = await Book.open(directory / "journal.sqlite", run="a test", clocks=CLOCKS)
        if book.problem is not None:
            said.append(book.problem)
        await book.close()

    def listening() -> None:
        with server.daemon_socket(directory / "daemon.sock"):
            pass

    store = TokenStore(tokens_path(directory / "journal.sqlite"))
    attempt(lambda: asyncio.run(journal()))
    attempt(lambda: asyncio.run(read_only(directory / "journal.sqlite")))
    attempt(lambda: store.make(f"of-{os.geteuid()}", "read", None, "root"))
    attempt(store.tokens)
    attempt(listening)
    return said


def plant(directory: Path, name: str, kind: str, victim: Path) -> None:
    """Put something there, as a member of the group where we can be one."""

    def put() -> None:
        path = directory / name
        if kind == "link":
            path.symlink_to(victim)
        elif kind == "dangling link":
            path.symlink_to(victim.with_name("made"))
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(PRECIOUS)

    if ROOT:
        with somebody(ALICE, [GROUP]):
            put()
    else:
        put()


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "file"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_planted_leads_anywhere(shared: Path, victim: Path, name: str, kind: str) -> None:
    plant(shared, name, kind, victim)
    said = everything(shared)
    assert victim.read_bytes() == PRECIOUS
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    assert sorted(path.name for path in victim.parent.iterdir()) == ["run", "victim"], "nothing was made beside it"
    assert "precious" not in "".join(said)
    if name in ("journal.sqlite.lock", "journal.sqlite", "tokens.json") and "link" in kind:
        assert any(f"{name} is a symbolic link; look who has put it there" in each for each in said), said


@pytest.mark.parametrize("name", ["journal.sqlite.lock", "journal.sqlite"])
def test_a_second_name_of_another_file_is_none_of_ours(shared: Path, victim: Path, name: str) -> None:
    """Where the kernel lets somebody make it (fs.protected_hardlinks): its owner is right, and it is not ours."""
    os.link(victim, shared / name)
    assert any("has another name elsewhere" in each for each in everything(shared))
    assert victim.read_bytes() == PRECIOUS


@as_root
def test_a_strangers_file_is_none_of_ours(shared: Path) -> None:
    plant(shared, "journal.sqlite.lock", "file", shared)
    said = everything(shared)
    assert any(f"journal.sqlite.lock belongs to uid {ALICE}" in each for each in said), said
    assert (shared / "journal.sqlite.lock").read_bytes() == PRECIOUS


def test_the_daemon_goes_on_without_and_says_so(shared: Path, victim: Path) -> None:
    plant(shared, "journal.sqlite.lock", "link", victim)
    with serving(shared):
        said = command("adocctl", "targets", run_dir=shared).ok()
    assert "adocd changes nothing new" in said
    assert "journal.sqlite.lock is a symbolic link; look who has put it there, and remove it" in said
    assert victim.read_bytes() == PRECIOUS


def test_where_nobody_else_may_write_a_link_is_its_owners(base: Path) -> None:
    """Who keeps the journal on another disk goes on."""
    elsewhere, private = base / "elsewhere", base / "private"
    for directory in (elsewhere, private):
        directory.mkdir(mode=0o700)
    assert everything(elsewhere) == []
    (private / "journal.sqlite").symlink_to(elsewhere / "journal.sqlite")
    assert everything(private) == []


@as_root
@pytest.mark.parametrize(("first", "then"), [(ALICE, 0), (0, ALICE)])
def test_a_directory_of_the_service_and_its_roots_commands(shared: Path, first: int, then: int) -> None:
    """Each takes the other for one of us; that root's own are closed to the service is another matter."""
    os.chown(shared, ALICE, GROUP)
    with as_user(first, [GROUP]):
        assert everything(shared) == []
    with as_user(then, [GROUP]):
        said = everything(shared)
    if then == 0:
        assert said == []
    assert not [each for each in said if "look who has put it there" in each]


def test_an_agents_socket_is_no_link(base: Path) -> None:
    """It would have the daemon speak to whatever root may speak to."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(base / "other.sock"))
        listener.listen()
        (base / "agent-1.sock").symlink_to(base / "other.sock")
        os.link(base / "other.sock", base / "agent-2.sock")
        assert run_dir.agent_sockets(base) == [base / "agent-2.sock"]


def test_the_web_process_takes_no_code_from_the_working_directory(
    base: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base / "adocd").mkdir()
    (base / "adocd" / "__init__.py").write_text(f"open({str(base / 'taken')!r}, 'w').close()\n")
    monkeypatch.chdir(base)
    with script_serving(shared, "--port", "0"):
        port = eventually(
            lambda: next((line.rpartition(":")[2] for line in log_of(shared).splitlines() if "on http:" in line), None),
            what="it listens",
        )
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
    assert not (base / "taken").exists()
