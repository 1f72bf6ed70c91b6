"""`adocctl forget`: let the daemon forget a closed database."""

from typing import Annotated, Any

import typer

from adocd.cli import completing, show
from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json, daemon, listed_in_words
from adocd.cli.terminal import say
from adocd.targets.names import named, no_such


def forget(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="Its id, path, or part of one.", autocompletion=completing.kept),
    ],
    originals_too: Annotated[
        bool,
        typer.Option("--originals-too", help="Also those that are due to it: it was deleted, and never opens again."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Forget a closed database: its policy, pins, pause, decisions and figures. The audit trail keeps its lines.

    Refused while it is open, is observed by its directory, or is owed the originals of options that adocd changed:
    those are restored when it opens again, or forgotten with --originals-too.
    """
    client = daemon()
    listed = client.get("/v1/targets")
    known = [*listed["targets"], *listed["kept"]]
    found = named(target, known, lambda t: (t["id"], t["path"]))
    found = [t for t in found if t.get("state", "closed") == "closed"] or found
    if not found:
        fail(no_such(target, ((t["id"], t["path"]) for t in known)), Exit.NO_TARGET)
    if len(found) > 1:
        fail(f"say which target is meant: {listed_in_words(found)}", Exit.USAGE)
    answer = client.delete(f"/v1/targets/{found[0]['id']}", originals="true" if originals_too else "false")
    show.json_or(as_json, answer, _forgotten)


def _forgotten(answer: dict[str, Any]) -> None:
    kept = answer["forgotten"]
    say(f"{kept['path']} is forgotten{show.kept_in_words(kept, ': ')}")
