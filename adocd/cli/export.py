"""`export`: the options that adocd changed, for the program to open its database with permanently."""

from typing import Annotated

import typer

from adocd.cli import completing, show_export
from adocd.cli.exits import Exit, fail
from adocd.cli.exported import Exported, exported
from adocd.cli.target import Json, TargetName, daemon, target_id
from adocd.cli.terminal import say

FORMATS = ("options", "sh", "json")


def export(
    target: TargetName = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="options: a fragment of a RocksDB OPTIONS file; sh: flags for db_bench; json.",
            autocompletion=completing.of(*FORMATS),
        ),
    ] = "options",
    as_json: Json = False,
) -> None:
    """Print the options that adocd changed, for the program to open the database with permanently.

    Leaves out temporary measures, such as disabled automatic compaction, and lists them on stderr. Changes nothing.
    """
    if format_ not in FORMATS:
        fail(f"--format must be one of {', '.join(FORMATS)}, not {format_!r}", Exit.USAGE)
    client = daemon()
    id_ = target_id(client, target)
    detail = client.get(f"/v1/targets/{id_}")
    found = exported(detail, client.get(f"/v1/targets/{id_}/overrides")["overrides"])
    _refuse(found)
    if as_json or format_ == "json":
        typer.echo(show_export.as_json(found))
        return
    for left in found.left_out:
        say(f"adocctl: left out: {left}", err=True)
    if found.held:
        say(
            f"adocctl: warning: writes are {found.held} now, so these values may be temporary; "
            "export when no write stall is in progress",
            err=True,
        )
    try:
        _write(found, format_)
    except show_export.NotWritable as error:
        fail(str(error), Exit.FAILED)


def _write(found: Exported, format_: str) -> None:
    if format_ == "options":
        typer.echo(show_export.as_options(found), nl=False)
        return
    if families := [name for name in found.column_families if name != "default"]:
        fail(f"db_bench has flags for one column family alone, and {', '.join(families)} differ too: "
             "use --format options", Exit.FAILED)  # fmt: skip
    typer.echo(show_export.as_flags(found))


def _refuse(found: Exported) -> None:
    if found.unseen is not None:
        fail(found.unseen, Exit.FAILED)
    if not found.database and not found.column_families:
        left = "".join(f"; left out: {each}" for each in found.left_out)
        fail(f"nothing to export: {found.path} has the same options as when it was opened{left}", Exit.FAILED)
