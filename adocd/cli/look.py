"""`status`, `lint`, `controllers` and `decisions`: what the daemon knows about a target and its control laws."""

from typing import Annotated, Any

import typer

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.cli import show, show_lint
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json, TargetName, daemon, target_id
from adocd.cli.terminal import say


def status(target: TargetName = None, as_json: Json = False) -> None:
    """Show one target: its stalls, whether tuning helps, its options, and what adocd did and why."""
    client = daemon()
    where = f"/v1/targets/{target_id(client, target)}"
    detail = client.get(where) | client.get(f"{where}/overrides")
    detail["verdict"] = _verdict(client, where)
    show.json_or(as_json, detail, show.status)


def _verdict(client: RestClient, where: str) -> Any:
    """Ask whether tuning helps; None before the first measurement, and from a daemon too old to judge it."""
    try:
        return client.get(f"{where}/verdict")["verdict"]
    except RestError:
        return None


def lint(target: TargetName = None, as_json: Json = False) -> None:
    """List settings of a target that make tuning it dangerous or useless, and how to fix them."""
    client = daemon()
    answer = client.get(f"/v1/targets/{target_id(client, target)}/lint")
    show.json_or(as_json, answer, show_lint.findings)
    if show_lint.has_danger(answer):
        raise typer.Exit(Exit.DANGER)


def controllers(as_json: Json = False) -> None:
    """List the control laws that a policy can name: the daemon's, or this installation's if no daemon answers."""
    try:
        answer = daemon().get("/v1/controllers")
    except NoDaemon:
        # Imported here: it would slow the start of every other command.
        from adocd.api.rest import controllers as installed  # noqa: PLC0415

        answer = installed.listed().model_dump(mode="json")
    show.json_or(as_json, answer["controllers"], show.controllers)
    for problem in answer.get("problems", {}).values():  # an older daemon has none
        say(f"warning: {problem}", err=True)


def decisions(
    target: TargetName = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many of the latest to show.")] = 20,
    before: Annotated[
        int | None, typer.Option("--before", min=1, metavar="NUMBER", help="Only those before this one.")
    ] = None,
    all_runs: Annotated[
        bool,
        typer.Option(
            "--all-runs",
            help="Those in the journal, also of former runs of the daemon, and of closed databases it remembers.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a target's last decisions: the signal, the rule that fired, what was set, and the outcome."""
    client = daemon()
    if all_runs:
        if before is not None:
            fail("say --before or --all-runs, not both: each run counts its decisions anew", Exit.USAGE)
        id_ = target_id(client, target, also_kept=True)
        answer = client.get(f"/v1/targets/{id_}/decisions/of-all-runs", limit=limit)
        show.json_or(as_json, answer["decisions"], show.decisions_of_all_runs)
        return
    page: dict[str, str | int] = {"limit": limit} if before is None else {"limit": limit, "before": before}
    answer = client.get(f"/v1/targets/{target_id(client, target)}/decisions", **page)
    show.json_or(as_json, answer["decisions"], show.decisions)
