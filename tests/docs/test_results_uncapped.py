"""docs/results.md and README: a minute of random writes on the disk as it is."""

from __future__ import annotations

from statistics import median

from tests.bench.kept import needs_results
from tests.docs.kept_runs import (
    README,
    WORDS,
    difference,
    figures,
    measured,
    median_ratio,
    paid_pairs,
    raw_runs,
    summarised,
)

pytestmark = needs_results


def test_what_tide_is_worth_where_the_device_is_not_the_bound() -> None:
    (block,) = summarised("uncapped")
    assert not block.weak
    assert difference(block, "with_drain_per_s", "tide", "default") == "same"
    assert difference(block, "throughput_per_s", "tide", "default") == "more"
    ran = median_ratio(block, "throughput_per_s", "tide", "default")
    assert f"While it ran it had {ran} times the defaults' writes/s; our goal was 1.5." in WORDS
    found = {each.name: each.cells for each in block.schemes}
    drained, in_phase = (
        [f"{found[name][measure].median:.2f}" for name in ("tide", "default")]
        for measure in ("write_amplification_drained", "write_amplification")
    )
    assert f"write amplification after the drain is lower, {drained[0]} instead of {drained[1]}, but only" in WORDS
    assert f"{in_phase[0]} of it falls within the minute ({in_phase[1]} under the defaults)" in WORDS
    drains = [found[name]["drain_s"] for name in ("tide", "default")]
    assert (
        f"which took {drains[0].low:.0f} to {drains[0].high:.0f} s, and {drains[1].low:.0f} to {drains[1].high:.0f} s "
        "under the defaults"
    ) in WORDS
    cores = found["tide"]["cores"]
    assert f"The program used {cores.low:.1f} to {cores.high:.1f} of two processors" in WORDS
    paid, wrote = (paid_pairs("uncapped", "uncapped", "tide", of) for of in ("with_drain_per_s", "throughput_per_s"))
    assert (
        f"| a minute on a disk that nothing caps | {paid} | {wrote} | no gain once the postponed compactions are done |"
        in README
    )
    kept = {
        name: sorted((run for run in raw_runs("uncapped") if run.scheme.name == name), key=lambda run: run.repetition)
        for name in ("tide", "default")
    }
    first = [
        sum(second.writes for second in run.seconds[:10]) / 10 / measured("throughput_per_s")(beside)
        for run, beside in zip(kept["tide"], kept["default"], strict=True)
    ]
    assert f"`tide` wrote {median(first):.2f} times what the defaults wrote per second over the whole minute" in WORDS
    waits = {name: [100 * (figures(run).waited_share or 0.0) for run in runs] for name, runs in kept.items()}
    assert set(waits["tide"]) == {0.0}
    assert f"they waited {min(waits['default']):.0f} to {max(waits['default']):.0f} % of the time" in WORDS
    slowest = {
        name: [measured("worst_second")(run) / measured("throughput_per_s")(run) for run in runs]
        for name, runs in kept.items()
    }
    told = {name: f"{min(shares):.2f} to {max(shares):.2f} times" for name, shares in slowest.items()}
    assert f"`tide` wrote {told['tide']} its mean, the defaults {told['default']} theirs" in WORDS
    (device,) = {run.machine.device_write_bytes_per_s for runs in kept.values() for run in runs}
    assert f"which can write {(device or 0.0) / 1e9:.1f} GB/s" in WORDS
    for run in kept["tide"]:
        assert figures(run).acted.away_share("level0_compaction_trigger") > 0.5, "it acted"
