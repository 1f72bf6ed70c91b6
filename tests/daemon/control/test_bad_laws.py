"""A bad law harms its own target only: the policy falls back, says so, and everything else goes on."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adocd.controllers import registry
from adocd.daemon.book.journal.records import Pause
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from adocd.probes import workers
from tests.daemon.harness import (
    Scene,
    loop_settings,
    outcomes,
    overflowing,
    pin,
    session_of,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.daemon.laws import Theirs, decision, spin
from tests.support.fake_database import FakeDatabase

SIZE = Knob.MEMTABLE_SIZE


class Unspeakable(Exception):
    """Cannot even be put into words."""

    def __str__(self) -> str:
        raise RuntimeError


def raises(error: BaseException) -> Callable[[], Any]:
    def body() -> None:
        raise error

    return body


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (raises(ValueError("no idea")), "it raised ValueError: no idea"),
    "exits": (lambda: sys.exit(1), "it raised SystemExit: 1"),
    "cancels": (raises(asyncio.CancelledError()), "it raised CancelledError"),
    "interrupts": (raises(KeyboardInterrupt()), "it raised KeyboardInterrupt"),
    "stops": (raises(StopIteration()), "it raised StopIteration"),
    "unspeakable": (raises(Unspeakable()), "it raised Unspeakable"),
    "a number": (lambda: 7, "it returned 7, which is no Decision"),
    "settings of its own": (lambda: decision("more threads"), "settings must be a tuple of Setting"),
    "NaN": (lambda: decision(Setting(SIZE, math.nan, "default")), "it set memtable_size to nan"),  # type: ignore[arg-type]
    "true": (lambda: decision(Setting(SIZE, True, "default")), "it set memtable_size to True"),
    "text": (lambda: decision(Setting(SIZE, "64", "default")), "to '64', which is no whole number"),  # type: ignore[arg-type]
    "a huge number": (lambda: decision(Setting(SIZE, 1 << 70, "default")), "to a number of more than 63 bits"),
    "no knob": (lambda: decision(Setting("threads", 4)), "it turned 'threads', which is no knob"),  # type: ignore[arg-type]
    "an undeclared knob": (
        lambda: decision(Setting(Knob.BACKGROUND_JOBS, 4)),
        "it turned background_jobs, which it has not declared",
    ),
    "an unknown family": (
        lambda: decision(Setting(SIZE, 64 * MIB, "defualt")),
        "of column family 'defualt', which does not exist",
    ),
    "no family": (lambda: decision(Setting(SIZE, 64 * MIB)), "without saying of which column family"),
    "twice": (
        lambda: decision(Setting(SIZE, 64 * MIB, "default"), Setting(SIZE, 32 * MIB, "default")),
        "it set memtable_size twice in one decision",
    ),
}


def with_law(monkeypatch: pytest.MonkeyPatch, decide: Callable[[], Any]) -> None:
    monkeypatch.setitem(registry.LAWS, "theirs", type("Decides", (Theirs,), {"decide": staticmethod(decide)}))


@pytest.mark.parametrize("what", BAD)
def test_it_falls_back_says_so_and_the_loop_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    body_of_law, sentence = BAD[what]
    with_law(monkeypatch, body_of_law)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs"))
        running = asyncio.create_task(loop.run())
        await until(lambda: loop.status.policy == Policy("fixed"), "it falls back")
        await until(lambda: loop.status.sentence.startswith("fixed:"), "the loop goes on")
        (record,) = loop.remembered.decisions
        assert record.controller == "theirs"
        assert record.rule == "daemon.fall_back"
        assert record.outcome == "failed"
        assert record.signal.startswith("theirs failed: ")
        assert sentence in record.signal
        running.cancel()

    with_agent(database, tmp_path, body)
    assert database.executed == []


def test_in_a_dry_run_no_pins_are_sent_afterwards_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body_of_law, _ = BAD["raises"]
    with_law(monkeypatch, body_of_law)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs", dry_run=True))
        await pin(scene, "max_background_jobs", "3")
        running = asyncio.create_task(loop.run())
        await until(lambda: loop.status.policy == Policy("fixed", dry_run=True), "it falls back")
        looks = loop.status.looks
        await until(lambda: loop.status.looks > looks + 3, "the loop goes on")
        running.cancel()

    with_agent(database, tmp_path, body)
    assert database.executed == []


def test_what_it_had_set_before_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails: list[bool] = []

    def decide() -> Any:
        if fails:
            raise ValueError
        return decision(Setting(SIZE, 32 * MIB, "default"))

    with_law(monkeypatch, decide)
    database = FakeDatabase(tmp_path / "db")
    before = write_buffer_size(database)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs"))
        running = asyncio.create_task(loop.run())
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "it is tuned")
        fails.append(True)
        await until(lambda: write_buffer_size(database) == before, "it is given back")
        running.cancel()

    with_agent(database, tmp_path, body)


@pytest.mark.parametrize("waste", [time.sleep, spin])
def test_five_seconds_in_one_law_hold_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waste: Callable[[float], None]
) -> None:
    """Pure Python gives way; the other target goes on, its lease is renewed, and the event loop stays quick."""
    wasting = threading.Event()

    def decide() -> None:
        wasting.set()
        waste(5.0)
        wasting.clear()

    with_law(monkeypatch, decide)
    (tmp_path / "slow").mkdir()
    (tmp_path / "other").mkdir()
    slow, other = FakeDatabase(tmp_path / "slow" / "db"), overflowing(tmp_path / "other" / "db")

    async def run() -> None:
        settings = loop_settings(lease_ttl_s=4.0, step_limit_s=1.0)
        async with Scene(tmp_path / "slow", slow) as one, Scene(tmp_path / "other", other) as two:
            bad, good = await one.attach(Policy("theirs"), settings), await two.attach(Policy("adoc"), settings)
            running = [asyncio.create_task(loop.run()) for loop in (bad, good)]
            began_s, turns, epochs = time.monotonic(), 0, set()
            while time.monotonic() - began_s < 5.5:
                await asyncio.sleep(0.01)
                turns += wasting.is_set()
                if (lease := other.keeper.lease()) is not None:
                    epochs.add(lease["epoch"])
            assert turns > 20, "the loop had none while the law held it up"
            assert bad.status.policy == Policy("fixed")
            (record,) = bad.remembered.decisions
            assert record.signal == "theirs failed: it took more than 1 s to decide"
            assert write_buffer_size(other) != str(64 * MIB)
            assert len(epochs) == 1, "its lease was renewed, and never acquired anew"
            for task in running:
                task.cancel()

    asyncio.run(run())


def test_a_law_that_there_is_no_thread_for_is_asked_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a limit on the number of threads, for example of its cgroup: that is no fault of the law."""

    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with_law(monkeypatch, lambda: decision(Setting(SIZE, 32 * MIB, "default")))
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs"))
        with monkeypatch.context() as at_the_limit:
            at_the_limit.setattr(workers, "start", no_thread)
            running = asyncio.create_task(loop.run())
            await until(lambda: loop.status.looks > 5, "the loop goes on")
            assert database.executed == []
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "the law is asked")
        assert loop.status.policy == Policy("theirs")
        running.cancel()

    with_agent(database, tmp_path, body)


def test_a_pause_while_the_journal_writes_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_law(monkeypatch, lambda: decision(Setting(SIZE, 32 * MIB, "default")))
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        intend = scene.book.intend

        async def slow(*announced: Any) -> None:
            await intend(*announced)
            scene.book.pauses.enter(Pause(loop.id, loop.path, "paused", "alice looks", "alice", 0.0))

        monkeypatch.setattr(scene.book, "intend", slow)
        loop = await scene.attach(Policy("theirs"))
        await ticks(loop, 3)
        await until(lambda: outcomes(loop) == ["refused"], "the change is not sent")
        assert database.executed == []
        assert (await ticks(loop, 1))[-1] == "paused: alice looks"

    with_agent(database, tmp_path, body)


def test_a_pause_during_a_slow_step_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decide() -> Any:
        time.sleep(0.5)
        return decision(Setting(SIZE, 32 * MIB, "default"))

    with_law(monkeypatch, decide)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs"))
        running = asyncio.create_task(loop.run())
        await until(
            lambda: loop.status.detail is not None and session_of(loop).held.current is not None, "it asks the law"
        )
        await asyncio.sleep(0.1)
        scene.book.pauses.enter(Pause(loop.id, loop.path, "paused", "alice looks", "alice", 0.0))
        await asyncio.sleep(1.0)
        assert database.executed == []
        running.cancel()

    with_agent(database, tmp_path, body)
