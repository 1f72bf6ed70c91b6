"""The daemon's REST on its Unix socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.api import server
from adocd.model.decision import Decision, Setting
from adocd.model.knob import Knob
from tests.api.harness import Run, Service, with_service
from tests.daemon.harness import overflowing, until


def test_targets_and_one_of_them(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, listed = await service.call("GET", "/v1/targets")
        assert status == 200
        (target,) = listed["targets"]
        assert target["path"] == service.database.path
        assert target["process"]["rocksdb_version"] == "7.8.3"
        status, detail = await service.call("GET", service.target)
        assert status == 200
        assert detail["sample"]["column_families"][0]["immutable_memtables"] == 2
        assert detail["options"]["database"]["max_background_jobs"] == "2"
        assert detail["originals"]["database"]["max_background_jobs"] == "2"
        assert detail["last_decision"] is None
        status, by_prefix = await service.call("GET", service.target[:-4])
        assert (status, by_prefix["id"], by_prefix["path"]) == (200, detail["id"], detail["path"])

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_policy_is_set_decides_and_is_told(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        shaping = {"step_factor": 0.0, "pacing_s": 2.0, "refractory_s": 0.0, "judge_s": 0.0}
        wanted = {
            "controller": "adoc",
            "parameters": {"batch_max_bytes": 256 << 20},
            "dry_run": True,
            "shaping": shaping,
        }
        assert await service.call("PUT", f"{service.target}/policy", wanted) == (200, wanted)
        assert await service.call("GET", f"{service.target}/policy") == (200, wanted)
        (loop,) = service.fleet.loops.values()
        await until(lambda: loop.remembered.decisions.count > 0, "a decision")
        _, answer = await service.call("GET", f"{service.target}/decisions?limit=1")
        (decision,) = answer["decisions"]
        assert decision["rule"] == "adoc.memory"
        assert decision["outcome"] == "dry-run"
        assert decision["settings"] == [{"knob": "batch_size", "value": 128 << 20, "column_family": "default"}]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_samples_are_read_on_from_a_sequence_number(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        _, answer = await service.call("GET", f"{service.target}/samples")
        last = answer["samples"][-1]["sequence"]
        (loop,) = service.fleet.loops.values()
        await until(lambda: any(loop.remembered.samples.newer(last, 1)), "a newer sample")
        _, answer = await service.call("GET", f"{service.target}/samples?after={last}")
        assert [sample["sequence"] > last for sample in answer["samples"]] == [True] * len(answer["samples"])
        assert answer["samples"]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_restore_gives_everything_back_and_pauses(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        options = service.database.options.column_families["default"]
        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        await until(lambda: options["write_buffer_size"] == str(128 << 20), "it is tuned")
        status, answer = await service.call("POST", "/v1/restore")
        assert (status, answer["failed"]) == (200, {})
        await until(lambda: options["write_buffer_size"] == str(64 << 20), "the originals are back")
        _, detail = await service.call("GET", service.target)
        assert "restored the originals" in detail["paused"]

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("GET", "/v1/targets/ffff", None, 404, "there is no target 'ffff'; there is "),
        (
            "PUT",
            "/policy",
            {"controller": "adco"},
            422,
            "there is no controller 'adco'; did you mean adoc?",
        ),
        (
            "PUT",
            "/policy",
            {"controller": "adoc", "parameters": {"threads_max": "x"}},
            422,
            "adoc: threads_max must be a whole number, not 'x'",
        ),
        (
            "PUT",
            "/policy",
            {"controler": "adoc"},
            422,
            "controller is missing; there is no member 'controler'; did you mean controller?",
        ),
        ("PUT", "/policy", [], 422, "the body must be a JSON object"),
        ("GET", "/decisions?limit=0", None, 422, "limit must be at least 1, not '0'"),
        ("GET", "/v2/targets", None, 404, "there is nothing at /v2/targets; /docs lists what there is"),
        ("DELETE", "/samples", None, 405, "/samples is not possible; GET is"),
    ],
)
def test_bad_requests_are_problems_of_one_sentence(
    left_alone: Run, method: str, path: str, body: object, status: int, sentence: str
) -> None:
    async def check(service: Service) -> None:
        whole = path if path.startswith("/v") else f"{service.target}{path}"
        got, problem = await service.call(method, whole, body)
        assert got == status
        assert problem["status"] == status
        assert problem["title"]
        assert sentence in problem["detail"]

    left_alone(check)


def test_a_law_that_cannot_work_is_refused_with_the_reason(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.set_option("max_background_flushes", "4")

    async def body(service: Service) -> None:
        status, problem = await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        assert status == 409
        assert "max_background_jobs has no effect" in problem["detail"]

    with_service(tmp_path, database, body)


def test_a_database_that_another_daemon_holds_is_not_taken(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.keeper.hold("adocd@elsewhere:1", 60, None)

    async def body(service: Service) -> None:
        status, problem = await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        assert status == 409
        assert "is held by adocd@elsewhere:1; stop that one first" in problem["detail"]
        status, _ = await service.call("PUT", f"{service.target}/policy", {"controller": "adoc", "dry_run": True})
        assert status == 200

    with_service(tmp_path, database, body)


def test_two_daemons_in_one_run_directory(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with server.daemon_socket(path):
        with pytest.raises(server.AddressInUse, match="another adocd serves at"), server.daemon_socket(path):
            pass
        assert path.exists()
    assert not path.exists()
    path.touch()  # left behind by a daemon that was killed
    with server.daemon_socket(path):
        assert path.is_socket()


def test_the_daemons_socket_is_closed_to_others(tmp_path: Path) -> None:
    with server.daemon_socket(tmp_path / "daemon.sock"):
        assert (tmp_path / "daemon.sock").stat().st_mode & 0o777 == 0o660


def test_pages_of_decisions_are_stable(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        for jobs in range(5):
            decision = Decision((Setting(Knob.BACKGROUND_JOBS, jobs),), "21 files", "adoc.level0", "level 0 overflows")
            service.loop.remembered.decisions.add("adoc", decision, 1.0, (), "dry-run")
        before: int | None = 6
        seen: list[int] = []
        while before is not None:
            _, page = await service.call("GET", f"{service.target}/decisions?limit=2&before={before}")
            seen = [record["sequence"] for record in page["decisions"]] + seen
            before = page["next_before"]
        assert seen == [1, 2, 3, 4, 5]
        _, page = await service.call("GET", f"{service.target}/decisions?after=3&before=6")
        assert [record["sequence"] for record in page["decisions"]] == [4, 5]
        assert page["next_before"] is None

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
