"""`adocd bench report`: figures, tables and pictures of what `adocd bench run` measured."""

import json
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.exits import Exit, fail
from adocd_bench.errors import BadArgument, BenchError


def report(
    directory: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="The --out directory of `adocd bench run`; several make one report."),
    ],
    format_: Annotated[str, typer.Option("--format", help="What to write: md, html or both.")] = "both",
    out: Annotated[
        Path | None, typer.Option(help="Write report.md, report.html and pictures here; default: DIR, the first.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures, and write no file.")] = False,
) -> None:
    """Rebuild the report from the raw results alone.

    It has medians and spreads over repetitions, compares each scheme with its block's baseline, marks disturbed runs
    and checks the published claims one by one (docs/evaluation.md). The same raw results always give the same bytes.
    """
    from adocd_bench.evaluation.report.write import Format, report_of  # noqa: PLC0415

    formats: dict[str, Format] = {"md": "md", "html": "html", "both": "both"}
    if format_ not in formats:
        fail(f"--format is {', '.join(formats)}, not {format_!r}", Exit.USAGE)
    try:
        found = report_of(directory)
        if as_json:
            typer.echo(json.dumps(found.as_json()))
            return
        written = found.write(out or directory[0], formats[format_])
    except BenchError as error:
        fail(str(error), Exit.USAGE if isinstance(error, BadArgument) else Exit.FAILED)
    for file in written:
        typer.echo(str(file))
