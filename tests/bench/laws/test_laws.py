"""The proof of the laws: readings beside laws on figures made by hand, and a short real run of two laws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.laws import attached, sine
from adocd_bench.laws.measure import LawPlan, MeasuredLaw, measure
from adocd_bench.laws.readings import READINGS
from adocd_bench.laws.windows import gaps, joined, windows
from adocd_bench.programs.fill import FillReport
from adocd_bench.run.observe import Tick

from adocd.controllers import registry
from adocd.model.decision_record import DecisionRecord
from adocd.model.knob import MIB
from adocd.model.policy import ParameterValue, Policy
from adocd.model.sample import Sample
from adocd.model.values import nested
from tests.controllers.laws import MB, PARAMETERS, TICKERS, Plant, flushed

#: Quiet, each overflow, debt, a peak and its end: files, immutable memtables, pending bytes, flushed and compacted
#: MB/s, drains a second, and the MB of a flush of 1 s that has ended.
MOMENTS = (
    (0, 0, 0, 20, 30, 0, 100),
    (2, 2, 0, 60, 30, 3, 150),
    (8, 1, 0, 120, 80, 10, 60),
    (21, 0, 0, 120, 80, 10, 60),
    (30, 0, 0, 40, 100, 8, 120),
    (12, 0, 65 << 30, 40, 100, 8, 120),
    (6, 0, 0, 60, 20, 2, 120),
    (3, 0, 0, 0, 0, 0, 0),
)
WITH_BOTH: dict[str, dict[str, ParameterValue]] = {"manual": {"batch_size": 128 * MIB, "background_jobs": 4}}


def lived(law: str) -> MeasuredLaw:
    """Let a law live through all of it, obeyed; what belongs to a real run alone is made up."""
    plant, given = Plant(), WITH_BOTH.get(law, PARAMETERS.get(law, {}))
    controller = registry.create(Policy(law, given))
    ticks: list[Tick] = []
    records: list[DecisionRecord] = []
    for files, immutable, pending, flush, compaction, drains, ended in MOMENTS:
        plant.l0_files, plant.immutable_memtables, plant.pending_bytes = files, immutable, pending
        plant.level_bytes = (files * 64 * MIB, *[0] * 6)
        plant.tickers = {**dict.fromkeys(TICKERS, 0), "rocksdb.number.rate_limiter.drains": drains}
        plant.members = {
            "written_bytes_per_s": float(flush * MB),
            "flush_written_bytes_per_s": float(flush * MB),
            "flushed_bytes_per_s": float(flush * MB),
            "compaction_written_bytes_per_s": float(compaction * MB),
            "events": (flushed(ended * MB),) if ended else (),
        }
        sample = plant.sample(controller.window_s or controller.period_s)
        ticks.append(Tick(sample, ""))
        if (decision := controller.step(sample)) is not None:
            told = (decision.settings, decision.signal, decision.rule, decision.reason)
            records.append(DecisionRecord(len(records), sample.monotonic_s, 0.0, law, *told, (), "applied"))
        plant.do(decision, sample)
    plan, report = LawPlan(law, 10, "uncapped", given), FillReport(1.0, 10.0, 10)
    return MeasuredLaw(plan, report, [1], tuple(ticks), tuple(records), nested(plant.originals), (), 0.0)


def test_every_law_has_a_reading() -> None:
    assert list(READINGS) == list(registry.LAWS)


@pytest.mark.parametrize("law", sorted(set(READINGS) - {"toggle"}))
def test_law_and_reading_agree_on_all_of_it(law: str) -> None:
    trace = attached.compared(lived(law))
    assert trace.agreed == len(trace.windows) == len(MOMENTS)
    assert trace.acted >= (law != "fixed")
    assert trace.gaps == 0


def test_what_the_toggle_has_beyond_the_thesis_shows() -> None:
    """It dwells for 30 s, so it is off for longer than the thesis says."""
    trace = attached.compared(lived("toggle"))
    assert 0 < trace.agreed < len(trace.windows)
    assert "the reading says auto_compaction=1" in attached.table([trace])


@pytest.mark.parametrize("law", sorted(set(READINGS) - {"fixed", "toggle"}))
def test_a_wrong_decision_shows(law: str) -> None:
    right = lived(law)
    first = right.decisions[0]
    wrong = replace(
        first, settings=(replace(first.settings[0], value=first.settings[0].value + 1), *first.settings[1:])
    )
    trace = attached.compared(replace(right, decisions=(wrong, *right.decisions[1:])))
    assert trace.agreed == len(trace.windows) - 1
    assert attached.trace(trace).count("\n!") == 1


def test_a_decision_that_was_never_taken_shows() -> None:
    trace = attached.compared(replace(lived("adoc"), decisions=()))
    assert len(trace.windows) - trace.agreed == trace.acted > 0


def tick(plant: Plant, sentence: str = "", **members: object) -> Tick:
    plant.members |= members
    return Tick(plant.sample(1.0), sentence)


def test_ticks_make_the_window_of_a_law() -> None:
    plant = Plant()
    plant.tickers = {"rocksdb.bytes.read": 7}
    ticks = [tick(plant, written_bytes_per_s=float(n), events=(flushed(n),)) for n in range(10)]
    (window,) = windows(ticks, 10.0)
    assert window.interval_s == pytest.approx(10.0)
    assert window.written_bytes_per_s == pytest.approx(4.5)
    assert [event.bytes for event in window.events] == list(range(10))
    assert window.ticker_increases == {"rocksdb.bytes.read": 70}
    assert window.monotonic_s == ticks[-1].sample.monotonic_s


def test_a_law_is_not_asked_while_a_change_is_on_its_way() -> None:
    plant = Plant()
    said = ("", "a change has been in flight for 0.1 s", "waiting for a snapshot taken after the last change", "", "")
    found = list(windows([tick(plant, each) for each in said], 1.0))
    assert [round(window.interval_s) for window in found] == [1, 3, 1]


def test_a_rate_that_was_missing_once_is_missing() -> None:
    plant = Plant()
    one, other = tick(plant, written_bytes_per_s=None), tick(plant, written_bytes_per_s=1.0)
    assert joined([one.sample, other.sample]).written_bytes_per_s is None


def test_a_sample_that_was_not_caught_is_a_gap() -> None:
    ticks = lived("fixed").ticks
    assert gaps(ticks) == 0
    assert gaps((*ticks[:2], *ticks[3:])) == 1


def seen(off: tuple[int, int], files: tuple[int, ...]) -> MeasuredLaw:
    """The toggle's run in which compaction was off between two ticks."""
    plant, ticks = Plant(), []
    for number, count in enumerate(files):
        plant.l0_files = count
        sample: Sample = plant.sample(10.0)
        (cf,) = sample.column_families
        is_off = off[0] <= number < off[1]
        cf = replace(cf, options=replace(cf.options, disable_auto_compactions=is_off))
        ticks.append(Tick(replace(sample, column_families=(cf,)), ""))
    return replace(lived("toggle"), ticks=tuple(ticks), plan=sine.plan("toggle", 60))


@pytest.mark.parametrize(
    ("off", "files", "holds"),
    [
        ((1, 4), (1, 5, 20, 40, 50, 10), True),
        ((0, 0), (1, 5, 20, 40, 50, 10), False),
        ((3, 5), (1, 5, 20, 40, 50, 10), False),
        ((1, 2), (1, 5, 20, 40, 50, 10), False),
        ((1, 4), (1, 5, 20, 40, 50, 30), False),
        ((1, 6), (1, 5, 20, 40, 50, 10), False),
    ],
    ids=["as the thesis", "never off", "off after the peak", "on before the peak", "not drained", "never on"],
)
def test_the_sines_verdict(off: tuple[int, int], files: tuple[int, ...], holds: bool) -> None:
    found = seen(off, files)
    assert sine.verdict(found).holds is holds
    assert len(sine.table(found).splitlines()) == 2 + len(files)
    assert "level 0 had 50 files at most" in sine.summary(found)


@pytest.mark.alone
@pytest.mark.parametrize("law", ["adoc", pytest.param("stability", marks=pytest.mark.device)])
def test_a_short_real_run(law: str, native_agent_library: Path) -> None:
    """A sample now and then is not caught on a machine that does much else, and its window then says nothing."""
    plan = attached.plan(law, 10, "uncapped")
    # However slow a machine is, a few files of level 0 are a stall, and the law has something to say.
    found = measure(replace(plan, flags={**plan.flags, "level0_slowdown_writes_trigger": 6}))
    trace = attached.compared(found)
    assert len(trace.windows) >= 5, attached.trace(trace)
    assert any(each.decided and each.agrees for each in trace.windows), attached.trace(trace)
    # A cycle's sentence, which tells whether the law was asked, may be seen late, too: on both sides of a window.
    assert len(trace.windows) - trace.agreed <= 2 * (trace.gaps + 1), attached.trace(trace)
