"""Five databases on one device, one of them hot: `python -m adocd_bench.neighbours [--keep FILE | --again FILE]`.

All five are load generators under the native agent, on a capped device of the run's own: one writes as fast as it
goes, four at a rate of their own (`--rate`), which together is well below what the device can do. Arms, interleaved:

- `default`: adocd watches;
- `default, same memory`: the same, with the memory budget divided among the databases' own memtables;
- `tide`: every database under the law tide, each for itself (`arbiter = false`);
- `tide + arbiter`: the same with the daemon's arbiter.

Prints tables in Markdown, with what the arbiter did and the ratios of each repetition; progress goes to standard error.
With `--keep` and an existing file further repetitions are added to it. A run that fails is told, and the others go on.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from adocd.model.in_words import time as latency
from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.neighbours.measured import FILE, HOT, DatabaseRun, MeasuredNeighbours, Run
from adocd_bench.neighbours.runs import ARMS, OPTIONS, Load, run
from adocd_bench.run.interrupt import interruptible
from adocd_bench.run.workspace import choose_parent, workspace

_GIB = 1 << 30
_ALONE = "tide"


def main() -> None:
    """Measure, or read what was measured, and print the tables."""
    parser = argparse.ArgumentParser(description="Five databases on one device, with and without the arbiter.")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--rate", type=float, default=3000.0, help="operations/s of each of the four others")
    parser.add_argument("--profile", default="cap-100")
    parser.add_argument("--size-gib", type=int, default=24, help="size of the device")
    parser.add_argument(
        "--memory-mib", type=int, help="budget for the memtables of all; without it the daemon's default"
    )
    parser.add_argument("--arms", nargs="+", choices=[arm.name for arm in ARMS], default=[arm.name for arm in ARMS])
    parser.add_argument("--drain", action=argparse.BooleanOptionalAction, default=True, help="settle what is due")
    parser.add_argument("--directory", type=Path, help="on the disk that the device takes its space from")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep every run here, or add to what is here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    asked = parser.parse_args()
    try:
        found, failed = (FILE.read(asked.again), 0) if asked.again else _measure(asked)
    except BenchError as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(tables(found))
    if failed:
        raise SystemExit(f"{failed} {'run' if failed == 1 else 'runs'} failed")


def _measure(asked: argparse.Namespace) -> tuple[MeasuredNeighbours, int]:
    """Make the runs; return all that there are, and how many failed."""
    profile = parse_profile(asked.profile)
    found = MeasuredNeighbours(
        cpus=os.cpu_count() or 1,
        profile=profile.name,
        seconds=asked.seconds,
        rate_per_s=asked.rate,
        options=OPTIONS,
        runs=(),
        size_gib=asked.size_gib,
        memory_mib=asked.memory_mib,
        drains=asked.drain,
    )
    failed = 0
    before = FILE.read_if_there(asked.keep) if asked.keep else None
    if before is not None:
        if replace(before, runs=()) != found:
            raise BadArgument(f"{asked.keep} has runs of another kind: name another --keep, or the same options")
        found = before
    arms = [arm for arm in ARMS if arm.name in asked.arms]
    size_bytes = asked.size_gib * _GIB
    parent = choose_parent(asked.directory, size_bytes)
    for _round in range(asked.repetitions):
        # Which arm is the first turns with each repetition, also of a later call.
        first = max((each.repetition for each in found.runs), default=0) % len(arms)
        for arm in (*arms[first:], *arms[:first]):
            repetition = 1 + sum(each.arm == arm.name for each in found.runs)
            load = Load(asked.seconds, asked.rate, 10 * repetition, asked.memory_mib)
            try:
                with interruptible(), workspace(parent) as place, capped(profile, place, size_bytes) as cap:
                    one = run(arm, repetition, load, cap, drains=asked.drain)
            except RunFailed as error:
                failed += 1
                sys.stderr.write(f"{arm.name}, repetition {repetition}, failed: {error}\n")
                continue
            found = replace(found, runs=(*found.runs, one))
            sys.stderr.write(f"{_row(arm.name, [one])}\n")
            if asked.keep:
                FILE.write(asked.keep, found, indent=None)
    return found, failed


def tables(found: MeasuredNeighbours) -> str:
    """Show what was measured, in Markdown."""
    arms = [(arm.name, [run for run in found.runs if run.arm == arm.name]) for arm in ARMS]
    most = max((len(runs) for _, runs in arms), default=0)
    lines = [
        f"{found.profile}, {found.seconds:g} s, four databases at {found.rate_per_s:,.0f} operations/s each and one as "
        f"fast as it goes; medians of up to {most} runs, {found.cpus} CPUs.",
        "",
        "| arm | runs | operations/s | of the hot one | over run and drain | worst p99 | worst p99.9 | worst |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(name, runs) for name, runs in arms if runs),
        "",
        "| arm | hot: p99 | p99.9 | worst other: p99 | p99.9 | most | GB written: run | drain | CPU of others |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_latencies(name, runs) for name, runs in arms if runs),
        "",
        "| arm | the arbiter says: short of bandwidth | write with fewer threads | decisions that put merges off |",
        "|---|---|---|---|",
        *(_arbiter(name, runs) for name, runs in arms if runs),
        *_pairs(dict(arms)),
    ]
    return "\n".join(lines) + "\n"


def _arbiter(name: str, runs: Sequence[Run]) -> str:
    def told(words: str) -> str:
        return f"{100 * _median(runs, lambda run: run.share_told(words)):.0f} % of the time"

    short, narrow = told("wants more than is left"), told("it should write with")
    return f"| {name} | {short} | {narrow} | {_median(runs, lambda run: run.decisions('tide.yield')):.0f} |"


def _pairs(arms: Mapping[str, Sequence[Run]]) -> list[str]:
    """Show each repetition's ratio to the same repetition of `tide` alone, in their order."""
    alone = {run.repetition: run for run in arms[_ALONE]}
    lines = []
    for name, runs in arms.items():
        both = [(run, alone[run.repetition]) for run in runs if name != _ALONE and run.repetition in alone]
        if both:
            drained = [
                one.drained_per_s / other.drained_per_s
                for one, other in both
                if one.drained_per_s is not None and other.drained_per_s is not None
            ]
            ratios = (
                [one.per_s / other.per_s for one, other in both],
                drained,
                [one.worst("p99_us") / other.worst("p99_us") for one, other in both],
            )
            lines.append(f"| {name} | {' | '.join(', '.join(f'{each:.2f}' for each in some) for some in ratios)} |")
    head = f"| arm, times `{_ALONE}` | operations/s | over run and drain | worst p99 |"
    return ["", head, "|---|---|---|---|", *lines] if lines else []


def _row(name: str, runs: Sequence[Run]) -> str:
    drained = [each.drained_per_s for each in runs if each.drained_per_s is not None]

    def worst(of: str) -> str:
        return latency(_median(runs, lambda run: run.worst(of)) / 1e6)

    over_both = f"{statistics.median(drained):,.0f}" if drained else "not drained"
    if drained and len(drained) < len(runs):  # what owes most takes longest
        over_both = f"{len(drained)} of {len(runs)} drained"
    cells = (
        f"{_median(runs, lambda run: run.per_s):,.0f}",
        f"{_median(runs, lambda run: run.hot_per_s):,.0f}",
        over_both,
        worst("p99_us"),
        worst("p999_us"),
        worst("max_us"),
    )
    return f"| {name} | {len(runs)} | {' | '.join(cells)} |"


def _latencies(name: str, runs: Sequence[Run]) -> str:
    def worst(of: str, *, hot: bool) -> str:
        def figure(run: Run) -> float:
            return max(_latency(each, of) for each in run.databases if (each.name == HOT) == hot)

        return latency(_median(runs, figure) / 1e6)

    cells = (
        worst("p99_us", hot=True),
        worst("p999_us", hot=True),
        worst("p99_us", hot=False),
        worst("p999_us", hot=False),
        worst("max_us", hot=False),
        f"{_median(runs, lambda run: run.device_bytes[0]) / 1e9:.1f}",
        f"{_median(runs, lambda run: run.device_bytes[1]) / 1e9:.1f}",
        f"{100 * max(run.others_cpu for run in runs):.0f} %",
    )
    return f"| {name} | {' | '.join(cells)} |"


def _latency(database: DatabaseRun, of: str) -> float:
    return float(getattr(database.latency, of))


def _median(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    return statistics.median(of(run) for run in runs)


if __name__ == "__main__":
    main()
