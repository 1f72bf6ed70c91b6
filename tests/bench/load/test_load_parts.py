"""The generator's histograms, keys and intended start times, against what they should be by theory."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from adocd_bench.load.build import GENERATOR

Probe = Callable[..., list[str]]
UNIFORM, ZIPFIAN, LATEST, SEQUENTIAL = range(4)
THETA = 0.99


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """The generator's headers, compiled to a program that prints what they compute."""
    program = tmp_path_factory.mktemp("probe") / "load_probe"
    source, include = Path(__file__).with_name("load_probe.cc"), GENERATOR.sources / "src"
    subprocess.run(["g++", "-std=c++17", "-O2", "-I", include, source, "-o", program], check=True)

    def run(*arguments: object, given: str = "") -> list[str]:
        command = [str(program), *map(str, arguments)]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout.splitlines()

    return run


def zeta(n: int) -> float:
    return float(sum(rank**-THETA for rank in range(1, n + 1)))


def draw(probe: Probe, distribution: int, records: int, count: int, insert_every: int = 0) -> list[int]:
    return [int(line) for line in probe("keys", distribution, records, count, insert_every, 7)]


def merged(lines: list[str]) -> list[tuple[int, int, int]]:
    """The buckets that the probe printed."""
    fields = [line.split() for line in lines if line.startswith("us")]
    return [(int(lowest), int(highest), int(count)) for _, lowest, highest, count in fields]


def quantile(buckets: Sequence[tuple[int, int, int]], share: float) -> float:
    left = share * sum(count for _, _, count in buckets)
    for lowest, highest, count in buckets:
        left -= count
        if left <= 0:
            return (lowest + highest) / 2
    raise AssertionError("no bucket is left")


def test_quantiles_are_within_a_thousandth_of_the_exact_ones(probe: Probe) -> None:
    chance = random.Random(1)  # noqa: S311
    values = sorted(int(1e7 * 10 ** chance.uniform(0, 5)) for _ in range(20_000))  # 10 ms to 1,000 s
    lines = probe("histogram", given="\n".join(map(str, values)))
    buckets = merged(lines)
    assert sum(count for _, _, count in buckets) == len(values)
    for share in (0.01, 0.5, 0.9, 0.99, 0.999, 0.9999):
        exact_us = values[max(0, int(share * len(values)) - 1)] / 1000
        assert quantile(buckets, share) == pytest.approx(exact_us, rel=0.001)


def test_buckets_hold_their_values_and_do_not_overlap(probe: Probe) -> None:
    powers = [bound + delta for bit in range(1, 42) for bound in [1 << bit] for delta in (-1, 0, 1)]
    values = [0, 999, 1000, 1999, 2047, 2048, *powers]
    lines = probe("histogram", given="\n".join(map(str, values)))
    found = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("ns")]
    for value, (lowest, following) in zip(values, found, strict=True):
        assert lowest <= value < following
        assert following - lowest <= max(1, value / 1000)
    buckets = merged(lines)
    assert all(before[1] < after[0] for before, after in pairwise(buckets))
    assert all(lowest <= highest for lowest, highest, _ in buckets)


def test_what_takes_longer_than_a_bucket_is_for_counts_as_the_longest(probe: Probe) -> None:
    lines = probe("histogram", given=str(1 << 50))
    (bucket,) = (line.split()[1:] for line in lines if line.startswith("us"))
    assert int(bucket[2]) == 1
    assert int(bucket[0]) > 4_000_000_000  # more than 66 minutes


def test_uniform_keys_are(probe: Probe) -> None:
    counts = Counter(draw(probe, UNIFORM, 10, 100_000))
    assert sorted(counts) == list(range(10))
    assert all(count == pytest.approx(10_000, rel=0.05) for count in counts.values())


def test_sequential_keys_begin_anew_after_the_last(probe: Probe) -> None:
    assert draw(probe, SEQUENTIAL, 3, 7) == [0, 1, 2, 0, 1, 2, 0]


def test_the_hottest_zipfian_records_have_their_theoretical_shares(probe: Probe) -> None:
    """Of 10^10 items, as in YCSB, whose own constant for their zeta is 26.47; the first two are drawn exactly."""
    count = 400_000
    hottest = Counter(draw(probe, ZIPFIAN, 1_000_000, count)).most_common(2)
    for rank, (_, seen) in enumerate(hottest, start=1):
        assert seen / count == pytest.approx(rank**-THETA / 26.46902820178302, rel=0.05)


def test_the_zipfian_head_as_a_whole_has_its_share(probe: Probe) -> None:
    """A hundred ranks have 19.6 %; Gray's formula is an approximation from the third on."""
    count = 200_000
    head = sum(seen for _, seen in Counter(draw(probe, ZIPFIAN, 1_000_000, count)).most_common(100))
    assert head / count == pytest.approx(zeta(100) / 26.46902820178302, rel=0.1)


def test_zipfian_records_are_scattered(probe: Probe) -> None:
    hottest = [record for record, _ in Counter(draw(probe, ZIPFIAN, 1_000_000, 100_000)).most_common(20)]
    assert max(hottest) - min(hottest) > 500_000
    assert all(0 <= record < 1_000_000 for record in hottest)


@pytest.mark.parametrize("records", [1, 2, 3, 999, 1000, 1001, 5000])
def test_latest_prefers_the_last_by_zipfs_law(probe: Probe, records: int) -> None:
    count = 100_000
    counts = Counter(draw(probe, LATEST, records, count))
    assert counts.most_common(1)[0][0] == records - 1
    assert counts[records - 1] / count == pytest.approx(1 / zeta(records), rel=0.05)
    assert all(0 <= record < records for record in counts)


def test_latest_moves_with_every_insert(probe: Probe) -> None:
    records = draw(probe, LATEST, 1000, 200_000, insert_every=10)
    assert 20_900 <= max(records) < 1000 + 20_000
    late = Counter(21_000 - record for record in records[-1000:])
    assert late.most_common(1)[0][0] <= 100  # the last thousand operations inserted a hundred
    assert sum(seen for age, seen in late.items() if age <= 1000) > 500


def test_operations_are_spaced_evenly_within_a_step(probe: Probe) -> None:
    offsets = [int(line) for line in probe("arrivals", 0, 1, 1, 4, 1, 0, 1, 2)]
    assert offsets == [0, 250_000_000, 500_000_000, 750_000_000, 2_000_000_000, 2_500_000_000]


def test_no_fraction_of_an_operation_is_lost_between_steps(probe: Probe) -> None:
    offsets = probe("arrivals", 0, 1, *([0.1, 2.5] * 100))
    assert len(offsets) == 25
    assert [int(offset) for offset in offsets] == pytest.approx([i * 400_000_000 for i in range(25)], abs=1000)


def test_poisson_arrivals_have_the_rate_and_the_variance(probe: Probe) -> None:
    offsets = [int(line) for line in probe("arrivals", 1, 1, 500, 20, 500, 60)]
    assert len(offsets) == pytest.approx(40_000, rel=0.03)
    assert all(before <= after for before, after in pairwise(offsets))
    assert sum(offset < 500e9 for offset in offsets) == pytest.approx(10_000, rel=0.05)
    seconds = Counter(offset // 1_000_000_000 for offset in offsets if offset < 500e9)
    variance = sum((seconds[second] - 20) ** 2 for second in range(500)) / 500
    assert variance == pytest.approx(20, rel=0.3)
