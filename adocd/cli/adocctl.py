"""The command `adocctl`: an operator's terminal, a client of the daemon's REST."""

from typing import Annotated, NoReturn

import typer

from adocd.cli import exits
from adocd.cli.exits import EPILOG
from adocd.cli.lazy import Entry, LazyGroup
from adocd.cli.terminal import say

#: The panels of `--help`.
LOOK, STEER, APART = "See what happens", "Steer", "Offline tools"


#: In the order of `--help`.
ENTRIES = {
    "top": Entry(
        "adocd.cli.top.command:top",
        "Watch all databases, or one, live: stalls, writes, adocd's changes and last decision. q or Ctrl-C quits.",
        LOOK,
    ),
    "explain": Entry(
        "adocd.cli.explain:explain",
        "Show what stalled, when, for how long, why, and what would likely help.",
        LOOK,
    ),
    "events": Entry(
        "adocd.cli.events:events",
        "Show the last events, one line each: stalls, decisions and their outcomes, operators' actions.",
        LOOK,
    ),
    "audit": Entry(
        "adocd.cli.events:audit",
        "Show who did what: policies, pins, pauses, restores, tokens and reloads, oldest first.",
        LOOK,
    ),
    "doctor": Entry(
        "adocd.cli.doctor.command:doctor",
        "Find what is wrong with this installation and how to fix it. Changes nothing.",
        LOOK,
    ),
    "export": Entry(
        "adocd.cli.export:export",
        "Print the options that adocd changed, for the program to open the database with permanently.",
        APART,
    ),
    "record": Entry(
        "adocd.cli.record:record",
        "Record a target's snapshots, options and decisions, for `adocctl replay` to run any law on.",
        APART,
    ),
    "replay": Entry(
        "adocd.cli.replay:replay",
        "Show what a law would have decided on a recording; it cannot show how the database would have responded.",
        APART,
    ),
    "simulate": Entry(
        "adocd.cli.simulate:simulate",
        "Run a policy on a simulated RocksDB 7.8 and chart the result.",
        APART,
    ),
    "targets": Entry(
        "adocd.cli.targets:targets", "List all targets, or with --where those whose path or labels match.", LOOK
    ),
    "status": Entry(
        "adocd.cli.look:status",
        "Show one target: its stalls, whether tuning helps, its options, and what adocd did and why.",
        LOOK,
    ),
    "lint": Entry(
        "adocd.cli.look:lint",
        "List settings of a target that make tuning it dangerous or useless, and how to fix them.",
        LOOK,
    ),
    "controllers": Entry(
        "adocd.cli.look:controllers",
        "List the control laws that a policy can name: the daemon's, or this installation's if no daemon answers.",
        LOOK,
    ),
    "set-policy": Entry(
        "adocd.cli.steer:set_policy",
        "Set a target's control law until it is reset: adocctl set-policy adoc --set threads_max=8.",
        STEER,
    ),
    "reset-policy": Entry(
        "adocd.cli.steer:reset_policy",
        "Return a target to the control law that `adocd serve` or its configuration chooses.",
        STEER,
    ),
    "pause": Entry(
        "adocd.cli.steer:pause",
        "Stop a law from deciding until `resume`: values it has set stay, and so do overrides.",
        STEER,
    ),
    "resume": Entry("adocd.cli.steer:resume", "Let a law decide again after `pause` or `restore`.", STEER),
    "decisions": Entry(
        "adocd.cli.look:decisions",
        "Show a target's last decisions: the signal, the rule that fired, what was set, and the outcome.",
        LOOK,
    ),
    "restore": Entry(
        "adocd.cli.steer:restore",
        "Restore the original options now and change nothing until `resume` or `set-policy`.",
        STEER,
    ),
    "forget": Entry(
        "adocd.cli.forget:forget",
        "Forget a closed database: its policy, pins, pause, decisions and figures. The audit trail keeps its lines.",
        STEER,
    ),
    "policy": Entry(
        "adocd.cli.policy:app",
        "Show a target's policy, and what another one would change.",
        STEER,
    ),
    "override": Entry(
        "adocd.cli.override:app",
        "Pin options: a pin beats the law until it expires or is removed.",
        STEER,
    ),
    "token": Entry(
        "adocd.cli.token:app",
        "Manage tokens: who may read and operate over TCP, from a script or the web page.",
        STEER,
    ),
}


class AdocctlCommands(LazyGroup):
    """What there is."""

    entries = ENTRIES


app = typer.Typer(
    cls=AdocctlCommands,
    help="See and steer what adocd does. Panic: adocctl restore --all",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> NoReturn:
    """Run the command."""
    exits.run(app, "adocctl")


def _version(wanted: bool) -> None:
    if wanted:
        # Imported here: reading the installed packages' metadata would slow the start of every command.
        from adocd import __version__  # noqa: PLC0415

        say(f"adocctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version
