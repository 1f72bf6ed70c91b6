"""The simulated agent: lease, plan, calls and what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from adocd.model.change import Below, Change, ColumnFamilyChange, DatabaseChange, RateLimiterChange, RestoreStep
from adocd.probes.statistics import StatisticsProbe
from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock
from adocd.simulator.database import Setup, SimulatedDatabase
from adocd.simulator.target import SimulatedTarget
from adocd.targets.errors import Closed, Refused

from .scenes import MIB, setup

LARGER = ColumnFamilyChange("default", {"write_buffer_size": str(128 * MIB)})
BACK = RestoreStep(ColumnFamilyChange("default", {"write_buffer_size": str(64 * MIB)}))


def with_target(body: Callable[[SimulatedTarget, Clock], Awaitable[None]], opened_as: Setup | None = None) -> None:
    async def run(clock: Clock) -> None:
        target = SimulatedTarget(SimulatedDatabase(opened_as or setup()), clock)
        await body(target, clock)

    virtual.run(run)


def write_buffer_size(target: SimulatedTarget) -> int:
    return target.database.shown.write_buffer_size


def kinds(target: SimulatedTarget) -> list[str]:
    """What the agent did, without what the database did."""
    inside = ("flush_begin", "flush_end", "compaction_begin", "compaction_end", "stall")
    return [event.kind for event in target.database.events.after(0)[0] if event.kind not in inside]


def test_a_change_is_applied_read_back_and_takes_its_time() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        lease = await target.hold_lease("me", 10.0, None)
        (step,) = await target.change("me", lease.epoch, (LARGER,), (BACK,))
        assert (step.outcome, step.read_back) == ("applied", LARGER.options)
        assert 0.017 <= step.elapsed_s <= 0.043
        assert step.elapsed_s == clock()
        (again,) = await target.change("me", lease.epoch, (LARGER,), (BACK,))
        assert (again.outcome, again.elapsed_s) == ("unchanged", 0.0)
        (repeated,) = await target.change("me", lease.epoch, (LARGER,), (BACK,), repeat=True)
        assert repeated.outcome == "applied"
        snapshot = await target.snapshot(0)
        assert snapshot.options.column_families["default"]["write_buffer_size"] == str(128 * MIB)
        assert snapshot.restore.state == "armed"

    with_target(body)


def test_a_call_waits_for_the_end_of_a_stop_and_holds_up_no_look() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        while target.database.controller.condition != "stopped":
            await asyncio.sleep(0.01)
            await target.snapshot(None)
            assert clock() < 60
        lease = await target.hold_lease("me", 100.0, None)
        began_s = clock()
        change = asyncio.create_task(target.change("me", lease.epoch, (LARGER,), (BACK,)))
        await asyncio.sleep(0.2)
        snapshot = await target.snapshot(None)
        assert (snapshot.change_in_flight, snapshot.properties["rocksdb.is-write-stopped"]) == (True, 1)
        assert write_buffer_size(target) == 128 * MIB, "it took effect at once"
        (step,) = await change
        assert step.elapsed_s > 0.5
        assert (await target.snapshot(None)).properties["rocksdb.is-write-stopped"] == 0
        assert clock() == pytest.approx(began_s + step.elapsed_s)

    with_target(body, setup("cap-20", level0_slowdown_writes_trigger=1000, level0_stop_writes_trigger=1000))


@pytest.mark.parametrize("lifts", [True, False])
def test_a_low_rate_limit_is_the_owners_while_a_call_waits(lifts: bool) -> None:
    owners, low = RateLimiterChange(100 * MIB), RateLimiterChange(10 * MIB)
    plan = (BACK, RestoreStep(owners))

    async def body(target: SimulatedTarget, clock: Clock) -> None:
        async def limit() -> int | None:
            return (await target.snapshot(None)).options.rate_limiter_bytes_per_s

        while target.database.controller.condition != "stopped":
            await asyncio.sleep(0.01)
            await target.snapshot(None)
            assert clock() < 60
        lease = await target.hold_lease("me", 100.0, None)
        await target.change("me", lease.epoch, (low,), plan)
        change = asyncio.create_task(target.change("me", lease.epoch, (LARGER,), plan, lift_rate_limit=lifts))
        await asyncio.sleep(0.4)
        assert await limit() == low.bytes_per_s
        await asyncio.sleep(0.2)
        assert not change.done()
        assert await limit() == (owners if lifts else low).bytes_per_s
        await change
        assert await limit() == low.bytes_per_s
        assert kinds(target).count("rate_limit_lifted") == lifts

    rate = owners.bytes_per_s
    with_target(
        body, setup("cap-20", limiter=rate, level0_slowdown_writes_trigger=1000, level0_stop_writes_trigger=1000)
    )


def test_who_stops_waiting_stops_nothing() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        del clock
        lease = await target.hold_lease("me", 10.0, None)
        change = asyncio.create_task(target.change("me", lease.epoch, (LARGER,), (BACK,)))
        await asyncio.sleep(0.001)
        change.cancel()
        await asyncio.sleep(1.0)
        assert write_buffer_size(target) == 128 * MIB
        assert not (await target.snapshot(None)).change_in_flight

    with_target(body)


def test_an_expired_lease_restores() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        lease = await target.hold_lease("me", 5.0, None)
        await target.change("me", lease.epoch, (LARGER,), (BACK,))
        await asyncio.sleep(4.0)
        assert write_buffer_size(target) == 128 * MIB
        await target.hold_lease("me", 5.0, lease.epoch)
        await asyncio.sleep(4.5)
        assert write_buffer_size(target) == 128 * MIB, "it was renewed"
        await asyncio.sleep(1.0)
        assert write_buffer_size(target) == 64 * MIB
        assert kinds(target) == [
            "lease_acquired",
            "options_changed",
            "lease_expired",
            "restore_begin",
            "restore_step",
            "restore_end",
        ]
        assert (await target.snapshot(None)).restore.state == "done"
        with pytest.raises(Refused) as refused:
            await target.hold_lease("me", 5.0, lease.epoch)
        assert refused.value.code == "lease_lost"
        assert clock() < 11

    with_target(body)


def test_a_restore_waits_for_its_condition_and_a_new_lease_takes_it_over() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        lease = await target.hold_lease("me", 60.0, None)
        waits = RestoreStep(BACK.change, Below("default", "rocksdb.num-files-at-level0", 1))
        await target.change("me", lease.epoch, (LARGER,), (waits,))
        await asyncio.sleep(20.0)
        assert (await target.snapshot(None)).column_families["default"].properties["rocksdb.num-files-at-level0"] > 0
        await target.release_lease("me", lease.epoch)
        await asyncio.sleep(1.0)
        restore = (await target.snapshot(None)).restore
        assert (restore.state, restore.steps_left) == ("waiting", 1)
        assert "num-files-at-level0 of default below 1" in (restore.waiting_for or "")
        await target.hold_lease("another", 10.0, None)
        assert (await target.snapshot(None)).restore.state == "armed"
        assert write_buffer_size(target) == 128 * MIB
        assert clock() < 30

    with_target(body)


def test_what_is_refused() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        del clock
        with pytest.raises(Refused) as refused:
            await target.change("me", 1, (LARGER,), (BACK,))
        assert refused.value.code == "lease_required"
        lease = await target.hold_lease("me", 10.0, None)
        with pytest.raises(Refused) as refused:
            await target.hold_lease("another", 10.0, None)
        assert (refused.value.code, refused.value.holder) == ("lease_held", "me")
        wrong: dict[str, Change] = {
            "no_such_option": ColumnFamilyChange("default", {"compression": "kNoCompression"}),
            "bad_value": ColumnFamilyChange("default", {"write_buffer_size": "64MiB"}),
            "no_such_column_family": ColumnFamilyChange("meta", {"write_buffer_size": "1048576"}),
            "no_rate_limiter": RateLimiterChange(1 << 20),
        }
        for code, change in wrong.items():
            with pytest.raises(Refused) as refused:
                await target.change("me", lease.epoch, (change,), (RestoreStep(change),))
            assert refused.value.code == code
        jobs = DatabaseChange({"max_background_jobs": "4"})
        await target.change("me", lease.epoch, (LARGER,), (BACK,))
        for changes in ((jobs,), (LARGER, jobs)):
            with pytest.raises(Refused, match="does not name") as refused:
                await target.change("me", lease.epoch, changes, (RestoreStep(jobs),))
            assert refused.value.code == "plan_incomplete"
        target.close_database()
        with pytest.raises(Closed):
            await target.snapshot(None)

    with_target(body)


def test_a_snapshot_makes_a_sample_with_all_that_laws_use() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        probe = StatisticsProbe(target.capabilities)
        assert probe.sample(await target.snapshot(None)) is None
        await asyncio.sleep(100.0)
        snapshot = await target.snapshot(0)
        sample = probe.sample(snapshot)
        assert sample is not None
        (family,) = sample.column_families
        assert sample.interval_s == clock() == 100.0
        assert sample.writes_per_s == snapshot.counters.writes / 100  # type: ignore[operator]
        assert (sample.background_jobs, sample.threads_by) == (2, "max_background_jobs")
        assert family.l0_files == family.level_files[0] > 0
        assert sum(snapshot.column_families["default"].level_bytes or ()) > 0
        assert family.level_bytes == snapshot.column_families["default"].level_bytes
        assert sample.ticker_per_s("rocksdb.bytes.written") == sample.written_bytes_per_s
        assert sample.ticker_per_s("rocksdb.number.rate_limiter.drains") == 0
        assert (sample.flush_written_bytes_per_s or 0) > 0
        assert (sample.compaction_written_bytes_per_s or 0) > 0
        assert {"flush_end", "compaction_end"} <= {event.kind for event in sample.events}
        assert [event.sequence for event in sample.events] == list(range(1, snapshot.last_event + 1))
        assert (await target.snapshot(snapshot.last_event)).events == ()

    with_target(body)


def test_originals_are_what_it_was_opened_with() -> None:
    async def body(target: SimulatedTarget, clock: Clock) -> None:
        del clock
        lease = await target.hold_lease("me", 10.0, None)
        await target.change("me", lease.epoch, (LARGER,), (BACK,))
        detail = await target.detail()
        assert detail.originals.column_families["default"]["write_buffer_size"] == str(64 * MIB)
        assert detail.originals.rate_limiter_bytes_per_s == 50 * MIB
        limit = RateLimiterChange(20 * MIB)
        await target.change("me", lease.epoch, (limit,), (BACK, RestoreStep(RateLimiterChange(50 * MIB))))
        assert (await target.snapshot(None)).options.rate_limiter_bytes_per_s == 20 * MIB

    with_target(body, setup(limiter=50 * MIB))
