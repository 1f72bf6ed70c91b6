"""Every law against planner, guards and the way back: whatever it decides, no state on the way hurts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.model.sample import Sample
from adocd.model.values import Values, nested
from tests.builders import GIB
from tests.controllers.laws import PARAMETERS, TICKERS, flushed, make
from tests.daemon.change import states
from tests.daemon.change.played import BESIDE, Played
from tests.daemon.change.rocksdb_model import defaults
from tests.daemon.change.states import Pile
from tests.daemon.steered import next_step

#: So quick that every state is come by within a few cycles.
QUICK: dict[str, dict[str, Any]] = {"toggle": {"dwell_s": 0.0, "off_max_s": 30.0}, "silk": {"hold_dwell_s": 0.0}}


@dataclass(frozen=True)
class Cycle:
    """What is measured in a cycle, and how many of its plan's calls are executed."""

    pile: Pile
    members: dict[str, Any]
    level_bytes: tuple[int, ...]
    delayed_rate: int
    calls: int | None


_rates = st.sampled_from([0.0, 20e6, 100e6, 160e6, 400e6])
_cycles = st.lists(
    st.builds(
        Cycle,
        pile=states.piles.map(lambda piles: piles[0]),
        members=st.fixed_dictionaries(
            {
                "flush_written_bytes_per_s": _rates,
                "compaction_written_bytes_per_s": _rates,
                "written_bytes_per_s": _rates,
                "ticker_increases": st.fixed_dictionaries(dict.fromkeys(TICKERS, st.integers(0, 200))),
                "events": st.builds(flushed, st.integers(0, GIB)).map(lambda event: (event,)),
            }
        ),
        level_bytes=st.tuples(*[st.sampled_from([0, GIB, 100 * GIB])] * 7),
        delayed_rate=st.sampled_from([0, 0, 3 << 20]),
        calls=st.sampled_from([None, None, None, 0, 1]),
    ),
    min_size=2,
    max_size=8,
)


def lived(played: Played, law: Controller, cycle: Cycle) -> None:
    """Live through one cycle, as the loop does: look, ask, weigh, send."""
    played.database.l0 |= cycle.pile.l0
    played.database.pending |= cycle.pile.pending
    played.database.immutable |= cycle.pile.immutable
    played.database.delay(cycle.delayed_rate)
    window_s = law.window_s or 1.0
    played.now_s += window_s - 1.0  # a look takes the last second of it
    sample, _ = played.look()
    decision = law.step(replace(_measured(sample, played, cycle), interval_s=window_s))
    if decision is not None:
        guarded = played.steering.guard(decision.settings, {}, sample, played.now_s, BESIDE)
        played.steering.take(guarded, sample.values)
    step = next_step(played.steering, {}, sample, played.now_s, BESIDE)
    played.send(step.plan, sample, cycle.calls)


def _measured(sample: Sample, played: Played, cycle: Cycle) -> Sample:
    families = tuple(replace(cf, level_bytes=cycle.level_bytes) for cf in sample.column_families)
    originals = nested(played.ledger.baseline)
    return replace(sample, column_families=families, originals=originals, **cycle.members)


@pytest.mark.parametrize("name", sorted(registry.LAWS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(originals=states.databases(), cycles=_cycles, piles=states.piles)
def test_whatever_a_law_decides_no_state_hurts_and_the_way_back_leads_back(
    name: str, originals: Values, cycles: list[Cycle], piles: list[Pile]
) -> None:
    law, played = make(name, **QUICK.get(name, {})), Played(originals, compaction_off_s=600.0)
    for cycle in cycles:
        lived(played, law, cycle)
    played.lead_back(piles)


def test_the_laws_that_can_hurt_most_do_act_here() -> None:
    """Else the test above says nothing: with what it lives through the switch is turned, and levels are held."""
    peak = {"flush_written_bytes_per_s": 160e6, "compaction_written_bytes_per_s": 100e6, "written_bytes_per_s": 400e6}
    cycle = Cycle(Pile({}, {}, {}), {**peak, "ticker_increases": dict.fromkeys(TICKERS, 9)}, (0,) * 7, 0, None)
    for name, option, value in (
        ("toggle", "disable_auto_compactions", "true"),
        ("silk", "max_bytes_for_level_base", str(1 << 44)),
    ):
        played = Played(defaults(("default",)), compaction_off_s=600.0)
        law = make(name, **QUICK[name])
        for _ in range(3):
            lived(played, law, cycle)
        assert nested(played.database.values).column_families["default"][option] == value
    assert PARAMETERS.keys() >= QUICK.keys()
