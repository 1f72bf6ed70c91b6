"""The large word of a target: about the last minute, never against the figures beside it, and never flickering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adocd.api.web.page.model import history, state
from adocd.api.web.page.model.state import Lately, State, state_of
from adocd.api.web.page.views import parts
from adocd.diagnosis.held import MeasuredSpan, held
from tests.diagnosis.writers import held_points, measured
from tests.page.points import stall, target


def at(spans: Sequence[MeasuredSpan], now: dict[str, Any] | None = None) -> State:
    return state_of(target(stall=now), Lately.of(spans))


@pytest.mark.parametrize(
    ("members", "level", "word"),
    [
        ({}, "silent", "not read yet"),
        ({"stall": stall("stopped", "memtable", "l0")}, "stopped", "held 100 %"),
        ({"stall": stall("possibly")}, "silent", "possibly held"),
        ({"state": "silent"}, "silent", "silent"),
        ({"state": "closed", "stall": None}, "closed", "closed"),
    ],
)
def test_states_without_a_history(members: dict[str, Any], level: str, word: str) -> None:
    found = state_of(target(**members))
    assert (found.level, found.word) == (level, word)


def test_what_was_read_and_found_empty_is_not_measured_yet() -> None:
    assert state_of(target(), Lately.of(())).word == "not measured yet"


def test_the_word_is_about_the_minute_and_not_about_this_second() -> None:
    mostly = at(held_points(0, 55, 0.96) + held_points(55, 60, 0.0))
    assert (mostly.level, mostly.title) == ("stopped", "Writes are held much of the time")
    assert mostly.sentence == "Held 88 % of the last minute, mostly by level-0 files."
    flowing = at(held_points(0, 60, 0.0), stall("stopped") | {"since_unix_s": 59.5})
    assert (flowing.level, flowing.now) == ("ok", "")
    assert at(held_points(0, 12, 0.3)).sentence == "Held 30 % of the last 12 s, mostly by level-0 files."


def test_an_agent_that_answers_and_measures_nothing_new_is_not_green() -> None:
    spans = Lately.of(held_points(0, 60, 0.0))
    blind = target(sentence="no new measurement for 40 s: no lease is held")
    assert state_of(blind, spans, 70.0).word == "flowing"
    old = state_of(blind, spans, 100.0)
    assert (old.level, old.word, old.rate, old.measured_unix_s) == ("silent", "not measured", 1000.0, 60.0)
    assert old.sentence == "No new measurement for 40 s: no lease is held."
    assert "in its last minute, until" in parts.state_card(old)
    held_then = state_of(blind | {"stall": stall()}, spans, 100.0).sentence
    assert held_then.endswith("Writes were held when it was last measured: column family default has 36 level-0 files.")


def test_figures_of_slow_ticks_are_no_older_than_their_ticks() -> None:
    minutes = Lately.of([measured(60.0 * number, 60.0) for number in (1, 2, 3)])
    assert [state_of(target(), minutes, 180.0 + age_s).word for age_s in (59, 179, 181)] == [
        "flowing", "flowing", "not measured",
    ]  # fmt: skip


def test_how_long_writes_took_stands_beside_their_rate() -> None:
    timed = [each._replace(write_p99_s=15e-6, write_max_s=1.25) for each in held_points(0, 60, 0.3)]
    assert at(timed).latency == "p99 15 µs, worst 1.25 s"
    assert "write latency p99 15 µs, worst 1.25 s" in parts.state_card(at(timed))
    assert at(held_points(0, 60, 0.3)).latency == ""
    assert "latency" not in parts.state_card(at(held_points(0, 60, 0.3)))


def test_a_standstill_is_a_stop_in_which_nobody_wrote() -> None:
    now = stall("stopped") | {"since_unix_s": 40.0}
    still = at(held_points(0, 40, 0.0) + held_points(40, 60, 1.0, writes_per_s=0.0), now)
    assert (still.title, still.rate, still.since_unix_s) == ("Writes stand still", None, 40.0)
    other = at(held_points(0, 40, 0.0) + held_points(40, 60, 1.0, writes_per_s=36_070.0), now)
    assert (other.title, other.rate is None) == ("Writes are held at times", False)
    # What is still going on counts, also where only its end is measured.
    assert at(held_points(0, 60, 0.0, writes_per_s=0.0), now).title == "Writes stand still"


def test_a_stall_that_began_after_the_figures_is_not_green() -> None:
    """The list reads figures seldom, and is told of a stall at once."""
    spans, now = held_points(940, 1000, 0.0), stall("stopped") | {"since_unix_s": 1010.0}
    seen = state_of(target(stall=now), Lately.of(spans), 1000.5, 1100.0)
    assert (seen.level, seen.word, seen.since_unix_s) == ("stopped", "held 100 %", 1010.0)
    assert (seen.rate, seen.latency) == (None, ""), "the writes of the figures are of another time"
    assert "Nobody" not in seen.sentence, "nothing counts the writes since"
    just = state_of(target(stall=now), Lately.of(spans), 1000.5, 1010.1)
    assert (just.level, just.sentence) == ("delayed", "Held 0.2 % of the last minute, mostly by level-0 files.")
    assert at(spans, now).level == "delayed", "nor where nobody says when it was seen"
    delayed = stall("delayed") | {"since_unix_s": 1010.0}
    assert state_of(target(stall=delayed), Lately.of(spans), 1000.5, 1100.0).level == "stopped"


def test_a_stall_goes_on_after_the_figures() -> None:
    spans, now = held_points(940, 1000, 0.0), stall("delayed") | {"since_unix_s": 999.0}
    assert state_of(target(stall=now), Lately.of(spans), 1000.5).word == "flowing"
    later = state_of(target(stall=now), Lately.of(spans), 1000.5, 1050.0)
    assert (later.level, later.word) == ("stopped", "held 85 %")


def test_what_was_held_in_the_minute_before_is_over_after_a_minute() -> None:
    before = held_points(0, 60, 1.0)
    assert [at([*before, *held_points(60, until, 0.0)]).level for until in (61, 90, 110, 121)] == [
        "stopped", "stopped", "delayed", "ok",
    ]  # fmt: skip


#: A second: its share held, by what, and the writes of the rest of it.
_SECOND = st.tuples(
    st.sampled_from([0.0, 0.0, 0.005, 0.02, 0.3, 1.0]), st.sampled_from(["l0", "memtable"]), st.integers(0, 40_000)
)
#: Runs of like seconds, as stalls come.
_HISTORY = st.lists(st.tuples(_SECOND, st.integers(1, 40)), min_size=1, max_size=8)
_STALL = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(["stopped", "delayed", "possibly"]), st.floats(0.0, 120.0)),
)


def spans_of(runs: list[tuple[tuple[float, str, int], int]]) -> list[MeasuredSpan]:
    seconds = [second for second, times in runs for _ in range(times)]
    return [
        measured(
            float(number), stopped_fraction=share, stalled_by_cause={cause: share}, writes_per_s=writes * (1 - share)
        )
        for number, (share, cause, writes) in enumerate(seconds, 1)
    ]


@given(_HISTORY, _STALL)
def test_no_card_contradicts_itself(runs: list[tuple[Any, int]], now: tuple[str, float] | None) -> None:
    spans = spans_of(runs)[-history.LATELY_POINTS :]
    end = spans[-1].unix_s
    stalled = None if now is None else stall(now[0]) | {"since_unix_s": end - now[1]}
    found = at(spans, stalled)
    html = parts.state_card(found)
    minute = held(spans, end - state.MINUTE_S, end)
    if found.level == "ok":
        assert minute.share < state.HELD
        assert "Now" not in html
        assert "still" not in html
    if found.title == "Writes stand still":
        assert found.rate is None
        assert "writes per second" not in html
    if found.level in ("delayed", "stopped"):
        assert "flow" not in html
        assert found.title == "Writes stand still" or f"Held {found.word.removeprefix('held ')} of" in found.sentence
    if now is not None and now[0] != "possibly" and now[1] >= 2.0:
        assert found.level != "ok", "a stall that goes on is not green"
    assert parts.glance_row(target(), found, []).count(f"<b>{found.word}</b>") == 1


@given(_HISTORY)
@example([((1.0, "l0", 0), 1), ((0.005, "l0", 0), 40), ((0.02, "l0", 0), 21)])
def test_a_word_changes_back_only_after_a_real_change(runs: list[tuple[Any, int]]) -> None:
    spans = spans_of(runs)
    words = [at(spans[max(0, number - history.LATELY_POINTS) : number]) for number in range(1, len(spans) + 1)]
    # Each span is one second, so the last 61 have all of the minute.
    shares = [
        held(spans[max(0, number - 61) : number], number - 60.0, number).share for number in range(1, len(spans) + 1)
    ]
    for number in range(1, len(words)):
        before, after = words[number - 1].level, words[number].level
        if (before, after) == ("delayed", "ok"):
            assert shares[number] < state.HELD_NO_MORE + 1e-9
        if (before, after) == ("stopped", "delayed"):
            assert shares[number] < state.MOSTLY_NO_MORE + 1e-9


def test_the_worst_comes_first_and_the_sum_is_said() -> None:
    listed = [target(path="/a"), target(path="/b", stall=stall()), target(path="/c", state="silent")]
    still, flowing = held_points(0, 60, 1.0), held_points(0, 60, 0.0)
    told = state.worst_first((each, state_of(each, Lately.of(still if each["stall"] else flowing))) for each in listed)
    assert [each["path"] for each, _ in told] == ["/b", "/c", "/a"]
    states = [now for _, now in told]
    assert state.summary(states) == "3 databases: 1 held much of the time, 1 silent, 1 flowing."
    assert state.summary([*states[1:], state_of(target())]) == "3 databases: 1 silent, 1 not read yet, 1 flowing."
    assert state.summary([]) == "No database with an agent is open."
