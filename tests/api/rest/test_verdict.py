"""Whether the tuner helps, by REST."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.watch.history import History, Point
from adocd.diagnosis import Diagnosis
from adocd.model.policy import Policy
from adocd.model.stall import Cause
from adocd.probes.log import LogParser
from tests.api.harness import Service, with_service
from tests.probes.log.lines import event, line
from tests.support.fake_database import FakeDatabase


class Full(History):
    """A history that takes in nothing of what the loop goes on to measure."""

    def add(self, point: Point) -> None:
        """Leave it out."""


def remembered(begin_unix_s: float, before: float, since: float) -> Full:
    """Make the history of two times five minutes, of which these shares were held."""
    history, point = Full(), Point(0.0, 1.0, writes_per_s=1000.0)
    for second in range(600):
        held = before if second < 300 else since
        causes: dict[Cause, float] = {"l0": held}
        History.add(
            history, replace(point, unix_s=begin_unix_s + second, stopped_fraction=held, stalled_by_cause=causes)
        )
    return history


def learned(begin_unix_s: float, stalled_s: float) -> Diagnosis:
    """Diagnose a LOG whose writes are stopped at first."""
    because = "Stopping writes because we have 36 level-0 files"
    parser, diagnosis = LogParser(), Diagnosis()
    written = line("RocksDB version: 7.8.3", begin_unix_s)
    written += line(f"[WARN] [db/column_family.cc:1001] [default] {because}", begin_unix_s + 1)
    written += event(
        '"cf_name": "default", "job": 1, "event": "flush_finished", "lsm_state": [1, 0], "immutable_memtables": 0',
        begin_unix_s + 1 + stalled_s,
    )
    for each in (*parser.feed(written), *parser.finish()):
        diagnosis.add(each)
    diagnosis.end()
    return diagnosis


def test_a_policy_is_judged_by_what_the_daemon_remembers(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        status, answer = await service.call("GET", f"{service.target}/verdict")
        assert status == 200
        assert (answer["target"], answer["path"]) == (service.loop.id, service.loop.path)
        assert answer["verdict"]["kind"] == "idle", "the policy is fixed"

        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        service.loop.remembered.history = remembered(time.time() - 300, 0.4, 0.1)
        _, answer = await service.call("GET", f"{service.target}/verdict")
        judged = answer["verdict"]
        assert (judged["kind"], judged["title"]) == ("helps", "The tuner helps")
        assert round(judged["before"]["share"], 2) == 0.4
        assert round(judged["since"]["by_cause"]["l0"], 2) == 0.1
        assert "before adoc began" in judged["sentence"]

        await service.call("POST", f"{service.target}/pause", {"reason": "a look"})
        _, answer = await service.call("GET", f"{service.target}/verdict")
        assert answer["verdict"]["kind"] == "idle"
        assert "a look" in answer["verdict"]["sentence"]

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_pin_in_force_is_judged_and_one_that_is_not_is_not(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        await service.call("PUT", f"{service.target}/policy", {"controller": "adoc"})
        put = await service.call("PUT", f"{service.target}/overrides/max_background_jobs", {"value": "3"})
        assert put[0] == 200, put
        service.loop.remembered.history = remembered(time.time() - 300, 0.1, 0.4)

        async def judged() -> dict[str, Any]:
            return dict((await service.call("GET", f"{service.target}/verdict"))[1]["verdict"])

        async def in_force() -> bool:
            (pin,) = (await service.call("GET", f"{service.target}/overrides"))[1]["overrides"]
            return pin["ineffective"] is None

        for _ in range(1000):
            pinned = (await judged())["pinned"]
            if await in_force():  # since then, perhaps
                break
            assert pinned is None
            await asyncio.sleep(0.01)
        found = await judged()
        assert found["title"] == "The pin hurts"
        assert (found["pinned"]["option"], found["pinned"]["everywhere"]) == ("max_background_jobs", False)

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_a_law_that_was_there_from_the_start_is_compared_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon starts straight under adoc; the LOG tells of the ten minutes before."""

    async def body(service: Service) -> None:
        first_s = time.time() - 100
        log = learned(first_s - 600, stalled_s=300)
        monkeypatch.setattr(service.loop, "logged_before", log.held_before)
        service.loop._policy = Policy("adoc")
        history = Full()
        for second in range(100):
            History.add(
                history,
                Point(first_s + second, 1.0, 10.0, stopped_fraction=0.0, stalled_by_cause={}, controller="adoc"),
            )
        service.loop.remembered.history = history
        _, answer = await service.call("GET", f"{service.target}/verdict")
        assert answer["verdict"]["kind"] == "helps"
        assert "by its LOG" in answer["verdict"]["sentence"]

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)


def test_nothing_is_said_of_what_was_never_measured(tmp_path: Path) -> None:
    async def body(service: Service) -> None:
        service.loop.remembered.history = Full()
        service.loop._policy = Policy("adoc")
        status, answer = await service.call("GET", f"{service.target}/verdict")
        assert (status, answer["verdict"]) == (200, None)
        status, _ = await service.call("GET", "/v1/targets/ffff/verdict")
        assert status == 404

    with_service(tmp_path, FakeDatabase(tmp_path / "db"), body)
