"""`status`, `lint`, `controllers` and `decisions`: what the daemon knows of a target, and of its control laws."""

from typing import Annotated, Any

import typer

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli import show, show_lint
from adocd.cli.exits import Exit
from adocd.cli.target import Json, TargetName, daemon, target_id
from adocd.cli.terminal import say


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


def lint(target: TargetName = None, as_json: Json = False) -> None:
    """Say what in a target's configuration makes tuning it dangerous or useless, and what to do about it."""
    client = daemon()
    answer = client.get(f"/v1/targets/{target_id(client, target)}/lint")
    show.json_or(as_json, answer, show_lint.findings)
    if show_lint.has_danger(answer):
        raise typer.Exit(Exit.DANGER)


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
