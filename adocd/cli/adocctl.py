"""The command `adocctl`: an operator's terminal, a client of the daemon's REST."""

from typing import Annotated, Any, NoReturn

import typer

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli import completing, events, exits, override, policy, show, show_lint, show_policy, token
from adocd.cli.doctor.command import doctor
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.cli.explain import explain
from adocd.cli.export import export
from adocd.cli.record import record
from adocd.cli.replay import replay
from adocd.cli.simulate import simulate
from adocd.cli.target import All, Json, TargetName, daemon, place, target_id
from adocd.cli.terminal import say
from adocd.cli.top.command import top
from adocd.targets import run_dir

app = typer.Typer(
    help="See and steer what adocd does. Panic: adocctl restore --all",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

#: How `--help` groups the commands.
LOOK, STEER, APART = "See what happens", "Steer", "Beside the daemon's work"

app.command(epilog=EPILOG, rich_help_panel=LOOK)(top)
app.command(epilog=EPILOG, rich_help_panel=LOOK)(explain)
app.command(epilog=EPILOG, rich_help_panel=LOOK)(events.events)
app.command(epilog=EPILOG, rich_help_panel=LOOK)(events.audit)
app.command(epilog=EPILOG, rich_help_panel=LOOK)(doctor)
app.add_typer(policy.app, name="policy", rich_help_panel=STEER)
app.add_typer(override.app, name="override", rich_help_panel=STEER)
app.add_typer(token.app, name="token", rich_help_panel=STEER)
app.command(epilog=EPILOG, rich_help_panel=APART)(export)
app.command(epilog=EPILOG, rich_help_panel=APART)(record)
app.command(epilog=EPILOG, rich_help_panel=APART)(replay)
app.command(epilog=EPILOG, rich_help_panel=APART)(simulate)


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


@app.command(epilog=EPILOG, rich_help_panel=LOOK)
def targets(as_json: Json = False) -> None:
    """List all targets."""
    listed = daemon().get("/v1/targets")
    show.json_or(as_json, listed, show.targets)


@app.command(epilog=EPILOG, rich_help_panel=LOOK)
def status(target: TargetName = None, as_json: Json = False) -> None:
    """Show one target: what it suffers from, whether the tuner helps, what its options are, what was done and why."""
    client = daemon()
    where = f"/v1/targets/{target_id(client, target)}"
    detail = client.get(where) | client.get(f"{where}/overrides")
    detail["verdict"] = _verdict(client, where)
    show.json_or(as_json, detail, show.status)


def _verdict(client: RestClient, where: str) -> Any:
    """Ask whether the tuner helps; None where nothing was measured yet, and of a daemon that does not judge."""
    try:
        return client.get(f"{where}/verdict")["verdict"]
    except RestError:
        return None


@app.command(epilog=EPILOG, rich_help_panel=LOOK)
def lint(target: TargetName = None, as_json: Json = False) -> None:
    """Say what in a target's configuration makes tuning it dangerous or useless, and what to do about it."""
    client = daemon()
    answer = client.get(f"/v1/targets/{target_id(client, target)}/lint")
    show.json_or(as_json, answer, show_lint.findings)
    if show_lint.has_danger(answer):
        raise typer.Exit(Exit.DANGER)


@app.command(epilog=EPILOG, rich_help_panel=LOOK)
def controllers(as_json: Json = False) -> None:
    """List the control laws that a policy can name: the daemon's, or this installation's where none answers."""
    try:
        answer = daemon().get("/v1/controllers")
    except NoDaemon:
        # Only here: it would be a part of the time that every other command takes to start.
        from adocd.api.rest import controllers as installed  # noqa: PLC0415

        answer = installed.listed().model_dump(mode="json")
    show.json_or(as_json, answer["controllers"], show.controllers)
    for problem in answer.get("problems", {}).values():  # an older daemon has none
        say(f"warning: {problem}", err=True)


@app.command(name="set-policy", epilog=EPILOG, rich_help_panel=STEER)
def set_policy(
    controller: policy.Controller,
    target: TargetName = None,
    parameter: policy.Parameter = None,
    shape: policy.Shape = None,
    dry_run: policy.DryRun = False,
    if_match: Annotated[
        str | None,
        typer.Option("--if-match", metavar="ETAG", help="Only while the policy is still what `policy diff` compared."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Set a target's control law for good: adocctl set-policy adoc --set threads_max=8.

    Says what it replaced. With --if-match it is refused, exit code 5, where somebody has set another policy since.
    """
    client = daemon()
    body = policy.wanted(controller, parameter, shape, dry_run=dry_run)
    answer, replaced = policy.put(client, target_id(client, target), body, if_match)
    show.json_or(as_json, answer, show.policy)
    if not as_json:
        show_policy.replaced(replaced)


@app.command(name="reset-policy", epilog=EPILOG, rich_help_panel=STEER)
def reset_policy(target: TargetName = None, as_json: Json = False) -> None:
    """Leave a target's control law to `adocd serve` and its configuration again."""
    client = daemon()
    answer = client.delete(f"/v1/targets/{target_id(client, target)}/policy")
    show.json_or(as_json, answer, show.policy)


@app.command(epilog=EPILOG, rich_help_panel=STEER)
def pause(
    target: TargetName = None,
    everything: All = False,
    reason: Annotated[str, typer.Option("--reason", help="Why, for who looks next.")] = "",
    as_json: Json = False,
) -> None:
    """Let a law decide nothing until `resume`: what is set stays, and so do overrides."""
    client = daemon()
    answer = client.post(f"{place(client, target, everything)}/pause", {"reason": reason})
    show.json_or(as_json, answer, show.paused)


@app.command(epilog=EPILOG, rich_help_panel=STEER)
def resume(target: TargetName = None, everything: All = False, as_json: Json = False) -> None:
    """Let a law go on after `pause` or `restore`."""
    client = daemon()
    answer = client.post(f"{place(client, target, everything)}/resume")
    show.json_or(as_json, answer, show.resumed)


@app.command(epilog=EPILOG, rich_help_panel=LOOK)
def decisions(
    target: TargetName = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The last so many.")] = 20,
    before: Annotated[
        int | None, typer.Option("--before", min=1, metavar="NUMBER", help="Only those before this one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a target's last decisions: what was seen, which rule fired, what was set and what became of it."""
    client = daemon()
    page: dict[str, str | int] = {"limit": limit} if before is None else {"limit": limit, "before": before}
    answer = client.get(f"/v1/targets/{target_id(client, target)}/decisions", **page)
    show.json_or(as_json, answer["decisions"], show.decisions)


@app.command(epilog=EPILOG, rich_help_panel=STEER)
def restore(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="Its id, path, or part of one; or --all instead.",
            autocompletion=completing.targets,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All targets.")] = False,
    as_json: Json = False,
) -> None:
    """Restore the original options now, and leave them alone until `resume`, or until a policy is set.

    Works without a daemon too: then the agents are told directly.
    """
    if everything == (target is not None):
        fail("say which target to restore, or --all", Exit.USAGE)
    client = daemon()
    remembered = False
    try:
        path = "/v1/restore" if everything else f"/v1/targets/{target_id(client, target)}/restore"
        answer = client.post(path)
        remembered = True
    except NoDaemon:
        answer = _restore_directly(None if everything else target)
    except RestError as error:
        if error.status < 500:
            raise
        answer = _restore_directly(None if everything else target)
    show.json_or(as_json, answer, show.restored)
    if not as_json:
        show.left_alone(remembered=remembered, everything=everything)
    if answer["failed"] or show.is_not_back(answer):
        raise typer.Exit(Exit.FAILED)


def _restore_directly(target: str | None) -> dict[str, Any]:
    # Only here: it brings the protocol's types along, which double the time that every other command takes to start.
    import asyncio  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    from adocd.cli.panic import restore_without_daemon  # noqa: PLC0415

    result = asyncio.run(restore_without_daemon(run_dir.run_dir(), target))
    if not result.restored and not result.failed:
        what = "no database" if target is None else f"no database that {target!r} names"
        fail(f"no daemon answers, and {what} has an agent in {run_dir.run_dir()}", Exit.NO_TARGET)
    return asdict(result)
