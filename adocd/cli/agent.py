"""`adocd agent`: the native agent for this machine's librocksdb, and the Java agent."""

import json
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json
from adocd.cli.terminal import say
from adocd.process import compiled, java_agent, native
from adocd.process.compiled import NativeError

app = typer.Typer(
    help="The agents: the native one for this machine's librocksdb, and the Java one.", no_args_is_help=True
)

Java = Annotated[bool, typer.Option("--java", help="The Java agent, one jar for every rocksdbjni, instead.")]


@app.command()
def build(
    output: Annotated[Path | None, typer.Option(help="Write the library to this file instead.")] = None,
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Build directory to keep, so that the next build is quick; default: a temporary one."),
    ] = None,
    java: Java = False,
    as_json: Json = False,
) -> None:
    """Compile the agent for this machine's librocksdb."""
    _refuse_librocksdb(java, rocksdb)
    if output is not None and output.is_dir():
        fail(f"--output is the directory {output}; name a file in it", Exit.USAGE)
    try:
        if java:
            _show_jar(java_agent.build(output, work), as_json)
            return
        library = compiled.rocksdb(rocksdb)
        path = native.product().build(library, output, work)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    _show_agent(path, library, as_json)


@app.command()
def path(
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    java: Java = False,
    as_json: Json = False,
) -> None:
    """Print the path of the agent for this machine's librocksdb."""
    _refuse_librocksdb(java, rocksdb)
    try:
        if java:
            _show_jar(java_agent.find(), as_json)
            return
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


def _refuse_librocksdb(java: bool, rocksdb: Path | None) -> None:
    if java and rocksdb is not None:
        fail("--java and --rocksdb exclude each other: the jar is the same for every RocksDB", Exit.USAGE)


def _show_jar(path: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"agent": str(path)}))
    else:
        say(str(path))
