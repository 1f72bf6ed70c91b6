"""docs/results.md: five minutes of random writes at full scale."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from adocd_bench.evaluation.raw import RawRun

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    amplification,
    by_pair,
    difference,
    drain_s,
    figures,
    first_minute,
    least_and_most,
    listed,
    longest_stop_s,
    measured,
    median_ratio,
    raw_runs,
    summarised,
    to_default,
    unwritten_s,
    waited_share_percent,
)

pytestmark = needs_results
FULL, SCALED = "flood-cap-210", "flood-cap-13"
#: On another machine, with the restore of before 2026-11-29.
BEFORE = "../older/flood-cap-210"
#: The same law before, in two sittings.
EARLIER = "../older/flood-cap-210-two-sittings"
#: With `adoc` beside, on a machine whose processors were slower and changed.
SLOWER = "../older/flood-cap-210-slower"
PAIRS = {FULL: 5, BEFORE: 3, EARLIER: 5, SLOWER: 3}
TWIN = "default-with-tide-memory"
PAID, RAN = "with_drain_per_s", "throughput_per_s"


def of(scheme: str, value: Callable[[RawRun], float], form: str, directory: str = FULL) -> str:
    return least_and_most(directory, scheme, value, form)


def device_per_s(run: RawRun) -> float:
    """MB/s that the device took in the phase."""
    assert run.device is not None
    return run.device.written_bytes / run.measured_s / 1e6


def processors_in_drain(run: RawRun) -> float:
    assert run.drain_s is not None
    return ((run.database.cpu_s or 0.0) - (run.database.measured_cpu_s or 0.0)) / run.drain_s


def left_files(run: RawRun) -> int:
    """Level-0 files that the last large merge after the phase left, with those that came in the next two seconds."""
    files = [(each.at_s, each.l0_files) for each in run.samples if each.at_s > run.measured_s]
    ended_s = next(at_s for (at_s, now), (_, before) in zip(files[1:], files, strict=False) if now < before - 20)
    return max(now for at_s, now in files if ended_s <= at_s < ended_s + 2)


def flood_s(run: RawRun) -> float:
    """When the law took the first flood, in seconds of the phase."""
    return next(each.at_s for each in run.decisions if each.rule == "tide.flood")


def moved_bytes(run: RawRun) -> float:
    """What compactions wrote after the phase, once level 0 had fewer files than the owner's trigger for good."""
    after = [each for each in run.samples if each.at_s > run.measured_s]
    while_full = [each.at_s for each in after if each.l0_files >= 4]
    rest = [each for each in after if each.at_s > while_full[-1]]
    return sum(
        (each.compaction_written_bytes_per_s or 0.0) * (each.at_s - before.at_s) for before, each in pairwise(rest)
    )


def in_turn(scheme: str, value: Callable[[RawRun], float], directory: str = FULL) -> list[float]:
    """By pair, what a scheme's run has."""
    return [value(run) for run in by_pair(directory, scheme, PAIRS[directory])]


def to_twin(value: Callable[[RawRun], float]) -> str:
    """By pair, that of `tide` as a multiple of that of its memtables without a law."""
    ours, theirs = (
        {run.repetition: value(run) for run in raw_runs(FULL) if run.scheme.name == scheme} for scheme in ("tide", TWIN)
    )
    assert len(ours) == len(theirs) == PAIRS[FULL]
    return listed([ours[number] / theirs[number] for number in sorted(ours)], ".2f")


def ratios(scheme: str, measure: str, directory: str = FULL) -> str:
    found = to_default(raw_runs(directory), scheme, measured(measure))
    assert len(found) == PAIRS[directory]
    return listed(found, ".2f")


@pytest.mark.parametrize(
    ("row", "scheme", "directory"),
    [
        ("`tide`, full scale", "tide", FULL),
        ("no law, the memtables of `tide`, full scale", TWIN, FULL),
        ("an older `tide`, full scale", "tide", BEFORE),
        ("no law, the memtables of that `tide`, full scale", TWIN, BEFORE),
        ("`tide`, full scale, slower processors", "tide", SLOWER),
        ("`adoc`, full scale, slower processors", "adoc", SLOWER),
    ],
)
def test_a_row(row: str, scheme: str, directory: str) -> None:
    assert {(run.scale, run.profile) for run in raw_runs(directory)} == {(1, "cap-210")}
    assert all(run.settled is not None for run in raw_runs(directory))
    still = listed(list(map(float, unwritten_s(directory, scheme, pairs=PAIRS[directory]))), ".0f")
    paid, ran = (ratios(scheme, measure, directory) for measure in (PAID, RAN))
    assert f"| {row} | {paid} | {ran} | {still} |\n" in PAGE


def test_what_the_pairs_show() -> None:
    (block,) = summarised(FULL)
    assert not block.weak
    differences = {difference(block, measure, "tide", other) for measure in (PAID, RAN) for other in ("default", TWIN)}
    assert differences == {"more"}
    assert (
        f"Over run, restore and drain `tide` had {median_ratio(block, PAID, 'tide', 'default')} times the defaults' "
        f"writes/s at the median, and {to_twin(measured(PAID))} times those of its memtables without a law"
    ) in WORDS
    (before,) = summarised(BEFORE)
    assert difference(before, PAID, "tide", "default") == "not shown"
    assert difference(before, PAID, "tide", TWIN) == "not shown"
    waits = [of(scheme, waited_share_percent, ".0f") for scheme in ("tide", "default", TWIN)]
    assert (
        f"writers waited {waits[0]} % of the time under `tide`, {waits[1]} % under the defaults, and {waits[2]} % with "
        "its memtables and no law"
    ) in WORDS
    stops = [longest_stop_s(FULL, scheme) for scheme in ("tide", "default")]
    assert f"The longest stop took {stops[0]:.1f} s under `tide`, {stops[1]:.1f} s under the defaults" in WORDS
    drains = [of(scheme, drain_s, ".0f") for scheme in ("tide", "default")]
    assert f"It took {drains[0]} s to merge what was left, under the defaults {drains[1]} s" in WORDS
    longer = to_default(raw_runs(FULL), "tide", drain_s)
    assert f"settings), a drain {min(longer):.1f} to {max(longer):.1f} times as long, and slow writes where" in PAGE
    memory = to_default(raw_runs(FULL), "tide", measured("peak_memory_bytes"))
    assert f"the database took {min(memory):.1f} to {max(memory):.1f} times the defaults' memory" in WORDS
    assert f"and {to_twin(measured('peak_memory_bytes'))} times that of its memtables without a law" in WORDS
    assert (
        f"| the same for five minutes | {ratios('tide', PAID)} | {ratios('tide', RAN)} | {to_twin(measured(PAID))} "
        f"times the defaults with as much memory; writers waited {waits[0]} % of the time instead of {waits[1]} %; on "
        f"slower processors {ratios('tide', PAID, SLOWER)} times (three pairs) |"
    ) in README
    assert f"had {ratios('tide', PAID, EARLIER)} times the defaults' writes/s over run, restore and drain" in WORDS
    for run in raw_runs(FULL):
        if run.scheme.name == "tide":
            assert figures(run).acted.away_share("level0_compaction_trigger") > 0.9


def test_the_pair_on_slower_processors() -> None:
    written, left = (in_turn("tide", value) for value in (first_minute, left_files))
    others = [*written[:2], *written[3:]]
    assert written[2] < 0.9 * min(others)
    assert (
        f"clients wrote {written[2]:.0f} MB/s in the first minute, {min(others):.0f} to {max(others):.0f} in the others"
    ) in WORDS
    most, *fewer = sorted(map(round, left), reverse=True)
    assert most == left[2]
    assert f"There {most} files were left in level 0 after the last large merge, {fewer[-1]} to {fewer[0]} in" in WORDS
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    assert f"{fewer[-1]} to {fewer[0]} were left, and {most} in its third pair" in page


def test_what_is_left_of_the_gain_where_the_flood_begins_late() -> None:
    begins, moved = in_turn("tide", flood_s), [each / 1e9 for each in in_turn("tide", moved_bytes)]
    sooner, less = ([*of[:2], *of[3:]] for of in (begins, moved))
    assert max(sooner) < begins[2]
    assert max(less) < 0.5
    assert moved[2] > 10
    assert (
        f"took the flood after {begins[2]:.1f} s, in the others after {min(sooner):.1f} to {max(sooner):.1f} s"
    ) in WORDS
    assert f"compactions still wrote {moved[2]:.1f} GB there, in the others at most {max(less):.1f} GB" in WORDS
    late = in_turn("tide", flood_s, SLOWER)
    assert min(late) > begins[2]
    assert f"In these it took the flood after {listed(late, '.1f')} s" in WORDS


def test_the_pairs_on_slower_processors() -> None:
    (block,) = summarised(SLOWER)
    assert {difference(block, PAID, name, "default") for name in ("tide", "adoc")} == {"not shown"}
    wrote = in_turn("tide", first_minute, SLOWER)
    assert f"clients wrote {listed(wrote, '.0f')} MB/s in the first minute under `tide`" in WORDS
    waits = [listed(in_turn(name, waited_share_percent, SLOWER), ".0f") for name in ("default", "tide", "adoc")]
    assert (
        f"While it ran, writers waited {waits[0]} % of the time under the defaults, {waits[1]} % under `tide` and "
        f"{waits[2]} % under `adoc`"
    ) in WORDS
    drains = [listed(in_turn(name, drain_s, SLOWER), ".0f") for name in ("default", "tide", "adoc")]
    assert (
        f"what was left took {drains[0]} s to merge under the defaults, {drains[1]} s under `tide`, and {drains[2]} s "
        "under `adoc`"
    ) in WORDS


def test_in_short_says_what_scaling_hides_and_how_much_longer_the_drain_is() -> None:
    scaled = median_ratio(summarised(SCALED)[0], PAID, "tide", "default")
    assert (
        f"in five minutes at 210 MB/s {ratios('tide', PAID)} times the defaults, at a sixteenth {scaled} times" in WORDS
    )
    assert f"on slower ones nothing ({ratios('tide', PAID, SLOWER)} times)" in WORDS
    minute = to_default(raw_runs("tide-cap-210"), "tide", drain_s)
    assert f"| `tide` | memory, and a drain {min(minute):.0f} to {max(minute):.0f} times as long |" in PAGE
    for block, idle in ((SCALED, "for most of the time"), ("flood-cap-15", "for a third to half of the time")):
        ours, theirs = (to_default(raw_runs(block), name, drain_s) for name in ("tide", "silk-o"))
        assert (
            f"memory, longer single stops, and a drain {min(ours):.0f} to {max(ours):.0f} times as long "
            f"({min(theirs):.0f} to {max(theirs):.0f} under SILK-O's settings, which write nothing {idle})"
        ) in PAGE
    assert min(unwritten_s(SCALED, "silk-o")) > 150
    still = unwritten_s("flood-cap-15", "silk-o")
    assert 95 < min(still) < max(still) < 160, "of 300 s"


def test_what_limits_it_there() -> None:
    device = [of(scheme, device_per_s, ".0f") for scheme in ("tide", "default")]
    assert f"so the device wrote {device[0]} MB/s, under the defaults {device[1]}" in WORDS
    assert f"In the drain the program used {of('tide', processors_in_drain, '.1f')} processors" in WORDS
    assert f"(at a sixteenth {of('tide', processors_in_drain, '.2f', SCALED)})" in WORDS
    older, newer, minute = (of("tide", amplification, ".1f", block) for block in (BEFORE, FULL, "tide-cap-210"))
    assert (
        f"Flushes and compactions wrote {older} times what the user wrote there. In the new pairs they wrote {newer} "
        f"times that under `tide`, {of('default', amplification, '.1f')} times under the defaults, and "
        f"{of(TWIN, amplification, '.1f')} times with the memtables of `tide` and no law; in the minute, where one "
        f"merge was enough, {minute} times under `tide`."
    ) in WORDS
    assert f"it took {of('tide', drain_s, '.0f', BEFORE)} s to merge what was left" in WORDS


def test_the_page_of_the_law_says_so() -> None:
    page = " ".join((REPOSITORY / "docs" / "tide.md").read_text().split())
    assert (
        f"In [five minutes at full scale](results.md#with-the-debt-paid) it had {ratios('tide', PAID)} times the "
        "defaults' writes/s with all of it merged"
    ) in page
    assert "the writing and the merging thread did not fill the device" in page


def test_what_scaling_changes() -> None:
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    scaled = median_ratio(summarised(SCALED)[0], PAID, "tide", "default")
    assert (
        f"`tide` had {scaled} times the operations of `default` at a sixteenth, and {ratios('tide', PAID)} times at "
        "scale 1"
    ) in page
