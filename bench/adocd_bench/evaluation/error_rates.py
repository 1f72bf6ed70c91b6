"""How often the report's rule errs: it is asked about simulated runs of which the truth is known.

`python -m adocd_bench.evaluation.error_rates [DIR...]` prints what docs/evaluation.md states, in a few minutes;
with directories of raw results, also how far repetitions lie apart in them. A run's figure is a true value times its
own noise times a drift that it shares with its pair. Noise and drift are of logarithms; a spread is their deviation.
"""

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adocd_bench.evaluation.report.comparison import Difference, difference_of
from adocd_bench.evaluation.report.measures import MEASURES, Measure
from adocd_bench.evaluation.report.summary import Block

Pairs = list[tuple[float, float]]
#: Makes the noise of one run, of a spread, as a logarithm.
Noise = Callable[[random.Random, float], float]
RATE, SHARE, COUNT = MEASURES["throughput_per_s"], MEASURES["held_share"], MEASURES["worst_second"]
SPREADS = (0.005, 0.02, 0.05, 0.10, 0.20, 0.30, 1.0)
DRIFTS = (0.0, 0.10, 0.30)
EXPERIMENTS = 10_000
_SEED = 1
#: A bucket of db_bench's histogram ends at 1.5 times its beginning.
_BUCKET = math.log(1.5)

NOISES: dict[str, Noise] = {
    "normal": lambda draw, spread: draw.gauss(0, spread),
    "even": lambda draw, spread: draw.uniform(-1, 1) * spread * math.sqrt(3),
    "heavy tails (t of 3)": lambda draw, spread: spread * _t_of_3(draw) / math.sqrt(3),
    "skewed": lambda draw, spread: draw.expovariate(1 / spread),
    "one run in ten at half": lambda draw, spread: draw.gauss(0, spread) - (draw.random() < 0.1) * math.log(2),
    "two modes": lambda draw, spread: draw.choice((-spread, spread)) + draw.gauss(0, spread / 20),
    "in db_bench's buckets": lambda draw, spread: _BUCKET * math.floor(draw.gauss(0, spread) / _BUCKET),
}


def _t_of_3(draw: random.Random) -> float:
    return draw.gauss(0, 1) / math.sqrt(draw.gammavariate(1.5, 2) / 3)


def rates(
    noise: Noise, spread: float, ratio: float = 1.0, drift: float = 0.0, pairs: int = 5, experiments: int = EXPERIMENTS
) -> Iterator[Pairs]:
    """Make experiments: pairs of figures, of which the first are truly `ratio` times the second."""
    draw = random.Random(_SEED)  # noqa: S311  # no secret
    for _ in range(experiments):
        made = []
        for _ in range(pairs):
            both = 1000 * math.exp(draw.gauss(0, drift))
            made.append((ratio * both * math.exp(noise(draw, spread)), both * math.exp(noise(draw, spread))))
        yield made


def held_shares(mean: float, spread: float, pairs: int = 5, experiments: int = EXPERIMENTS) -> Iterator[Pairs]:
    """Make experiments on identical schemes that hold writes for a share of the time; below 0 there is none."""
    draw = random.Random(_SEED)  # noqa: S311  # no secret
    for _ in range(experiments):
        drifts = [draw.gauss(0, spread / 2) for _ in range(pairs)]
        yield [(_share(draw.gauss(mean + drift, spread)), _share(draw.gauss(mean + drift, spread))) for drift in drifts]


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def few(mean: float, pairs: int = 5, experiments: int = EXPERIMENTS) -> Iterator[Pairs]:
    """Make experiments on identical schemes whose figure is a small count, often 0 (Poisson)."""
    draw = random.Random(_SEED)  # noqa: S311  # no secret

    def count() -> float:
        at, found = draw.expovariate(1), 0
        while at < mean:
            at, found = at + draw.expovariate(1), found + 1
        return float(found)

    for _ in range(experiments):
        yield [(count(), count()) for _ in range(pairs)]


def said(measure: Measure, experiments: Iterator[Pairs], *words: Difference) -> float:
    """Give the share of experiments in which the rule says one of these."""
    found = [difference_of(measure, pairs) in words for pairs in experiments]
    return sum(found) / len(found)


def false_positives(pairs: int = 5, experiments: int = EXPERIMENTS) -> Iterator[tuple[str, str, float]]:
    """Give noise, spread and how often identical schemes are told apart."""
    for name, noise in NOISES.items():
        for spread in SPREADS:
            made = rates(noise, spread, pairs=pairs, experiments=experiments)
            yield name, f"{100 * spread:g} %", said(RATE, made, "more", "less")
    for mean, spread in ((0.0, 0.02), (0.01, 0.02), (0.05, 0.1), (0.4, 0.02), (0.4, 0.1), (0.5, 0.5)):
        made = held_shares(mean, spread, pairs, experiments)
        yield (
            f"share of the time around {100 * mean:g} %",
            f"{100 * spread:g} points",
            said(SHARE, made, "more", "less"),
        )
    for mean in (0.2, 1.0, 4.0):
        yield "counts, often 0", f"mean {mean:g}", said(COUNT, few(mean, pairs, experiments), "more", "less")


def others(spread: float, ratio: float, drift: float, experiments: int = 2000) -> tuple[float, float]:
    """Say how often two permutation tests of five pairs at 5 % call a difference: of all ten runs, and of the pairs.

    Of the pairs none can: 2 of their 32 arrangements are as extreme as the most extreme, so p is at least 6.25 %. So
    that one is asked at 6.25 %.
    """
    from scipy.stats import permutation_test  # noqa: PLC0415  # half a second

    logs = [
        [
            [math.log(pair[side]) for pair in pairs]
            for pairs in rates(NOISES["normal"], spread, ratio, drift, 5, experiments)
        ]
        for side in (0, 1)
    ]
    found = []
    for kind, level in (("independent", 0.05), ("samples", 0.0625)):
        p = permutation_test(
            logs,
            lambda mine, other, axis: mine.mean(axis) - other.mean(axis),
            permutation_type=kind,
            vectorized=True,
            axis=1,
        ).pvalue
        found.append(sum(each <= level + 1e-9 for each in p) / experiments)
    return found[0], found[1]


def bootstrapped(spread: float, experiments: int = 2000) -> float:
    """Say how often a bootstrap's 95 % interval (percentiles) of five pairs' mean tells identical schemes apart."""
    from scipy.stats import bootstrap  # noqa: PLC0415  # half a second

    made = rates(NOISES["normal"], spread, experiments=experiments)
    logs = [[math.log(mine / other) for mine, other in pairs] for pairs in made]
    found = bootstrap(
        (logs,), lambda values, axis: values.mean(axis), axis=-1, n_resamples=999, method="percentile", rng=_SEED
    ).confidence_interval
    apart = [low > 0 or high < 0 for low, high in zip(found.low, found.high, strict=True)]
    return float(sum(apart) / experiments)


def _print(title: str, head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _false_rows(experiments: int) -> Iterator[Sequence[str]]:
    by_count = [list(false_positives(pairs, experiments)) for pairs in (5, 8, 20)]
    for rows in zip(*by_count, strict=True):
        yield *rows[0][:2], *(_percent(rate) for _, _, rate in rows)
    yield "the most", "", *(_percent(max(rate for _, _, rate in rows)) for rows in by_count)


def power_rows(experiments: int = EXPERIMENTS) -> Iterator[Sequence[str]]:
    """Give for each spread, with 5 and 10 pairs, how often true differences are found, and how often sameness is."""
    for spread in SPREADS:
        cells = []
        for pairs in (5, 10):
            for ratio in (1.1, 1.3):
                cells.append(said(RATE, rates(NOISES["normal"], spread, ratio, 0.1, pairs, experiments), "more"))
            for ratio in (1.0, 1.1):
                cells.append(said(RATE, rates(NOISES["normal"], spread, ratio, 0.1, pairs, experiments), "same"))
        yield f"{100 * spread:g} %", *(_percent(cell) for cell in cells)


def _other_rows() -> Iterator[Sequence[str]]:
    for ratio in (1.0, 1.1, 1.3):
        for spread in (0.02, 0.05, 0.10):
            for drift in DRIFTS:
                ours = said(RATE, rates(NOISES["normal"], spread, ratio, drift, 5, 2000), "more", "less")
                found = (ours, *others(spread, ratio, drift))
                names = f"{100 * (ratio - 1):.0f} %", f"{100 * spread:g} %", f"{100 * drift:g} %"
                yield *names, *(_percent(each) for each in found)


def seen(blocks: Sequence[Block]) -> Iterator[Sequence[str]]:
    """Give for each measure how far repetitions of a scheme lie apart: schemes, median, 9 of 10 below, and the most."""
    schemes = [scheme for block in blocks for scheme in block.schemes]
    for name, measure in MEASURES.items():
        several = [list(scheme.by_repetition(name).values()) for scheme in schemes]
        spreads = sorted(
            statistics.stdev(math.log(value) for value in values)
            for values in several
            if len(values) > 1 and min(values) > 0
        )
        if spreads:
            ninth = spreads[int(0.9 * len(spreads))]
            row = (statistics.median(spreads), ninth, spreads[-1])
            yield measure.title, str(len(spreads)), *(_percent(each) for each in row)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="How often the report's rule errs.")
    parser.add_argument("directories", nargs="*", type=Path, metavar="DIR", help="raw results, for their spreads")
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS, help="simulated comparisons in each cell")
    asked = parser.parse_args()
    _print(
        "Identical schemes that are told apart",
        ("noise", "spread", "5 pairs", "8 pairs", "20 pairs"),
        _false_rows(asked.experiments),
    )
    head = [f"{pairs} pairs: {what}" for pairs in (5, 10) for what in ("10 %", "30 %", "the same", "10 % the same")]
    _print("What is found", ("spread", *head), power_rows(asked.experiments))
    head = ["more, truly", "spread", "drift", "ours", "permutations of ten runs", "of five pairs, at 6.25 %"]
    _print("Other tests", head, _other_rows())
    print(f"\nA bootstrap's 95 % interval tells identical schemes apart in {_percent(bootstrapped(0.05))}.")
    if asked.directories:
        head = ["measure", "schemes", "median", "9 of 10 below", "most"]
        from adocd_bench.evaluation.report.write import report_of  # noqa: PLC0415  # only where it is asked for

        _print("Spreads that were seen", head, seen(report_of(asked.directories).blocks))


if __name__ == "__main__":
    main()
