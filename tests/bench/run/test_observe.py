"""Reading the daemon, over a real Unix socket."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.errors import RunFailed
from adocd_bench.run.child import child
from adocd_bench.run.daemon import RunDaemon
from adocd_bench.run.observe import Watched, changes_of, settings_of
from adocd_bench.run.workspace import run_directory

from adocd.api.client import RestClient
from adocd.model.decision_record import OptionChange
from adocd.model.values import RATE_LIMITER, of_family
from tests.bench.samples import decision, decision_json, sample_json
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
            detail = {
                "process": None,
                "originals": None,
                "sentence": self.sentence,
                "sample": self.samples[-1] if self.samples else None,
                "last_decision": self.decisions[-1] if self.decisions else None,
            }
            answers[where] = (200, detail | target)
            answers[f"{where}/decisions"] = (200, {"decisions": self.decisions})
        return (answers | self.routes).get(path, (404, {}))


@pytest.fixture
def run_dir() -> Iterator[Path]:
    with run_directory() as directory:
        yield directory


@pytest.fixture
def fake(run_dir: Path) -> Iterator[Known]:
    with Known(run_dir) as serving:
        yield serving


@pytest.fixture
def daemon(run_dir: Path) -> Iterator[RunDaemon]:
    """A process that is none of adocd's, so that there is one to look at."""
    with child("daemon", ["sleep", "60"], run_dir) as process:
        yield RunDaemon(process, RestClient(run_dir / "daemon.sock"))


@pytest.fixture
def watched(daemon: RunDaemon) -> Watched:
    return Watched(daemon, DATABASE)


def test_no_socket_is_no_healthy_daemon_and_no_crash(daemon: RunDaemon, watched: Watched) -> None:
    assert not daemon.is_healthy()
    watched.look()
    assert not watched.is_found()


def test_a_daemon_that_answers_is_healthy(fake: Known, daemon: RunDaemon) -> None:
    assert daemon.is_healthy()
    fake.routes["/healthz"] = (200, b'{"status": "starting"}')
    assert not daemon.is_healthy()


@pytest.mark.parametrize("body", [b"[]", b'{"targets": 5}', b'{"targets": [{"id": "a"}]}'])
def test_a_strange_answer_is_one_sentence(fake: Known, watched: Watched, body: bytes) -> None:
    fake.routes["/v1/targets"] = (200, body)
    with pytest.raises(RunFailed, match=r"^the daemon's answer to GET /v1/targets (is|has) "):
        watched.look()


@pytest.mark.parametrize("body", [b"", b"not json"])
def test_no_answer_is_asked_for_again(fake: Known, watched: Watched, body: bytes) -> None:
    fake.routes["/v1/targets"] = (200, body)
    watched.look()
    assert not watched.is_found()
    del fake.routes["/v1/targets"]
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    watched.look()
    assert watched.is_found()


def test_a_sample_that_is_none_is_said_with_its_place(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    fake.samples = [sample_json(0) | {"monotonic_s": "late"}]
    with pytest.raises(RunFailed, match=r"^the daemon's answer to GET /v1/targets/y has a bad sample.monotonic_s: "):
        watched.look()


def test_a_target_that_has_gone_is_no_crash(fake: Known, daemon: RunDaemon, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    fake.samples = [sample_json(0)]
    watched.look()
    fake.targets = []
    assert daemon.ask("/v1/targets/y") is None
    watched.look()
    watched.look_at_decisions()
    assert [tick.sample.sequence for tick in watched.ticks] == [1]


def test_it_waits_for_its_own_database(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "x", "path": "/data/other", "state": "attached"}]
    watched.look()
    assert not watched.is_found()
    fake.targets.append({"id": "y", "path": "/data/fixed", "state": "attached"})
    fake.sentence = "no overflow: nothing to do"
    watched.look()
    assert watched.is_found()
    assert watched.sentence == "no overflow: nothing to do"
    assert (watched.newest, watched.ticks, watched.decisions) == (None, (), ())


def test_samples_are_kept_once_though_they_are_seen_again(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    for second in range(6):
        fake.samples.append(sample_json(second))
        for sentence in ("a change has been in flight", f"cycle {second}"):
            fake.sentence = sentence
            watched.look()
    assert [tick.sample.sequence for tick in watched.ticks] == [1, 2, 3, 4, 5, 6]
    assert [tick.sentence for tick in watched.ticks] == [f"cycle {second}" for second in range(6)]


@pytest.mark.parametrize("first_sequence_of_second_session", [1, 3])
def test_only_the_last_session_counts(fake: Known, watched: Watched, first_sequence_of_second_session: int) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    fake.decisions = [decision_json(1, 1.5)]
    for second in range(2):
        fake.samples = [sample_json(second, session="a")]
        watched.look()
    assert {tick.sample.session for tick in watched.ticks} == {"a"}
    assert [each.sequence for each in watched.decisions] == [1]
    fake.decisions.append(decision_json(2, 3.5))
    for second in range(3):
        sequence = first_sequence_of_second_session + second
        fake.samples = [sample_json(second + 2, session="b", sequence=sequence)]
        watched.look()
    assert [tick.sample.monotonic_s for tick in watched.ticks] == [502.0, 503.0, 504.0]
    assert [each.sequence for each in watched.decisions] == [2]


def test_a_decision_before_the_first_sample_that_was_seen_counts(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    fake.decisions = [decision_json(1, 1.0), decision_json(2, 4.0)]
    fake.samples = [sample_json(3, sequence=4)]
    watched.look()
    watched.look_at_decisions()
    assert [each.sequence for each in watched.decisions] == [1, 2]


def test_decisions_come_in_order_with_what_became_of_them(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    fake.samples = [sample_json(0)]
    fake.decisions = [decision_json(1, 4.0, "in-flight")]
    watched.look()
    assert [each.outcome for each in watched.decisions] == ["in-flight"]
    fake.decisions = [decision_json(1, 4.0), decision_json(2, 9.0), decision_json(3, 12.0)]
    watched.look()
    assert [each.sequence for each in watched.decisions] == [1, 3]
    watched.look_at_decisions()
    assert [each.sequence for each in watched.decisions] == [1, 2, 3]
    assert [each.outcome for each in watched.decisions] == ["applied"] * 3


def test_members_that_the_agent_cannot_read_are_none(fake: Known, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE)}]
    counters = {"writes": None, "stall_micros": None}
    fake.samples = [sample_json(0, writes_per_s=None, background_jobs=None, counters=counters)]
    watched.look()
    assert watched.newest is not None
    assert watched.newest.counters.stall_micros is None


def test_what_processes_use_is_read_at_each_look(fake: Known, daemon: RunDaemon, watched: Watched) -> None:
    fake.targets = [{"id": "y", "path": str(DATABASE), "process": {"pid": daemon.child.pid}}]
    watched.look()
    watched.look()
    assert len(watched.usage) == 2
    assert watched.daemon_usage.peak_rss_bytes > 0


def test_what_was_sent_is_named_by_family_as_settings_are() -> None:
    options = (of_family("default", "write_buffer_size"), of_family("other", "write_buffer_size"), RATE_LIMITER)
    changes = tuple(OptionChange(option, "1", "2") for option in options)
    assert changes_of(replace(decision(1, 0.0), changes=changes)) == dict.fromkeys(
        ("write_buffer_size", "other.write_buffer_size", "rate_limiter_bytes_per_s"), ("1", "2")
    )


def test_a_decisions_settings_are_named_by_family_unless_it_is_the_default() -> None:
    assert settings_of(decision(1, 0.0)) == {
        "background_jobs": 1,
        "batch_size": 128 << 20,
        "other.batch_size": 64 << 20,
    }
