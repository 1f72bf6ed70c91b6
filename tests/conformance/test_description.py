"""What an agent says about itself and its databases."""

from __future__ import annotations

import os
import pwd
import re
import socket
import stat
import time

import pytest
from adocd_agent.identity import database_id, fnv1a64

from tests.conformance.hosts import DECIDING, KNOWN_DATABASE, KNOWN_FAMILY, Host, Launch
from tests.support.agent_client import AgentClient


def test_fnv1a_is_the_published_function() -> None:
    assert fnv1a64(b"") == "cbf29ce484222325"
    assert fnv1a64(b"foobar") == "85944171f73967e8"


@pytest.mark.shares_host
def test_info_names_the_process_and_the_protocol(host: Host, client: AgentClient) -> None:
    info = client.info()
    assert re.fullmatch(r"1\.\d+", info["protocol"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", info["rocksdb_version"])
    assert info["host"] == socket.gethostname()
    assert info["user"] == pwd.getpwuid(os.geteuid()).pw_name
    assert host.socket_path.name == f"agent-{info['pid']}.sock"
    assert info["program"]
    assert "/" not in info["program"]


@pytest.mark.shares_host
def test_socket_is_for_owner_and_group_only(host: Host) -> None:
    status = host.socket_path.stat()
    assert stat.S_ISSOCK(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o660
    assert [path.name for path in host.run_dir.iterdir()] == [host.socket_path.name], "nothing else stays there"


@pytest.mark.shares_host
def test_list_describes_the_open_database(host: Host, client: AgentClient) -> None:
    database = client.only_database()
    assert database["path"] == str(host.path.resolve())
    assert database["column_families"] == ["default"]
    assert 0 < database["opened_monotonic_s"] <= time.monotonic()
    assert database["session"]
    assert database["db_identity"]
    assert database["db_identity"].strip() == database["db_identity"]


@pytest.mark.shares_host
def test_id_is_the_documented_hash(client: AgentClient) -> None:
    database = client.only_database()
    expected = database_id(client.info()["host"], database["path"], database["db_identity"])
    assert database["id"] == expected


def test_every_column_family_is_listed(launch: Launch) -> None:
    host = launch(families=["second", "third-ünï"])
    with AgentClient(host.socket_path) as client:
        database = client.only_database()
        assert sorted(database["column_families"]) == ["default", "second", "third-ünï"]
        originals = client.database(database["id"])["originals"]
        assert sorted(originals["column_families"]) == ["default", "second", "third-ünï"]
        assert sorted(client.snapshot(database["id"])["column_families"]) == ["default", "second", "third-ünï"]


@pytest.mark.shares_host
def test_originals_are_the_options_of_the_open(client: AgentClient, db: str) -> None:
    database = client.database(db)
    originals = database["originals"]
    assert originals["column_families"]["default"].items() >= KNOWN_FAMILY.items()
    assert originals["database"].items() >= KNOWN_DATABASE.items(), "read, even where it cannot be changed"
    assert originals["rate_limiter_bytes_per_s"] is None


@pytest.mark.shares_host
def test_originals_cover_what_can_be_changed(client: AgentClient, db: str) -> None:
    """And nothing else, but for options that can only be read."""
    database = client.database(db)
    capabilities, originals = database["capabilities"], database["originals"]
    live = set(capabilities["column_family_options"])
    assert live <= set(originals["column_families"]["default"]) <= live | DECIDING.keys()
    assert set(originals["column_families"]["default"]) >= KNOWN_FAMILY.keys()
    if capabilities["database_options"]:
        assert set(originals["database"]) == set(capabilities["database_options"])
    assert set(originals["database"]) >= KNOWN_DATABASE.keys()
    assert set(originals["thread_pools"]) == set(capabilities["thread_pools"])


@pytest.mark.shares_host
def test_a_database_can_do_no_more_than_its_agent(client: AgentClient, db: str) -> None:
    everything, here = client.info()["capabilities"], client.database(db)["capabilities"]
    for name in ("column_family_options", "database_options", "thread_pools", "events"):
        assert set(here[name]) <= set(everything[name]), name
    assert set(here["column_family_options"]) >= KNOWN_FAMILY.keys()
    assert not here["rate_limiter"], "this database was opened without a limiter"


def test_rate_limiter_is_reported_where_there_is_one(launch: Launch) -> None:
    host = launch(limiter=123_000_000)
    with AgentClient(host.socket_path) as client:
        database = client.only_database()
        if not client.info()["capabilities"]["rate_limiter"]:
            assert not database["capabilities"]["rate_limiter"]
            return
        assert database["capabilities"]["rate_limiter"]
        assert client.database(database["id"])["originals"]["rate_limiter_bytes_per_s"] == 123_000_000
        assert client.snapshot(database["id"])["options"]["rate_limiter_bytes_per_s"] == 123_000_000


@pytest.mark.shares_host
def test_reading_changes_nothing(client: AgentClient, db: str) -> None:
    before = client.database(db)
    for _ in range(5):
        client.snapshot(db, events_after=0)
        client.info()
    assert client.database(db) == before


def test_socket_is_removed_when_the_process_ends(host: Host) -> None:
    host.stop()
    assert not host.socket_path.exists()
