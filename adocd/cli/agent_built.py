"""The native agent where a command needs it: compiled at first need, so that it takes no second command."""

from adocd.cli.terminal import say
from adocd.process import compiled, native
from adocd.process.compiled import NativeError


def find_or_build_agent() -> None:
    """Compile the agent where it is missing. Raises NativeError."""
    library = compiled.rocksdb()
    try:
        native.find(library)
    except NativeError:
        say("compiling the native agent, for about a minute", err=True)
        native.product().build(library)
