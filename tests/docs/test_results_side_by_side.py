"""docs/results.md: five minutes at full scale, with `adoc` and SILK-O's settings beside `tide`."""

from __future__ import annotations

from collections.abc import Callable

from adocd_bench.evaluation.raw import RawRun

from tests.bench.kept import needs_results
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    amplification,
    by_pair,
    drain_s,
    figures,
    first_minute,
    least_and_most,
    listed,
    longest_stop_s,
    measured,
    raw_runs,
    slowest_tens,
    to_default,
    unwritten_s,
    waited_share_percent,
)

pytestmark = needs_results
BLOCK, PAIRS = "../older/flood-cap-210-faster", 3
SCHEMES = ("tide", "silk-o", "adoc", "default")
NAMES = {"tide": "`tide`", "silk-o": "SILK-O's settings, no law", "adoc": "`adoc`"}
PAID, RAN = measured("with_drain_per_s"), measured("throughput_per_s")


def ratios(scheme: str, measure: Callable[[RawRun], float]) -> list[float]:
    found = to_default(raw_runs(BLOCK), scheme, measure)
    assert len(found) == PAIRS
    return found


def to_other(other: str, measure: Callable[[RawRun], float]) -> list[float]:
    """By pair, that of `tide` as a multiple of another scheme's."""
    return [ours / theirs for ours, theirs in zip(ratios("tide", measure), ratios(other, measure), strict=True)]


def last_half_minute(run: RawRun) -> float:
    """What clients wrote in the last half minute, in MB/s."""
    writes = [second.writes for second in run.seconds if 270 <= second.at_s < 300]
    return sum(writes) / len(writes) / 1e3


def each(value: Callable[[RawRun], float], form: str) -> list[str]:
    return [least_and_most(BLOCK, scheme, value, form) for scheme in SCHEMES]


def test_the_rows() -> None:
    assert {(run.scale, run.profile, run.workload.seconds) for run in raw_runs(BLOCK)} == {(1, "cap-210", 300)}
    for scheme, name in NAMES.items():
        still = listed(list(map(float, unwritten_s(BLOCK, scheme, pairs=PAIRS))), ".0f")
        paid, ran = (listed(ratios(scheme, measure), ".2f") for measure in (PAID, RAN))
        assert f"| {name}, faster processors | {paid} | {ran} | {still} |\n" in PAGE


def test_what_the_pairs_show() -> None:
    assert min(to_other("silk-o", PAID) + to_other("adoc", PAID)) > 1
    assert max(to_other("silk-o", measured("peak_memory_bytes"))) < 1
    silk, adoc, ran = (
        listed(found, ".2f") for found in (to_other("silk-o", PAID), to_other("adoc", PAID), to_other("silk-o", RAN))
    )
    assert (
        f"`tide` had {silk} times the writes/s of SILK-O's settings over run, restore and drain, and {adoc} times "
        f"those of `adoc`; while it ran, {ran} times those of SILK-O's settings"
    ) in WORDS
    ours = [listed(ratios("tide", measure), ".2f") for measure in (PAID, RAN)]
    assert (
        f"| the same for five minutes, on faster processors | {ours[0]} | {ours[1]} | {silk} times SILK-O's settings "
        f"and {adoc} times `adoc` (three pairs) |"
    ) in README
    assert f"On faster processors it gained {ours[0]} times" in WORDS
    waits = each(waited_share_percent, ".0f")
    assert (
        f"writers waited {waits[0]} % of the time under `tide`, {waits[1]} % under these settings, {waits[2]} % under "
        f"`adoc` and {waits[3]} % under the defaults"
    ) in WORDS
    drains = each(drain_s, ".0f")
    assert (
        f"what was left took {drains[0]} s to merge under `tide`, {drains[1]} s under these settings, {drains[2]} s "
        f"under `adoc` and {drains[3]} s under the defaults"
    ) in WORDS
    wrote = each(amplification, ".1f")
    assert (
        f"had written {wrote[0]} times what the user wrote under `tide`, {wrote[1]} times under these settings, "
        f"{wrote[2]} times under `adoc` and {wrote[3]} times under the defaults"
    ) in WORDS
    stops = [longest_stop_s(BLOCK, scheme) for scheme in SCHEMES]
    assert (
        f"The longest stop took {stops[0]:.1f} s under `tide`, {stops[1]:.1f} s under these settings, {stops[2]:.1f} s "
        f"under `adoc` and {stops[3]:.1f} s under the defaults"
    ) in WORDS
    memory = [listed(to_other(name, measured("peak_memory_bytes")), ".2f") for name in ("silk-o", "default")]
    assert f"{memory[0]} times the memory that it took under these settings, and {memory[1]} times" in WORDS
    assert f"clients wrote {each(first_minute, '.0f')[0]} MB/s under `tide`" in WORDS
    for run in by_pair(BLOCK, "tide", PAIRS):
        assert figures(run).acted.away_share("level0_compaction_trigger") > 0.9


def test_what_speaks_against_it() -> None:
    tens = [slowest_tens(BLOCK, scheme, PAIRS) for scheme in ("tide", "silk-o", "default")]
    ours, theirs, owners = (f"{min(found):.2f} to {max(found):.2f}" for found in tens)
    assert (
        f"in the slowest ten seconds of a run `tide` wrote {ours} times its mean, these settings {theirs} times theirs "
        f"and the defaults {owners} times theirs"
    ) in WORDS
    runs, name = by_pair(BLOCK, "tide", PAIRS), "level0_slowdown_trigger"
    limits = [
        [made.settings[name] for made in run.decisions if name in made.settings and made.at_s < run.measured_s]
        for run in runs
    ]
    stops = [next(made.settings["level0_stop_trigger"] for made in run.decisions) for run in runs]
    assert stops == [256, 256, 203]
    assert "In the third pair the first bound of level 0 was 203 files instead of 256." in WORDS
    held = [[seen.l0_files for seen in run.samples if seen.at_s < run.measured_s][-1] for run in runs]
    assert all(limit[-1] < limit[0] and limit[-1] < files for limit, files in zip(limits, held, strict=True))
    assert (
        f"lowered the slowdown trigger of level 0 to {listed([limit[-1] for limit in limits], '.0f')} files, and level "
        f"0 held {listed(list(map(float, held)), '.0f')} at the end"
    ) in WORDS
    last = [
        listed([last_half_minute(run) for run in by_pair(BLOCK, scheme, PAIRS)], ".0f") for scheme in ("tide", "silk-o")
    ]
    assert f"In the last half minute clients wrote {last[0]} MB/s, under SILK-O's settings {last[1]}." in WORDS
