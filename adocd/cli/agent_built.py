"""The native agent where a command needs it: compiled at first need, so that it takes no second command."""

import typer

from adocd.cli import native


def find_or_build_agent() -> None:
    """Compile the agent where it is missing. Raises NativeAgentError."""
    library = native.rocksdb()
    try:
        native.find(library)
    except native.NativeAgentError:
        typer.echo("compiling the native agent, for about a minute", err=True)
        native.build(library)
