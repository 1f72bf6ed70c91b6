"""The sampler of write latencies: `python -m adocd_bench.latency [--pairs 10] [--keep FILE | --again FILE]`.

- What it costs: stock db_bench in memory, with the agent preloaded, its sampler on and off, in interleaved pairs, by
  one thread and by four: CPU time (user and system) of the process per write.
- Whether it is right: its percentiles beside those of db_bench's own histogram and of the load generator's, of the
  same writes.

Prints tables in Markdown; what is in progress goes to standard error. docs/latency.md has what was measured.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from adocd.model.in_words import time as latency
from adocd_bench.errors import BenchError
from adocd_bench.latency import runs
from adocd_bench.latency.measured import FILE, HistogramsAgree, Measured, Pair, ToldLatencies

_THREADS = (1, 4)


def main() -> None:
    """Measure, or read what was measured, and print the tables."""
    parser = argparse.ArgumentParser(description="The cost and the accuracy of the sampler of write latencies.")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--writes", type=int, default=2_000_000, help="of each run")
    parser.add_argument("--directory", type=Path, help="for the databases of the comparison; default: /tmp")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the figures of each run here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    asked = parser.parse_args()
    try:
        found = FILE.read(asked.again) if asked.again else measure(asked.pairs, asked.writes, asked.directory)
        if asked.keep:
            FILE.write(asked.keep, found)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(tables(found))


def measure(pairs: int, writes: int, directory: Path | None) -> Measured:
    """Run everything once."""
    began_unix_s, busy = time.time(), os.getloadavg()[0]
    costs = {threads: tuple(_pairs(pairs, writes, threads)) for threads in _THREADS}
    agreements = []
    for threads in _THREADS:
        sys.stderr.write(f"comparing, {threads} threads\n")
        agreements.append(runs.of_db_bench(writes, threads, directory))
        agreements.append(runs.of_generator(writes, threads, directory))
    return Measured(began_unix_s, os.cpu_count() or 1, busy, writes, costs, tuple(agreements))


def _pairs(pairs: int, writes: int, threads: int) -> Sequence[Pair]:
    found = []
    for number, order in enumerate(runs.interleaved(pairs)):
        cost = {sampler: runs.cpu_us_per_write(writes, threads, sampler=sampler) for sampler in order}
        found.append(Pair(round(cost[False], 4), round(cost[True], 4)))
        sys.stderr.write(f"{threads} threads, pair {number + 1} of {pairs}: {found[-1].ratio:.4f}\n")
    return found


def tables(found: Measured) -> str:
    """Show what was measured, in Markdown."""
    lines = [
        f"{found.writes:,} writes a run, {found.cpus} CPUs, load average {found.busy:.1f} at the beginning.",
        "",
        "| threads | pairs | CPU µs per write, off | on | on / off, median (least to most) |",
        "|---|---|---|---|---|",
        *(_cost(threads, pairs) for threads, pairs in found.pairs.items()),
        "",
        "| program | threads | by | writes | p50 | p99 | p99.9 | worst |",
        "|---|---|---|---|---|---|---|---|",
        *(line for each in found.agreements for line in _agreement(each)),
    ]
    return "\n".join(lines) + "\n"


def _cost(threads: int, pairs: Sequence[Pair]) -> str:
    off = statistics.median(pair.off_us_per_write for pair in pairs)
    on = statistics.median(pair.on_us_per_write for pair in pairs)
    ratios = sorted(pair.ratio for pair in pairs)
    spread = f"{statistics.median(ratios):.4f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    return f"| {threads} | {len(pairs)} | {off:.3f} | {on:.3f} | {spread} |"


def _agreement(each: HistogramsAgree) -> Sequence[str]:
    return [
        _row(each, "its own histogram", each.its_own),
        _row(each, "the agent's sampler", each.sampler),
    ]


def _row(each: HistogramsAgree, by: str, found: ToldLatencies) -> str:
    figures = (found.p50_us, found.p99_us, found.p99_9_us, found.max_us)
    shown = " | ".join(latency(figure / 1e6) for figure in figures)
    return f"| {each.program} | {each.threads} | {by} | {found.count:,} | {shown} |"


if __name__ == "__main__":
    main()
