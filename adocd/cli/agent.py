"""`adocd agent`: the native agent for this machine's librocksdb."""

import json
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json
from adocd.cli.terminal import say
from adocd.process import compiled, native
from adocd.process.compiled import NativeError

app = typer.Typer(help="The native agent for this machine's librocksdb.", no_args_is_help=True)


@app.command()
def build(
    output: Annotated[Path | None, typer.Option(help="Write the library to this file instead.")] = None,
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Build directory to keep, so that the next build is quick; default: a temporary one."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the agent for this machine's librocksdb."""
    try:
        library = compiled.rocksdb(rocksdb)
        path = native.product().build(library, output, work)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    _show_agent(path, library, as_json)


@app.command()
def path(
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    as_json: Json = False,
) -> None:
    """Print the path of the agent for this machine's librocksdb."""
    try:
        library = compiled.rocksdb(rocksdb)
        found = native.find(library)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    _show_agent(found, library, as_json)


def _show_agent(path: Path, library: compiled.RocksDb, as_json: bool) -> None:
    if as_json:
        shown = {"agent": str(path), "rocksdb": str(library.path), "rocksdb_build_id": library.build_id}
        typer.echo(json.dumps(shown))
    else:
        say(str(path))
