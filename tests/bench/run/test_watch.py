"""Reading the daemon, over a real Unix socket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from adocd_bench.demo.daemon_client import DaemonClient, DaemonSilent
from adocd_bench.demo.watch import Watch
from adocd_bench.run.workspace import run_directory

from tests.bench.samples import decision_json, sample_json
from tests.support.fake_daemon import Answer, FakeDaemon, Route

DATABASE = Path("/data/fixed")


class Known(FakeDaemon):
    """A daemon that knows these targets; tests change it while it serves."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, {"/healthz": (200, {"status": "ok"})})
        self.targets: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.decisions: list[dict[str, Any]] = []
        self.sentence: str | None = None

    def find(self, path: str) -> Answer | Route:
        """Answer of what it knows, unless a route says otherwise."""
        answers: dict[str, Answer | Route] = {"/v1/targets": (200, {"targets": self.targets})}
        for target in self.targets:
            where = f"/v1/targets/{target['id']}"
            answers[where] = (200, target | {"sentence": self.sentence})
            answers[f"{where}/samples"] = self._newer
            answers[f"{where}/decisions"] = (200, {"decisions": self.decisions})
        return (answers | self.routes).get(path, (404, {}))

    def _newer(self, _: str, url: str, *__: Any) -> Answer:
        after = int(parse_qs(urlsplit(url).query).get("after", ["0"])[0])
        return 200, {"samples": [sample for sample in self.samples if sample["sequence"] > after]}


@pytest.fixture
def run_dir() -> Iterator[Path]:
    with run_directory() as directory:
        yield directory


@pytest.fixture
def daemon(run_dir: Path) -> Iterator[Known]:
    with Known(run_dir) as serving:
        yield serving


@pytest.fixture
def client(run_dir: Path) -> DaemonClient:
    return DaemonClient(run_dir / "daemon.sock")


def test_no_socket_is_no_healthy_daemon_and_no_crash(client: DaemonClient) -> None:
    assert not client.is_healthy()
    assert not Watch(client, DATABASE).poll()


def test_a_daemon_that_answers_is_healthy(daemon: Known, client: DaemonClient) -> None:
    assert client.is_healthy()
    daemon.routes["/healthz"] = (200, {"status": "starting"})
    assert not client.is_healthy()


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"targets": 5}', b'{"targets": [{"id": "a"}]}'])
def test_a_strange_answer_is_one_sentence(daemon: Known, client: DaemonClient, body: bytes) -> None:
    daemon.routes["/v1/targets"] = (200, body)
    with pytest.raises(DaemonSilent, match=r"^the daemon"):
        client.target_at(DATABASE)


def test_an_unknown_target_is_said_with_its_status(daemon: Known, client: DaemonClient) -> None:
    with pytest.raises(DaemonSilent, match="status 404"):
        client.samples("nobody", 0)


def test_the_watch_waits_for_its_own_database(daemon: Known, client: DaemonClient) -> None:
    watch = Watch(client, DATABASE)
    daemon.targets = [{"id": "x", "path": "/data/other", "state": "attached"}]
    assert watch.poll()
    assert not watch.is_found()
    daemon.targets.append({"id": "y", "path": "/data/fixed", "state": "attached"})
    daemon.sentence = "no overflow: nothing to do"
    assert watch.poll()
    assert watch.is_found()
    assert watch.sentence == "no overflow: nothing to do"


def test_samples_are_kept_once_though_asked_for_again(daemon: Known, client: DaemonClient) -> None:
    daemon.targets = [{"id": "y", "path": str(DATABASE)}]
    watch = Watch(client, DATABASE)
    for second in range(6):
        daemon.samples.append(sample_json(second))
        watch.poll()
    assert [sample.sequence for sample in watch.samples] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("first_sequence_of_second_session", [1, 3])
def test_only_the_last_session_counts(
    daemon: Known, client: DaemonClient, first_sequence_of_second_session: int
) -> None:
    daemon.targets = [{"id": "y", "path": str(DATABASE)}]
    daemon.samples = [sample_json(second, session="a") for second in range(2)]
    watch = Watch(client, DATABASE)
    watch.poll()
    assert {sample.session for sample in watch.samples} == {"a"}
    later = [
        sample_json(second + 2, session="b", sequence=first_sequence_of_second_session + second) for second in range(3)
    ]
    daemon.samples += later
    daemon.targets[0]["session"] = "b"
    watch.poll()
    assert [sample.monotonic_s for sample in watch.samples] == [502.0, 503.0, 504.0]


def test_decisions_come_in_order_whatever_the_daemons_order(daemon: Known, client: DaemonClient) -> None:
    daemon.targets = [{"id": "y", "path": str(DATABASE)}]
    daemon.decisions = [decision_json(2, 9.0), decision_json(1, 4.0)]
    watch = Watch(client, DATABASE)
    watch.poll()
    daemon.decisions = [decision_json(3, 12.0), decision_json(2, 9.0)]
    watch.poll()
    assert [decision.sequence for decision in watch.decisions] == [1, 2, 3]


def test_members_that_the_agent_cannot_read_are_none(daemon: Known, client: DaemonClient) -> None:
    daemon.targets = [{"id": "y", "path": str(DATABASE)}]
    counters = {"writes": None, "stall_micros": None}
    daemon.samples = [sample_json(0, writes_per_s=None, background_jobs=None, counters=counters)]
    watch = Watch(client, DATABASE)
    assert watch.poll()
    assert watch.samples[0].counters.stall_micros is None
