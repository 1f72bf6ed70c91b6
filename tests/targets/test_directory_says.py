"""What a database that is observed by its directory says, and what it cannot do."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from adocd.model.sample import Sample
from adocd.probes.statistics import StatisticsProbe
from adocd.targets.directory import target as target_module
from adocd.targets.directory.place import DirectoryPlace
from adocd.targets.directory.reading import DirectoryReading
from adocd.targets.directory.target import Directory, DirectoryTarget
from adocd.targets.errors import OnlyObserved, OutOfSight, Silent, TargetError
from tests.probes.log.lines import SAMPLES, line
from tests.support.observed import TALKATIVE, db_bench
from tests.support.programs import Program
from tests.targets.following import followed, run, until

# -- what it says


def test_what_it_says_of_itself(program: Program, database: Path) -> None:
    program.ask("open_plain", database, *TALKATIVE)

    async def body() -> None:
        target = await followed(database)
        info, detail = target.info, await target.detail()
        assert (info.agent.kind, info.rocksdb_version, info.pid) == ("directory", "9.8.4", program.pid)
        assert not info.capabilities.can_change
        assert not detail.capabilities.can_change
        assert detail.column_families == ("default",)
        assert detail.originals.column_families["default"]["write_buffer_size"] == "1048576"
        assert 0 <= time.monotonic() - detail.opened_monotonic_s < 60
        snapshot = await target.snapshot(None)
        assert snapshot.database == detail.id
        assert snapshot.options == detail.originals
        assert (snapshot.lease, snapshot.change_in_flight, snapshot.tickers) == (None, False, None)

    run(body())


def test_what_is_not_told_is_unknown(program: Program, database: Path) -> None:
    program.ask("open_plain", database)

    async def body() -> None:
        target = await followed(database)
        sample = await _sampled(target)
        (family,) = sample.column_families
        told_by_nobody = ("active_memtable_bytes", "memtables_bytes", "pending_compaction_bytes")
        assert set(family.unknown) == {"l0_files", "immutable_memtables", *told_by_nobody}
        assert sample.writes_per_s is None
        assert sample.stalled_fraction is None
        assert sample.flush_written_bytes_per_s == 0

    run(body())


async def _sampled(target: DirectoryTarget) -> Sample:
    probe = StatisticsProbe(target.info.capabilities)
    assert probe.sample(await target.snapshot(None)) is None
    sample = probe.sample(await target.snapshot(None))
    assert sample is not None
    return sample


def test_flushes_and_changed_options_are_seen(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database, *TALKATIVE)
        target = await followed(database)
        program.ask("put", database, 30_000)
        program.ask("flush", database)
        snapshot = await until(target, lambda s: (s.counters.flushes or 0) >= 3, "the flushes")
        assert snapshot.column_families["default"].properties["rocksdb.num-files-at-level0"] >= 1
        ends = [event for event in snapshot.events if event.kind == "flush_end"]
        assert sum(event.bytes or 0 for event in ends) == snapshot.counters.flush_written_bytes
        assert {event.reason for event in ends} >= {"Write Buffer Full", "Manual Flush"}
        newer = await target.snapshot(snapshot.last_event)
        assert len(newer.events) == newer.last_event - snapshot.last_event
        program.ask("set_option", database, "default", "write_buffer_size", "4194304")
        changed = await until(
            target,
            lambda s: s.options.column_families["default"]["write_buffer_size"] == "4194304",
            "the change",
        )
        assert changed.session == snapshot.session
        assert (await target.detail()).originals.column_families["default"]["write_buffer_size"] == "1048576"

    run(body())


def test_a_column_family_that_comes_and_goes(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database, *TALKATIVE)
        target = await followed(database)
        program.ask("create_cf", database, "second")
        snapshot = await until(target, lambda s: "second" in s.column_families, "it has come")
        assert "write_buffer_size" in snapshot.options.column_families["second"]
        program.ask("drop_cf", database, "second")
        await until(target, lambda s: "second" not in s.column_families, "it is gone")

    run(body())


def test_a_rate_of_writes_is_known_in_the_window_of_a_dump_alone(database: Path) -> None:
    """Debian's db_bench, dumping every two seconds, held up by level 0; ten looks a second."""

    async def body() -> None:
        with db_bench(database):
            target = await followed(database)
            probe = StatisticsProbe(target.info.capabilities)
            samples: list[Sample] = []
            until_s = time.monotonic() + 12
            while time.monotonic() < until_s:
                if (sample := probe.sample(await target.snapshot(0))) is not None:
                    samples.append(sample)
                await asyncio.sleep(0.1)
        told = [sample for sample in samples if sample.writes_per_s is not None]
        assert 3 <= len(told) <= 8, f"{len(told)} of {len(samples)} samples"
        written = samples[-1].counters.writes
        assert written is not None
        by_rates = sum((sample.writes_per_s or 0) * 2.0 for sample in told)
        assert by_rates == pytest.approx(written, rel=0.25)
        fractions = [sample.stalled_fraction for sample in told]
        assert [each for each in fractions if each is None or not 0 <= each <= 1] == []
        assert {sample.condition for sample in samples} >= {"delayed"}
        assert any("level0" in sample.overflow for sample in samples)
        assert samples[-1].delayed_s > samples[0].delayed_s

    run(body())


# -- what it is not for


def test_nothing_can_be_changed(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        target = await followed(database)
        for call in (
            target.hold_lease("me", 10, None),
            target.release_lease("me", 1),
            target.revoke_lease(),
            target.change("me", 1, (), ()),
        ):
            with pytest.raises(OnlyObserved, match="a directory is only observed: start the database's program by"):
                await call

    run(body())


def test_a_large_log_holds_up_nobody(program: Program, database: Path) -> None:
    """60 MiB of a real LOG before the session's own: whoever else waits for the event loop has his turn."""
    program.ask("open_plain", database)
    sample = SAMPLES[0].read_bytes()
    own = (database / "LOG").read_bytes()
    large = sample * (60 * (1 << 20) // len(sample)) + own
    (database / "LOG").write_bytes(large)

    async def body() -> None:
        turns, reads = 0, True

        async def beside() -> None:
            nonlocal turns
            while reads:
                await asyncio.sleep(0.005)
                turns += 1

        waiting = asyncio.create_task(beside())
        began_s = time.monotonic()
        target = await followed(database, within_s=60)
        reads = False
        await waiting
        print(f"{len(large):,} bytes in {time.monotonic() - began_s:.1f} s; {turns} turns meanwhile")
        assert turns > 20, "one turn for each look that waits in a thread would be a few"
        assert (await target.snapshot(None)).counters.flushes == 0, "the sessions before count for nothing"

    run(body())


def test_a_log_that_was_deleted_is_said(program: Program, database: Path) -> None:
    """What it said last is no word on now: the target ends, and is there again with the next LOG."""

    async def body() -> None:
        program.ask("open_plain", database, *TALKATIVE)
        target = await followed(database)
        await target.snapshot(None)
        (database / "LOG").unlink()
        await target.snapshot(None)
        with pytest.raises(OutOfSight, match=f"its LOG {database}/LOG is gone; RocksDB makes another when"):
            await target.snapshot(None)
        assert not target.is_followed
        program.ask("close", database)
        program.ask("open_plain", database)
        assert (await (await followed(database)).snapshot(None)).session

    run(body())


def test_a_log_that_cannot_be_read_is_said(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        target = await followed(database)
        (database / "LOG").unlink()
        (database / "LOG").mkdir()
        with pytest.raises(TargetError, match="LOG cannot be read: Is a directory; adocd's user needs leave"):
            await target.snapshot(None)

    run(body())


def test_a_device_that_hangs_makes_it_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who follows it, and who stops it, waits no longer than for an agent that does not answer."""
    release = threading.Event()
    (tmp_path / "LOG").write_bytes(line("RocksDB version: 9.8.4"))
    (tmp_path / "IDENTITY").write_text("identity")

    async def body() -> None:
        directory = Directory(tmp_path)
        target = await directory.open(await directory.look())
        monkeypatch.setattr(target_module, "_PATIENCE_S", 0.2)
        monkeypatch.setattr(DirectoryReading, "read", lambda _: release.wait(30))
        monkeypatch.setattr(DirectoryPlace, "look", lambda _: release.wait(30))
        threads = threading.active_count()
        for _ in range(3):
            with pytest.raises(Silent, match="could not be read within"):
                await target.snapshot(None)
            with pytest.raises(Silent, match="could not be read"):
                await directory.look()
        assert threading.active_count() <= threads + 2
        release.set()

    run(body())
