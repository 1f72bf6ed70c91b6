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
from tests.conformance.program_host import RenewableHost
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


class Hosts:
    """The hosts of one kind that the tests of a module have: starting them is most of this suite's time.

    Their directories are fresh, and short ones, because a socket's path has 108 bytes.
    """

    def __init__(self, factory: HostFactory) -> None:
        self._factory = factory
        self._running: dict[Host, Path] = {}
        self._shared: Host | None = None
        self._last_event = 0

    def own(self, *, limiter: int | None = None, families: Sequence[str] = ()) -> Host:
        """Return a host whose database nobody has had: in a process from before, where that makes no difference."""
        for host, base in self._running.items():
            if isinstance(host, RenewableHost) and host.is_running():
                if host is self._shared:
                    self._shared = None
                old = host.path
                host.renew(Path(tempfile.mkdtemp(dir=base)), limiter, families)
                wait_for_agent(host.socket_path, host.path)
                remove(old)
                return host
        base = Path(tempfile.mkdtemp(prefix="adocd-"))
        run_dir = base / "run"
        run_dir.mkdir(mode=0o770)
        host = self._factory(run_dir, base / "db", limiter, families)
        self._running[host] = base
        wait_for_agent(host.socket_path, host.path)
        return host

    def shared(self) -> Host:
        """Return the host of the tests that share one."""
        if self._shared is None:
            self._shared = self.own()
            self._last_event = 0
        return self._shared

    def take_back(self, host: Host) -> None:
        """End a test's host, unless other tests can have it; one that died during the test fails it."""
        is_alive = host.is_alive()
        if host is self._shared and is_alive:
            self._last_event = hand_over(host, self._last_event)
        elif not (isinstance(host, RenewableHost) and is_alive):
            self._end(host)
        assert is_alive, "the host died during the test"

    def end(self) -> None:
        """End all of them."""
        alive = [host.is_alive() for host in self._running]
        for host in list(self._running):
            self._end(host)
        assert all(alive), "a host died"

    def _end(self, host: Host) -> None:
        if host is self._shared:
            self._shared = None
        base = self._running.pop(host)
        try:
            host.stop()
        finally:
            remove(base)


@pytest.fixture
def kind(host_factory: HostFactory, request: pytest.FixtureRequest) -> str:
    """Return the kind of agent, for a test that has nothing to ask of some."""
    found: str = request.node.callspec.params["host_factory"]
    return found


@pytest.fixture(scope="module")
def hosts(host_factory: HostFactory) -> Iterator[Hosts]:
    """Return what has the module's hosts."""
    started = Hosts(host_factory)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def launch(hosts: Hosts) -> Iterator[Launch]:
    """Start a host for this test alone."""
    launched: list[Host] = []

    def start(*, limiter: int | None = None, families: Sequence[str] = ()) -> Host:
        assert not launched, "one process has one database"
        launched.append(hosts.own(limiter=limiter, families=families))
        return launched[-1]

    yield start
    for host in launched:
        hosts.take_back(host)


@pytest.fixture
def host(request: pytest.FixtureRequest, hosts: Hosts) -> Iterator[Host]:
    """Return a host with one database: KNOWN options, no rate limiter, one column family.

    Nobody has had the database before. Tests marked `shares_host` get one that others of their module had before: each
    must leave it alive, with the options it was opened with.
    """
    is_shared = request.node.get_closest_marker("shares_host") is not None
    host = hosts.shared() if is_shared else hosts.own()
    yield host
    hosts.take_back(host)


def hand_over(host: Host, last_event: int) -> int:
    """End the lease; what is changed is restored by that, and nothing else may differ from the originals.

    Returns the last event. Without a new one nobody had a lease, so there is nothing to do.
    """
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        if last_event and client.snapshot(db)["last_event"] == last_event:
            return last_event
        client.delete_lease(db, force=True).ok(202)

        def at_rest() -> Json:
            snapshot = client.fresh_snapshot(db)
            is_left = snapshot["lease"] is None and snapshot["restore"]["steps_left"] == 0
            return snapshot if is_left else None

        eventually(at_rest, what="the lease's end")
        # An agent reads options first, so those of the first snapshot at rest may be from before the restore.
        snapshot, originals = client.fresh_snapshot(db), client.database(db)["originals"]
        options = snapshot["options"]
        for scope, values in (("database", originals["database"]), ("thread_pools", originals["thread_pools"])):
            assert options[scope].items() >= values.items(), f"{scope} is not as it was"
        for name, values in originals["column_families"].items():
            assert options["column_families"][name].items() >= values.items(), f"{name} is not as it was"
        return int(snapshot["last_event"])


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
