"""Runs that find rates: the baseline's maximum, and the highest sustainable rate under a scheme."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from adocd_bench.evaluation.plan import Planned, RunsAsked
from adocd_bench.evaluation.progress import RunsProgress
from adocd_bench.evaluation.schemes import BASELINE, scheme
from adocd_bench.evaluation.search import sustained, two_phase
from adocd_bench.evaluation.search.sustained import SUSTAINABLE, Search
from adocd_bench.evaluation.setting import RunSite, program, wanted
from adocd_bench.host.device import parse_profile

#: Most runs of a search, for its progress bar: the first rate, and a bisection to a twentieth of the range.
_TESTS = 6


def maximum(there: RunSite, asked: RunsAsked, run: Planned, out: Path, console: Console) -> Search:
    """Measure the baseline's rate in a closed loop, or read it if it was measured before; raises BenchError."""

    def measure() -> float:
        load = two_phase.testing_phase(program(asked, run.workload), asked.seconds)
        used = scheme(BASELINE).used(there.circumstances(parse_profile(run.profile), asked.scale))
        with RunsProgress(console, 1, asked.seconds).run(f"the testing phase of {run.block}") as line:
            return two_phase.maximum_per_s(there.run(wanted(asked, run, used, load), load, line.look))

    return two_phase.search(out / "maximum" / f"{run.block}.json", asked.seconds, asked.scale, measure)


def sustainable(there: RunSite, asked: RunsAsked, run: Planned, out: Path, console: Console) -> Search:
    """Find the highest sustainable rate under the run's scheme by bisection; resumable. Raises BenchError."""
    file = out / SUSTAINABLE / f"{run.block}-{run.scheme}.json"
    search = two_phase.search(
        file, asked.seconds, asked.scale, lambda: maximum(there, asked, run, out, console).maximum_per_s
    )
    used = scheme(run.scheme).used(there.circumstances(parse_profile(run.profile), asked.scale))
    progress = RunsProgress(console, max(1, _TESTS - len(search.tested)), asked.seconds, at_once=asked.at_once)
    while (per_s := search.next_per_s) is not None:
        load = program(asked, run.workload, per_s)
        with progress.run(f"{run.block}-{run.scheme} at {per_s:,.0f} operations/s") as line:
            tested = two_phase.tried(there.run(wanted(asked, run, used, load), load, line.look))
        search = sustained.keep(file, replace(search, tested=(*search.tested, tested)))
        progress.say(f"{per_s:,.0f} operations/s {'last' if tested.lasts else 'do not last'} under {run.scheme}")
    return search
