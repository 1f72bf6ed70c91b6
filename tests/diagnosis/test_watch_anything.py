"""What must hold of the watch whatever comes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.stalls.seen import FOUND_MOST
from adocd.model.snapshot import Condition
from adocd.model.stall import COUNTS
from tests.builders import column_family
from tests.diagnosis.watching import APART_S, L0, STOP, event, logged, sampled

from .logs import flushed, stall

CONDITIONS: st.SearchStrategy[Condition] = st.sampled_from(["normal", "delayed", "stopped"])
FAMILIES = st.sampled_from(["a", "b"])
COUNTED = st.dictionaries(st.sampled_from([*COUNTS]), st.integers(0, 3), max_size=3)
FIGURES = st.fixed_dictionaries({"l0_files": st.integers(0, 40), "immutable_memtables": st.integers(0, 3)})
SAMPLED = st.tuples(
    st.just("sampled"),
    CONDITIONS,
    st.tuples(COUNTED, FIGURES),
    st.tuples(COUNTED, FIGURES),
    st.lists(st.tuples(st.floats(0, 1.2), CONDITIONS, CONDITIONS, FAMILIES), max_size=4),
    st.sampled_from(["s1", "s1", "s1", "s2"]),
)
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("stall"), st.floats(-8, 0.5), st.booleans(), FAMILIES),
        st.tuples(st.just("flushed"), st.floats(-8, 0.5), st.booleans(), FAMILIES),
    ),
    max_size=4,
)
STEPS = st.lists(
    st.one_of(
        SAMPLED,
        st.tuples(st.just("logged"), LINES),
        st.tuples(st.just("silent"), st.floats(0, 9), st.booleans()),
        st.tuples(st.just("closed")),
    ),
    max_size=25,
)


def step(watch: StallWatch, at_s: float, what: Any) -> None:
    if what[0] == "sampled":
        _, condition, a, b, events, session = what
        families = [
            column_family(name, stalls=counts, **figures) for name, (counts, figures) in zip("ab", (a, b), strict=True)
        ]
        told = [event(at_s - before, previous, now, family) for before, previous, now, family in events]
        sampled(watch, at_s, condition, *families, events=told, session=session)
    elif what[0] == "logged":
        written = [
            stall(at_s + after, STOP if flag else L0, stopped=flag, family=family)
            if kind == "stall"
            else flushed(at_s + after, family=family)
            for kind, after, flag, family in what[1]
        ]
        logged(watch, at_s, *written)
    elif what[0] == "silent":
        watch.silent(what[1], APART_S + at_s, what[2], None)
    else:
        watch.closed(APART_S + at_s)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_comes(steps: list[Any]) -> None:
    """Never two open stalls of one kind, nothing noticed before it began or later than now, nothing ends before."""
    watch = StallWatch()
    for number, what in enumerate(steps):
        at_s = 100.0 + number
        step(watch, at_s, what)
        seen = watch.now
        if seen is not None:
            assert len(set(seen.causes)) == len(seen.causes)
            assert len({named.column_family for named in seen.causes}) == len(seen.causes)
            assert seen.since_unix_s <= seen.noticed_unix_s <= APART_S + at_s
            assert seen.why
        for each in watch.found:
            assert each.begin_unix_s <= each.noticed_unix_s <= APART_S + at_s + 1e-6
            assert each.begin_unix_s <= each.end_unix_s
    watch.closed(APART_S + 1000)
    assert watch.now is None


def test_memory_is_bounded() -> None:
    watch = StallWatch()
    for number in range(3 * FOUND_MOST):
        sampled(watch, 10.0 + number, "normal", column_family(stalls={"l0_stops": 1}))
    assert len(watch.found) == FOUND_MOST
    ahead = [event(1e6, "normal", "delayed")] * 5000
    sampled(watch, 9000, events=ahead)
    for family in range(3000):
        logged(watch, 9000, stall(8999, L0, family=f"f{family}"), flushed(8999.5, family=f"f{family}"))
    assert len(watch.found) == FOUND_MOST
    assert len(watch._ahead) <= 1024
