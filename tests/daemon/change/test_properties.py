"""From any valid state to any wanted one and back: no state in between that hurts (`make properties` for long).

A session is played as the loop plays it: look, say what is next, send, see what became of it. Meanwhile level 0 and the
pending bytes move as they like, calls are rejected, pins come and go, the journal is full, and in the end the daemon
dies between two calls and the agent leads back alone.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adocd.model.values import Values
from tests.daemon.change import states
from tests.daemon.change.played import Played
from tests.daemon.change.states import Moment, Pile

LONG = os.environ.get("ADOCD_PROPERTIES") == "long"
PROFILE = settings(
    max_examples=10_000 if LONG else 200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
#: What nothing needs more of, once all is drained: a staged return, what had to wait for it, the brake, and a law that
#: forgets what a guard has refused.
PLANS = 6
_cases: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def _figures() -> Iterator[None]:
    """Say how much was tried, for who runs this with -s."""
    began_s = time.monotonic()
    yield
    cases = ", ".join(f"{count} of {name}" for name, count in _cases.items())
    print(f"\ncases: {cases}; {time.monotonic() - began_s:.0f} s")


@PROFILE
@given(
    originals=states.databases(),
    moments=states.moments(states.ALL, most=6),
    piles=states.piles,
    off_s=st.sampled_from([3.0, 600.0]),
)
def test_no_state_on_the_way_hurts_and_the_way_back_always_leads_back(
    originals: Values, moments: list[Moment], piles: list[Pile], off_s: float
) -> None:
    _cases["all options"] += 1
    played = Played(originals, off_s)
    for moment in moments:
        played.live(moment)
    _cases["rates that rose again"] += played.rises
    played.lead_back(piles)


@PROFILE
@given(originals=states.databases(), moments=states.moments(states.STOPS, most=4), piles=states.piles)
def test_what_can_stop_writes_alone_meets_more_often(
    originals: Values, moments: list[Moment], piles: list[Pile]
) -> None:
    _cases["what stops writes"] += 1
    played = Played(originals, compaction_off_s=3.0)
    for moment in moments:
        played.live(moment)
    played.lead_back(piles)


@PROFILE
@given(originals=states.databases(), moments=states.moments(states.ALL, most=4))
def test_when_all_is_drained_everything_comes_to_rest_where_it_is_wanted(
    originals: Values, moments: list[Moment]
) -> None:
    _cases["coming to rest"] += 1
    played = Played(originals, compaction_off_s=600.0)
    for moment in moments:
        played.live(moment)
    played.settle(PLANS)
