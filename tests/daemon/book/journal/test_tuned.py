"""The bookkeeping of changed options: the oldest original stays until the option is seen restored."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import SENT_VALUES_KEPT, Intent, Pause
from adocd.model.values import OptionName
from tests.daemon.book.journal.support import JOBS, A, B, buffer_size, intend, opened, with_journal

#: RocksDB takes any name for a column family, and JSON can carry any of these.
NAMES = st.text(st.characters(), max_size=8) | st.sampled_from(
    ["default", "'; DROP", 'a"b', "a\nb", "\0", "\ud800", "~"]
)
OPTIONS = st.builds(OptionName, st.just("column_family"), st.sampled_from(["write_buffer_size", "x"]), NAMES)
STEPS = st.one_of(
    st.tuples(st.just("intend"), OPTIONS, st.integers(0, 3).map(str)),
    st.tuples(st.just("restored"), OPTIONS, st.just("")),
    st.just(("reopen", JOBS, "")),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=15))
def test_the_oldest_original_and_all_values_stay_until_it_is_restored(steps: list[tuple[str, OptionName, str]]) -> None:
    async def run(path: Path) -> None:
        model: dict[OptionName, tuple[str, list[str]]] = {}
        journal = await Journal.open(path, run="r", wall_clock=lambda: 0.0)
        for number, (what, option, value) in enumerate(steps):
            if what == "intend":
                # The current value is what a new session would take for the original.
                await intend(journal, Intent(option, f"original {number}", value), unix_s=-float(number))
                _, sent = model.setdefault(option, (f"original {number}", []))
                if value in sent:
                    sent.remove(value)
                sent.append(value)
            elif what == "restored":
                assert await journal.settled(A, {option: None}) == (1 if option in model else 0)
                model.pop(option, None)
            else:
                await journal.close()
                journal = await Journal.open(path, run="r", wall_clock=lambda: 0.0)
            found = {tuned.option_name: (tuned.original, list(tuned.sent)) for tuned in await journal.tuned(A)}
            assert found == model
            assert await journal.tuned(B) == ()
        await journal.close()

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(run(Path(directory) / "journal"))


def test_what_is_ours_is_what_was_sent_and_not_the_original(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await intend(journal, Intent(JOBS, "2", "4"))
        await intend(journal, Intent(JOBS, "4", "8"))  # 4 is no original: we sent it
        (tuned,) = await journal.tuned(A)
        assert (tuned.original, tuned.sent) == ("2", ("4", "8"))
        # A crash between the journal and the change leaves the value before.
        assert [value for value in ("2", "3", "4", "8") if tuned.is_ours(value)] == ["4", "8"]
        await intend(journal, Intent(JOBS, "8", "2"))
        (tuned,) = await journal.tuned(A)
        assert not tuned.is_ours("2"), "the original is never ours"

    with_journal(tmp_path / "journal", use)


def test_what_somebody_else_has_set_is_the_original_from_then_on(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await intend(journal, Intent(JOBS, "2", "4"))
        assert await journal.settled(A, {JOBS: "6"}) == 1
        assert await journal.settled(B, {JOBS: "7"}) == 0
        (tuned,) = await journal.tuned()
        assert (tuned.target, tuned.original, tuned.sent) == (A, "6", ("4",))

    with_journal(tmp_path / "journal", use)


def test_targets_scopes_and_families_are_kept_apart(tmp_path: Path) -> None:
    options = (
        JOBS,
        buffer_size(),
        buffer_size("meta"),
        OptionName("rate_limiter", "bytes_per_s"),
        OptionName("thread_pool", "threads", "low"),
    )

    async def use(journal: Journal) -> None:
        await intend(journal, *(Intent(option, "1", "2") for option in options))
        await intend(journal, Intent(JOBS, "7", "8"), target=B)
        assert [tuned.option_name for tuned in await journal.tuned(A)] == list(options)
        assert await journal.settled(A, dict.fromkeys(options[1:])) == 4
        assert [(t.target, t.original) for t in await journal.tuned()] == [(A, "1"), (B, "7")]

    with_journal(tmp_path / "journal", use)


def test_who_is_forgotten_keeps_the_originals_that_are_due(tmp_path: Path) -> None:
    """They are in the journal alone: without them nobody could restore the database."""

    async def use(journal: Journal) -> None:
        await intend(journal, Intent(JOBS, "7", "8"), target=B)
        await journal.keep_pauses(Pause(target, "/db", "paused", "", "alice", 1.0) for target in (A, B))
        assert await journal.forget(B) == 1
        assert [pause.target for pause in await journal.pauses()] == [A]
        assert [(t.target, t.original) for t in await journal.tuned()] == [(B, "7")]

    with_journal(tmp_path / "journal", use)


def test_the_values_sent_are_bounded(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await intend(journal, *(Intent(JOBS, "original", str(n)) for n in range(3 * SENT_VALUES_KEPT)))
        (tuned,) = await journal.tuned(A)
        assert tuned.original == "original"
        assert tuned.sent == tuple(str(n) for n in range(2 * SENT_VALUES_KEPT, 3 * SENT_VALUES_KEPT))

    with_journal(tmp_path / "journal", use)


def test_announcing_the_same_value_again_writes_nothing(tmp_path: Path) -> None:
    async def use(journal: Journal) -> None:
        await intend(journal, Intent(JOBS, "2", "4"), unix_s=1.0)
        log = tmp_path / "journal-wal"
        before = log.stat()
        await intend(journal, Intent(JOBS, "4", "4"), unix_s=2.0)
        assert log.stat() == before

    with_journal(tmp_path / "journal", use)


def test_the_event_loop_goes_on_while_the_journal_writes(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "journal") as journal:
            writes = asyncio.gather(*(intend(journal, Intent(buffer_size(str(n)), "1", "2")) for n in range(20)))
            turns = 0
            while not writes.done():
                await asyncio.sleep(0)
                turns += 1
            await writes
            assert turns > 20
            assert len(await journal.tuned(A)) == 20

    asyncio.run(run())
