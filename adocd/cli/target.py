"""What all of adocctl's commands share: reaching the daemon, and finding the target that is meant."""

from typing import Annotated, Any

import typer

from adocd.api.client import TIMEOUT_S, RestClient
from adocd.cli import completing
from adocd.cli.exits import Exit, fail
from adocd.targets import run_dir
from adocd.targets.names import named, no_such

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
TargetName = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        help="Its id, path, or part of one; none where there is only one.",
        autocompletion=completing.targets,
    ),
]
OpenTargetName = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]", help="Its id, path, or part of one; none: all.", autocompletion=completing.targets
    ),
]
All = Annotated[bool, typer.Option("--all", help="All targets, and those that open later.")]


def daemon(timeout_s: float = TIMEOUT_S) -> RestClient:
    """Return a client of the daemon in this run directory; an answer may take `timeout_s` seconds."""
    return RestClient(run_dir.daemon_socket(run_dir.run_dir()), timeout_s=timeout_s)


def place(client: RestClient, name: str | None, everything: bool, *, also_kept: bool = False) -> str:
    """Return the REST path of what is meant: `/v1/targets/ID`, or `/v1` for all targets."""
    if everything and name is not None:
        fail("say which target is meant, or --all, not both", Exit.USAGE)
    return "/v1" if everything else f"/v1/targets/{target_id(client, name, also_kept=also_kept)}"


def target_id(client: RestClient, name: str | None, *, also_kept: bool = False) -> str:
    """Return the id of the target that is meant, or fail with a list of those that exist.

    `also_kept`: a name can also mean a closed database of which the daemon keeps something.
    """
    listed = client.get("/v1/targets")
    known = listed["targets"]
    kept = [one | {"state": "closed"} for one in listed.get("kept", ())]
    if also_kept and name is not None:
        known = [*kept, *known]
    found = known if name is None else named(name, known, lambda t: (t["id"], t["path"]))
    if not found and name is not None and (closed := named(name, kept, lambda t: (t["id"], t["path"]))):
        fail(
            f"{closed[0]['path']} is closed, and remembered ({closed[0]['id']}): open it, or use adocctl forget",
            Exit.NO_TARGET,
        )
    # A database that was destroyed and recreated is a new target with the same path: prefer the open one, else the one
    # found last.
    found = [t for t in found if t["state"] != "closed"] or list({t["path"]: t for t in found}.values())
    if len(found) == 1:
        return str(found[0]["id"])
    if not known:
        fail(
            "there is no target: no database with an agent is open (adocd exec -- PROGRAM starts one), and none is "
            "observed by its directory (adocd serve --directory PATH)",
            Exit.NO_TARGET,
        )
    if not found:
        fail(no_such(name or "", ((t["id"], t["path"]) for t in known)), Exit.NO_TARGET)
    fail(f"say which target is meant: {listed_in_words(found)}", Exit.USAGE)


def listed_in_words(targets: list[dict[str, Any]]) -> str:
    """Name these targets by id and path."""
    return ", ".join(f"{t['id']} ({t['path']})" for t in targets)
