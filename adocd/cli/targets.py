"""`adocctl targets`."""

from typing import Annotated

import typer

from adocd.cli import completing, show_targets
from adocd.cli.exits import Exit, fail
from adocd.cli.show import json_or
from adocd.cli.target import Json, daemon
from adocd.cli.where import selector


def targets(
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="NAME=PATTERN",
            help="Only those whose path or label matches, such as application=orders; repeatable: all must match.",
            autocompletion=completing.conditions,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List all targets, or with --where those whose path or labels match."""
    meant = selector(where) if where else None
    listed = daemon().get("/v1/targets")
    if meant is not None:
        for kind in ("targets", "kept"):
            listed[kind] = [one for one in listed.get(kind, ()) if meant.matches(one["path"])]
        if not listed["targets"] and not listed["kept"]:
            fail(f"no database matches {' and '.join(where or ())}; adocctl targets lists all", Exit.NO_TARGET)
    json_or(as_json, listed, show_targets.targets)
