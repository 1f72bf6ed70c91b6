"""Compile the native agent the first time a command needs it, so that users need no second command."""

from adocd.cli.terminal import say
from adocd.process import compiled, native
from adocd.process.compiled import NativeError


def find_or_build_agent() -> None:
    """Compile the agent if it is missing. Raises NativeError."""
    library = compiled.rocksdb()
    try:
        native.find(library)
    except NativeError:
        say("compiling the native agent, for about a minute", err=True)
        native.product().build(library)
