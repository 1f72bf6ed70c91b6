"""Runs that find rates: the baseline's maximum, and the highest sustainable rate under a scheme.

Each run is kept as a raw result beside the search, and none is drained: a search takes operations and latencies of the
measured phase from it, and nothing else.
"""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.plan import Planned, RunsAsked
from adocd_bench.evaluation.progress import RunLine, RunsProgress
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.report.disturbed import by_others
from adocd_bench.evaluation.schemes import scheme
from adocd_bench.evaluation.search import maximum, sustained, two_phase
from adocd_bench.evaluation.search.conditions import Conditions
from adocd_bench.evaluation.search.maximum import MAXIMUM, OF_MAXIMUM, SEARCHES, ClosedPhase, Maximum
from adocd_bench.evaluation.search.sustained import SUSTAINABLE, Search
from adocd_bench.evaluation.setting import RunSite, program, wanted
from adocd_bench.host.device import parse_profile

#: Most runs of a search, for its progress: up to the highest rate, a bisection, and both ends once more.
_RUNS = 14


def find_maximum(there: RunSite, asked: RunsAsked, run: Planned, out: Path, console: Console) -> Maximum:
    """Measure the baseline's rate in closed loops, or read what was measured before; resumable after each phase.

    The phases go on at the same time in all lanes, as the runs do that rest on them. Raises RunFailed when all others
    are made if some failed, and BadArgument at once.
    """
    file = out / MAXIMUM / f"{run.block}.json"
    found = maximum.begin(file, _conditions(there, asked))
    seeds = found.seeds_left
    progress = RunsProgress(console, len(seeds), asked.seconds, at_once=there.lanes.count)

    def measure(seed: int) -> ClosedPhase | str:
        with progress.run(f"the testing phase of {run.block} with seed {seed}") as line:
            try:
                return _phase(there, asked, replace(run, seed=seed), out, line)
            except BadArgument:
                raise
            except BenchError as error:
                return str(error)

    failed = []
    for phase in there.lanes.each(seeds, measure):
        if isinstance(phase, str):
            failed.append(phase)
        else:
            found = maximum.keep(file, replace(found, phases=(*found.phases, phase)))
    if failed:
        raise RunFailed(f"{len(failed)} testing phases of {run.block} failed, the first of them: {failed[0]}")
    return found


def _phase(there: RunSite, asked: RunsAsked, run: Planned, out: Path, line: RunLine) -> ClosedPhase:
    """Make one testing phase, and once more if others disturbed it; the last one counts."""
    load = two_phase.testing_phase(program(asked, run.workload), asked.seconds)
    used = scheme(BASELINE).used(there.circumstances(parse_profile(run.profile), asked.scale))
    for attempt in (1, 2):
        made = there.run(wanted(asked, run, used, load), load, line.look)
        raw.write(out / SEARCHES / f"{run.block}{OF_MAXIMUM}" / f"seed-{run.seed}-{attempt}.json", made)
        disturbed = by_others(made)
        if not disturbed:
            break
    return ClosedPhase(run.seed, two_phase.maximum_per_s(made), disturbed)


def find_sustainable(
    there: RunSite, asked: RunsAsked, run: Planned, maximum_per_s: float, out: Path, console: Console
) -> Search:
    """Find the highest sustainable rate under the run's scheme; resumable after each rate. Raises BadArgument.

    A run that fails ends the search for now: its sentence is kept in it, and the rate is tried again when it goes on.
    """
    name = f"{run.block}-{run.scheme}"
    file = out / SUSTAINABLE / f"{name}.json"
    here = _conditions(there, asked)
    search = sustained.begin(
        file,
        Search(
            here.seconds,
            here.scale,
            maximum_per_s,
            seed=here.seed,
            at_once=here.at_once,
            device_bytes=here.device_bytes,
        ),
    )
    used = scheme(run.scheme).used(there.circumstances(parse_profile(run.profile), asked.scale))
    progress = RunsProgress(console, max(1, _RUNS - len(search.tested)), asked.seconds, at_once=asked.at_once)
    while (trial := search.next_trial) is not None:
        per_s, seed = trial
        load = two_phase.running_phase(program(asked, run.workload, per_s))
        try:
            with progress.run(f"{name} at {per_s:,.0f} operations/s") as line:
                made = there.run(wanted(asked, replace(run, seed=seed), used, load), load, line.look)
        except BadArgument:  # the directory is full, or gone: the next would fail as well
            raise
        except BenchError as error:
            progress.say(f"{name} failed at {per_s:,.0f} operations/s: {error}")
            return sustained.keep(file, replace(search, failed=str(error)))
        number = len(search.tested) + 1
        raw.write(out / SEARCHES / name / f"{number:02}-{per_s:.0f}-per-s-seed-{seed}.json", made)
        tested = two_phase.tried(made, per_s)
        search = sustained.keep(file, replace(search, tested=(*search.tested, tested), failed=None))
        said = f"{per_s:,.0f} operations/s {'last' if tested.lasts else 'do not last'} under {run.scheme}"
        progress.say("; ".join((said, *tested.disturbed)))
    return search


def _conditions(there: RunSite, asked: RunsAsked) -> Conditions:
    return Conditions(asked.seconds, asked.scale, asked.seed, asked.at_once, there.room_bytes)
