"""The command `adocd`: the daemon, and everything that is not an operator's daily work."""

from typing import Annotated, NoReturn

import typer

from adocd.cli import exits, further
from adocd.cli.exits import EPILOG
from adocd.cli.lazy import Entry, LazyGroup
from adocd.cli.terminal import say

#: In the order of `--help`.
ENTRIES = {
    "simulate": Entry(
        "adocd.cli.simulate:simulate",
        "Run a policy on a simulated RocksDB 7.8 and chart the result.",
    ),
    "demo": further.OfTheBench(
        further.GROUP,
        "Show what adocd does: real write pressure on a real RocksDB, first left alone, then controlled.",
    ),
    "serve": Entry(
        "adocd.cli.serve:serve",
        "Attach to every database whose agent is in the run directory, and apply the policy.",
    ),
    "exec": Entry(
        "adocd.cli.exec:exec_",
        "Start a program with the native agent preloaded: adocd exec -- db_bench --benchmarks=fillrandom.",
        settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
    ),
    "attach": Entry(
        "adocd.cli.attach:attach",
        "Load the native agent into a program that is already running (experimental).",
    ),
    "detach": Entry(
        "adocd.cli.attach:detach",
        "Restore a program's options, and end the agent that was attached to it.",
    ),
    "check-config": Entry(
        "adocd.cli.check_config:check_config",
        "Check a configuration file and show the resulting settings, defaults included.",
    ),
    "agent": Entry(
        "adocd.cli.agent:app", "The agents: the native one for this machine's librocksdb, and the Java one."
    ),
    "bench": further.OfTheBench(further.GROUP, "The evaluation: schemes, device profiles, workloads, and a report."),
}


class AdocdCommands(LazyGroup):
    """What there is."""

    entries = ENTRIES


app = typer.Typer(
    cls=AdocdCommands,
    help="Keeps RocksDB out of write stalls, from outside the database process.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> NoReturn:
    """Run the command."""
    exits.run(app, "adocd")


def _version(wanted: bool) -> None:
    if wanted:
        # Imported here: reading the installed packages' metadata would slow the start of every command.
        from adocd import __version__  # noqa: PLC0415

        say(f"adocd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version
