"""`adocctl policy`: the current policy, and how another one would differ from it."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from adocd.api.client import RestClient, RestError
from adocd.cli import completing, show, show_policy
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.cli.parameters import parse_parameters
from adocd.cli.target import Json, TargetName, daemon, target_id

app = typer.Typer(help="Show a target's policy, and what another one would change.", no_args_is_help=True)

#: What --judge stands for, in seconds.
_JUDGED_S = 30.0

Controller = Annotated[
    str,
    typer.Argument(
        help="A control law, `default` for what adocd recommends, or several as `adoc+mimd`; `adocctl controllers` "
        "lists them.",
        autocompletion=completing.laws,
    ),
]
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the law; repeatable.",
        autocompletion=completing.parameters,
    ),
]
Shape = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="KEY=VALUE",
        help="A shaping guard: step_factor, pacing_s, refractory_s or judge_s.",
        autocompletion=completing.shaping,
    ),
]
Judge = Annotated[bool, typer.Option("--judge", help="Take back changes that made things worse: --shape judge_s=30.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Decide and log, but change nothing.")]


def wanted(
    controller: str, parameter: list[str] | None, shape: list[str] | None, *, judge: bool, dry_run: bool
) -> dict[str, Any]:
    """Build a policy's JSON for REST."""
    judged = {"judge_s": _JUDGED_S} if judge else {}
    return {
        "controller": controller,
        "parameters": parse_parameters(parameter or []),
        "shaping": {**judged, **parse_parameters(shape or [], "--shape")},
        "dry_run": dry_run,
    }


def put(
    client: RestClient, id_: str, body: dict[str, Any], if_match: str | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Replace exactly the policy that was seen; return the answer and what changed.

    `if_match` is the ETag of the policy that the operator saw; None uses the current one, so that the reported old
    policy is the one replaced. Raises RestError if somebody has set another policy since.
    """
    path = f"/v1/targets/{id_}/policy"
    compared = client.post(f"{path}/difference", body)
    etag = compared.get("etag") if if_match is None else _quoted(if_match)
    return client.put(path, body, if_match=etag), compared["changes"]


def _quoted(given: str) -> str:
    """Make an entity tag (RFC 9110, 8.8.3) from a value with or without quotes."""
    bare = given.strip().strip('"')
    if re.fullmatch(r"[!#-~]+", bare) is None:
        fail(f"--if-match is the ETag that `adocctl policy diff` shows, not {given!r}", Exit.USAGE)
    return f'"{bare}"'


@app.command(name="show", epilog=EPILOG)
def show_(target: TargetName = None, as_json: Json = False) -> None:
    """Show the current policy with every parameter of its law and that parameter's value."""
    client = daemon()
    policy = client.get(f"/v1/targets/{target_id(client, target)}/policy")
    show.json_or(
        as_json, policy, lambda policy: show_policy.in_force(policy, client.get("/v1/controllers")["controllers"])
    )


@app.command(epilog=EPILOG)
def diff(
    controller: Annotated[
        str | None,
        typer.Argument(
            metavar="[CONTROLLER]", help="The law to compare with; or --file instead.", autocompletion=completing.laws
        ),
    ] = None,
    target: TargetName = None,
    parameter: Parameter = None,
    shape: Shape = None,
    judge: Judge = False,
    dry_run: DryRun = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Compare with the policy that this configuration has for the target."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what another policy would change: adocctl policy diff adoc --set threads_max=8. Changes nothing.

    With --file, the positional argument is the target: adocctl policy diff --file adocd.toml mydb. Exit code 5 if the
    daemon would refuse that policy.
    """
    client = daemon()
    if file is not None:
        if target is not None or parameter or shape or judge or dry_run:
            fail("--file gives the whole policy: leave out the law, --set, --shape, --judge and --dry-run", Exit.USAGE)
        id_ = target_id(client, controller)
        body = _of_file(file, str(client.get(f"/v1/targets/{id_}")["path"]))
    else:
        if controller is None:
            fail("say which policy to compare with: a law, such as adoc, or --file FILE", Exit.USAGE)
        id_ = target_id(client, target)
        body = wanted(controller, parameter, shape, judge=judge, dry_run=dry_run)
    answer = client.post(f"/v1/targets/{id_}/policy/difference", body)
    show.json_or(as_json, answer, show_policy.difference)
    if answer["refused"]:
        raise RestError(409, answer["refused"])


def _of_file(file: Path, path: str) -> dict[str, Any]:
    """Read a configuration file's policy for the database at `path`."""
    # Imported here: it would slow the start of every other command.
    from dataclasses import asdict  # noqa: PLC0415

    from adocd.daemon.fleet.config import ConfigError, load  # noqa: PLC0415

    try:
        policy = load(file).policy_for(path)
    except ConfigError as error:
        fail(str(error), Exit.USAGE)
    return {
        "controller": policy.controller,
        "parameters": dict(policy.parameters),
        "shaping": asdict(policy.shaping),
        "dry_run": policy.dry_run,
    }
