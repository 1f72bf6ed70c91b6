"""A policy's laws and their windows: each in its own period, over all of its time, several in one plan."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adocd.controllers import registry
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.control.law import Law
from adocd.model.allowance import Allowance
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.overflow import Overflow
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import ColumnFamilySnapshot, Event, OptionValues, Snapshot
from adocd.model.values import RATE_LIMITER, OptionName
from tests.builders import CAPABILITIES, option_values, sample, snapshot
from tests.daemon.harness import (
    Scene,
    loop_settings,
    session_of,
    ticked_until,
    ticks,
    with_agent,
)
from tests.daemon.laws import Theirs, decision
from tests.support.fake_database import FakeDatabase

NOTHING = OptionValues()
UNPINNED = frozenset[OptionName]()


class Seen(Theirs):
    """Remembers its samples, and decides the same every time."""

    samples: list[Sample]

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        self.samples = []

    def step(self, sample: Sample) -> Decision | None:
        """Remember the sample."""
        self.samples.append(sample)
        return super().step(sample)


class Slow(Seen):
    """Looks every 10 s."""

    name = "slow"
    period_s = 10.0
    knobs = frozenset({Knob.BACKGROUND_JOBS})

    @staticmethod
    def decide() -> Any:
        """Turn threads."""
        return decision(Setting(Knob.BACKGROUND_JOBS, 4))


class Fast(Seen):
    """Looks every second."""

    name = "fast"
    period_s = 1.0


@pytest.fixture(autouse=True)
def _their_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.LAWS, "slow", Slow)
    monkeypatch.setitem(registry.LAWS, "fast", Fast)


def at(now_s: float, *events: Event) -> Snapshot:
    return snapshot(monotonic_s=now_s, sequence=int(now_s), events=events, options=option_values())


def flush(number: int) -> Event:
    return Event(number, float(number), "flush_end", bytes=number)


def lived(law: Law, seconds: int) -> list[Decision]:
    """Look once a second; what is decided."""

    async def body() -> list[Decision]:
        found = []
        for second in range(seconds + 1):
            now = at(100.0 + second, flush(second))
            law.observe(now)
            if (asked := await law.step(now, NOTHING)) is not None:
                found.append(asked[0])
        return found

    return asyncio.run(body())


def parts(law: Law) -> list[Seen]:
    return [part.controller for part in law._parts]  # type: ignore[misc]


def test_each_law_keeps_its_period_and_sees_all_of_its_window() -> None:
    law = Law(Policy("slow+fast"), CAPABILITIES)
    decided = lived(law, 20)
    slow, fast = parts(law)
    assert [s.interval_s for s in slow.samples] == [10.0, 10.0]
    assert [s.interval_s for s in fast.samples] == [1.0] * 20
    assert [event.sequence for event in slow.samples[0].events] == list(range(1, 11)), "of every look in it"
    assert [event.sequence for event in slow.samples[1].events] == list(range(11, 21))
    assert [[event.sequence for event in s.events] for s in fast.samples] == [[n] for n in range(1, 21)]
    assert len(decided) == 20


class Wakes(Seen):
    """Looks every second, and when writes stall."""

    name = "wakes"
    period_s = 1.0
    knobs = frozenset({Knob.MEMTABLE_NUMBER})
    wakes = frozenset({"stall", "memtables_wait"})

    @staticmethod
    def decide() -> Any:
        """Turn another knob than the others do."""
        return decision(Setting(Knob.MEMTABLE_NUMBER, 4, "default"))


@pytest.mark.parametrize("can_wait", [True, False])
def test_a_law_is_asked_at_the_events_that_wake_it_and_its_period_goes_on(
    monkeypatch: pytest.MonkeyPatch, can_wait: bool
) -> None:
    monkeypatch.setitem(registry.LAWS, "wakes", Wakes)
    capabilities = replace(CAPABILITIES, waits_for=("stall",)) if can_wait else CAPABILITIES
    law = Law(Policy("wakes+fast"), capabilities)
    assert law.wakes == (frozenset({"stall"}) if can_wait else frozenset())

    async def body() -> None:
        for number, (now_s, kind) in enumerate(
            [
                (100.0, "stall"),
                (100.2, "stall"),  # means need a whole period first
                (101.0, "flush_end"),
                (101.3, "stall"),
                (101.4, "flush_end"),
                (101.5, "memtables_wait"),  # the agent cannot wait for it
                (102.0, "flush_end"),
                (103.0, "stall"),
                (103.1, "flush_end"),
            ],
            start=1,
        ):
            now = at(now_s, Event(number, now_s, kind))
            law.observe(now)
            await law.step(now, NOTHING)

    asyncio.run(body())
    wakes, fast = parts(law)
    asked = [round(sample.monotonic_s, 1) for sample in wakes.samples]
    assert asked == ([101.0, 101.3, 102.0, 103.0] if can_wait else [101.0, 102.0, 103.0])
    lengths = [round(sample.interval_s, 1) for sample in wakes.samples]
    assert lengths == ([1.0, 0.3, 0.7, 1.0] if can_wait else [1.0, 1.0, 1.0])
    assert [event.sequence for sample in wakes.samples for event in sample.events] == list(range(2, 9))
    assert [round(sample.interval_s, 1) for sample in fast.samples] == [1.0, 1.0, 1.0]


def test_after_a_time_in_which_it_could_not_be_asked_a_law_begins_a_fresh_window() -> None:
    """What happened meanwhile is in no window, and what was pinned then, and no longer is, was in none either."""
    law = Law(Policy("slow+fast"), CAPABILITIES)
    slow, fast = parts(law)

    async def second(now_s: float, event: int, *, asked: bool = True, pinned: frozenset[OptionName] = UNPINNED) -> None:
        now = at(now_s, flush(event))
        law.observe(now)
        law.pinned(dict.fromkeys(pinned, "1"))
        if asked:
            await law.step(now, NOTHING)
        else:
            law.interrupt()

    async def body() -> None:
        for number in range(6):
            await second(100.0 + number, number)
        for number in range(6, 66):
            await second(100.0 + number, number, asked=False, pinned=frozenset({RATE_LIMITER}))
        for number in range(66, 77):
            await second(100.0 + number, number)

    asyncio.run(body())
    assert [s.interval_s for s in fast.samples] == [1.0] * 15
    assert [s.monotonic_s for s in fast.samples] == [*range(101, 106), *range(167, 177)]
    assert [[event.sequence for event in s.events] for s in fast.samples[5:]] == [[n] for n in range(67, 77)]
    (window,) = slow.samples
    assert (window.interval_s, window.monotonic_s) == (10.0, 176.0)
    assert [event.sequence for event in window.events] == list(range(67, 77))
    assert not any(s.pinned for s in (*fast.samples, window))


def test_what_wakes_a_law_while_it_cannot_be_asked_does_not_shorten_its_first_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.LAWS, "wakes", Wakes)
    law = Law(Policy("wakes"), replace(CAPABILITIES, waits_for=("stall",)))
    (wakes,) = parts(law)

    async def look(now_s: float, kind: str, *, asked: bool = True) -> None:
        now = at(now_s, Event(int(now_s * 10), now_s, kind))
        law.observe(now)
        if asked:
            await law.step(now, NOTHING)
        else:
            law.interrupt()

    async def body() -> None:
        await look(100.0, "flush_end")
        await look(101.0, "flush_end")
        await look(102.0, "stall", asked=False)
        await look(160.0, "stall")
        await look(160.2, "stall")  # means need a whole period first, here too
        await look(161.0, "flush_end")

    asyncio.run(body())
    assert [(s.monotonic_s, s.interval_s) for s in wakes.samples] == [(101.0, 1.0), (161.0, 1.0)]


def test_what_several_decide_at_once_is_one_decision() -> None:
    both = lived(Law(Policy("slow+fast"), CAPABILITIES), 10)[-1]
    assert both.settings == (Setting(Knob.BACKGROUND_JOBS, 4), Setting(Knob.MEMTABLE_SIZE, 32 * MIB, "default"))
    assert both.rule == "theirs.rule+theirs.rule"


def test_a_law_is_given_the_owners_values() -> None:
    law = Law(Policy("fast"), CAPABILITIES)
    owners = OptionValues(rate_limiter_bytes_per_s=7)

    async def body() -> None:
        await law.step(at(100.0), owners)
        await law.step(at(101.0), owners)

    asyncio.run(body())
    (fast,) = parts(law)
    assert fast.samples[0].originals == owners


def test_a_law_sees_what_the_daemon_knows_beside_the_snapshot() -> None:
    """Whatever its window: what it may count on is what holds now."""
    law = Law(Policy("slow+fast"), CAPABILITIES)
    allowances = [Allowance(n, 0.5, 0.5, None, 0, None) for n in range(11)]

    async def body() -> None:
        for second, allowance in enumerate(allowances):
            await law.step(at(100.0 + second), NOTHING, seen=sample(allowance=allowance))

    asyncio.run(body())
    slow, fast = parts(law)
    assert [seen.allowance for seen in slow.samples] == [allowances[10]]
    assert [seen.allowance for seen in fast.samples] == allowances[1:]


def test_a_law_is_told_of_what_was_pinned_in_its_window() -> None:
    law = Law(Policy("slow+fast"), CAPABILITIES)
    pins = {102: {RATE_LIMITER: "1"}}

    async def body() -> None:
        for second in range(100, 111):
            law.pinned(pins.get(second, {}))
            await law.step(at(float(second)), NOTHING)

    asyncio.run(body())
    slow, fast = parts(law)
    assert [sample.pinned for sample in slow.samples] == [{RATE_LIMITER}]
    assert [RATE_LIMITER in sample.pinned for sample in fast.samples] == [False, True] + [False] * 8


def test_a_pin_that_comes_or_goes_ends_the_judges_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    law, begun = Law(Policy("slow+fast"), CAPABILITIES), []
    monkeypatch.setattr(law.judge, "begin_anew", lambda: begun.append(True))
    law.pinned({RATE_LIMITER: "1"})
    assert not begun, "what was seen before the law is of the same pins"
    law.pinned({RATE_LIMITER: "1"})
    assert not begun
    law.pinned({RATE_LIMITER: "2"})
    law.pinned({})
    assert len(begun) == 2


def test_beside_another_law_a_law_is_shown_the_owners_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the other turns, that is; and the overflow is that of what it is shown."""
    monkeypatch.setattr(Slow, "knobs", frozenset({Knob.LEVEL0_SLOWDOWN, Knob.BACKGROUND_JOBS}))
    monkeypatch.setattr(Fast, "reads", frozenset({Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT}))
    live = option_values()
    tightened = {**live.column_families["default"], "level0_slowdown_writes_trigger": "4"}
    full = {"default": ColumnFamilySnapshot({"rocksdb.num-files-at-level0": 5})}
    now = replace(at(100.0), options=OptionValues(live.database, {"default": tightened}), column_families=full)

    async def body() -> None:
        for second in range(100, 111):
            await law.step(replace(now, monotonic_s=float(second)), live)

    law = Law(Policy("slow+fast"), CAPABILITIES)
    asyncio.run(body())
    slow, fast = parts(law)
    assert {s.column_families[0].options.level0_slowdown_writes_trigger for s in fast.samples} == {20}
    assert {s.overflow for s in fast.samples} == {()}
    assert {s.overflow for s in slow.samples} == {(Overflow.LEVEL0,)}


def test_a_knob_that_a_law_can_do_without_is_left_out_where_it_cannot_be_turned() -> None:
    """This agent cannot change max_subcompactions."""
    law = Law(Policy("manual", {"subcompactions": 4, "background_jobs": 8}), CAPABILITIES)
    (manual,) = parts(law)
    manual.optional_knobs = frozenset({Knob.SUBCOMPACTIONS})
    values = option_values()
    whole = OptionValues({**values.database, "max_subcompactions": "1"}, values.column_families)

    async def body() -> Decision:
        await law.step(snapshot(monotonic_s=100.0, options=whole), NOTHING)
        asked = await law.step(snapshot(monotonic_s=101.0, options=whole), NOTHING)
        assert asked is not None
        return asked[0]

    assert asyncio.run(body()).settings == (Setting(Knob.BACKGROUND_JOBS, 8),)


@pytest.mark.parametrize("needs_it", [True, False], ids=["a law that needs it", "one that can do without"])
def test_a_limiter_that_something_else_turns_stops_the_law_that_cannot_do_without_it(*, needs_it: bool) -> None:
    law = Law(Policy("manual", {"rate_limit": 20 * MIB, "background_jobs": 8}), CAPABILITIES)
    (manual,) = parts(law)
    manual.optional_knobs = frozenset() if needs_it else frozenset({Knob.RATE_LIMIT})
    values = option_values()
    whole = OptionValues(values.database, values.column_families, rate_limiter_bytes_per_s=400 * MIB)

    async def body() -> tuple[tuple[Setting, ...], ...]:
        await law.step(snapshot(monotonic_s=100.0, options=whole), NOTHING)
        asked = [await law.step(snapshot(monotonic_s=101.0, options=whole), NOTHING)]
        law.stop_limiting("somebody else changed it")
        asked += [await law.step(snapshot(monotonic_s=second, options=whole), NOTHING) for second in (102.0, 103.0)]
        return tuple(() if one is None else one[0].settings for one in asked)

    before, *after = asyncio.run(body())
    assert {setting.knob for setting in before} == {Knob.RATE_LIMIT, Knob.BACKGROUND_JOBS}
    assert after == ([()] * 2 if needs_it else [(Setting(Knob.BACKGROUND_JOBS, 8),)] * 2)
    assert (law.declined is not None) is needs_it


def test_a_law_sees_each_event_once_whichever_snapshot_it_came_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot from the agent's cache measures nothing, and tells of what has happened since it was taken."""
    monkeypatch.setattr(Fast, "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fast", dry_run=True))
        await ticks(loop, 2)
        database.sampling.clear()
        seen_alone = []
        for bytes_ in range(1, 4):
            database.session.events.emit("flush_end", column_family="default", job=bytes_, bytes=bytes_, elapsed_s=1.0)
            assert await loop.tick() == "measuring"
            assert loop.status.snapshot is not None
            seen_alone += [event.bytes for event in loop.status.snapshot.events]
        assert seen_alone == [1, 2, 3], "each came with a snapshot that measured nothing"
        database.sampling.set()
        await ticks(loop, 4)
        (fast,) = parts(session_of(loop).law)
        told = [event.bytes for sample in fast.samples for event in sample.events if event.kind == "flush_end"]
        assert told == [1, 2, 3]

    with_agent(database, tmp_path, body)


def test_no_window_of_a_law_spans_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fast, "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fast"))
        await ticks(loop, 2)
        (fast,) = parts(session_of(loop).law)
        await ticked_until(loop, lambda: bool(fast.samples), "it is asked")
        scene.book.pauses.enter(Pause(loop.id, loop.path, "paused", "alice looks", "alice", 0.0))
        await ticks(loop, 2)
        paused_s = time.monotonic()
        await ticks(loop, 2)
        assert scene.book.pauses.resume(loop.id, loop.path, "alice")
        await ticked_until(loop, lambda: fast.samples[-1].monotonic_s > paused_s, "it is asked again")
        assert not [sample for sample in fast.samples if sample.began_s < paused_s < sample.monotonic_s]

    with_agent(database, tmp_path, body)


def test_no_window_of_a_law_spans_a_time_in_which_somebody_else_held_the_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fast, "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        other = await scene.attach(Policy("fast"), loop_settings(holder="adocd@other:2"))
        await ticks(other, 3)
        assert session_of(other).held.current is not None
        loop = await scene.attach(Policy("fast"))
        await ticks(loop, 3)
        (fast,) = parts(session_of(loop).law)
        held_s = time.monotonic()
        await other.stop()
        await ticked_until(loop, lambda: bool(fast.samples), "it is asked")
        assert fast.samples[0].began_s > held_s

    with_agent(database, tmp_path, body)
