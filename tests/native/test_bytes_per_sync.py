"""RocksDB 7.8 switches a bytes_per_sync of 0 on with any change of the database; what no file reaches stays off."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.model.options import BYTES_PER_SYNC_OFF
from tests.cli.harness import command, serving
from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient
from tests.support.changes import back, database
from tests.support.waiting import eventually

OFF, MIB = str(BYTES_PER_SYNC_OFF), str(1 << 20)


def live(client: AgentClient, db: str, option: str = "bytes_per_sync") -> str:
    return str(client.fresh_snapshot(db)["options"]["database"][option])


def persisted(directory: Path) -> str:
    """Read what a program finds that reloads its OPTIONS file."""
    newest = max((directory / "db").glob("OPTIONS-*[0-9]"), key=lambda path: int(path.name[8:]))
    (value,) = [
        line.partition("=")[2]
        for line in map(str.strip, newest.read_text().splitlines())
        if line.startswith("bytes_per_sync=")
    ]
    return value


@pytest.mark.parametrize(
    ("carried", "becomes"), [({}, MIB), ({"bytes_per_sync": "0"}, MIB), ({"bytes_per_sync": OFF}, OFF)]
)
def test_what_no_file_reaches_stays_off_where_zero_does_not(
    start: Start, connect: Connect, directory: Path, carried: dict[str, str], becomes: str
) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    assert live(client, db) == "0"
    undo = back(database(max_background_jobs="2", bytes_per_sync=becomes))
    client.change(db, client.acquire(db), [database(max_background_jobs="4", **carried)], [undo]).ok()
    assert live(client, db) == persisted(directory) == becomes


def test_the_daemons_changes_leave_it_off(start: Start, connect: Connect, directory: Path, run_dir: Path) -> None:
    """While it is tuned, after it was restored, and when the daemon has gone."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    with serving(run_dir):
        eventually(lambda: command("adocctl", "status", run_dir=run_dir).status == 0, what="a target")
        command("adocctl", "override", "set", "max_background_jobs=4", run_dir=run_dir).ok()
        eventually(lambda: live(client, db, "max_background_jobs") == "4", what="it is tuned")
        assert live(client, db) == OFF
        eventually(lambda: persisted(directory) == OFF, what="its OPTIONS file")
        command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        eventually(lambda: live(client, db, "max_background_jobs") == "2", what="it is back")
        assert live(client, db) == OFF
        eventually(lambda: persisted(directory) == OFF, what="its OPTIONS file")
    assert client.fresh_snapshot(db)["restore"]["state"] in ("none", "done")
    assert live(client, db) == persisted(directory) == OFF
