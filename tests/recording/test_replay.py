"""A policy on a recording: what is listed, what is counted, and what is said instead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.controllers.adoc import Adoc
from adocd.daemon.change.guards.guard import Note
from adocd.daemon.control.law import LawFailed
from adocd.model.capabilities import Capabilities
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy, Shaping
from adocd.model.sample import Sample
from adocd.model.snapshot import Event, OptionValues, Snapshot
from adocd.recording.format import About, NotReplayable, Rule, Seen
from adocd.recording.found import ReplayResult
from adocd.recording.lines import LineFile
from adocd.recording.reader import Recording
from adocd.recording.replay import run
from adocd.recording.writer import Recorder
from tests.builders import CAPABILITIES
from tests.controllers.laws import PARAMETERS
from tests.recording.made import ABOUT, HEADER, looks, with_options, write

ADOC = Policy("adoc")


def replay(path: Path, snapshots: Sequence[Snapshot], policy: Policy = ADOC, about: About = ABOUT) -> ReplayResult:
    return asyncio.run(run(Recording(write(path / "recording", snapshots, about)), policy))


def batches(found: ReplayResult) -> list[int]:
    return [s.value // MIB for decided in found.decisions for s in decided.settings if s.knob is Knob.BATCH_SIZE]


def test_what_it_would_do_again_and_again_is_one_decision(tmp_path: Path) -> None:
    found = replay(tmp_path, looks(21))
    assert (found.samples, found.seconds, found.sessions) == (20, 20.0, 1)
    (decided,) = found.decisions
    assert (decided.rule, decided.time_s, decided.monotonic_s) == ("adoc.memory", 1.0, 101.0)
    assert batches(found) == [128]
    assert decided.same_again == 19
    assert {str(change.option): (change.before, change.value) for change in decided.changes} == {
        "write_buffer_size (default)": (str(64 * MIB), str(128 * MIB)),
        "target_file_size_base (default)": (str(64 * MIB), str(128 * MIB)),
        "max_bytes_for_level_base (default)": (str(256 * MIB), str(512 * MIB)),
    }


def test_it_follows_what_was_really_done(tmp_path: Path) -> None:
    """Where the recorded options move by themselves, the law goes on from there."""
    larger = with_options(
        write_buffer_size=str(128 * MIB),
        target_file_size_base=str(128 * MIB),
        max_bytes_for_level_base=str(512 * MIB),
    )
    found = replay(tmp_path, [*looks(5), *looks(5, options=larger, begin=5), *looks(5, begin=10)])
    assert batches(found) == [128, 192, 128]
    assert [decided.same_again for decided in found.decisions] == [3, 4, 4]


def test_a_law_is_told_the_originals_of_that_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[OptionValues | None] = []
    monkeypatch.setattr(registry.LAWS["adoc"], "step", lambda _self, sample: told.append(sample.originals))
    replay(tmp_path, looks(3, options=with_options(write_buffer_size=str(256 * MIB))))
    assert told == [ABOUT.originals] * 2


def test_the_policys_shaping_is_applied(tmp_path: Path) -> None:
    found = replay(tmp_path, looks(11), Policy("adoc", shaping=Shaping(pacing_s=4.0)))
    assert [(decided.outcome, decided.same_again) for decided in found.decisions] == [("would set", 2), ("refused", 6)]
    assert found.decisions[1].guards == (Note("pacing", "the last decision was 1.0 s ago, 3.0 s to go"),)
    found = replay_again(tmp_path, Policy("adoc", shaping=Shaping(step_factor=1.5)))
    assert batches(found) == [96]
    assert found.decisions[0].guards == (Note("step", f"batch_size {128 * MIB} is more than 1.5 times {64 * MIB}"),)


def replay_again(path: Path, policy: Policy) -> ReplayResult:
    return asyncio.run(run(Recording(path / "recording"), policy))


def test_safety_guards_are_asked(tmp_path: Path) -> None:
    found = replay(tmp_path, looks(11), about=replace(ABOUT, memory_budget_bytes=100 * MIB))
    (decided,) = found.decisions
    assert (decided.outcome, decided.changes, decided.same_again) == ("refused", (), 9)
    assert decided.settings[0].value == 128 * MIB, "what the law wanted"
    assert decided.guards[0].guard == "memory budget"


def test_the_memory_budget_is_that_of_each_time(tmp_path: Path) -> None:
    """A daemon that reads its configuration again tells another one within the same open."""
    recorder = Recorder(LineFile(tmp_path / "recording"), HEADER)
    for number, each in enumerate(looks(11)):
        recorder.about(ABOUT if number < 5 else replace(ABOUT, memory_budget_bytes=100 * MIB))
        recorder.snapshot(each, 1.7e9 + number)
    recorder.end("the time was over")
    found = replay_again(tmp_path, ADOC)
    assert found.sessions == 1
    assert [(each.outcome, each.time_s, each.same_again) for each in found.decisions] == [
        ("would set", 1.0, 3),
        ("refused", 5.0, 5),
    ]
    assert found.decisions[1].guards[0].guard == "memory budget"


def test_after_a_gap_rates_are_those_of_the_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the missing looks their events are missing, too: a flush that none tells of may have been all the same."""
    rates: list[float | None] = []
    monkeypatch.setattr(
        registry.LAWS["adoc"], "step", lambda _self, sample: rates.append(sample.flush_written_bytes_per_s)
    )
    recorder = Recorder(LineFile(tmp_path / "recording"), HEADER)
    about = replace(ABOUT, capabilities=replace(CAPABILITIES, events=("flush", "compaction")))
    seen = Seen(0, 1.0, "/data/db", "attached", Rule(ADOC), about, None, ())
    for number, each in enumerate(looks(4)):
        written = replace(each.counters, flush_written_bytes=0 if number < 2 else 500_000_000)
        look = number + 1 if number < 2 else number + 4
        recorder.seen(replace(seen, look=look, snapshot=replace(each, counters=written)), 1.7e9 + number)
    recorder.end("the time was over")
    replay_again(tmp_path, ADOC)
    assert rates == [0.0, 500e6, 0.0]


def test_a_law_that_cannot_work_there_says_why(tmp_path: Path) -> None:
    found = replay(tmp_path, looks(5), about=replace(ABOUT, capabilities=Capabilities()))
    assert found.decisions == []
    (idle,) = found.idle
    assert idle.time_s == 1.0
    assert idle.why.startswith("adoc cannot work here: a directory is only observed")
    (tmp_path / "mimd").mkdir()
    limiterless = replace(CAPABILITIES, rate_limiter=False)
    found = replay(
        tmp_path / "mimd", looks(5), Policy("mimd", PARAMETERS["mimd"]), replace(ABOUT, capabilities=limiterless)
    )
    (idle,) = found.idle
    assert "there is no rate limiter here" in idle.why


@pytest.mark.parametrize("law", registry.LAWS)
def test_every_law_decides_or_says_why_not(law: str, tmp_path: Path) -> None:
    found = replay(tmp_path, looks(31), Policy(law, PARAMETERS.get(law, {})))
    assert found.samples == 30
    # Nothing is delayed here, and that is all that speedb answers.
    assert bool(found.decisions) != (bool(found.idle) or law in ("fixed", "speedb"))


def test_an_open_begins_anew(tmp_path: Path) -> None:
    """Its law knows nothing of the session before, whose counters are others; the time between is no sample."""
    second = [replace(each, session="s2", monotonic_s=each.monotonic_s + 50) for each in looks(5, begin=5)]
    found = replay(tmp_path, [*looks(5), *second])
    assert (found.sessions, found.samples, found.seconds) == (2, 8, 8.0)
    assert [(decided.time_s, decided.same_again) for decided in found.decisions] == [(1.0, 3), (56.0, 3)]


def test_a_snapshot_from_the_agents_cache_is_no_sample(tmp_path: Path) -> None:
    found = replay(tmp_path, [each for each in looks(5) for _ in range(3)])
    assert (found.samples, found.seconds) == (4, 4.0)


def test_what_a_snapshot_from_the_agents_cache_tells_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    def step(self: object, sample: Sample) -> None:
        told.extend(event.sequence for event in sample.events)

    monkeypatch.setattr(Adoc, "step", step)
    events = [Event(number, 100.0, "flush_end", bytes=1) for number in range(1, 16)]
    again = [each for each in looks(5) for _ in range(3)]
    replay(tmp_path, [replace(each, events=(event,)) for each, event in zip(again, events, strict=True)])
    # Those of the first snapshot are from before the first window, and of the last, which is the last look's, too.
    assert told == list(range(2, 14))


def test_a_law_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(self: object, sample: Sample) -> Decision:
        raise RuntimeError("no idea")

    monkeypatch.setattr(registry.LAWS["adoc"], "step", step)
    with pytest.raises(LawFailed, match="adoc failed: it raised RuntimeError: no idea"):
        replay(tmp_path, looks(3))


def test_a_law_that_decides_what_is_there_has_decided_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    here = Decision((Setting(Knob.BACKGROUND_JOBS, 2),), "seen", "adoc.test", "because")
    monkeypatch.setattr(registry.LAWS["adoc"], "step", lambda _self, _sample: here)
    found = replay(tmp_path, looks(6))
    assert (found.decisions, found.unchanged) == ([], 5)


def test_options_that_are_no_numbers_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotReplayable, match=r"what was recorded at 1\.0 s makes no sense: "):
        replay(tmp_path, looks(3, options=with_options(write_buffer_size="large")))


def test_a_policy_that_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(registry.PolicyError, match="there is no controller 'nobody'"):
        replay(tmp_path, looks(3), Policy("nobody"))
