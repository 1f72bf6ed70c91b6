"""A database observed by its directory alone: real ones, in processes without an agent."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from adocd_agent.identity import database_id as agents_id

from adocd.model.sample import Sample
from adocd.model.snapshot import Snapshot
from adocd.probes.statistics import StatisticsProbe
from adocd.targets.directory import target as target_module
from adocd.targets.directory.place import DirectoryPlace, NoDatabase, Place, database_id
from adocd.targets.directory.reading import DirectoryReading
from adocd.targets.directory.target import Directory, DirectoryTarget
from adocd.targets.errors import Closed, OnlyObserved, OutOfSight, Silent, TargetError
from tests.probes.log.lines import SAMPLES, line
from tests.support.observed import TALKATIVE, db_bench, rocksdict_program
from tests.support.programs import Program

#: RocksDB holds back what it logs for up to 5 s.
LATE_S = 15.0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def program() -> Iterator[Program]:
    with rocksdict_program() as program:
        yield program


async def followed(path: Path, within_s: float = LATE_S) -> DirectoryTarget:
    """Follow the database there, as soon as somebody has it open for good: db_bench opens it twice."""
    directory, deadline_s = Directory(path), time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        try:
            place = await directory.look()
            if place.is_open:
                target = await directory.open(place)
                await asyncio.sleep(0.2)
                await target.catch_up()
                return target
        except (NoDatabase, Closed):
            pass
        await asyncio.sleep(0.05)
    raise AssertionError(f"nobody has opened {path} within {within_s} s")


async def until(
    target: DirectoryTarget, holds: Callable[[Snapshot], object], what: str, within_s: float = LATE_S
) -> Snapshot:
    """Look until something holds."""
    deadline_s = time.monotonic() + within_s
    while not holds(snapshot := await target.snapshot(0)):
        assert time.monotonic() < deadline_s, f"not within {within_s} s: {what}"
        await asyncio.sleep(0.1)
    return snapshot


async def ended(target: DirectoryTarget) -> str:
    """Look until it is closed; why it is."""
    deadline_s = time.monotonic() + 5
    while time.monotonic() < deadline_s:
        try:
            await target.snapshot(None)
        except Closed as error:
            return str(error)
        await asyncio.sleep(0.05)
    raise AssertionError("it is still open")


def run(body: Awaitable[None]) -> None:
    async def whole() -> None:
        await body

    asyncio.run(whole())


# -- which database it is


def test_its_id_is_the_one_of_agents(program: Program, database: Path, tmp_path: Path) -> None:
    program.ask("open_plain", database)
    (tmp_path / "link").symlink_to(tmp_path)
    place = DirectoryPlace(tmp_path / "link" / "db").look()
    identity = (database / "IDENTITY").read_text().strip()
    assert place.id == agents_id(os.uname().nodename, str(database), identity)
    assert (place.path, place.db_identity, place.log_path) == (database, identity, database / "LOG")
    assert database_id("ä\udcff", "/x", "y") == agents_id("ä\udcff", "/x", "y")


def test_what_is_no_database_is_said_in_one_sentence(program: Program, database: Path) -> None:
    place = DirectoryPlace(database)
    with pytest.raises(NoDatabase, match=f"{database} is no directory; a database there is followed once it is there"):
        place.look()
    database.mkdir()
    with pytest.raises(NoDatabase, match=r"has no LOG \(.*/db/LOG\); a RocksDB database there is followed once"):
        place.look()
    (database / "LOG").touch()
    with pytest.raises(NoDatabase, match="has no IDENTITY file"):
        place.look()
    (database / "LOG").unlink()
    program.ask("open_plain", database)
    assert place.look().is_open


def test_without_identity_the_log_names_it(program: Program, database: Path) -> None:
    program.ask("open_plain", database)
    program.ask("close", database)
    before = DirectoryPlace(database).look()
    (database / "IDENTITY").unlink()
    assert DirectoryPlace(database).look() == before


def test_a_log_in_another_directory(program: Program, database: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    program.ask("open_plain", database, f"db_log_dir={logs}", *TALKATIVE)
    assert not (database / "LOG").exists()

    async def body() -> None:
        target = await followed(database)
        assert [target.place.log_path] == list(logs.iterdir())
        assert (await target.detail()).session != "unknown"

    run(body())


# -- whether it is open


def test_who_has_it_open(program: Program, database: Path) -> None:
    program.ask("open_plain", database)
    place = DirectoryPlace(database).look()
    assert place.is_open
    assert place.holder is not None
    assert place.holder.pid == program.pid
    program.ask("close", database)
    assert _open(DirectoryPlace(database).look()) == (False, None)


def _open(place: Place) -> tuple[bool, object]:
    return place.is_open, place.holder


def test_close_and_open(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        first = await followed(database)
        session = (await first.snapshot(None)).session
        assert (await first.snapshot(None)).session == session
        program.ask("close", database)
        assert "nobody has it open any more" in await ended(first)
        program.ask("open_plain", database)
        second = await followed(database)
        assert (await second.snapshot(None)).session != session
        assert second.place.id == first.place.id

    run(body())


def test_opened_anew_between_two_looks(program: Program, database: Path) -> None:
    async def body() -> None:
        program.ask("open_plain", database)
        target = await followed(database)
        await target.snapshot(None)
        program.ask("close", database)
        program.ask("open_plain", database)
        assert "it was opened anew" in await ended(target)

    run(body())


def test_a_kill_closes_it(database: Path) -> None:
    async def body() -> None:
        with db_bench(database) as program:
            target = await followed(database)
            await target.snapshot(None)
            program.process.kill()
            program.process.wait()
            assert "nobody has it open any more" in await ended(target)

    run(body())


def test_where_processes_are_hidden_it_is_open_while_its_log_is_written(
    program: Program, database: Path, tmp_path: Path
) -> None:
    nothing = tmp_path / "proc"
    nothing.mkdir()
    now_s = 0.0
    place = DirectoryPlace(database, proc=nothing, clock=lambda: now_s)

    def look(after_s: float, *, written: bool) -> bool:
        nonlocal now_s
        now_s += after_s
        if written:
            with (database / "LOG").open("a") as log:
                log.write("\n")
        return place.look().is_open

    program.ask("open_plain", database)
    assert not look(0, written=False)
    assert not look(0.5, written=True), "that may have been all"
    assert look(2, written=True)
    assert look(50, written=False)
    assert not look(20, written=False)
    assert not look(1, written=True)
    assert look(2, written=True)
    place.closed()
    assert not look(1, written=False)

    async def body() -> None:
        target = await Directory(database, proc=nothing).open(place.look())
        assert (target.info.pid, target.info.program) == (0, "unknown")
        program.ask("close", database)
        assert "its LOG says that it was closed" in await ended(target)

    run(body())


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
        await until(target, lambda s: "second" not in s.column_families, "it is gone", within_s=20)

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
        assert all(0 <= (sample.stalled_fraction or 0) <= 1 for sample in told)
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
        longest_s, last_s, reads = 0.0, time.monotonic(), True

        async def beside() -> None:
            nonlocal longest_s, last_s
            while reads:
                await asyncio.sleep(0.005)
                now_s = time.monotonic()
                longest_s, last_s = max(longest_s, now_s - last_s), now_s

        waiting = asyncio.create_task(beside())
        began_s = time.monotonic()
        target = await followed(database, within_s=60)
        reads = False
        await waiting
        print(
            f"{len(large):,} bytes in {time.monotonic() - began_s:.1f} s; the longest wait was {longest_s * 1e3:.0f} ms"
        )
        assert longest_s < 0.5
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
    monkeypatch.setattr(target_module, "_PATIENCE_S", 0.2)
    (tmp_path / "LOG").write_bytes(line("RocksDB version: 9.8.4"))
    (tmp_path / "IDENTITY").write_text("identity")

    async def body() -> None:
        directory = Directory(tmp_path)
        target = await directory.open(await directory.look())
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
