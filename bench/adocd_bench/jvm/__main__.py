"""RocksDB in a JVM: `python -m adocd_bench.jvm attach|laws|late|cost [--keep FILE | --again FILE]`.

Uses the examples Kafka Streams and Flink of a checkout; Maven builds them.

- attach: attaches to each while it puts records as fast as it can, and detaches again: 50 times. Each time every
  database must be seen and answer, and nothing else may be. Without the examples' rate limiter, so that few stalls are
  in the figures.
- laws: `fixed` and a law in turn, each for a minute, with the examples' rate limiter, by which they stall.
- late: one run, drawn: left alone for a minute, then under the law.
- cost: Kafka Streams at a steady pace with 1, 30 and 300 stores, with the agent and a daemon that watches; three times.

Prints tables in Markdown; progress goes to standard error.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adocd.cli.agent_built import find_or_build_java_agent
from adocd.process.attach.problem import AttachRefused
from adocd.process.compiled import NativeError
from adocd_bench.attach import late as lately
from adocd_bench.errors import BenchError
from adocd_bench.jvm import attaching, cost, laws
from adocd_bench.jvm.examples import EXAMPLES, Example, options, running
from adocd_bench.jvm.laws import Jvm
from adocd_bench.jvm.measured import FILE, AttachedExample, CostRun, LawRun, MeasuredJvm, tables
from adocd_bench.run.workspace import choose_parent, run_directory, workspace

_ROOM_BYTES = 8_000_000_000
_STORES = (1, 30, 300)


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure, and how long and often."""

    examples: Sequence[Example]
    law: str
    seconds: int
    times: int
    pairs: int
    stores: Sequence[int]
    parent: Path
    agent: Path


def main() -> None:
    """Measure, or read what was measured, and print the tables."""
    parser = argparse.ArgumentParser(description="RocksDB in a JVM: attaching, laws, and what the agent costs.")
    parser.add_argument("what", choices=["attach", "laws", "late", "cost"])
    parser.add_argument("--example", choices=sorted(EXAMPLES), help="default: both; for cost: kafka-streams")
    parser.add_argument("--law", default="adoc")
    parser.add_argument("--seconds", type=int, help="of a run; for late: of each half (default: 60, for cost 30)")
    parser.add_argument("--times", type=int, default=50, help="to attach to each example")
    parser.add_argument("--pairs", type=int, default=3, help="of runs; for cost: rounds")
    parser.add_argument("--stores", type=int, nargs="+", default=_STORES, help="for cost")
    parser.add_argument("--directory", type=Path, help="for the state; default: a disk with enough room")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="late: draw the run here, as SVG")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the figures here")
    parser.add_argument("--again", type=Path, metavar="FILE", help="show these figures, and run nothing")
    given = parser.parse_args()
    try:
        if given.what == "late":
            _late(given)
            return
        found = FILE.read(given.again) if given.again else _measure(given.what, _asked(given))
        if given.keep:
            FILE.write(given.keep, found)
    except (BenchError, AttachRefused, NativeError) as error:
        raise SystemExit(str(error)) from None
    sys.stdout.write(tables(found))


def _asked(given: argparse.Namespace) -> Asked:
    only = given.example or ("kafka-streams" if given.what == "cost" else None)
    return Asked(
        [EXAMPLES[only]] if only else list(EXAMPLES.values()),
        given.law,
        given.seconds or (30 if given.what == "cost" else 60),
        given.times,
        given.pairs,
        given.stores,
        choose_parent(given.directory, _ROOM_BYTES),
        find_or_build_java_agent(),
    )


def _late(given: argparse.Namespace) -> None:
    if given.again:
        run = lately.FILE.read(given.again)
    else:
        asked = _asked(given)
        example = asked.examples[0]
        run = laws.late(Jvm(example, example.classpath(), asked.agent, asked.parent), asked.law, asked.seconds)
    if given.keep:
        lately.FILE.write(given.keep, run)
    if given.picture:
        given.picture.write_text(lately.picture(run).render(alone=True) + "\n", encoding="utf-8")
    sys.stdout.write(lately.table(run))


def _measure(what: str, asked: Asked) -> MeasuredJvm:
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    begun = MeasuredJvm(time.time(), os.cpu_count() or 1, round(os.getloadavg()[0], 2), said.partition("\n")[0])
    if what == "attach":
        return replace(begun, attached=tuple(_attached(example, asked) for example in asked.examples))
    if what == "laws":
        return replace(begun, laws=tuple(run for example in asked.examples for run in _laws(example, asked)))
    return replace(begun, cost=tuple(run for example in asked.examples for run in _cost(example, asked)))


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _attached(example: Example, asked: Asked, say: Callable[[str], None] = _say) -> AttachedExample:
    with (
        workspace(asked.parent) as space,
        run_directory() as room,
        running(
            example, example.classpath(), space / "state", room, None, *options(stores=4, limited=False)
        ) as program,
    ):
        return attaching.again_and_again(program, asked.agent, room, asked.times, say)


def _laws(example: Example, asked: Asked) -> list[LawRun]:
    jvm, runs = Jvm(example, example.classpath(), asked.agent, asked.parent), []
    for number in range(asked.pairs):
        # Each comes first in turn: whatever a run leaves behind, it leaves to both.
        for law in ("fixed", asked.law) if number % 2 == 0 else (asked.law, "fixed"):
            runs.append(laws.run(jvm, law, asked.seconds))
            _say(f"{example.title} under {law}: {runs[-1].records_per_s:,.0f} records/s, {runs[-1].rules}")
    return runs


def _cost(example: Example, asked: Asked) -> list[CostRun]:
    classpath, runs = example.classpath(), []
    for _ in range(asked.pairs):
        for stores in asked.stores:
            runs.append(cost.run(example, classpath, asked.agent, asked.parent, stores, asked.seconds))
            _say(f"{stores} stores: the agent takes {runs[-1].agent_us:.2f} µs a record")
    return runs


if __name__ == "__main__":
    main()
