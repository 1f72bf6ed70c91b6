"""Detection: how it is scored, by records made by hand; and a short real run, with thresholds far from its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.detection.__main__ import page
from adocd_bench.detection.measure import PERIODS_S, MeasuredSetting, measure
from adocd_bench.detection.measured import FILE, MeasuredDetection, kept
from adocd_bench.detection.record import AgentQuiet, DatabaseEnded, Record, RecordEntry, SnapshotTaken
from adocd_bench.detection.score import DETECTORS, Class, Detector, Tally, confirmed, score, told
from adocd_bench.detection.settings import SETTINGS
from adocd_bench.detection.table import added_up, tables

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import ColumnFamilySnapshot, Condition, Event, Snapshot, Stall
from adocd.probes.log.background import Led
from adocd.probes.log.stalls import StallFound
from tests.builders import snapshot

UNIX_S = 1_000_000.0
NOTHING = Led(0, 0, 0, 0, 0, 0, None, None)


def taken(at_s: float, *, l0_slowdowns: int = 0, rate: int = 0, l0_files: int = 0) -> SnapshotTaken:
    """An answer at a time; the snapshot's own clock begins at 0."""
    counts = {"l0_slowdowns": l0_slowdowns, "l0_stops": 0}
    family = ColumnFamilySnapshot({"rocksdb.num-files-at-level0": l0_files}, counts)
    condition: Condition = "delayed" if rate else "normal"
    shown: Snapshot = snapshot(
        monotonic_s=at_s,
        column_families={"default": family},
        properties={"rocksdb.actual-delayed-write-rate": rate},
        stall=Stall(condition, 0.0, 0.0, 0.0),
    )
    return SnapshotTaken(UNIX_S + at_s, shown)


def true(begin_s: float, end_s: float) -> StallFound:
    return StallFound(UNIX_S + begin_s, UNIX_S + end_s, "l0", "delayed", "default", NOTHING)


def record(*entries: RecordEntry) -> Record:
    return Record(1.0, Capabilities(responds_during_stall=False), [*entries, DatabaseEnded(entries[-1].at_s)])


QUIET = [taken(at) for at in (1.0, 2.0, 3.0)]
DELAYED = [taken(at, l0_slowdowns=1, rate=1 << 20, l0_files=20) for at in (4.0, 5.0)]
AFTER = [taken(at, l0_slowdowns=1) for at in (6.0, 7.0, 8.0)]
LONG: Class = (("l0", "delayed"), "longer")
SHORT: Class = (("l0", "delayed"), "shorter")


def test_a_stall_that_is_seen_and_named() -> None:
    outcome = score("x", record(*QUIET, *DELAYED, *AFTER), "agent", [true(3.6, 5.4)])
    (key, tally), *more = outcome.tallies.items()
    assert (key, more) == (LONG, [])
    assert (tally.true, tally.seen, tally.right, outcome.told, outcome.false) == (1, 1, 1, 1, 0)
    assert tally.late_s == [pytest.approx(0.4)]
    assert tally.off_s == [pytest.approx(-0.1)]


def test_one_that_is_missed_and_one_that_is_false() -> None:
    """What is told lies where there was none, and the true one is told by nothing."""
    outcome = score("x", record(*QUIET, *DELAYED, *AFTER), "agent", [true(6.2, 6.8)])
    ((_, tally),) = outcome.tallies.items()
    assert (tally.true, tally.seen, tally.right, tally.late_s) == (1, 0, 0, [])
    assert (outcome.told, outcome.false) == (1, 0), "its times may be off by the time between two samples"
    later = [taken(at, l0_slowdowns=1) for at in (9.0, 10.0, 11.0, 12.0, 13.0)]
    assert score("x", record(*QUIET, *DELAYED, *AFTER, *later), "agent", [true(10.2, 10.8)]).false == 1


@pytest.mark.parametrize(
    ("truth", "seen"),
    [
        (StallFound(UNIX_S + 3.6, UNIX_S + 5.4, "memtable", "delayed", "default", NOTHING), 1),
        (StallFound(UNIX_S + 3.6, UNIX_S + 5.4, "l0", "stopped", "default", NOTHING), 0),
        (StallFound(UNIX_S + 3.6, UNIX_S + 5.4, "l0", "delayed", "another", NOTHING), 0),
    ],
    ids=["cause", "condition", "column family"],
)
def test_one_of_another_kind_is_not_right_and_what_is_told_is_false(truth: StallFound, seen: int) -> None:
    outcome = score("x", record(*QUIET, *DELAYED, *AFTER), "agent", [truth])
    ((_, tally),) = outcome.tallies.items()
    assert (tally.true, tally.seen, tally.right, tally.late_s) == (1, seen, 0, [])
    assert outcome.told == 1
    assert outcome.false == (truth.column_family == "default")


def test_samples_alone_know_no_counts() -> None:
    between = [*QUIET, taken(4.0, l0_slowdowns=1), *AFTER]
    truth = [true(3.2, 3.4)]
    assert score("x", record(*between), "samples", truth).told == 0
    with_counts = score("x", record(*between), "agent", truth)
    assert with_counts.tallies[SHORT].right == 1


def test_silence_is_told() -> None:
    entries: list[RecordEntry] = [
        *QUIET,
        AgentQuiet(UNIX_S + 5.2, 2.2),
        taken(6.0, l0_slowdowns=1),
        taken(7.0, l0_slowdowns=1),
    ]
    (seen,) = told(record(*entries), "agent")
    assert seen.noticed_unix_s == pytest.approx(UNIX_S + 5.2)


def test_events_confirm_a_beginning_or_an_end() -> None:
    events = (Event(1, 3.65, "stall", column_family="default", condition="delayed", previous="normal"),)
    first = replace(DELAYED[0], snapshot=replace(DELAYED[0].snapshot, events=events))
    entries = record(*QUIET, first, *AFTER)
    assert confirmed(entries, [true(3.6, 5.4), true(4.5, 4.6)]) == (2, 1)


def test_tables_have_every_detector_and_every_figure_also_of_what_is_kept(tmp_path: Path) -> None:
    outcomes = [score("x", record(*QUIET, *DELAYED, *AFTER), detector, [true(3.6, 5.4)]) for detector in DETECTORS]
    written = tables(outcomes)
    assert (
        "| l0 | delayed | 1 s or more | 1 | 1 / 1, 0.40 0.40 | 1 / 1, 0.40 0.40 | 0 / 0 | 1 / 1, 0.40 0.40 |" in written
    )
    assert "| 1 s | agent | 1 | 0 | -0.10 s | -0.10 s | -0.10 s |" in written
    setting = MeasuredSetting(SETTINGS[0], tuple(outcomes), 1, 1, (), ())
    (again,) = kept([setting])
    assert tables(again.scores()) == written
    measured = MeasuredDetection(1.0, 2, 20, 0.5, (again,))
    FILE.write(tmp_path / "kept.json", measured)
    assert FILE.read(tmp_path / "kept.json") == measured
    assert page(measured).startswith("The native agent: 1 stalls, of which its events confirm 1\n\nLooked at every 1 s")
    twice = added_up([outcomes[0], outcomes[0]])
    assert twice == {LONG: Tally(2, 2, 2, outcomes[0].tallies[LONG].late_s * 2, outcomes[0].tallies[LONG].off_s * 2)}


@pytest.mark.alone
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("short memtable stops", 5),
        pytest.param("pending-bytes slowdowns", 7, marks=pytest.mark.device),
        pytest.param("rocksdict, everything", 6, marks=pytest.mark.device),
    ],
)
def test_a_short_real_run(name: str, seconds: int, tmp_path: Path) -> None:
    """What docs/detection.md says of who is told; true stalls are RocksDB's own, from its LOG."""
    setting = next(setting for setting in SETTINGS if setting.name == name)
    measured = measure(setting, seconds, tmp_path)
    assert measured.true > 0, "nothing stalled, so nothing is measured"
    judged = set()
    for outcome in measured.outcomes:
        tallies = outcome.tallies.values()
        total, seen, right = (sum(getattr(t, what) for t in tallies) for what in ("true", "seen", "right"))
        late_s = [each for t in tallies for each in t.late_s]
        print(name, outcome.period_s, outcome.detector, total, seen, right, outcome.told, outcome.false)
        if outcome.detector == "samples" or not total:
            continue
        judged.add((outcome.period_s, outcome.detector))
        assert total - seen <= (0 if "LOG" in outcome.detector else 1)
        (record_of_it,) = (each for each in measured.records if each.period_s == outcome.period_s)
        mistaken = [stall for stall in measured.truth if is_mistaken(stall, record_of_it, outcome.detector)]
        assert len(mistaken) == total - right
        assert [
            stall for stall in mistaken if not has_excuse(stall, record_of_it, outcome.detector, measured.truth)
        ] == []
        assert not mistaken or "LOG" not in outcome.detector
        assert outcome.false <= (0 if outcome.detector == "LOG" else 1)
        assert late_s, "how late is for python -m adocd_bench.detection to say"
    # In a run of some seconds, looks a second apart may have a whole stall between the first two or after the last.
    assert judged >= {(min(PERIODS_S), detector) for detector in DETECTORS if detector != "samples"}


def is_mistaken(stall: StallFound, of: Record, detector: Detector) -> bool:
    """Whether it was there to be seen, and not told with its cause."""
    return any(tally.right < tally.true for tally in score("", of, detector, [stall]).tallies.values())


def has_excuse(stall: StallFound, of: Record, detector: Detector, truth: Sequence[StallFound]) -> bool:
    """Whether the cause that was told instead held under the same condition between the answers before and after it.

    What happened between two answers is told by counts alone, and they do not say which was first. Nothing else makes
    a cause wrong: docs/detection.md, "What it does not see, and why".
    """
    answers = [entry.at_s for entry in of.entries if isinstance(entry, SnapshotTaken)]
    before_s = max((at_s for at_s in answers if at_s < stall.begin_s), default=stall.begin_s)
    after_s = min((at_s for at_s in answers if at_s > stall.end_s), default=stall.end_s)
    instead = {
        seen.cause
        for seen in told(of, detector)
        if seen.condition == stall.condition and seen.begin_unix_s <= after_s and seen.end_unix_s >= before_s
    }
    return any(
        other.condition == stall.condition
        and other.cause != stall.cause
        and (other.cause in instead or not instead)
        and other.begin_s <= after_s
        and other.end_s >= before_s
        for other in truth
    )


@pytest.mark.parametrize(
    ("other", "excused"),
    [
        (StallFound(UNIX_S + 5.6, UNIX_S + 5.8, "l0", "delayed", "default", NOTHING), True),
        (StallFound(UNIX_S + 3.1, UNIX_S + 3.2, "l0", "delayed", "default", NOTHING), True),
        (StallFound(UNIX_S + 6.1, UNIX_S + 6.2, "l0", "delayed", "default", NOTHING), False),
        (StallFound(UNIX_S + 5.6, UNIX_S + 5.8, "l0", "stopped", "default", NOTHING), False),
        (StallFound(UNIX_S + 5.6, UNIX_S + 5.8, "pending_bytes", "delayed", "default", NOTHING), False),
        (StallFound(UNIX_S + 5.6, UNIX_S + 5.8, "memtable", "delayed", "default", NOTHING), False),
    ],
    ids=[
        "in the window's end",
        "in its beginning",
        "after the next answer",
        "another condition",
        "the same cause",
        "a cause that nobody told",
    ],
)
def test_only_another_cause_in_the_same_window_excuses_a_mistake(other: StallFound, excused: bool) -> None:
    named = record(*QUIET, *DELAYED, *AFTER)
    pending = StallFound(UNIX_S + 3.6, UNIX_S + 5.4, "pending_bytes", "delayed", "default", NOTHING)
    assert is_mistaken(pending, named, "agent")
    assert not is_mistaken(true(3.6, 5.4), named, "agent")
    assert not has_excuse(pending, named, "agent", [pending])
    assert has_excuse(pending, named, "agent", [pending, other]) is excused


def test_each_setting_has_a_name_and_an_agent() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert {setting.agent for setting in SETTINGS} == {"native", "python"}
    assert PERIODS_S == (1.0, 0.1)
