"""The command `adocctl`: an operator's terminal, a client of the daemon's REST."""

from typing import Annotated, NoReturn

import typer

from adocd.cli import exits
from adocd.cli.exits import EPILOG
from adocd.cli.lazy import Entry, LazyGroup
from adocd.cli.terminal import say

#: How `--help` groups the commands.
LOOK, STEER, APART = "See what happens", "Steer", "Beside the daemon's work"


#: In the order of `--help`.
ENTRIES = {
    "top": Entry(
        "adocd.cli.top.command:top",
        "Watch all databases, or one, live: stalls, writes, what adocd turned and decided last. q or Ctrl-C ends it.",
        LOOK,
    ),
    "explain": Entry(
        "adocd.cli.explain:explain",
        "Say what stalled, for how long, when, why, and what would likely help.",
        LOOK,
    ),
    "events": Entry(
        "adocd.cli.events:events",
        "Follow what happens, a line for each event: stalls, decisions and what became of them, what operators did.",
        LOOK,
    ),
    "audit": Entry(
        "adocd.cli.events:audit",
        "Show who did what: policies, pins, pauses, restores, tokens and reloads, oldest first.",
        LOOK,
    ),
    "doctor": Entry(
        "adocd.cli.doctor.command:doctor",
        "Look for what is wrong with this installation, and say the way out. Changes nothing.",
        LOOK,
    ),
    "export": Entry(
        "adocd.cli.export:export",
        "Print the options that differ from the originals now, to open the database with for good.",
        APART,
    ),
    "record": Entry(
        "adocd.cli.record:record",
        "Record a target's snapshots, options and decisions, for `adocctl replay` to run any law on.",
        APART,
    ),
    "replay": Entry(
        "adocd.cli.replay:replay",
        "Show what a law would have decided on what was recorded; it cannot show what would have happened.",
        APART,
    ),
    "simulate": Entry(
        "adocd.cli.simulate:simulate",
        "Run a policy on a simulated RocksDB 7.8, and draw what came of it.",
        APART,
    ),
    "targets": Entry("adocd.cli.targets:targets", "List all targets.", LOOK),
    "status": Entry(
        "adocd.cli.look:status",
        "Show one target: what it suffers from, whether the tuner helps, what its options are, what was done and why.",
        LOOK,
    ),
    "lint": Entry(
        "adocd.cli.look:lint",
        "Say what in a target's configuration makes tuning it dangerous or useless, and what to do about it.",
        LOOK,
    ),
    "controllers": Entry(
        "adocd.cli.look:controllers",
        "List the control laws that a policy can name: the daemon's, or this installation's where none answers.",
        LOOK,
    ),
    "set-policy": Entry(
        "adocd.cli.steer:set_policy",
        "Set a target's control law for good: adocctl set-policy adoc --set threads_max=8.",
        STEER,
    ),
    "reset-policy": Entry(
        "adocd.cli.steer:reset_policy",
        "Leave a target's control law to `adocd serve` and its configuration again.",
        STEER,
    ),
    "pause": Entry(
        "adocd.cli.steer:pause",
        "Let a law decide nothing until `resume`: what is set stays, and so do overrides.",
        STEER,
    ),
    "resume": Entry("adocd.cli.steer:resume", "Let a law go on after `pause` or `restore`.", STEER),
    "decisions": Entry(
        "adocd.cli.look:decisions",
        "Show a target's last decisions: what was seen, which rule fired, what was set and what became of it.",
        LOOK,
    ),
    "restore": Entry(
        "adocd.cli.steer:restore",
        "Restore the original options now, and leave them alone until `resume`, or until a policy is set.",
        STEER,
    ),
    "policy": Entry(
        "adocd.cli.policy:app",
        "See a target's policy, and what another one would change in it.",
        STEER,
    ),
    "override": Entry(
        "adocd.cli.override:app",
        "Pin options: a pin beats the law until it expires or is removed.",
        STEER,
    ),
    "token": Entry(
        "adocd.cli.token:app",
        "Tokens: who may read and operate by TCP, in a script or in the page.",
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
        # Only here: to look into the installed packages would be a part of the time that every command takes to start.
        from adocd import __version__  # noqa: PLC0415

        say(f"adocctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version
