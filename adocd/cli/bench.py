"""`adocd bench`: the evaluation of all schemes against each other."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from adocd.bench.errors import BadOption, BenchError
from adocd.bench.evaluation import runs
from adocd.bench.evaluation.plan import Asked
from adocd.bench.evaluation.schemes import BASELINE, DEFAULT_SCHEMES, SCHEMES
from adocd.bench.evaluation.workloads import WORKLOADS
from adocd.cli.agent_built import find_or_build_agent
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.compiled import NativeError

bench_app = typer.Typer(help="The evaluation: schemes, device profiles, workloads, and a report.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
_LIST = "comma-separated"


@bench_app.command(name="run", epilog=EPILOG)
def run_command(
    out: Annotated[Path, typer.Option(help="Directory for the raw results; the same one again resumes them.")],
    scheme: Annotated[
        str, typer.Option(help=f"Schemes, {_LIST}; `adocd bench schemes` lists them. {BASELINE} is always among them.")
    ] = ",".join(DEFAULT_SCHEMES),
    profile: Annotated[
        str, typer.Option(help=f"Device profiles, {_LIST}: cap-N (N in MB/s, such as cap-210) or uncapped.")
    ] = "cap-210",
    workload: Annotated[
        str, typer.Option(help=f"Workloads, {_LIST}; `adocd bench workloads` lists them.")
    ] = "fillrandom",
    seconds: Annotated[int, typer.Option(help="How long the measured phase of each run is.")] = 60,
    repeat: Annotated[int, typer.Option(help="How often each is run.")] = 2,
    scale: Annotated[
        int, typer.Option(help="Divide all sizes of the database, bounds of laws and offered rates by this.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the keys in the first repetition; each next one has the next.")] = 1,
    rate: Annotated[
        float | None, typer.Option(help="Operations offered a second, where the workload takes that.")
    ] = None,
    directory: Annotated[Path | None, typer.Option(help="Where the databases go; default: a place on a disk.")] = None,
    as_json: Json = False,
) -> None:
    """Run schemes x profiles x workloads on real databases, and keep every raw result in a directory.

    Schemes are interleaved, and each block of a workload on a profile has its own baseline. What was made before in
    that directory is not made again. A run that fails is told, and tried again when the command is given again.
    """
    asked = Asked(_names(scheme), _names(profile), _names(workload), seconds, repeat, scale, seed, rate)
    console = Console(stderr=as_json)
    try:
        find_or_build_agent()
        done = runs.carry_out(asked, out, directory, console)
    except BenchError as error:
        _fail(error)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    except KeyboardInterrupt:
        fail(
            "interrupted; everything that was started is gone, and the same command goes on where it stopped",
            Exit.FAILED,
        )
    if as_json:
        typer.echo(json.dumps(asdict(done)))
    else:
        made = f"{done.made} runs made, {done.kept} were there before, {len(done.failed)} failed"
        typer.echo(f"{made}; the raw results are in {done.out}")
    if done.failed:
        name, sentence = next(iter(done.failed.items()))
        fail(
            f"{len(done.failed)} of {done.runs} runs failed, the first of them {name}: {sentence}; the same command "
            "tries them again",
            Exit.FAILED,
        )


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


def _names(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(","))


def _fail(error: BenchError) -> NoReturn:
    fail(str(error), Exit.USAGE if isinstance(error, BadOption) else Exit.FAILED)
