"""`adocd bench`: the evaluation of all schemes against each other."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from adocd.cli.agent_built import find_or_build_agent
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.process.compiled import NativeError
from adocd_bench.cli.report import report
from adocd_bench.errors import BadArgument, BenchError
from adocd_bench.evaluation import runs
from adocd_bench.evaluation.loads.workloads import TWO_PHASE, WORKLOADS
from adocd_bench.evaluation.plan import RunsAsked
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import DEFAULT_SCHEMES, SCHEMES
from adocd_bench.evaluation.search import halving
from adocd_bench.host.device import DEFAULT_PROFILE

bench_app = typer.Typer(help="The evaluation: schemes, device profiles, workloads, and a report.", no_args_is_help=True)
bench_app.command(epilog=EPILOG)(report)

_Result = TypeVar("_Result")


def _joined(numbers: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in numbers)


Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
_LIST = "comma-separated"
Out = Annotated[Path, typer.Option(help="Directory for the raw results; using the same one again resumes.")]
Profile = Annotated[
    str,
    typer.Option(help=f"Device profiles, {_LIST}: cap-N (N in MB/s, such as cap-210), cap-N-wal-outside or uncapped."),
]
Workload = Annotated[str, typer.Option(help=f"Workloads, {_LIST}; `adocd bench workloads` lists them.")]
Seconds = Annotated[int, typer.Option(help="Length of each run's measured phase, in seconds.")]
Scale = Annotated[
    int,
    typer.Option(
        help="Divide database sizes, laws' byte bounds and the workloads' own rates by this; not the cap, --rate or "
        "--device-gb."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the keys in the first repetition; later ones count up from it.")]
AtOnce = Annotated[
    int,
    typer.Option(
        help="Make up to this many runs at the same time, each on a cap-N device of its own: for scaled runs."
    ),
]
Directory = Annotated[Path | None, typer.Option(help="Directory for the databases; default: one on a disk.")]


@bench_app.command(name="run", epilog=EPILOG)
def run_command(
    out: Out,
    scheme: Annotated[
        str, typer.Option(help=f"Schemes, {_LIST}; `adocd bench schemes` lists them. {BASELINE} is always among them.")
    ] = ",".join(DEFAULT_SCHEMES),
    profile: Profile = DEFAULT_PROFILE,
    workload: Workload = "fillrandom",
    seconds: Seconds = 60,
    repeat: Annotated[int, typer.Option(help="Repetitions of each run; a verdict needs five.")] = 5,
    scale: Scale = 1,
    seed: Seed = 1,
    rate: Annotated[
        float | None, typer.Option(help="Offered operations per second, for workloads that take a rate.")
    ] = None,
    device_gb: Annotated[
        int | None, typer.Option(help="Size of the device that cap-N gives each run, in GB; default: what runs need.")
    ] = None,
    at_once: AtOnce = 1,
    directory: Directory = None,
    as_json: Json = False,
) -> None:
    """Run schemes x profiles x workloads on real databases, and keep every raw result in a directory.

    Schemes are interleaved, and each block (a workload on a profile) has its own baseline. Existing runs in the
    directory are not repeated. A failed run is reported, and the same command tries it again.
    """
    asked = RunsAsked(
        _names(scheme), _names(profile), _names(workload), seconds, repeat, scale, seed, rate, device_gb, at_once
    )
    done = _carried_out(lambda: runs.carry_out(asked, out, directory, Console(stderr=as_json)))
    if as_json:
        typer.echo(json.dumps(asdict(done)))
    else:
        made = f"{done.made} runs made, {done.kept} already there, {len(done.failed)} failed"
        typer.echo(f"{made}; the raw results are in {done.out}")
    _refuse_failed(done.failed, f"{done.runs} runs", "tries them again")


@bench_app.command(name="grid", epilog=EPILOG)
def grid_command(
    out: Out,
    profile: Annotated[
        str, typer.Option(help="A device profile: cap-N, cap-N-wal-outside or uncapped.")
    ] = DEFAULT_PROFILE,
    workload: Annotated[str, typer.Option(help="A workload.")] = "fillrandom",
    threads: Annotated[str, typer.Option(help=f"Background jobs to try, {_LIST}.")] = _joined(halving.THREADS),
    batch: Annotated[str, typer.Option(help=f"Batches to try, in MiB, {_LIST}.")] = _joined(halving.BATCHES_MIB),
    seconds: Seconds = 60,
    scale: Scale = 1,
    seed: Seed = 1,
    at_once: AtOnce = 1,
    directory: Directory = None,
    as_json: Json = False,
) -> None:
    """Find the best static threads and batch for a workload on a profile, by successive halving.

    `adocd bench run` with grid-best and the same --out, --seconds, --scale and --seed uses the result found here.
    """
    wanted = halving.Grid(profile, workload, _numbers("--threads", threads), _numbers("--batch", batch))
    asked = RunsAsked((BASELINE,), (profile,), (workload,), seconds, 1, scale, seed, at_once=at_once)
    best = _carried_out(lambda: runs.search_grid(asked, wanted, out, directory, Console(stderr=True)))
    options = {name: int(value) for name, value in best.items()}
    typer.echo(json.dumps(options) if as_json else ", ".join(f"{name}={value}" for name, value in options.items()))


@bench_app.command(name="sustainable", epilog=EPILOG)
def sustainable_command(
    out: Out,
    scheme: Annotated[str, typer.Option(help=f"Schemes, {_LIST}.")] = BASELINE,
    profile: Profile = DEFAULT_PROFILE,
    seconds: Seconds = 60,
    scale: Scale = 1,
    seed: Seed = 1,
    at_once: AtOnce = 1,
    directory: Directory = None,
    as_json: Json = False,
) -> None:
    """Find the highest sustainable update rate: up from 95 % of the baseline's closed-loop maximum, then bisection."""
    asked = RunsAsked(_names(scheme), _names(profile), (TWO_PHASE,), seconds, 1, scale, seed, at_once=at_once)
    found = _carried_out(lambda: runs.search_sustainable(asked, out, directory, Console(stderr=True)))
    if as_json:
        typer.echo(json.dumps({name: asdict(each) for name, each in found.searches.items()}))
    else:
        for name, each in found.searches.items():
            if name in found.failed:
                continue
            least = "at least " if each.fails_per_s is None else ""
            typer.echo(
                f"{name}: {least}{each.lasts_per_s:,.0f} operations/s last, {100 * each.share:.0f} % of the maximum of "
                f"{each.maximum_per_s:,.0f}"
            )
    _refuse_failed(found.failed, "the searches", "goes on where they stopped")


@bench_app.command(epilog=EPILOG)
def schemes(as_json: Json = False) -> None:
    """List the schemes."""
    _list({name: each.title for name, each in SCHEMES.items()}, as_json)


@bench_app.command(epilog=EPILOG)
def workloads(as_json: Json = False) -> None:
    """List the workloads."""
    _list({name: each.title for name, each in WORKLOADS.items()}, as_json)


def _list(titles: dict[str, str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(titles))
        return
    table = Table("name", "what it is", box=None, pad_edge=False)
    for name, title in titles.items():
        table.add_row(name, title)
    Console(soft_wrap=True).print(table)


def _refuse_failed(failed: Mapping[str, str], all_of_them: str, again: str) -> None:
    """End the command with a sentence if anything failed; `again` is what the same command does then."""
    if failed:
        name, sentence = next(iter(failed.items()))
        why = f"{len(failed)} of {all_of_them} failed, the first of them {name}: {sentence}"
        fail(f"{why}; the same command {again}", Exit.FAILED)


def _carried_out(work: Callable[[], _Result]) -> _Result:
    """Compile the agent and run the work; end the command with one sentence if it fails."""
    try:
        find_or_build_agent()
        return work()
    except BenchError as error:
        fail(str(error), Exit.USAGE if isinstance(error, BadArgument) else Exit.FAILED)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    except KeyboardInterrupt:
        again = "the same command goes on where it stopped"
        fail(f"interrupted; everything that was started is gone, and {again}", Exit.FAILED)


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(","))


def _numbers(option: str, given: str) -> tuple[int, ...]:
    names = _names(given)
    if not all(name.isascii() and name.isdecimal() and int(name) > 0 for name in names):
        fail(f"{option} is a list of numbers above 0, such as 2,4,8, not {given!r}", Exit.USAGE)
    return tuple(int(name) for name in names)
