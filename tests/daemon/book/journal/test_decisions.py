"""Decisions: written in batches, never in anybody's way, bounded everywhere."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.daemon.book.journal.batching import Limits
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import JournaledDecision, JournaledSetting
from tests.daemon.book.journal.support import A, B, decision, opened, pause, until_written, with_journal


def sequences(decisions: tuple[JournaledDecision, ...]) -> list[int]:
    return [d.sequence for d in decisions]


def test_everything_of_a_decision_comes_back_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    async def write(journal: Journal) -> None:
        journal.decided(A, replace(decision(1), elapsed_s=0.5, detail="slow"), path="/data/db")

    async def read(journal: Journal) -> None:
        assert await journal.decisions(A) == (
            JournaledDecision(
                target=A,
                path="/data/db",
                run="run-1",
                sequence=1,
                unix_s=1.0,
                controller="adoc",
                settings=(
                    JournaledSetting("batch_size", 1 << 27, "default"),
                    JournaledSetting("background_jobs", 4, None),
                ),
                signal="level0 overflow",
                rule="adoc.level0",
                reason="because",
                guards=("memory: 2 GiB left",),
                outcome="applied",
                elapsed_s=0.5,
                detail="slow",
            ),
        )

    with_journal(path, write)  # the close writes it
    with_journal(path, read)


def test_an_outcome_replaces_the_decision_in_flight_written_or_not(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        for flush_between in (False, True):
            journal.decided(A, decision(1, "in-flight", unix_s=float(flush_between)), path=None)
            if flush_between:
                await journal.flush()
            assert (await journal.decisions(A))[-1].outcome == "in-flight"
            journal.decided(A, decision(1, "rejected", unix_s=float(flush_between)), path=None)
            assert [d.outcome for d in await journal.decisions(A)] == ["rejected"] * (1 + flush_between)
            await journal.flush()
            assert [d.outcome for d in await journal.decisions(A)] == ["rejected"] * (1 + flush_between)

    with_journal(tmp_path / "journal", use)


def test_the_order_is_that_of_the_decisions_whatever_clock_and_run(tmp_path: Path) -> None:
    async def run() -> None:
        for run, unix_s in (("run-1", 100.0), ("run-2", 50.0)):
            async with opened(tmp_path / "journal", run=run) as journal:
                for n in (1, 2, 3):
                    journal.decided(A, decision(n, unix_s=unix_s - n), path=None)
                    journal.decided(B, decision(n, unix_s=unix_s - n), path=None)
        async with opened(tmp_path / "journal", run="run-3") as journal:
            journal.decided(A, decision(1), path=None)
            found = [(d.run, d.sequence) for d in await journal.decisions(A, 5)]
            assert found == [("run-1", 3), ("run-2", 1), ("run-2", 2), ("run-2", 3), ("run-3", 1)]
            assert len(await journal.decisions()) == 13
            assert await journal.decisions(A, 0) == ()

    asyncio.run(run())


def test_as_many_are_kept_as_is_said(tmp_path: Path) -> None:
    limits = Limits(flush_period_s=3600.0, batch=3, kept_per_target=5, kept=8)

    async def use(journal: Journal) -> None:
        for n in range(20):
            journal.decided(A, decision(n), path=None)
            await journal.flush()
        assert sequences(await journal.decisions(A, 100)) == [15, 16, 17, 18, 19]
        for n in range(5):
            journal.decided(B, decision(n), path=None)
        await journal.flush()
        assert sequences(await journal.decisions(None, 100)) == [17, 18, 19, 0, 1, 2, 3, 4]
        assert journal.lost_decisions == 0

    with_journal(tmp_path / "journal", use, limits=limits)


@pytest.mark.parametrize("limits", [Limits(flush_period_s=0.02), Limits(flush_period_s=3600.0, batch=5)])
def test_a_batch_is_written_after_a_time_or_a_number(tmp_path: Path, limits: Limits) -> None:
    async def use(journal: Journal) -> None:
        for round_ in range(3):  # the timer is set anew each time
            for n in range(5):
                journal.decided(A, decision(5 * round_ + n), path=None)
            await until_written(journal)
        assert sequences(await journal.decisions(A)) == list(range(15))

    with_journal(tmp_path / "journal", use, limits=limits)


def test_a_full_buffer_loses_the_oldest_and_counts_them(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        for n in range(7):
            journal.decided(A, decision(n), path=None)
        assert (journal.lost_decisions, journal.waiting_decisions) == (3, 4)
        await journal.flush()
        assert sequences(await journal.decisions(A)) == [3, 4, 5, 6]

    with_journal(tmp_path / "journal", use, limits=Limits(flush_period_s=3600.0, batch=1000, buffer=4))


def test_a_decision_that_cannot_be_stored_does_not_hold_up_the_next(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        journal.decided("\ud800", decision(1), path=None)  # no target's id
        with pytest.raises(UnicodeEncodeError):
            await journal.flush()
        journal.decided(A, decision(2), path=None)
        await journal.flush()
        assert sequences(await journal.decisions()) == [2]
        assert journal.lost_decisions == 1
        assert journal.problem is None

    with_journal(tmp_path / "journal", use)


def test_after_the_close_decisions_are_counted_as_lost(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "journal") as journal:
            await journal.keep_pauses([pause()])
        journal.decided(A, decision(1), path=None)
        assert journal.lost_decisions == 1
        await journal.close()

    asyncio.run(run())


def test_a_cancelled_flush_loses_nothing(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        for n in range(50):
            journal.decided(A, decision(n), path=None)
        flush = asyncio.create_task(journal.flush())
        await asyncio.sleep(0)
        flush.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await flush
        assert sequences(await journal.decisions(A)) == list(range(50))
        await journal.flush()
        assert sequences(await journal.decisions(A)) == list(range(50))

    with_journal(tmp_path / "journal", use)
