"""What adocctl says to a user who may not: that it is not allowed, never that nothing is there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from adocd.api.client import NoDaemon, RestClient
from adocd.cli import explain, steer
from adocd.cli.exits import Exit, Failure
from adocd.targets.directory.place import DirectoryPlace, NoDatabase
from tests.diagnosis.logs import opened
from tests.support.users import ALICE, ROOT, somebody

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")


def test_a_daemon_of_others(base: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(base / "daemon.sock"))
        listener.listen()
        (base / "daemon.sock").chmod(0o660)
        with somebody(ALICE), pytest.raises(NoDaemon) as refused:
            RestClient(base / "daemon.sock").get("/v1/targets")
    assert str(refused.value).endswith(
        "daemon.sock may not be used: Permission denied; ask as root, as the daemon's user, or as a member of the "
        "group that the socket belongs to"
    )


def test_a_restore_of_others_databases(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not see the daemon is not told that there is none."""
    monkeypatch.setenv("ADOCD_RUN_DIR", str(base))
    base.chmod(0o700)
    with somebody(ALICE), pytest.raises(NoDaemon, match="may not be used: Permission denied; ask as root"):
        steer.restore(target=None, everything=True)


def test_a_log_of_others(base: Path) -> None:
    log = base / "LOG"
    log.write_bytes(opened())
    log.chmod(0o600)
    for path in (base, log):
        with somebody(ALICE), pytest.raises(Failure) as refused:
            explain.diagnosis(path)
        assert refused.value.code is Exit.FAILED
        assert str(refused.value) == f"{log} cannot be read: Permission denied; ask as root or as the database's user"


def test_a_directory_of_others(base: Path) -> None:
    """What is in it cannot be seen, which is not that it is not there."""
    (base / "db").mkdir(mode=0o700)
    (base / "db" / "LOG").write_bytes(opened())
    with somebody(ALICE):
        assert explain.no_file(str(base / "db" / "LOG")) == f"{base}/db/LOG cannot be read: Permission denied"
        assert explain.no_file(str(base / "LOG")) == f"there is no file '{base}/LOG'"
    assert explain.no_file(str(base / "db" / "LOG")) is None


def test_a_database_directory_of_others(base: Path) -> None:
    """As MariaDB makes it. It is a problem that is listed, and no traceback at each look."""
    database = base / "data" / "db"
    database.mkdir(parents=True)
    (database / "LOG").write_bytes(opened())
    for closed in (base / "data", database):
        closed.chmod(0o700)
        with somebody(ALICE), pytest.raises(NoDatabase) as refused:
            DirectoryPlace(database).look()
        closed.chmod(0o755)
        assert str(refused.value).startswith(f"{database} cannot be looked into: Permission denied; adocd's user must")
