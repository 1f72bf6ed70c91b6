"""Every test of this directory runs once per kind of agent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conformance.attached_host import AttachedHost
from tests.conformance.hosts import Host, HostFactory, Launch, fake, remove, wait_for_agent
from tests.conformance.java_host import JavaHost
from tests.conformance.native_host import NativeHost
from tests.conformance.python_host import PythonHost
from tests.support.agent_client import AgentClient, Json
from tests.support.waiting import eventually

KINDS = ["fake", "native", "attached", "python", "java"]


def python(run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]) -> Host:
    """Start a Python host."""
    return PythonHost(run_dir, directory, limiter=limiter, families=families)


@pytest.fixture(params=KINDS, scope="module")
def host_factory(request: pytest.FixtureRequest) -> HostFactory:
    """Return what starts a host of the kind that this run of the test is about."""
    if request.param == "fake":
        return fake
    if request.param == "python":
        return python
    if request.param == "java":
        jar: Path = request.getfixturevalue("java_agent")

        def java(run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]) -> Host:
            return JavaHost(jar, run_dir, directory, limiter=limiter, families=families)

        return java
    library: Path = request.getfixturevalue("native_agent_library")
    programs: Path = request.getfixturevalue("native_programs")
    if request.param == "attached":

        def attached(run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]) -> Host:
            return AttachedHost(programs / "lifecycle", run_dir, directory, limiter=limiter, families=families)

        return attached

    def native(run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]) -> Host:
        lifecycle = programs / "lifecycle"
        return NativeHost(lifecycle, library, run_dir, directory, limiter=limiter, families=families)

    return native


class Launcher:
    """Starts hosts in fresh directories (short ones: a socket's path has 108 bytes) and ends them all."""

    def __init__(self, factory: HostFactory) -> None:
        self._factory = factory
        self._hosts: list[Host] = []
        self._directories: list[Path] = []

    def __call__(self, *, limiter: int | None = None, families: Sequence[str] = ()) -> Host:
        """Start a host and wait until its agent lists the database."""
        base = Path(tempfile.mkdtemp(prefix="adocd-"))
        self._directories.append(base)
        run_dir = base / "run"
        run_dir.mkdir(mode=0o770)
        host = self._factory(run_dir, base / "db", limiter, families)
        self._hosts.append(host)
        wait_for_agent(host.socket_path)
        return host

    def stop(self) -> None:
        """End every host; a host that died during the test fails it."""
        alive = [host.is_alive() for host in self._hosts]
        for host in self._hosts:
            host.stop()
        remove(*self._directories)
        assert all(alive), "a host died during the test"


@pytest.fixture
def launch(host_factory: HostFactory) -> Iterator[Launch]:
    """Start hosts that end with the test."""
    launcher = Launcher(host_factory)
    try:
        yield launcher
    finally:
        launcher.stop()


@pytest.fixture(scope="module")
def shared_host(host_factory: HostFactory) -> Iterator[Host]:
    """Start one host for all tests of a module."""
    launcher = Launcher(host_factory)
    try:
        yield launcher()
    finally:
        launcher.stop()


@pytest.fixture
def host(request: pytest.FixtureRequest, host_factory: HostFactory) -> Iterator[Host]:
    """Start a host with one database: KNOWN options, no rate limiter, one column family.

    It ends with the test. Tests marked `shares_host` get one that others of their module had before: starting hosts
    is most of this suite's time. Each must leave it alive, with the options it was opened with.
    """
    del host_factory  # named, so that pytest runs the test once per kind
    if request.node.get_closest_marker("shares_host") is None:
        launch: Launch = request.getfixturevalue("launch")
        yield launch()
        return
    shared: Host = request.getfixturevalue("shared_host")
    yield shared
    assert shared.is_alive(), "the host died during the test"
    hand_over(shared)


def hand_over(host: Host) -> None:
    """End the lease; what is changed is restored by that, and nothing else may differ from the originals."""
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        client.delete_lease(db, force=True).ok(202)

        def at_rest() -> Json:
            snapshot = client.fresh_snapshot(db)
            is_left = snapshot["lease"] is None and snapshot["restore"]["steps_left"] == 0
            return snapshot if is_left else None

        eventually(at_rest, what="the lease's end")
        # An agent reads options first, so those of the first snapshot at rest may be from before the restore.
        options, originals = client.fresh_snapshot(db)["options"], client.database(db)["originals"]
        for scope, values in (("database", originals["database"]), ("thread_pools", originals["thread_pools"])):
            assert options[scope].items() >= values.items(), f"{scope} is not as it was"
        for name, values in originals["column_families"].items():
            assert options["column_families"][name].items() >= values.items(), f"{name} is not as it was"


@pytest.fixture
def client(host: Host) -> Iterator[AgentClient]:
    """Connect to the host's agent."""
    with AgentClient(host.socket_path) as connected:
        yield connected


@pytest.fixture
def db(client: AgentClient) -> str:
    """Return the id of the host's database."""
    found: str = client.only_database()["id"]
    return found
